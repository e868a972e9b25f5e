"""What pages mean: hand-read values of recorded ones, and of texts with every declared shape."""

from collections.abc import Iterable
from itertools import pairwise

import pytest

from otel_attrib.collector.agent.source import Reading
from otel_attrib.collector.sources.claims import claim, release
from otel_attrib.collector.sources.scrape.mapping import KINDS, mapping
from otel_attrib.collector.sources.scrape.page import LATE_S, Page, recognised

from .conftest import page

NOW = 1_790_000_000.0
Told = dict[tuple[str, ...], float]


def told(readings: Iterable[Reading]) -> Told:
    """Key, device and the values of the attributes → value."""
    found = [
        ((series.counter.key, series.device, *(value for _, value in series.attributes)), value)
        for series, value in readings
    ]
    assert len(found) == len(dict(found))
    return dict(found)


def read(name: str, kind: str = "", now: float = NOW) -> Told:
    """A page read once."""
    text = page(name)
    return told(Page([mapping(kind)] if kind else recognised(text, map(mapping, KINDS))).readings(text, now))


def test_a_vllm_server() -> None:
    """The numbers of the page, prompt tokens without those found cached."""
    one = ("", "tiny", "0")

    assert {
        ("engine_running", *one): 0,
        ("engine_waiting", *one): 0,
        ("engine_kv_usage", *one): 0,
        ("engine_preemptions", *one): 0,
        ("engine_prompt_tokens", *one): 6901,
        ("engine_output_tokens", *one): 877,
        ("engine_cache_hits", *one): 384,
    } == read("vllm")
    assert 1 == read("vllm_preempt")["engine_preemptions", *one]


def test_an_sglang_server() -> None:
    """The numbers of the page; a page of an older server gives what it has."""
    assert {
        ("engine_running", "", "tiny"): 0,
        ("engine_waiting", "", "tiny"): 0,
        ("engine_kv_usage", "", "tiny"): 0.0001220703125,
        ("engine_prompt_tokens", "", "tiny"): 6694,
        ("engine_output_tokens", "", "tiny"): 891,
        ("engine_cache_hits", "", "tiny"): 636,
    } == read("sglang")
    assert 8 == read("sglang_llama31_8b")["engine_output_tokens", "", "meta-llama/Llama-3.1-8B-Instruct"]


def test_ranks_that_serve_the_same_requests_count_once() -> None:
    """Of tensor ranks the first counts, data-parallel ranks are two series."""
    line = 'sglang:num_running_reqs{{model_name="m",tp_rank="{}",dp_rank="{}"}} {}\n'
    text = line.format(0, 0, 3) + line.format(1, 0, 3) + line.format(0, 1, 5) + line.format(1, 1, 5)

    assert {("engine_running", "", "m", "0"): 3, ("engine_running", "", "m", "1"): 5} == told(
        Page([mapping("sglang")]).readings(text, NOW)
    )


def test_triton_with_and_without_tensorrt_llm() -> None:
    """Pending requests of the server, and those that the batch manager holds back beside them."""
    assert {("engine_waiting", "", "stream"): 0} == read("triton")
    assert {
        ("engine_waiting", "", "tensorrt_llm"): 1,
        ("engine_running", "", "tensorrt_llm"): 1,
        ("engine_kv_usage", "", "tensorrt_llm"): 0.4875,
    } == read("triton_trtllm")


def test_tgi_counts_tokens_in_histograms() -> None:
    """Sums of the two histograms, and the two gauges."""
    assert {
        ("engine_waiting", ""): 7,
        ("engine_running", ""): 4,
        ("engine_prompt_tokens", ""): 5120,
        ("engine_output_tokens", ""): 8123,
    } == read("tgi")


