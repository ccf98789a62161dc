# make run    sets everything up, runs the pipeline on your pi sessions (SESSIONS=DIR: on others; LIMIT=N: distil N turns)
# make ui     Dagster's UI on the same data (PORT=3000)
# make test   lint, types, and all tests
# make fuzz   reads 10,000 broken session files (SEED=N: the same ones again)
# make bench  what the chain costs
# make eval   how good the memories are (EVALSET=DIR: on another labelled set; JSON=1; WRITE=1: into docs/quality.md)

PYTHON ?= python3
PORT ?= 3000
VENV := .venv
BIN := $(VENV)/bin
EXAMPLES := --examples-if-none examples/sessions

.PHONY: run ui home test lint fuzz bench eval clean

run: $(VENV)/.runs home
	@$(BIN)/memory-pipeline run $(if $(SESSIONS),--sessions "$(SESSIONS)",$(EXAMPLES)) $(if $(LIMIT),--limit $(LIMIT))

ui: $(VENV)/.runs home
	@$(BIN)/memory-pipeline ui --port $(PORT) $(EXAMPLES)

test: lint
	$(BIN)/pytest -n 2 --dist worksteal

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: $(VENV)/.tests
	$(BIN)/python -m memory_pipeline_tests.sessions.fuzz --files 10000 $(if $(SEED),--seed $(SEED))

bench: $(VENV)/.tests
	$(BIN)/python -m benchmarks.chain

eval: $(VENV)/.tests
	@MEMORY_MODELS_DIR=.cache/models $(BIN)/memory-pipeline models pull --chat >/dev/null || true
	@$(BIN)/python -m benchmarks.quality $(EVALSET) $(if $(JSON),--json) $(if $(WRITE),--write docs/quality.md)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make run PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python can't make environments here; on Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }

$(VENV)/.runs: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing memory-pipeline into $(VENV) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.tests: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing memory-pipeline and what its tests need into $(VENV) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[all]'
	@touch $@ $(VENV)/.runs

# Plain `dagster dev` in this folder finds the same history.
home: $(VENV)/.runs
	@grep -qs '^DAGSTER_HOME=' .env || test -n "$$MEMORY_DATA_DIR$$DAGSTER_HOME" || $(BIN)/memory-pipeline write-home

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist
