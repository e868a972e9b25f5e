"""Whose counters are a request's, and whose clock they are on."""

import pytest

from otel_attrib.analytics.join.clocks import Clocks
from otel_attrib.analytics.join.places import Engine, Place, engine_of

KNOWN = [("n1", "0"), ("n1", "1"), ("n1", "1:2"), ("n2", "0"), ("n3", "GPU-0"), ("n3", "GPU-1")]
UUIDS: dict[Place, str] = {("n1", "1"): "GPU-bbbb2222-3333"}


@pytest.mark.parametrize(
    ("node", "gpu_set", "cards", "named"),
    [
        ("n1", "n1:0", [("n1", "0")], True),
        ("n1", "0,1", [("n1", "0"), ("n1", "1")], True),
        ("n1", "GPU-1", [("n1", "1")], True),
        ("n3", "0", [("n3", "GPU-0")], True),
        ("n3", "GPU-0,GPU-1", [("n3", "GPU-0"), ("n3", "GPU-1")], True),
        ("n1", "n1:1:2", [("n1", "1"), ("n1", "1:2")], True),
        ("n1", "n1:GPU-bbbb2222", [("n1", "1")], True),
        ("n1", "n2:0", [("n2", "0")], True),
        ("n1", "n1:0;n2:0", [("n1", "0"), ("n2", "0")], True),
        ("n1", "n1:7", [("n1", "0"), ("n1", "1"), ("n1", "1:2")], False),
        ("n1", "", [("n1", "0"), ("n1", "1"), ("n1", "1:2")], False),
        ("n9", "n9:0", [], False),
    ],
)
def test_cards(node: str, gpu_set: str, cards: list[Place], named: bool) -> None:
    """Every spelling; where no card is named, or none of that name is read, all of the node stand for it."""
    assert (tuple(cards), named) == engine_of({"node": node, "gpu_set": gpu_set}).cards(KNOWN, UUIDS)


def test_hosts() -> None:
    """The host of the API server and those of the cards."""
    assert ("n1", "n2") == engine_of({"node": "n1", "gpu_set": "n2:0,1"}).hosts
    assert ("n1",) == Engine("n1", ()).hosts


def test_clocks() -> None:
    """One node is one clock; of two the uncertainties add up; silence is unknown, not nought."""
    clocks = Clocks({"n1": 300.0, "n2": 1200.0})

    assert [0.0, 1500.0, None, None] == [
        clocks.between(*pair) for pair in (("n9", "n9"), ("n1", "n2"), ("n1", "n9"), ("n9", "n1"))
    ]
    assert "one clock: n1" == clocks.why("n1", "n1")
    assert "n1 and n2 within 1.5 ms" == clocks.why("n1", "n2")
    assert "unknown: n9 does not say how far its clock is off" == clocks.why("n1", "n9")
