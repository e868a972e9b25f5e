"""The histogram of waits: slots, their middles and a quantile from them."""

import numpy as np
import pytest

from otel_attrib.collector.sources.ebpf.wait_slots import SLOTS, middles_ns, quantile_ns, slot_of


def test_the_middle_of_a_slot_is_within_an_eighth_of_every_wait_in_it() -> None:
    """From 1 ns to a quarter of an hour no wait is off by more than 12.5 % from its slot's middle."""
    waits = np.unique(np.geomspace(1, 9e11, 20_000).astype(np.int64))
    middles = middles_ns()

    off = [abs(middles[slot_of(int(ns))] - ns) / ns for ns in waits]

    assert max(off) <= 0.125


def test_slots_rise_with_the_wait() -> None:
    """A longer wait never falls into a lower slot, and every slot is used."""
    waits = sorted(
        {1 << octave | part << max(0, octave - 2) for octave in range(41) for part in range(4)} | {0}
    )

    slots = [slot_of(ns) for ns in waits]

    assert sorted(slots) == slots
    assert slots[0] == 0
    assert slots[-1] == SLOTS - 1


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_quantile_is_within_an_eighth_of_the_true_one(share: float) -> None:
    """Over log-normal waits the quantile from slots is that of the waits within 12.5 %."""
    waits = np.random.default_rng(7).lognormal(10, 2, 30_000).astype(np.int64) + 1
    counts = np.bincount([slot_of(int(ns)) for ns in waits], minlength=SLOTS).astype(np.uint64)

    found = quantile_ns(counts, share)

    assert found == pytest.approx(float(np.quantile(waits, share)), rel=0.13)


def test_no_wait_has_no_quantile() -> None:
    """What was not counted is absent, not zero."""
    assert quantile_ns(np.zeros(SLOTS, np.uint64), 0.99) is None
