"""GPM: shares between two samples, cumulative cycles, the 100 ms between samples, MIG."""

from typing import Any

import pytest


def busy(active: float = 0.6, told: float | None = None) -> list[str]:
    """A card whose SMs have a warp in `active` of 1e9 cycles a second."""
    percent = active * 100 if told is None else told
    return [
        "gpu 0 gpm 1",
        "gpu 0 gpm.1 95",
        f"gpu 0 gpm.2 {percent}",
        "gpu 0 gpm.3 25",
        "gpu 0 gpm.5 40",
        "gpu 0 gpm.10 70",
        "gpu 0 gpm.248 5e12",
        "gpu 0 gpm.249 1e12",
        "gpu 0 grow.gpm.248 1e9",
        f"gpu 0 grow.gpm.249 {active * 1e9}",
    ]


def test_shares_between_two_samples(fake: Any, plain_card: Any, told_of: Any) -> None:
    """Percentages become shares; SM activity is the growth of active cycles over that of all."""
    fake.script("gpus 1", *plain_card(), *busy())
    source = fake.source()
    source.read()
    for second in (0.5, 1.0):
        fake.at(second)
        told = told_of(source.read())

    assert [0.95, 0.6, 0.25, 0.4, 0.7] == [
        pytest.approx(told[key, "0", ""])
        for key in ("graphics_activity", "sm_activity", "sm_occupancy", "tensor_activity", "dram_activity")
    ]
    assert (5e12 + 1e9, 1e12 + 6e8) == (told["sm_cycles", "0", ""], told["sm_cycles_active", "0", ""])


def test_samples_are_at_least_100_ms_apart(fake: Any, plain_card: Any, told_of: Any) -> None:
    """Read every 30 ms, the card is sampled every 120."""
    fake.script("gpus 1", *plain_card(), *busy())
    source = fake.source()
    seen = 0
    for step in range(41):
        fake.at(step * 0.03)
        seen += ("sm_activity", "0", "") in told_of(source.read())

    assert 10 == seen


def test_cycles_that_contradict_the_percentage_are_not_believed(
    fake: Any, plain_card: Any, told_of: Any
) -> None:
    """A driver that counts its cycles in another unit: the documented percentage holds."""
    fake.script("gpus 1", *plain_card(), *busy(active=0.01, told=55))
    source = fake.source()
    source.read()
    for second in (0.5, 1.0):
        fake.at(second)
        told = told_of(source.read())

    assert 0.55 == pytest.approx(told["sm_activity", "0", ""])


def test_a_driver_without_cycles(fake: Any, plain_card: Any, told_of: Any) -> None:
    """The percentage between two samples, and no cycles."""
    fake.script("gpus 1", *plain_card(), *(line for line in busy() if "gpm.24" not in line))
    source = fake.source()
    source.read()
    fake.at(0.5)
    told = told_of(source.read())

    assert 0.6 == pytest.approx(told["sm_activity", "0", ""])
    assert ("sm_cycles", "0", "") not in told


def test_a_card_without_gpm(fake: Any, plain_card: Any, told_of: Any) -> None:
    """No share at all, rather than zero."""
    fake.script("gpus 1", *plain_card())
    source = fake.source()
    source.read()
    fake.at(1)

    assert set() == {key for key, _, _ in told_of(source.read())} & {
        "sm_activity",
        "sm_occupancy",
        "dram_activity",
    }


def test_each_mig_instance_is_sampled(fake: Any, plain_card: Any, told_of: Any) -> None:
    """The instances' shares stand under card:instance; the whole card gives no sample in this mode."""
    fake.script(
        "gpus 1",
        *plain_card(mig="1"),
        "gpu 0 gpm 1",
        "gpu 0 instance 3 MIG-a",
        "gpu 0 instance 5 MIG-b",
        "gpu 0 gpm.2.3 20",
        "gpu 0 gpm.2.5 80",
    )
    source = fake.source()
    source.read()
    fake.at(1)
    told = told_of(source.read())

    assert {"0:3": 0.2, "0:5": 0.8} == {d: v for (key, d, _), v in told.items() if key == "sm_activity"}
