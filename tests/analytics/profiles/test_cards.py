"""Cards by what a profile says of its device; their figures against the other table of the repository."""

import pytest

from otel_attrib.analytics.profiles.cards import card_named, card_of, cards
from otel_attrib.analytics.profiles.timeline import UNKNOWN, Device
from otel_attrib.errors import UsageError
from otel_attrib.fleet.cards import card_named as fleet_card

GIB = 1 << 30


@pytest.mark.parametrize(
    ("device", "key"),
    [
        (Device(0, "NVIDIA H100 80GB HBM3", 132, 85_029_158_912, "9.0"), "h100_sxm"),
        (Device(0, "NVIDIA A100-PG509-200", 108, 42_297_524_224, "8.0"), "a100_sxm_40gb"),
        (Device(0, "", 304, 206_141_652_992, "9.4"), "mi300x"),
        (Device(0, "", 304, 256 * GIB, "9.4"), None),
        (Device(0, "NVIDIA H100 of tomorrow", 132, 85_029_158_912, "9.0"), None),
        (Device(0, "", UNKNOWN, UNKNOWN, ""), None),
    ],
    ids=["by name", "another name", "by its make", "another memory", "a name that is none", "nothing said"],
)
def test_card_of_device(device: Device, key: str | None) -> None:
    """The names and makes are those of real traces; what is not certain is no card."""
    card = card_of(device)

    assert key == (card.key if card else None)


@pytest.mark.parametrize("key", ["a100_sxm", "h100_sxm", "h200_sxm", "l40s", "rtx_pro_6000"])
def test_same_figures_as_the_model_fleet(key: str) -> None:
    """Both tables of the repository come from the same published figures."""
    card, other = card_named(key), fleet_card(key)

    assert other.flops == card.peaks["bf16"]
    assert other.memory_bandwidth == card.memory_bandwidth
    assert other.generation == card.host_link.generation
    assert other.pcie_bandwidth == pytest.approx(card.host_link.bytes_per_second, rel=0.02)
    if other.nvlinks:
        assert other.nvlinks == card.peer_link.width
        assert other.nvlink_bandwidth == card.peer_link.bytes_per_second


def test_names_are_of_one_card() -> None:
    """No name of a driver stands at two cards."""
    names = [name for card in cards().values() for name in card.names]

    assert len(set(names)) == len(names)


def test_named() -> None:
    """A card is found by key or by the driver's name, and what is none is answered with the keys."""
    assert card_named("h200_sxm") is card_named("nvidia h200")
    with pytest.raises(UsageError, match="choose one of v100_sxm"):
        card_named("abacus")
