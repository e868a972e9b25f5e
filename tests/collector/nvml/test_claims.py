"""What NVML gives, no exporter gives beside it."""

from typing import Any

import pytest

from otel_attrib.collector.sources.claims import claimed


def test_the_counters_of_its_cards_are_claimed_while_it_is_open(fake: Any, plain_card: Any) -> None:
    """From the first read to the end; what its cards lack is left to an exporter."""
    fake.script("gpus 1", *plain_card())
    source = fake.source()
    before = claimed("gpu_clock")
    keys = {series.counter.key for series, _ in source.read()}
    during = {key: claimed(key) for key in (*keys, "nvlink_crc")}
    source.close()

    assert "gpu_clock" in keys
    assert "nvlink_crc" not in keys
    assert not before
    assert {**dict.fromkeys(keys, True), "nvlink_crc": False} == during
    assert not any(map(claimed, keys))


@pytest.mark.parametrize("reads", [1, 3])
def test_a_claim_is_made_once(fake: Any, plain_card: Any, reads: int) -> None:
    """However often it is read, one end gives everything back; ending twice gives back no more."""
    fake.script("gpus 1", *plain_card())
    source = fake.source()
    for second in range(reads):
        fake.at(float(second))
        source.read()
    source.close()
    other = fake.source()
    other.read()

    assert claimed("gpu_clock")
