"""Blocks of time × node for rows at hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from otel_attrib.analytics.blocks import NODE_GROUPS, SLICES, block_ids
from otel_attrib.analytics.columns import Dimension, Rows
from otel_attrib.analytics.windows import Window

START = datetime(2026, 5, 1, tzinfo=UTC)
WINDOW = Window(START, START + timedelta(seconds=100))


def rows_at(seconds: list[float], nodes: list[str]) -> Rows:
    """One row for each time after the window's start."""
    n = len(seconds)
    times = np.array([int(START.timestamp() * 1e6) + int(s * 1e6) for s in seconds], dtype=np.int64)
    return Rows(
        names=("outside",),
        parts=np.ones((n, 1)),
        observed=np.ones((n, 1), dtype=np.bool_),
        time_us=times,
        prompt=np.zeros(n),
        cached=np.zeros(n),
        output=np.zeros(n),
        dims={"node": Dimension.of(np.array(nodes))},
        cluster=np.arange(n),
        trace_ids=np.full(n, "", dtype=object),
        total=n,
    )


def test_twenty_slices_of_one_node() -> None:
    """One node's rows fall into twenty slices of time, numbered from 0 in order."""
    seconds = [i + 0.5 for i in range(100)]

    blocks = block_ids(rows_at(seconds, ["n"] * 100), WINDOW)

    assert np.repeat(np.arange(SLICES), 5).tolist() == blocks.tolist()


def test_at_most_four_groups_of_nodes() -> None:
    """A large fleet is put into four groups, and numbers have no gaps."""
    nodes = [f"node-{i}" for i in range(200)]

    blocks = block_ids(rows_at([1.0] * 200, nodes), WINDOW)

    assert set(range(NODE_GROUPS)) == set(blocks.tolist())


def test_a_node_stays_in_its_group() -> None:
    """Which rows share a block does not depend on what other nodes there are, nor on the rows' order."""
    rows = rows_at([1.0, 2.0, 3.0, 4.0], ["a", "b", "c", "a"])
    more = rows_at([1.0, 2.0, 3.0, 4.0, 1.0], ["a", "b", "c", "a", "aa"])
    here, there = block_ids(rows, WINDOW), block_ids(more, WINDOW)

    assert (here[:, None] == here).tolist() == (there[:4, None] == there[:4]).tolist()
    assert here[::-1].tolist() == block_ids(rows.take(slice(None, None, -1)), WINDOW).tolist()


def test_without_nodes_there_is_time_alone() -> None:
    """Rows that no node is known of are cut by time; those at the edges belong to the outer slices."""
    rows = replace(rows_at([0.0, 99.999999, -1.0, 120.0], ["n"] * 4), dims={})

    assert [0, 1, 0, 1] == block_ids(rows, WINDOW).tolist()
