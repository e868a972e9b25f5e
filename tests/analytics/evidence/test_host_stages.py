"""Stages that wait for sockets tell nothing of the host by themselves."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from otel_attrib.analytics.evidence.layers import cpu


def seen(**ratios: float) -> Any:
    """A view that knows how much slower each stage is at equal work."""
    return cast(Any, SimpleNamespace(work=SimpleNamespace(ratios=ratios)))


@pytest.mark.parametrize(
    ("ratios", "speaks"),
    [
        ({"ingress": 3.0, "decode_egress": 2.0, "egress": 2.0, "tokenize": 1.0}, False),
        ({"ingress": 3.0, "tokenize": 2.0}, True),
        ({"decode_batch_wait": 2.0, "decode_egress": 2.0}, True),
        ({"tokenize": 3.0, "ingress": 1.0}, False),
    ],
    ids=["lost packets", "busy host", "busy engine host", "tokenizer alone"],
)
def test_one_slow_stage_must_be_the_hosts_alone(ratios: dict[str, float], speaks: bool) -> None:
    """Reading and writing slow down together on a bad line too; with tokenising it is the host."""
    found = cpu._host_stages(seen(**ratios))

    assert found is not None
    assert speaks is (found.strength > 0)
