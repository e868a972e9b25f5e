"""Create or update a store's tables: each migration once, its checksum kept, an altered one refused.

Every statement says IF NOT EXISTS or OR REPLACE, so what was interrupted is simply run again. A repeatable
migration, which makes views alone, is pending again when it has changed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from otel_attrib.errors import StoreSchema, UsageError
from otel_attrib.schema import journal
from otel_attrib.schema.layout import Layout
from otel_attrib.schema.migration import Migration, migrations
from otel_attrib.schema.store import Store

__all__ = ["Applied", "check_schema", "migrate", "plan", "status"]


@dataclass(frozen=True, slots=True)
class Applied:
    """One migration and how the store stands to it; `applied_at` is None while it is pending."""

    version: int
    name: str
    state: Literal["applied", "pending", "changed", "unknown"]
    applied_at: datetime | None = None


def migrate(
    store: Store, engine: str | None = None, cluster: str | None = None, ttl_days: int | None = None
) -> list[Applied]:
    """Bring the store up to date; return what was done, nothing when there was nothing to do.

    What is not given stays as the store has it; a new store has MergeTree on one server and keeps its
    rows for ever. A `ttl_days` of 0 ends a time to live.
    """
    entries = journal.read(store)
    layout = _layout(entries, engine, cluster, ttl_days)
    if not entries:
        store.create_database(layout.on_cluster)
    done = set()
    for migration, statements in _steps(entries, layout):
        for statement in statements:
            store.command(statement)
        journal.note(store, migration, layout)
        done.add(migration.version)
    return [step for step in status(store) if step.version in done]


def plan(
    store: Store, engine: str | None = None, cluster: str | None = None, ttl_days: int | None = None
) -> list[str]:
    """The statements that `migrate` would run now, in order."""
    entries = journal.read(store)
    layout = _layout(entries, engine, cluster, ttl_days)
    return [statement for _, statements in _steps(entries, layout) for statement in statements]


def status(store: Store) -> list[Applied]:
    """How the store stands to each migration: of this program, then those that only the store knows."""
    return list(_standings(journal.read(store)))


def check_schema(store: Store) -> None:
    """Raise `StoreSchema` unless the store's tables are those of this program."""
    standings = list(_standings(journal.read(store)))
    _refuse_foreign(standings)
    pending = [step for step in standings if step.state == "pending"]
    if pending:
        raise StoreSchema(
            f"store {store.dsn.shown} lacks {len(pending)} of {len(standings)} migrations: "
            "run `otel-attrib migrate`"
        )


def _standings(entries: Sequence[journal.Entry]) -> Iterator[Applied]:
    applied = {entry.version: entry for entry in entries if entry.version}
    for migration in migrations():
        entry = applied.pop(migration.version, None)
        if entry is None:
            yield Applied(migration.version, migration.name, "pending")
        elif entry.checksum == migration.checksum:
            yield Applied(migration.version, migration.name, "applied", entry.applied_at)
        elif migration.repeatable:
            yield Applied(migration.version, migration.name, "pending", entry.applied_at)
        else:
            yield Applied(migration.version, migration.name, "changed", entry.applied_at)
    for entry in applied.values():
        yield Applied(entry.version, entry.name, "unknown", entry.applied_at)


def _refuse_foreign(standings: Sequence[Applied]) -> None:
    for step in standings:
        where = f"migration {step.version:04d}_{step.name}"
        if step.state == "changed":
            raise StoreSchema(f"{where} is not the one applied: restore the file and add a new migration")
        if step.state == "unknown":
            raise StoreSchema(f"{where} of the store is newer than this program: update otel-attrib")


def _layout(
    entries: Sequence[journal.Entry], engine: str | None, cluster: str | None, ttl_days: int | None
) -> Layout:
    _refuse_foreign(list(_standings(entries)))
    now = journal.last_layout(entries)
    default = "ReplicatedMergeTree" if cluster else now.engine
    wanted = Layout(
        engine or (now.engine if entries else default),
        now.cluster if cluster is None else cluster,
        now.ttl_days if ttl_days is None else ttl_days,
    )
    if entries and (wanted.engine, wanted.cluster) != (now.engine, now.cluster):
        raise UsageError(
            f"the store's tables are {now.engine} on {now.cluster or 'one server'}: "
            "neither can be changed, only days to keep rows can"
        )
    return wanted


def _steps(entries: Sequence[journal.Entry], layout: Layout) -> Iterator[tuple[Migration, list[str]]]:
    have = _applied(entries)
    if not entries:
        yield journal.JOURNAL, journal.JOURNAL.statements(layout)
    elif layout != journal.last_layout(entries):
        yield journal.JOURNAL, _ttl_changes(layout, have)
    for migration in migrations():
        if migration.version not in have:
            yield migration, migration.statements(layout)


def _applied(entries: Sequence[journal.Entry]) -> set[int]:
    """Return the versions that need not run; a repeatable one must be as it was applied last."""
    last = {entry.version: entry.checksum for entry in entries}
    changed = {
        one.version for one in migrations() if one.repeatable and last.get(one.version) != one.checksum
    }
    return set(last) - changed


def _ttl_changes(layout: Layout, have: set[int]) -> list[str]:
    change = "MODIFY TTL {}" if layout.ttl_days else "REMOVE TTL"
    return [
        " ".join(f"ALTER TABLE {table} {layout.on_cluster} {change.format(expression)}".split())
        for migration in migrations()
        if migration.version in have
        for table, expression in migration.ttls(layout)
    ]