def test_a_card_of_dcgm() -> None:
    """Units are the registry's: J of mJ, shares of percents, bytes of MiB, seconds of ns."""
    card = {key: value for key, value in read("dcgm").items() if key[1] == "0"}
    held = {"sw_power_cap": 1.0, "sw_thermal_slowdown": 1.0}
    reasons = ("hw_slowdown", "sync_boost", "hw_thermal_slowdown", "hw_power_brake_slowdown", *held)
    throttled: dict[tuple[str, ...], object] = {
        ("gpu_throttled", "0", reason): held.get(reason, 0.0) for reason in reasons
    }
    expected: dict[tuple[str, ...], object] = {
        ("gpu_clock", "0"): 1980,
        ("memory_clock", "0"): 2619,
        ("gpu_temperature", "0"): 52,
        ("gpu_memory_temperature", "0"): 58,
        ("gpu_power", "0"): 412.527,
        ("gpu_energy", "0"): pytest.approx(123456.789),
        ("gpu_utilization", "0"): 0.97,
        ("memory_controller", "0"): pytest.approx(0.41),
        ("gpu_memory_used", "0"): 71000 * 1048576,
        ("graphics_activity", "0"): 0.912345,
        ("sm_activity", "0"): 0.83,
        ("sm_occupancy", "0"): 0.41,
        ("tensor_activity", "0"): 0.33,
        ("dram_activity", "0"): 0.57,
        ("pcie_transmit", "0"): 1234567890,
        ("pcie_receive", "0"): 987654321,
        ("pcie_replays", "0"): 3,
        ("nvlink_crc", "0"): 5,
        ("gpu_throttle_time", "0", "sw_power_cap"): pytest.approx(12.5),
        ("gpu_throttle_time", "0", "thermal"): pytest.approx(0.25),
        **throttled,
        ("gpu_clock_reasons", "0"): 0x24,
        ("ecc_errors", "0"): 1,
        ("remapped_rows", "0"): 2,
        ("last_xid", "0"): 31,
        ("xid", "0"): 3,
    }
    assert expected == card


def test_what_dcgm_cannot_read_is_absent() -> None:
    """Blank values of all three widths and an XID that never came are left out, noughts are not."""
    found = read("dcgm")

    for key in ("gpu_memory_temperature", "dram_activity", "gpu_energy", "last_xid", "xid"):
        assert (key, "1") not in found
    assert 0 == found["sm_activity", "1"] == found["gpu_utilization", "1"]
    assert {"0", "1"} == {key[1] for key in found}


def test_mig_instances_and_cards_that_pods_share() -> None:
    """An instance is `card:instance`; the copies of a shared card are one reading, not their sum."""
    assert {
        ("gpu_memory_used", "0:7"): 9000 * 1048576,
        ("gpu_memory_used", "0:8"): 4000 * 1048576,
        ("sm_activity", "0:7"): 0.5,
        ("sm_activity", "0:8"): 0.25,
        ("gpu_utilization", "1"): 0.64,
    } == read("dcgm_shared")


def test_a_card_of_amd() -> None:
    """The slowest compute die is the clock, links keep their bytes, µJ become J; a prefix changes nothing."""
    card = {key: value for key, value in read("amd").items() if key[1] == "0"}
    with_prefix = page("amd").replace("\ngpu_", "\namd_gpu_").replace("\npcie_", "\namd_pcie_")

    assert {
        ("gpu_power", "0"): 748,
        ("gpu_energy", "0"): pytest.approx(140000),
        ("gpu_memory_used", "0"): 183265 * 1048576,
        ("gpu_memory_limit", "0"): 196592 * 1048576,
        ("gpu_temperature", "0"): 76,
        ("gpu_memory_temperature", "0"): 62,
        ("gpu_utilization", "0"): 0.99,
        ("memory_controller", "0"): 0.63,
        ("sm_activity", "0"): pytest.approx(0.715),
        ("gpu_clock", "0"): 1533,
        ("memory_clock", "0"): 1292,
        ("nvlink_bytes_in", "0", "0"): 1000 * 1024,
        ("nvlink_bytes_in", "0", "1"): 2000 * 1024,
        ("ecc_errors", "0"): 1,
        ("remapped_rows", "0"): 4,
        ("pcie_replays", "0"): 2,
        ("gpu_status", "0", "ok"): 1,
        ("gpu_status", "0", "failed"): 0,
        ("gpu_throttled", "0", "ppt"): 0.25,
        ("gpu_throttled", "0", "socket_thermal"): 0.05,
    } == card
    assert read("amd") == told(Page([mapping("amd")]).readings(with_prefix, NOW))


def test_a_card_of_ascend() -> None:
    """HBM stands for the memory of a card that has it; a process without a pid is none."""
    found = read("ascend")
    card = {key: value for key, value in found.items() if key[1] == "0"}

    assert {
        ("gpu_clock", "0"): 1800,
        ("gpu_power", "0"): 312.5,
        ("gpu_temperature", "0"): 61,
        ("gpu_utilization", "0"): 0.87,
        ("dram_activity", "0"): 0.4,
        ("gpu_memory_used", "0"): 58000 * 1048576,
        ("gpu_memory_limit", "0"): 65536 * 1048576,
        ("nvlink_receive", "0"): 1200.5e6,
        ("nvlink_transmit", "0"): 900.25e6,
        ("ecc_errors", "0"): 1,
        ("remapped_rows", "0"): 7,
        ("gpu_status", "0", "ok"): 1,
        ("gpu_status", "0", "failed"): 0,
        ("process_gpu_memory", "0", "4711"): 57000 * 1048576,
    } == card
    assert 1 == found["gpu_status", "1", "failed"]


