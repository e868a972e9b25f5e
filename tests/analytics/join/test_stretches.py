"""When the stages of a request were."""

import numpy as np
import pytest

from otel_attrib.analytics.join.stretches import Stretch, stretches_of
from otel_attrib.schema.attributes import STAGES


def row(**changed: object) -> dict[str, object]:
    """A request that arrived at 1 s, with its first token after 60 ms and its last byte after 200 ms."""
    known = {"queue_us": 10_000.0, "prefill_us": 40_000.0, "egress_us": 4_000.0, "outside_us": 6_000.0}
    stages = {f"{stage}_us": None for stage in STAGES} | known
    return {"time_us": 1_000_000, "ttft_us": 60_000.0, "e2e_us": 200_000.0, **stages} | changed


def test_stages_lie_end_to_end() -> None:
    """In the order of STAGES from the arrival, decode after the first token; what was not seen is absent."""
    assert (
        Stretch("request", 1_000_000, 1_200_000),
        Stretch("queue", 1_000_000, 1_010_000, 6_000.0),
        Stretch("prefill", 1_010_000, 1_050_000, 6_000.0),
        Stretch("egress", 1_050_000, 1_054_000, 6_000.0),
        Stretch("outside", 1_054_000, 1_060_000),
        Stretch("decode", 1_060_000, 1_200_000),
    ) == stretches_of(row())


def test_without_a_token() -> None:
    """A request that ended before its first token has the stages it came to and no decode."""
    found = stretches_of(row(ttft_us=None, egress_us=None, outside_us=None))

    assert ["request", "queue", "prefill"] == [stretch.stage for stretch in found]
    assert 200_000 == found[0].length_us


def test_nothing_but_an_arrival() -> None:
    """A stage that took no time has no stretch, and a request without any time none at all."""
    nothing = {f"{stage}_us": 0.0 for stage in STAGES}

    assert () == stretches_of(row(ttft_us=None, e2e_us=None, **nothing))


@pytest.mark.parametrize("seed", range(20))
def test_no_microsecond_is_lost(seed: int) -> None:
    """Stages given in ns telescope: each begins where the one before ended, and decode where they all end."""
    rng = np.random.default_rng(seed)
    us = rng.integers(0, 10**8, len(STAGES)) / 1e3
    stages = {f"{stage}_us": float(part) for stage, part in zip(STAGES, us, strict=True)}
    total = float(np.round(us * 1e3).sum() / 1e3)

    whole, *parts = stretches_of(row(ttft_us=total, e2e_us=total + 5000.0, **stages))

    assert [part.end_us for part in parts[:-1]] == [part.start_us for part in parts[1:]]
    assert (whole.start_us, whole.end_us) == (parts[0].start_us, parts[-1].end_us)
