"""Addresses of stores."""

import pytest

from otel_attrib.errors import UsageError
from otel_attrib.schema.dsn import default_dsn, parse_dsn


@pytest.mark.parametrize(
    ("text", "path", "database", "options"),
    [
        ("chdb:///var/lib/x", "/var/lib/x", "otel_attrib", {}),
        ("chdb:///var/lib/a%20b?max_threads=1", "/var/lib/a b", "otel_attrib", {"max_threads": "1"}),
        ("chdb:///var/lib/x?database=mine", "/var/lib/x", "mine", {}),
        ("chdb://memory", ":memory:", "otel_attrib", {}),
        ("chdb://memory/mine", ":memory:", "mine", {}),
        ("clickhouse://u:p@db:8123/mine", None, "mine", {}),
        ("clickhouse://db", None, "otel_attrib", {}),
        ("clickhouse://db?database=mine&secure=true", None, "mine", {"secure": "true"}),
    ],
    ids=["path", "options", "path-database", "memory", "memory-database", "remote", "bare", "query"],
)
def test_parts(text: str, path: str | None, database: str, options: dict[str, str]) -> None:
    """An address gives its path, its database and its options."""
    dsn = parse_dsn(text)

    assert (path, database, options) == (dsn.path, dsn.database, dict(dsn.options))
    assert (path is not None) == dsn.embedded


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "chdb://",
        "chdb:///",
        "chdb:/x",
        "chdb://var/lib",
        "mysql://h/x",
        "clickhouse://",
        "clickhouse://h:port/x",
        "clickhouse://[h/x",
        "clickhouse://u:p[w@h/x",
        "chdb://[x",
        "clickhouse://h:99999/x",
    ],
)
def test_refused(text: str) -> None:
    """What is no address of a store is refused as the user's mistake."""
    with pytest.raises(UsageError):
        parse_dsn(text)


def test_password_is_never_shown() -> None:
    """Neither the address for messages nor a refusal holds the password."""
    with pytest.raises(UsageError) as refused:
        parse_dsn("mysql://u:secret@h/x")

    assert "clickhouse://db:9000/mine" == parse_dsn("clickhouse://u:secret@db:9000/mine?x=y").shown
    assert "secret" not in str(refused.value)
    assert "secret" not in repr(parse_dsn("clickhouse://u:secret@db/mine"))


def test_default_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root has the system's store, others one in their home."""
    monkeypatch.setenv("XDG_DATA_HOME", "/home/me/data")
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    assert "chdb:///home/me/data/otel-attrib/store" == default_dsn()

    monkeypatch.setattr("os.geteuid", lambda: 0)

    assert "chdb:///var/lib/otel-attrib" == default_dsn()
