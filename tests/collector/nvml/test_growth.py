"""Growth of counters against exact integers: wraps, restarts, and what cannot be known."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_attrib.collector.sources.nvml_rates import Growth
from otel_attrib.schema.pcie import link_bytes

WRAP = 2**32


@settings(deadline=None)
@given(st.integers(0, WRAP - 1), st.lists(st.integers(0, WRAP - 1), min_size=1, max_size=30))
def test_a_wrapping_counter_is_followed_exactly(start: int, steps: list[int]) -> None:
    """Whatever grows by less than 2^32 between two reads is known exactly, and so is the sum."""
    growth = Growth(np.array([1e9]))
    counter, seen = start, []
    for number, step in enumerate([0, *steps]):
        counter = (counter + step) % WRAP
        seen.append(
            growth.step(float(number), np.array([float(counter)]), np.array([False]), np.array([True]))
        )

    assert [float(step) for step in steps] == [float(grown[0]) for grown in seen[1:]]
    assert float(sum(steps)) == float(growth.totals[0])


@settings(deadline=None)
@given(st.floats(1e8, 1e12), st.floats(0.001, 10.0))
def test_what_could_have_wrapped_twice_is_not_known(capacity: float, seconds: float) -> None:
    """Known if and only if the link cannot carry 2^32 in the time."""
    growth = Growth(np.array([capacity]))
    for now in (0.0, seconds):
        grown = growth.step(now, np.array([5.0]), np.array([False]), np.array([True]))

    assert (capacity * seconds < WRAP) == bool(np.isfinite(grown[0]))


def test_links_as_pci_sig_states_them() -> None:
    """The figures that are quoted for × 16 in one direction: 4, 8, 15.75, 31.5 and 63 GB/s."""
    assert [4.0, 8.0, 15.75, 31.51, 63.02] == [
        round(link_bytes(generation, 16) / 1e9, 2) for generation in (1, 2, 3, 4, 5)
    ]
    assert float("inf") == link_bytes(99, 16) == link_bytes(4, 0)
