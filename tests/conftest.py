"""What every test gets: no settings of the caller, and an empty store for who asks for one."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from otel_attrib.schema.store import Store

# How long one example takes says something of the machine, nothing of the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

FILLED = """
SELECT name FROM system.tables
WHERE database = {database:String} AND total_rows > 0 AND name != 'schema_migrations'
"""


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting of the caller's shell reaches a test, and `up` reads no counters of this machine."""
    import os

    for name in list(os.environ):
        if name.startswith(("OTEL_", "SLATAG_")) and not name.startswith("OTEL_ATTRIB_TEST_"):
            monkeypatch.delenv(name)
    # What a test's service receives is what the test sends; those of the agent switch it on.
    monkeypatch.setenv("OTEL_ATTRIB_AGENT", "off")
    yield


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Find a program of scripts/services.sh; a test that needs one which is missing is skipped."""
    unpacked = Path(__file__).parents[1] / "build/services/usr/bin"

    def found(name: str) -> str:
        path = shutil.which(name, path=f"{unpacked}:/usr/bin")
        if path is None:
            pytest.skip(f"{name} is missing: scripts/services.sh fetches it")
        if name == "prometheus-alertmanager" and not _templates().exists():
            pytest.skip(f"{_templates()} is missing: scripts/services.sh links it where it may")
        return path

    return found


def _templates() -> Path:
    return Path("/usr/share/prometheus/alertmanager/default.tmpl")


class Shared:
    """The store of all modules that ask for `tables`: making its tables takes longer than most tests.

    One process can have one path open, so it is closed before a module that does not ask for it.
    """

    def __init__(self) -> None:
        """Nothing is open."""
        self.users: set[Path] = set()
        self._store: Store | None = None

    def open(self) -> "Store":
        """The store, with nothing in its tables."""
        from otel_attrib.schema.migrate import migrate
        from otel_attrib.schema.store import open_store

        if self._store is None:
            self._store = open_store("chdb://memory/tests")
            migrate(self._store)
        empty(self._store)
        return self._store

    def close(self) -> None:
        """Give the engine back."""
        if self._store is not None:
            self._store.close()
            self._store = None


SHARED = Shared()


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Note which modules ask for the shared store."""
    SHARED.users = {item.path for item in items if "tables" in getattr(item, "fixturenames", ())}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A module that does not ask for the shared store finds no engine open."""
    if item.path not in SHARED.users:
        SHARED.close()


def pytest_sessionfinish() -> None:
    """Nothing stays open."""
    SHARED.close()


@pytest.fixture(scope="module")
def tables() -> "Store":
    """Every table, in memory, empty at the start of the module."""
    return SHARED.open()


@pytest.fixture
def store(tables: "Store") -> "Iterator[Store]":
    """Every table, empty; emptied again afterwards, which is ten times faster than made anew."""
    empty(tables)
    yield tables
    empty(tables)


def empty(store: "Store") -> None:
    """Leave no row in any table."""
    for row in store.rows(FILLED, {"database": store.database}):
        store.command(f"TRUNCATE TABLE {row['name']}")
