"""Counters that grow: rates between two reads, wraps, restarts, throttle times, what no link can carry."""

from typing import Any

import pytest

from otel_attrib.collector.agent.readings import Layouts

REASON = "hw.gpu.throttle_reasons"


def test_pcie_rate_of_wide_counters(fake: Any, plain_card: Any, told_of: Any) -> None:
    """Bytes since boot divided by the time between two reads, both directions as seen from the card."""
    fake.script(
        "gpus 1",
        *plain_card(),
        "gpu 0 field.197 ull 5000000000000",
        "gpu 0 field.198 ull 9000000000000",
        "gpu 0 grow.field.197 2e9",
        "gpu 0 grow.field.198 30e9",
    )
    source = fake.source()
    source.read()
    fake.at(0.5)
    told = told_of(source.read())

    assert 2e9 == pytest.approx(told["pcie_transmit", "0", ""])
    assert 30e9 == pytest.approx(told["pcie_receive", "0", ""])
    assert 9_000_000_000_000 + 15e9 == told["pcie_bytes_in", "0", ""]


def test_a_32_bit_counter_wraps_once(fake: Any, plain_card: Any, told_of: Any) -> None:
    """A wrap between two reads is added back, and the total goes on across it."""
    fake.script(
        "gpus 1",
        *plain_card(),
        "gpu 0 field.198 uint 4294967000",
        "gpu 0 field.197 uint 0",
        "at 0.05",
        "gpu 0 field.198 uint 704",
        "gpu 0 field.197 uint 50",
    )
    source = fake.source()
    source.read()
    fake.at(0.05)
    told = told_of(source.read())

    assert 1000 / 0.05 == pytest.approx(told["pcie_receive", "0", ""])
    assert (1000.0, 50.0) == (told["pcie_bytes_in", "0", ""], told["pcie_bytes_out", "0", ""])


def test_a_32_bit_counter_that_may_have_wrapped_twice_says_nothing(
    fake: Any, plain_card: Any, told_of: Any
) -> None:
    """At 63 GB/s (5.0 × 16) 32 bits wrap every 68 ms: a read half a second later knows nothing."""
    fake.script(
        "gpus 1",
        *plain_card(),
        "gpu 0 field.198 uint 100",
        "gpu 0 field.197 uint 100",
        "at 0.5",
        "gpu 0 field.198 uint 900",
    )
    source = fake.source()
    source.read()
    fake.at(0.5)
    told = told_of(source.read())

    assert set() == {key for key, _, _ in told} & {
        "pcie_receive",
        "pcie_transmit",
        "pcie_bytes_in",
        "pcie_bytes_out",
    }


def test_gpm_tells_the_pcie_rate_where_the_counters_have_32_bits(
    fake: Any, plain_card: Any, told_of: Any
) -> None:
    """MiB/s between two samples, instead of a counter that wraps too fast."""
    fake.script(
        "gpus 1",
        *plain_card(gpm="1"),
        "gpu 0 field.198 uint 1",
        "gpu 0 field.197 uint 1",
        "gpu 0 gpm.20 100",
        "gpu 0 gpm.21 40000",
    )
    source = fake.source()
    source.read()
    fake.at(0.5)
    told = told_of(source.read())

    assert (100 * 1048576, 40000 * 1048576) == (told["pcie_transmit", "0", ""], told["pcie_receive", "0", ""])


def test_a_wide_counter_that_falls_was_restarted(fake: Any, plain_card: Any, told_of: Any) -> None:
    """A driver that was reloaded starts at zero: no rate for that time, the right one after."""
    fake.script(
        "gpus 1",
        *plain_card(),
        "gpu 0 field.198 ull 1000000",
        "gpu 0 field.197 ull 1000000",
        "at 1",
        "gpu 0 field.198 ull 10",
        "at 2",
        "gpu 0 field.198 ull 5010",
    )
    source = fake.source()
    source.read()
    fake.at(1)
    after = told_of(source.read())
    fake.at(2)
    later = told_of(source.read())

    assert ("pcie_receive", "0", "") not in after
    assert 5000.0 == later["pcie_receive", "0", ""]