def test_a_chip_of_tpu() -> None:
    """The last number of the accelerator's id is the chip; percents are shares."""
    assert {
        ("gpu_utilization", "0"): 0.2,
        ("gpu_utilization", "1"): 0.4,
        ("dram_activity", "0"): 0.11,
        ("dram_activity", "1"): 0.12,
        ("tensor_activity", "0"): 0.22,
        ("tensor_activity", "1"): 0.23,
        ("gpu_memory_used", "0"): 1000,
        ("gpu_memory_used", "1"): 2000,
        ("gpu_memory_limit", "0"): 4000,
        ("gpu_memory_limit", "1"): 4000,
    } == read("tpu")


def test_an_old_timestamp_is_no_reading_of_now() -> None:
    """A sample with a timestamp is given while it is fresh, once, and counted as late afterwards."""
    rules, text = Page([mapping("ascend")]), page("ascend")
    first = told(rules.readings(text, NOW + 5))

    assert first == read("ascend")
    assert [] == rules.readings(text, NOW + 6)
    assert 0 == rules.late
    assert [] == rules.readings(text, NOW + LATE_S + 1)
    assert text.count(" 1790000000000\n") == rules.late
    newer = text.replace(" 1790000000000\n", " 1790000005000\n")
    assert first == told(rules.readings(newer, NOW + 6))


def test_timestamps_in_another_unit_are_not_believed() -> None:
    """The exporter's own test page writes seconds where the format has milliseconds: nothing of it is now."""
    assert {} == read("ascend_mock")
    at_that_time = read("ascend_mock", now=1606402.0)
    assert [0.0] * 8 == [at_that_time["gpu_power", str(card)] for card in range(8)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_recognised_as_one_kind(kind: str) -> None:
    """The pages of one exporter are its own and no other's."""
    from .test_mapping import PAGES

    for name in PAGES[kind]:
        assert [kind] == [each.kind for each in recognised(page(name), map(mapping, KINDS))]


def test_series_are_made_once() -> None:
    """Reading after reading has the same objects in the same order."""
    rules, text = Page([mapping("dcgm")]), page("dcgm")
    reads = [[series for series, _ in rules.readings(text, NOW)] for _ in range(3)]

    for one, other in pairwise(reads):
        assert all(a is b for a, b in zip(one, other, strict=True))


def test_what_nothing_declares_is_counted() -> None:
    """Declared and undeclared samples are all samples of the page."""
    text, rules = page("vllm"), Page([mapping("vllm")])
    rules.readings(text, NOW)
    declared = sum(line.partition("{")[0] in mapping("vllm").metrics for line in text.splitlines())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]

    assert len(lines) - declared == rules.unknown


def test_a_better_source_wins() -> None:
    """A card's counter that NVML gives is left out and counted, the others of the card are not."""
    rules, text = Page([mapping("dcgm")]), page("dcgm")
    before = told(rules.readings(text, NOW))
    claim("gpu_clock")
    try:
        during = told(rules.readings(text, NOW))
        yielded = rules.yielded
    finally:
        release("gpu_clock")

    assert {("gpu_clock", "0"), ("gpu_clock", "1")} == before.keys() - during.keys()
    assert 2 == yielded
    assert before == told(rules.readings(text, NOW))


@pytest.mark.parametrize("word", ["NaN", "+Inf", "-Inf"])
def test_no_number_is_no_reading(word: str) -> None:
    """Levels and bit masks alike are absent where the page has no finite number."""
    text = "".join(
        f'{name}{{gpu="0"}} {word}\n' for name in ("DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS")
    )

    assert [] == Page([mapping("dcgm")]).readings(text, NOW)


def test_a_page_whose_labels_never_end_takes_no_more_memory() -> None:
    """What is known of samples is forgotten beyond a bound: labels new at every read grow nothing."""
    rules = Page([mapping("dcgm")])
    for read in range(3):
        pods = range(read * 15_000, (read + 1) * 15_000)
        text = "".join(f'DCGM_FI_DEV_SM_CLOCK{{gpu="0",pod="{pod}"}} 7\n' for pod in pods)
        assert {("gpu_clock", "0"): 7} == told(rules.readings(text, NOW))

    assert 15_000 == len(rules._takes)
