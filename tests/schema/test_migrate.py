"""Migrations: once each, checksums, layouts, time to live, and what is refused."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from otel_attrib.errors import StoreSchema, UsageError
from otel_attrib.schema import migration as migration_module
from otel_attrib.schema.layout import Layout
from otel_attrib.schema.migrate import check_schema, migrate, plan, status
from otel_attrib.schema.migration import Migration, migrations
from otel_attrib.schema.store import Store

TABLES = "SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name"
EXPIRING = """
SELECT name FROM system.tables
WHERE database = currentDatabase() AND create_table_query LIKE '%toIntervalDay(' || {days:String} || ')%'
ORDER BY name
"""
KEPT_SHORT = [
    "otel_logs",
    "otel_metrics_exp_histogram",
    "otel_metrics_gauge",
    "otel_metrics_histogram",
    "otel_metrics_sum",
    "otel_metrics_summary",
    "otel_traces",
    "otel_traces_trace_id_ts",
    "requests",
    "requests_10s",
    "requests_60s",
    "samples",
    "steps",
]
KEPT_LONG = ("latency_histogram", "marks", "reports", "silences", "threshold_decisions")


def expiring(store: Store, days: int) -> list[str]:
    """Tables whose rows are kept for so many days."""
    return [row["name"] for row in store.rows(EXPIRING, {"days": str(days)})]


@pytest.fixture
def altered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The first migration as if its file had been edited."""
    first, *others = migrations()
    changed = (Migration(first.version, first.name, first.text + "\n-- edited"), *others)
    monkeypatch.setattr("otel_attrib.schema.migrate.migrations", lambda: changed)
    yield


def test_once_each(empty_store: Store) -> None:
    """A new store gets every migration; a second run does nothing and the schema is right."""
    assert {"pending"} == {step.state for step in status(empty_store)}

    done = migrate(empty_store)

    assert [step.version for step in done] == [one.version for one in migrations()]
    assert [] == migrate(empty_store)
    assert [] == plan(empty_store)
    assert {"applied"} == {step.state for step in status(empty_store)}
    check_schema(empty_store)


def test_versions_are_gapless() -> None:
    """Files are numbered from 1 without a gap."""
    assert list(range(1, len(migrations()) + 1)) == [one.version for one in migrations()]


def test_plan_is_what_runs(empty_store: Store) -> None:
    """Running the printed statements by hand makes the same tables."""
    statements = plan(empty_store)
    for statement in statements:
        empty_store.command(statement)
    by_hand = empty_store.rows(TABLES)
    migrate(empty_store)

    assert len(by_hand) > 20
    assert by_hand == empty_store.rows(TABLES)


def test_interrupted(empty_store: Store) -> None:
    """What was cut off in the middle is finished by the next run."""
    for statement in plan(empty_store)[:7]:
        empty_store.command(statement)

    assert len(migrations()) == len(migrate(empty_store))
    check_schema(empty_store)


def test_missing_tables_are_told(empty_store: Store) -> None:
    """An empty store says how to make its tables."""
    count = len(migrations())
    with pytest.raises(StoreSchema, match=rf"lacks {count} of {count} migrations: run `otel-attrib migrate`"):
        check_schema(empty_store)


