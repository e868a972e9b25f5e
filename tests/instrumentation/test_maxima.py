"""The largest value since a step, for every step."""

from hypothesis import given
from hypothesis import strategies as st

from otel_attrib.instrumentation.maxima import KEPT, RecentMaximum


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200))
def test_every_suffix(values: list[int]) -> None:
    """Since step n, the answer is the maximum of the values from n on; after the last step it is 0."""
    recent = RecentMaximum()
    for step, value in enumerate(values, start=1):
        recent.add(step, value)

    found = [recent.since(step) for step in range(1, len(values) + 2)]

    assert [max(values[step:], default=0) for step in range(len(values) + 1)] == found


def test_bounded() -> None:
    """A series that falls for ever keeps a bounded tail, from which old questions are answered."""
    recent = RecentMaximum()
    for step in range(3 * KEPT):
        recent.add(step, 3 * KEPT - step)

    assert 1 == recent.since(3 * KEPT - 1)
    assert len(recent._steps) <= KEPT
    assert recent.since(0) == recent._values[0]
