"""Where an import goes: what is named, by option or environment, with tables made where nobody else would."""

import pytest

from otel_attrib.collector.imports.connection import delivery
from otel_attrib.collector.imports.store_delivery import StoreDelivery
from otel_attrib.errors import StoreError, UsageError


def test_an_embedded_store_gets_its_tables() -> None:
    """A store that was never used takes an import at once."""
    with delivery("chdb://memory/connection_new", None) as to:
        tables = to.store.rows("SELECT name FROM system.tables WHERE database = 'connection_new'")

        assert isinstance(to, StoreDelivery)
        assert {"requests", "otel_traces"} <= {row["name"] for row in tables}


def test_the_environment_names_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """OTEL_ATTRIB_DSN is used where no option is given."""
    monkeypatch.setenv("OTEL_ATTRIB_DSN", "chdb://memory/connection_environment")
    with delivery(None, None) as to:
        assert "connection_environment" == to.store.database


def test_both_options_are_one_too_many() -> None:
    """A store and a service cannot both be meant."""
    with pytest.raises(UsageError, match="--dsn or --url"), delivery("chdb://memory", "http://127.0.0.1:1"):
        pass


def test_a_service_that_is_not_there() -> None:
    """A named service must answer; nothing falls back to another store."""
    with pytest.raises(StoreError, match="no service answers"), delivery(None, "http://127.0.0.1:1"):
        pass