@pytest.mark.usefixtures("altered")
def test_an_altered_migration_is_refused(empty_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not the one applied stops everything, by name."""
    with monkeypatch.context() as original:
        original.setattr("otel_attrib.schema.migrate.migrations", migrations)
        migrate(empty_store)

    with pytest.raises(StoreSchema, match="0001_otel_traces is not the one applied"):
        migrate(empty_store)
    with pytest.raises(StoreSchema, match="0001_otel_traces"):
        check_schema(empty_store)
    assert "changed" == status(empty_store)[0].state


def test_a_newer_store_is_refused(empty_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that knows a later migration asks for a newer program."""
    migrate(empty_store)
    monkeypatch.setattr("otel_attrib.schema.migrate.migrations", lambda: migrations()[:-1])

    with pytest.raises(StoreSchema, match="newer than this program"):
        check_schema(empty_store)


def test_time_to_live(empty_store: Store) -> None:
    """Days to keep rows are set at first, changed later, kept when not given, and ended with 0."""
    migrate(empty_store, ttl_days=30)
    assert KEPT_SHORT == expiring(empty_store, 30)

    migrate(empty_store, ttl_days=7)
    assert (KEPT_SHORT, []) == (expiring(empty_store, 7), expiring(empty_store, 30))

    assert [] == migrate(empty_store)
    assert KEPT_SHORT == expiring(empty_store, 7)

    migrate(empty_store, ttl_days=0)
    assert [] == expiring(empty_store, 7)
    assert [] == plan(empty_store)


def test_a_layout_is_for_life(empty_store: Store) -> None:
    """Engine and cluster of a store that has tables cannot be changed."""
    migrate(empty_store)

    with pytest.raises(UsageError, match="MergeTree on one server"):
        migrate(empty_store, engine="ReplicatedMergeTree")
    with pytest.raises(UsageError, match="MergeTree on one server"):
        plan(empty_store, cluster="main")


@pytest.mark.parametrize(
    ("engine", "cluster", "ttl_days"), [("Log", "", 0), ("MergeTree", "a'b", 0), ("MergeTree", "", -1)]
)
def test_layouts_that_are_no_sql(engine: str, cluster: str, ttl_days: int) -> None:
    """A layout cannot carry SQL of its own."""
    with pytest.raises(UsageError):
        Layout(engine, cluster, ttl_days)


def test_on_a_cluster(empty_store: Store) -> None:
    """On a cluster every statement runs on all servers, tables are replicated under Distributed names.

    Rows that are there already are read through these names and filled in once.
    """
    planned = plan(empty_store, cluster="main", ttl_days=30)
    once = [one for one in planned if re.search(r"^INSERT INTO", one, re.MULTILINE)]
    statements = [one for one in planned if one not in once]

    text = "\n".join(statements)
    assert all("ON CLUSTER 'main'" in statement for statement in statements)
    assert {*KEPT_SHORT, *KEPT_LONG} == set(
        re.findall(r"Distributed\('main', currentDatabase\(\), '(\w+)_local'", text)
    )
    assert [] == re.findall(r"ENGINE = (?:Aggregating)?MergeTree", text)
    assert ["requests", "requests_10s"] == re.findall(r"^FROM (\w+)", "\n".join(once), re.MULTILINE)
    filling = "\n".join(one for one in statements if "CREATE OR REPLACE VIEW" not in one)
    assert set(re.findall(r"(?:TO|FROM) (\w+)", filling)) <= {
        *(f"{table}_local" for table in (*KEPT_SHORT, *KEPT_LONG)),
        "requests_60s_refill",
        "otlp_traces",
        "otlp_metrics",
        "otlp_metric_rows",
        "otlp_logs",
    }


@pytest.mark.parametrize("cluster", ["", "main"], ids=["one server", "cluster"])
@pytest.mark.parametrize("ttl_days", [0, 30])
def test_statements_are_sql(engine: Store, cluster: str, ttl_days: int) -> None:
    """ClickHouse's own parser reads every statement of every layout."""
    layout = Layout("ReplicatedMergeTree", cluster, ttl_days)
    for migration in migrations():
        for statement in migration.statements(layout):
            assert "$" not in statement
            engine.rows("SELECT formatQuery({q:String}) AS text", {"q": statement})


def test_checksum_covers_fragments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of a shared expression is a change of every migration that uses it."""
    traces = next(one for one in migrations() if one.name == "otlp_traces")

    assert "json_of" in traces.text
    assert replace(traces, text=traces.text.replace("json_of", "json_off")).checksum != traces.checksum
    assert migration_module.migrations() is migrations()


def test_views_are_made_anew_when_they_change(empty_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeatable migration that has changed is pending, not refused, runs alone, and then is applied."""
    migrate(empty_store)
    known = migrations()
    (views,) = (one for one in known if one.repeatable)
    changed = replace(views, text=views.text.replace("'slatag.source'", "'slatag.source' || ''"))
    monkeypatch.setattr(
        "otel_attrib.schema.migrate.migrations",
        lambda: tuple(changed if one is views else one for one in known),
    )
    with pytest.raises(StoreSchema, match="lacks 1 of"):
        check_schema(empty_store)

    assert [views.version] == [step.version for step in migrate(empty_store)]
    assert {"applied"} == {step.state for step in status(empty_store)}
    assert [] == plan(empty_store)


def test_repeatable_migrations_make_views_alone() -> None:
    """What holds rows is never made anew."""
    statements = [text for one in migrations() if one.repeatable for text in one.statements(Layout())]

    assert {True} == {"CREATE OR REPLACE VIEW" in text and "CREATE TABLE" not in text for text in statements}
