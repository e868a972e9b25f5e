"""Who was hit and who stands against it, and what a counter's contrast of the two is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from otel_attrib.analytics.evidence.board import grid_of, read_board
from otel_attrib.analytics.evidence.contrast import Contrast, contrast_all
from otel_attrib.analytics.evidence.equal_work import classes, equal_work
from otel_attrib.analytics.evidence.hit import Group, Hit, devices_of, find_hit

Scenes = Callable[..., Any]


def hit_of(made: Any, flags: Any = None) -> Hit:
    """The hit groups of a scene."""
    before, after = made.period(False), made.period(True)
    grids = grid_of(before.window), grid_of(after.window)
    return find_hit(before.rows, after.rows, flags, grids, 0.99)


def contrasts(made: Any) -> dict[str, Contrast]:
    """The contrasts of a scene."""
    before, after = made.period(False), made.period(True)
    boards = read_board(before.samples, before.window), read_board(after.samples, after.window)
    return contrast_all(*boards, hit_of(made))


def test_slow_engine_is_found_without_flags(scene: Scenes) -> None:
    """The engine whose requests exceed its own earlier P95 is hit; the others are controls."""
    found = hit_of(scene(stages={"prefill": 1.6}))

    assert ("node0:GPU-0", 3) == (found.name(), len(found.controls))


def test_flags_decide(scene: Scenes) -> None:
    """Given the rows of a slice, its engines are hit whatever their latency."""
    made = scene(stages={"prefill": 1.6})
    rows = made.period(True).rows
    found = hit_of(made, rows.dims["node"].words() == "node1")

    assert (("node1",), ("node0",)) == (found.nodes, found.control_nodes)


def test_whole_node(scene: Scenes) -> None:
    """Both engines of a node hit are called by the node."""
    found = hit_of(scene(hit=lambda node, engine: node == 1, stages={"prefill": 1.6}))

    assert ("node1", 1.0) == (found.name(), found.whole_nodes)


def test_everything_hit_leaves_no_control(scene: Scenes) -> None:
    """A fleet-wide change can only be compared with before."""
    found = hit_of(scene(hit=lambda node, engine: True, stages={"prefill": 1.6}))

    assert (False, 4) == (found.paired, len(found.groups))


def test_weights_are_the_tails(scene: Scenes) -> None:
    """Where and when the tail lay weighs: each window's weights sum to one."""
    found = hit_of(scene(stages={"prefill": 1.6}))

    assert [1.0, 1.0] == pytest.approx([found.before.sum(), found.after.sum()])


@pytest.mark.parametrize("words", [("GPU-0", "GPU-1"), ("0", "1")])
def test_devices_by_name_or_number(words: tuple[str, ...]) -> None:
    """A set of cards is found whether its cards are named or numbered."""
    known = tuple(("node0", f"GPU-{n}") for n in range(4))

    assert [[("node0", "GPU-0"), ("node0", "GPU-1")]] == devices_of((Group("node0", words, ""),), known)


def test_a_mig_instance_brings_its_card() -> None:
    """What an instance's card does bears on it; its other instances do not."""
    known = (("node0", "0"), ("node0", "1"), ("node0", "1:2"), ("node0", "1:3"))

    assert [[known[1], known[2]]] == devices_of((Group("node0", ("1:2",), ""),), known)


def test_unknown_devices_are_the_nodes() -> None:
    """Where no card is named, all of the node's stand for the engine."""
    known = (("node0", "GPU-0"), ("node0", "GPU-1"), ("node1", "GPU-0"))

    assert [list(known[:2])] == devices_of((Group("node0", (), ""),), known)


def test_difference_in_differences(scene: Scenes) -> None:
    """What happened to the controls too is taken off: only the hit card's own change is left."""
    found = contrasts(scene(stages={"prefill": 1.6}, counters={"gpu_clock": 1320.0}))["gpu_clock"]

    assert found.paired
    assert -660.0 == pytest.approx(found.change, abs=15.0)


def test_same_change_everywhere_cancels(scene: Scenes) -> None:
    """A counter that moved alike on hit and control is no contrast, and is not trusted."""
    slow = scene(stages={"prefill": 1.6})
    hot = scene(hit=lambda node, engine: True, counters={"gpu_clock": 1320.0})
    before, after = slow.period(False), hot.period(True)
    boards = read_board(before.samples, before.window), read_board(after.samples, after.window)
    found = contrast_all(*boards, hit_of(slow))["gpu_clock"]

    assert 0.0 == pytest.approx(found.change, abs=15.0)
    assert 0.0 == found.trust


def test_without_controls_trust_is_less(scene: Scenes) -> None:
    """Before and after alone can be fooled by what changed for all: it is trusted three quarters."""
    found = contrasts(
        scene(hit=lambda node, engine: True, stages={"prefill": 1.6}, counters={"gpu_clock": 1320.0})
    )["gpu_clock"]

    assert (False, 0.75) == (found.paired, found.trust)


def test_late_rank_is_not_averaged_away(scene: Scenes) -> None:
    """One throttled card of eight shows in full: the engine's contrast is its worst card's."""
    made = scene(nodes=2, engines=1, ranks=8, stages={"prefill": 1.6})
    before, after = made.period(False), made.period(True)
    table = after.samples
    late = (table["device"].to_numpy() == "GPU-3") & (table["node"].to_numpy() == "node0")
    clock = table["metric"].to_numpy() == "hw.gpu.clock.graphics"
    value = np.where(late & clock, 1000.0, table["value"].to_numpy())
    slowed = table.set_column(table.column_names.index("value"), "value", [value])
    boards = read_board(before.samples, before.window), read_board(slowed, after.window)
    found = contrast_all(*boards, hit_of(made))["gpu_clock"]

    assert "node0:GPU-3" == found.place
    assert 1000.0 == pytest.approx(found.after)


def test_counter_of_one_side_is_missing(scene: Scenes) -> None:
    """A counter that nobody read before is missing, not nought."""
    made = scene(stages={"prefill": 1.6})
    before, after = made.period(False), made.period(True)
    boards = read_board(before.samples.slice(0, 0), before.window), read_board(after.samples, after.window)

    assert {} == contrast_all(*boards, hit_of(made))


def test_equal_work_ignores_a_shift_of_sizes() -> None:
    """Times that follow the size alone give the same mean on both sides, however the sizes shifted."""
    rng = np.random.default_rng(3)
    small, large = rng.choice([100.0, 1000.0], 2000, p=[0.9, 0.1]), rng.choice([100.0, 1000.0], 2000)
    found = equal_work((classes(small), classes(large)), ({"t": 3 * small}, {"t": 3 * large}), 5, 20)

    assert found["t"][0] == pytest.approx(found["t"][1])
    assert found["t"][1] == pytest.approx(3 * large.mean())


def test_equal_work_needs_classes_on_both_sides() -> None:
    """Work that only one window had cannot be compared."""
    small, large = np.full(100, 10.0), np.full(100, 1e4)

    assert {} == equal_work((classes(small), classes(large)), ({"t": small}, {"t": large}), 5, 20)
