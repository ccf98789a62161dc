"""The words of an invented corpus: what is asked, what came of it, and what tools print.

Everything is put together from the templates here. A project keeps its names, so that entities recur from session to
session; numbers and paths are drawn anew for each turn, so that no two memories say the same.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

ROUTINE_SHARE = 0.25
PASTE_SHARE = 0.08

_ONSETS, _NUCLEI = "bdfghklmnprstvw", "aeiou"
_CODAS = ("", "", "l", "n", "r", "s", "nd", "rk")
_KINDS = ("billing", "delivery", "export", "import", "invoice", "ledger", "login", "media", "order", "report", "tile")
_PARTS = ("archive", "cache", "checker", "gateway", "index", "mailer", "parser", "planner", "queue", "store", "worker")
_TOOLS = ("the nightly job", "the staging machine", "the release script", "the mobile client", "the admin page")
_OPTIONS = ("append-only files", "a plain cron entry", "a bounded queue", "content hashes", "signed links", "polling")
_MONTHS = ("January", "April", "July", "October")
_MISTAKES = (
    "opened a new connection for every row",
    "compared local times with UTC ones",
    "read the setting once at import and never again",
    "swallowed the timeout and returned an empty list",
    "kept the lock while it waited for the network",
    "cut identifiers after {count} characters",
)
_REASONS = (
    "it needs no server of its own",
    "a second writer would corrupt the file",
    "it survives a restart without losing the last {count} entries",
    "{person} has to read the result without tools",
    "the old one needs {big} MB of memory at rest",
    "{tool} cannot be updated before {month}",
)

# What the user asks, and what the last answer says about it.
_TOPICS = (
    (
        "the {part} fails about every {count} minutes since we moved to {version}, please find out why",
        "Root cause: `{symbol}` in {path} {mistake}. It is fixed, and {tool} finishes in {fast} ms now.",
    ),
    (
        "{person} says the {part} takes {slow} seconds for one request. what is wrong there?",
        "The cause was in {path}: `{symbol}` {mistake}. With the change the {part} answers in {fast} ms instead of"
        " {slow} s on {host}.",
    ),
    (
        "{host} shows errors from `{symbol}`, can you look? it must not happen again before the release",
        "`{symbol}` {mistake}, so {host} ran out of memory after {big} rows. {path} stops at {count} MB now.",
    ),
    (
        "how should the {part} keep its data? please decide and give me the reason",
        "Decided: the {part} uses {option} instead of {refused}, because {reason}. The code is in {path}.",
    ),
    (
        "I don't like how the {part} and the {other} depend on each other. what would you do?",
        "The {part} goes with {option} from {version} on, since {reason}; the {other} stays with {refused}.",
    ),
    (
        "always go through `{symbol}` when you touch the {part}, never write to {table} directly",
        "Understood. Only `{symbol}` writes to {table} from now on, and a check in {path} fails for anything else.",
    ),
    (
        "from now on the {part} keeps at most {big} entries, {person} wants it that way",
        "The {part} drops the oldest entries beyond {big}; `{setting}` in {path} holds the number.",
    ),
    (
        "please never deploy the {part} to {host} without asking {person} first",
        "It is a rule now: {person} is asked before the {part} changes on {host}. {path} says so at the top.",
    ),
    (
        "where does the {part} run, and on which port?",
        "The {part} runs on {host} and listens on port {port}; its settings are in {path}, version {version}.",
    ),
    (
        "set up the {part} for {tool}, the way we did it for the {other}",
        "{tool} talks to the {part} on {host}:{port}, with a timeout of {count} s and {workers} workers."
        " `{setting}={big}` is set in {path}.",
    ),
    (
        "make the {part} quicker, {slow} seconds is too much for {big} rows",
        "`{setting}` was {count}. With {workers} the {part} handles {big} rows in {fast} ms, measured on {host}.",
    ),
    (
        "the {table} table has grown to {big} thousand rows, what can we do about it?",
        "An index on {table} brings the {part} from {slow} s to {fast} ms. It costs {count} MB on {host} and is made"
        " by {path}.",
    ),
)
_ROUTINE = (
    ("run the tests", "All tests pass."),
    ("commit that please", "Committed."),
    ("run the linter again", "No complaints."),
    ("status?", "Everything is up."),
    ("thanks, go on", "Done."),
    ("format and push", "Formatted and pushed."),
)
_FILLER = (
    "I read {path} again to be sure.",
    "All {count} tests pass.",
    "Nothing else was touched.",
    "The change is small and sits in one place.",
    "Shall I go on with the {other}?",
)
_TALK = ("Let me look at the {part} first.", "I'll check {path}.", "Now the tests.", "That points to `{symbol}`.")
_THOUGHT = (
    "The {part} calls `{symbol}`, and that goes through {path}. Either the {other} hands over the wrong value or"
    " {table} is stale. I check the cheap one first.",
    "Two places could be at fault. The numbers from {host} speak for {path}; a look at the callers will tell.",
)

_LOG_LINE = "{month:.3} {count:02d} {host} {word}[{port}]: {symbol} took {fast} ms for {big} rows of {table}"
_TEST_LINE = "tests/{word}/test_{word}.py::test_{symbol}_keeps_{count}_rows PASSED in {fast} ms"
_CODE_LINE = '    {symbol} = {table}.get({word!r}, {big}) if {setting} > {count} else load("{path}")'
_GREP_LINE = "{path}:{count}:    return {symbol}({table}, timeout={fast})"
_OUTPUTS = {"bash": (_LOG_LINE, _TEST_LINE, _GREP_LINE), "read": (_CODE_LINE,)}
_COMMANDS = (
    "rg -n {symbol} src | head -{big}",
    "ssh {host} 'journalctl -u {word} -n {big} --no-pager'",
    "pytest -q tests/{word} -k {symbol}",
)


@dataclass(frozen=True, slots=True)
class TurnText:
    """What is said in one turn; ``talk`` makes a sentence for between two tool calls."""

    ask: str
    outcome: str
    routine: bool
    slots: dict[str, object]


class Project:
    """The lasting names of one invented project: the same for the same seed and number."""

    def __init__(self, seed: int, number: int) -> None:
        rng = random.Random(f"{seed}/project/{number}")
        self.name = _name(rng)
        self.parts = [f"{rng.choice(_KINDS)} {rng.choice(_PARTS)}" for _ in range(30)]
        self.hosts = [f"{_name(rng)}-{rng.randrange(1, 9)}" for _ in range(8)]
        self.people = [_name(rng).capitalize() for _ in range(6)]
        self.words = [_name(rng) for _ in range(40)]


class Wording:
    """Makes the texts of one session of a project, in order, from its random source."""

    def __init__(self, project: Project, rng: random.Random) -> None:
        self._project = project
        self._rng = rng

    def turn(self) -> TurnText:
        slots = self._slots()
        pick = self._rng.choice
        if self._rng.random() < ROUTINE_SHARE:
            ask, outcome = pick(_ROUTINE)
            return TurnText(ask, outcome, True, slots)
        asked, answered = pick(_TOPICS)
        ask = asked.format_map(slots)
        if self._rng.random() < PASTE_SHARE:
            ask += "\n\n" + self._lines((_LOG_LINE,), self._rng.randrange(300, 2_000))
        said = [answered]
        said += self._rng.sample(_FILLER, k=min(3, int(self._rng.expovariate(0.9))))
        if self._rng.random() < 0.2:
            said.append("\n\nChanged:\n" + "\n".join(f"- {self._path()}" for _ in range(self._rng.randrange(2, 7))))
        return TurnText(ask, " ".join(said).format_map(slots), False, slots)

    def talk(self, turn: TurnText) -> str:
        return self._rng.choice(_TALK).format_map(turn.slots)

    def thought(self, turn: TurnText) -> str:
        return " ".join(self._rng.choices(_THOUGHT, k=self._rng.randrange(1, 6))).format_map(turn.slots)

    def command(self) -> str:
        return self._rng.choice(_COMMANDS).format_map(self._slots())

    def path(self) -> str:
        return self._path()

    def output(self, tool: str, length: int) -> str:
        """What ``bash`` or ``read`` shows: about ``length`` characters in lines of one kind."""
        return self._lines(_OUTPUTS[tool], length)

    def code(self, lines: int) -> str:
        return "\n".join(_CODE_LINE.format_map(self._slots()) for _ in range(lines))

    def _lines(self, kinds: tuple[str, ...], length: int) -> str:
        line, slots, number = self._rng.choice(kinds), self._slots(), self._rng.randrange
        lines: list[str] = []
        while length > 0:
            # New slots for each line would take most of the time that a corpus takes.
            slots.update(count=number(2, 90), big=number(100, 90_000), fast=number(3, 990))
            lines.append(line.format_map(slots))
            length -= len(lines[-1]) + 1
        return "\n".join(lines) + "\n"

    def _path(self) -> str:
        one, two = self._rng.choice(self._project.words), self._rng.choice(self._project.words)
        return f"src/{one}/{two}_{self._rng.choice(_PARTS)}.py"

    def _slots(self) -> dict[str, object]:
        """A value for every slot of the templates."""
        pick, number, project = self._rng.choice, self._rng.randrange, self._project
        part, other = self._rng.sample(project.parts, k=2)
        option, refused = self._rng.sample(_OPTIONS, k=2)
        slots: dict[str, object] = {
            "part": part,
            "other": other,
            "option": option,
            "refused": refused,
            "host": pick(project.hosts),
            "person": pick(project.people),
            "word": pick(project.words),
            "table": f"{pick(_KINDS)}_{pick(project.words)}",
            "symbol": f"{pick(project.words)}_{pick(_PARTS)}",
            "setting": f"{pick(project.words)}_{pick(_KINDS)}_LIMIT".upper(),
            "path": self._path(),
            "tool": pick(_TOOLS),
            "month": pick(_MONTHS),
            "port": number(1_024, 49_152),
            "version": f"{number(1, 9)}.{number(0, 30)}.{number(0, 12)}",
            "count": number(2, 90),
            "big": number(100, 90_000),
            "workers": number(2, 33),
            "fast": number(3, 990),
            "slow": number(2, 80),
        }
        slots["mistake"] = pick(_MISTAKES).format_map(slots)
        slots["reason"] = pick(_REASONS).format_map(slots)
        return slots


def _name(rng: random.Random) -> str:
    """A name that nothing has: two or three syllables."""
    syllables = (_ONSETS, _NUCLEI, _CODAS) * rng.choice((2, 2, 3))
    return "".join(rng.choice(letters) for letters in syllables)
