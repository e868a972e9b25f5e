"""A store for the tests of what Prometheus scrapes, empty at the start of each."""

import itertools
from collections.abc import Iterator

import pytest

from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def tables() -> Iterator[Store]:
    """A database with all tables; it lives as long as the module."""
    with open_store(f"chdb://memory/exposition_{next(NUMBERS)}") as opened:
        migrate(opened)
        yield opened


@pytest.fixture
def store(tables: Store) -> Iterator[Store]:
    """The module's database, empty at the start of each test."""
    yield tables
    for name in ("requests", "latency_histogram"):
        tables.command(f"TRUNCATE TABLE {name}")
