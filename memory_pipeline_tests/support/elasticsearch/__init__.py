"""A real Elasticsearch for tests: fetched once, started once per test run."""
