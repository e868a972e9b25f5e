"""A statement is ended by its own name, which the next statement of the same client does not have."""

from collections.abc import Iterator

import pytest

from otel_attrib.analytics.service.bounded import BoundedStore, Limits
from otel_attrib.schema.store import open_store


@pytest.fixture(scope="module")
def pool() -> Iterator[BoundedStore]:
    """Clients over an embedded store."""
    with open_store("chdb://memory/statement_names") as store:
        bounded = BoundedStore(store, Limits(10, 1_000_000, 1 << 28))
        yield bounded
        bounded.close()


def test_each_statement_has_its_own_name(pool: BoundedStore) -> None:
    """The same client comes back from the pool under another name, and the engine knows it by that."""
    with pool.client() as (one, first):
        pass
    with pool.client() as (other, second):
        known = other.query("SELECT getSetting('log_comment')").result_rows[0][0]

    assert one is other
    assert first != second == known


def test_a_late_end_spares_the_next_statement(pool: BoundedStore) -> None:
    """Ending a statement that is over leaves the one that its client runs now alone."""
    with pool.client() as (_, first):
        pass
    with pool.client() as (client, _):
        pool.kill(first)
        rows = client.query("SELECT sum(sleepEachRow(0.05)), count() FROM numbers(10)").result_rows

    assert 10 == rows[0][1]