def test_a_rate_that_no_link_can_carry_is_refused(
    fake: Any, plain_card: Any, told_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """An idle card was seen saying 209,713 MB/s over PCIe 4.0 × 16, which carries 31,508."""
    fake.script(
        "gpus 1",
        *plain_card(pcie_gen="4", pcie_gen_max="4"),
        "gpu 0 pcie_kb_s.0 209713000",
        "gpu 0 pcie_kb_s.1 31000000",
    )
    _, refused = Layouts().taken(readings := fake.source().read())

    assert [("pcie_transmit", "0", 209_713e6)] == [(s.counter.key, s.device, v) for s, v in refused]
    assert ("pcie_transmit", "0", "") not in told_of(readings)
    assert 31e9 == told_of(readings)["pcie_receive", "0", ""]


def test_throttle_times_give_the_share_of_the_time(fake: Any, plain_card: Any, told_of: Any) -> None:
    """Nanoseconds by reason; the share is that of the longest reason, as reasons overlap."""
    fake.script(
        "gpus 1",
        *plain_card(),
        "gpu 0 field.74 ull 3000000000",
        "gpu 0 field.269 ull 0",
        "gpu 0 grow.field.74 4e8",
        "gpu 0 grow.field.269 1e8",
    )
    source = fake.source()
    first = told_of(source.read())
    fake.at(2)
    told = told_of(source.read())

    assert ("gpu_throttled", "0", "") not in first
    assert 0.4 == pytest.approx(told["gpu_throttled", "0", ""])
    assert 3.8 == pytest.approx(told["gpu_throttle_time", "0", f"{REASON}=sw_power_cap"])
    assert 0.2 == pytest.approx(told["gpu_throttle_time", "0", f"{REASON}=sw_thermal_slowdown"])


def test_throttle_times_under_their_older_numbers(fake: Any, plain_card: Any, told_of: Any) -> None:
    """Before R580 the times are fields 251 to 253, and 269 to 271 have 32 bits and mean something else."""
    fake.script(
        "gpus 1",
        *plain_card(),
        "gpu 0 field.74 ull 0",
        "gpu 0 field.251 ull 7000000000",
        "gpu 0 field.252 ull 0",
        "gpu 0 field.269 uint 50",
        "gpu 0 field.75 ull 9000000000",
    )
    told = told_of(fake.source().read())
    times = {
        more.removeprefix(f"{REASON}="): value
        for (key, _, more), value in told.items()
        if key == "gpu_throttle_time"
    }

    assert {"sw_power_cap": 0.0, "sw_thermal_slowdown": 7.0, "hw_thermal_slowdown": 0.0} == times


@pytest.mark.parametrize(
    ("bits", "share"),
    [(0x0, 0.0), (0x1, 0.0), (0x2, 0.0), (0x4, 1.0), (0x8, 1.0), (0x21, 1.0), (0x80, 1.0), (0x100, 0.0)],
)
def test_without_counters_the_bits_are_sampled(
    fake: Any, plain_card: Any, told_of: Any, bits: int, share: float
) -> None:
    """Idle, application clocks and display clocks hold nothing down; power, heat and brake do."""
    fake.script("gpus 1", *plain_card(reasons=str(bits)))

    assert share == told_of(fake.source().read())["gpu_throttled", "0", ""]


def test_value_types_of_fields(fake: Any, plain_card: Any, told_of: Any) -> None:
    """The union's other bytes are rubbish and are not read; a signed temperature below zero stays so."""
    fake.script(
        "gpus 1",
        *plain_card(),
        "gpu 0 field.82 int -7",
        "gpu 0 field.186 double 123456.5",
        "gpu 0 field.94 ushort 41",
    )
    told = told_of(fake.source().read())

    assert (-7.0, 123.4565, 41.0) == (
        told["gpu_memory_temperature", "0", ""],
        told["gpu_power", "0", ""],
        told["pcie_replays", "0", ""],
    )


def test_a_field_that_fails_once_is_missing_once(fake: Any, plain_card: Any, told_of: Any) -> None:
    """An error of one field (no data yet) leaves out that one reading."""
    fake.script(
        "gpus 1",
        *plain_card(),
        "gpu 0 field.82 uint 50",
        "gpu 0 field.186 uint 70000",
        "at 1",
        "gpu 0 field.82 fails 21",
        "at 2",
        "gpu 0 field.82 uint 51",
    )
    source = fake.source()
    seen = []
    for second in (0, 1, 2):
        fake.at(second)
        told = told_of(source.read())
        seen.append((told.get(("gpu_memory_temperature", "0", "")), told["gpu_power", "0", ""]))

    assert [(50.0, 70.0), (None, 70.0), (51.0, 70.0)] == seen


def test_a_call_that_fails_once_is_missing_once(fake: Any, plain_card: Any, told_of: Any) -> None:
    """The same of a plain call."""
    fake.script("gpus 1", *plain_card(), "at 1", "gpu 0 fail.clock.1 999", "at 2", "gpu 0 fail.clock.1 0")
    source = fake.source()
    seen = []
    for second in (0, 1, 2):
        fake.at(second)
        seen.append(told_of(source.read()).get(("gpu_clock", "0", "")))

    assert [1980.0, None, 1980.0] == seen


def test_the_slow_pcie_call_is_never_made_where_there_is_another_way(
    fake: Any, plain_card: Any, told_of: Any
) -> None:
    """`nvmlDeviceGetPcieThroughput` takes 20 ms: with byte counters it would tell 1 KB/s here."""
    fake.script(
        "gpus 1",
        *plain_card(),
        "gpu 0 field.197 ull 0",
        "gpu 0 field.198 ull 0",
        "gpu 0 pcie_kb_s.0 1",
        "gpu 0 pcie_kb_s.1 1",
    )
    source = fake.source()
    source.read()
    fake.at(1)

    assert 0.0 == told_of(source.read())["pcie_transmit", "0", ""]


def test_each_kind_has_its_own_rate(fake: Any, plain_card: Any, told_of: Any) -> None:
    """The clock at every read, levels and errors once a second, limits every ten seconds."""
    fake.script("gpus 1", *plain_card(), "gpu 0 field.94 uint 0")
    source = fake.source(secondly_s=1.0, slow_s=10.0)
    seen = {"gpu_clock": 0, "gpu_temperature": 0, "pcie_replays": 0, "gpu_power_limit": 0}
    for tenth in range(300):
        fake.at(tenth / 10)
        for key, _, _ in told_of(source.read()):
            if key in seen:
                seen[key] += 1

    assert {"gpu_clock": 300, "gpu_temperature": 30, "pcie_replays": 30, "gpu_power_limit": 3} == seen
