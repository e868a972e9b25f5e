"""The comparison of a run's two sides can fail, in each of its ways."""

from typing import Any

import pytest

from otel_attrib.demo.checks import Checks, check, quantile
from otel_attrib.demo.client import Exchange
from otel_attrib.demo.replay import Outcome


def outcome(trace_id: str, ttft_us: int) -> Outcome:
    """A streamed request whose client waited that long."""
    seen = Exchange(sent_ns=0, http_status=200, events_ns=[ttft_us * 1000])
    return Outcome("baseline", 0, "stream", "ide", trace_id, "", seen)


def row(trace_id: str, ttft_us: float, **stages: float) -> dict[str, Any]:
    """A request row; stages that are not named are not observed."""
    names = ("ingress", "tokenize", "queue", "kv_init", "prefill", "sample", "egress", "outside")
    return {"trace_id": trace_id, "ttft_us": ttft_us} | {f"{name}_us": stages.get(name) for name in names}


GOOD = row("a", 900, queue=400, prefill=500)


def test_what_agrees() -> None:
    """One request on both sides, stages in full, 100 µs on the way: nothing to complain of."""
    found = check([outcome("a", 1000)], [GOOD])

    assert Checks(1, 1, 1, 0.0, 0, 0.1, 0.1) == found
    assert [] == found.complaints


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([], "1 requests were sent, 0 recorded"),
        ([GOOD, row("b", 1, queue=1)], "1 requests were sent, 2 recorded"),
        ([row("b", 900, queue=900)], "0 matched"),
        ([row("a", 900, queue=400)], "miss its TTFT by 55.6%"),
        ([row("a", 1001, queue=1001)], "1 requests have a server TTFT above"),
    ],
    ids=["missing", "one too many", "another's", "stages short", "server later"],
)
def test_what_does_not(rows: list[dict[str, Any]], complaint: str) -> None:
    """Each way to disagree is named."""
    assert complaint in " ".join(check([outcome("a", 1000)], rows).complaints)


def test_quantile() -> None:
    """The 99th of a hundred values, counted from nought, is the largest."""
    assert 0.1 == quantile([float(n) for n in range(1, 101)], 0.99)
    assert quantile([], 0.5) is None
