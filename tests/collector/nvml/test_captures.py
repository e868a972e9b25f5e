"""Cards as `nvidia-smi` recorded them: what is read through NVIDIA's bindings is what the capture says.

Expected values are copied by hand from the captures, in the counter's unit.
"""

from collections.abc import Callable
from typing import Any

import pytest

MIB = 1048576
THROTTLE = "hw.gpu.throttle_reasons"

H100_IDLE = {
    ("gpu_utilization", "0", ""): 0.0,
    ("memory_controller", "0", ""): 0.0,
    ("gpu_memory_limit", "0", ""): 81559 * MIB,
    ("gpu_memory_used", "0", ""): 0.0,
    ("gpu_clock", "0", ""): 345.0,
    ("memory_clock", "0", ""): 2619.0,
    ("gpu_clock_max", "0", ""): 1980.0,
    ("gpu_temperature", "0", ""): 41.0,
    ("gpu_memory_temperature", "0", ""): 48.0,
    ("gpu_power", "0", ""): 69.62,
    ("gpu_power_limit", "0", ""): 700.0,
    ("pcie_generation", "0", ""): 5.0,
    ("pcie_generation_max", "0", ""): 5.0,
    ("pcie_width", "0", ""): 16.0,
    ("pcie_width_max", "0", ""): 16.0,
    ("pcie_replays", "0", ""): 9.0,
    ("gpu_clock_reasons", "0", ""): 1.0,
    ("gpu_throttle_time", "0", f"{THROTTLE}=sw_power_cap"): 0.0,
    ("gpu_throttle_time", "0", f"{THROTTLE}=hw_thermal_slowdown"): 0.0,
    ("ecc_errors", "0", ""): 0.0,
    ("remapped_rows", "0", ""): 0.0,
    ("rows_remapped", "0", ""): 0.0,
    ("rows_remapped_uncorrectable", "0", ""): 0.0,
    ("nvlink_links", "0", ""): 18.0,
    ("nvlink_state", "0", "slatag.link=17"): 1.0,
    ("gpu_status", "0", "hw.state=ok"): 1.0,
    ("gpu_status", "0", "hw.state=failed"): 0.0,
    ("xid", "0", ""): 0.0,
}
H100_LOAD = H100_IDLE | {
    ("gpu_utilization", "0", ""): 1.0,
    ("memory_controller", "0", ""): 0.11,
    ("gpu_memory_used", "0", ""): 19818 * MIB,
    ("gpu_clock", "0", ""): 1980.0,
    ("gpu_temperature", "0", ""): 59.0,
    ("gpu_memory_temperature", "0", ""): 55.0,
    ("gpu_power", "0", ""): 588.39,
    ("gpu_clock_reasons", "0", ""): 0.0,
    ("process_gpu_memory", "0", "process.pid=11345"): 15690 * MIB,
    ("process_gpu_memory", "0", "process.pid=11328"): 1542 * MIB,
    ("process_gpu_utilization", "0", "process.pid=11345"): 0.99,
}
L40S_LOAD = {
    ("gpu_utilization", "0", ""): 0.09,
    ("gpu_memory_limit", "0", ""): 46068 * MIB,
    ("gpu_memory_used", "0", ""): 1235 * MIB,
    ("gpu_clock", "0", ""): 2520.0,
    ("memory_clock", "0", ""): 9001.0,
    ("gpu_power", "0", ""): 110.01,
    ("gpu_power_limit", "0", ""): 350.0,
    ("pcie_generation", "0", ""): 4.0,
    ("pcie_transmit", "0", ""): 259_423e3,
    ("pcie_receive", "0", ""): 2_012_109e3,
    ("gpu_throttle_time", "0", f"{THROTTLE}=sw_power_cap"): 204.642816,
    ("ecc_errors", "0", ""): 0.0,
}
RTX_LOAD = {
    ("gpu_utilization", "0", ""): 0.07,
    ("gpu_clock", "0", ""): 2805.0,
    ("gpu_clock_max", "0", ""): 3165.0,
    ("memory_clock", "0", ""): 11251.0,
    ("gpu_temperature", "0", ""): 45.0,
    ("gpu_power", "0", ""): 86.41,
    ("gpu_power_limit", "0", ""): 320.0,
    ("process_gpu_memory", "0", "process.pid=5022"): 503 * MIB,
    ("process_gpu_utilization", "0", "process.pid=5022"): 0.05,
}
A100 = {
    ("gpu_memory_limit", "0", ""): 81920 * MIB,
    ("gpu_memory_used", "0", ""): 50 * MIB,
    ("gpu_memory_limit", "0:3", ""): 19968 * MIB,
    ("gpu_memory_used", "0:6", ""): 12 * MIB,
    ("gpu_clock", "0", ""): 1275.0,
    ("gpu_clock_max", "0", ""): 1410.0,
    ("memory_clock", "0", ""): 1593.0,
    ("gpu_temperature", "0", ""): 27.0,
    ("gpu_memory_temperature", "0", ""): 44.0,
    ("gpu_power", "0", ""): 67.03,
    ("gpu_power_limit", "0", ""): 500.0,
    ("pcie_generation", "0", ""): 4.0,
    ("pcie_width", "0", ""): 16.0,
    ("pcie_transmit", "0", ""): 4e6,
    ("pcie_receive", "0", ""): 0.0,
    ("gpu_throttled", "0", ""): 0.0,
}


@pytest.mark.parametrize(
    ("name", "moment", "expected"),
    [
        pytest.param("h100", "idle", H100_IDLE, id="h100-idle"),
        pytest.param("h100", "load", H100_LOAD, id="h100-load"),
        pytest.param("l40s", "load", L40S_LOAD, id="l40s-load"),
        pytest.param("rtx-4080", "load", RTX_LOAD, id="rtx-4080-super-load"),
        pytest.param("a100", "", A100, id="a100-mig"),
    ],
)
def test_readings_are_what_the_capture_says(
    from_capture: Any, told_of: Any, name: str, moment: str, expected: dict[Any, float]
) -> None:
    """Every value named here is read exactly, in the unit of its counter."""
    told = told_of(from_capture(name, moment).read())

    assert expected == {key: pytest.approx(told.get(key), rel=1e-12) for key in expected}


@pytest.mark.parametrize(
    ("name", "moment", "absent"),
    [
        (
            "l40s",
            "load",
            {"gpu_memory_temperature", "nvlink_links", "nvlink_state", "sm_activity", "gpu_energy"},
        ),
        ("rtx-4080", "load", {"ecc_errors", "remapped_rows", "rows_remapped", "gpu_memory_temperature"}),
        ("a100", "", {"gpu_utilization", "memory_controller", "gpu_throttle_time", "sm_activity"}),
        ("h100", "idle", {"process_gpu_memory", "sm_activity", "pcie_bytes_in", "last_xid"}),
    ],
)
def test_what_a_card_lacks_is_absent(
    from_capture: Any, told_of: Any, name: str, moment: str, absent: set[str]
) -> None:
    """N/A in the capture, or not in it at all, is no reading: least of all zero."""
    told = told_of(from_capture(name, moment).read())

    assert set() == absent & {key for key, _, _ in told}


def test_mig_instances_have_their_own_memory(from_capture: Any, told_of: Any) -> None:
    """An A100 in four MIG instances shows each under card:instance."""
    told = told_of(from_capture("a100", "").read())

    assert ["0", "0:3", "0:4", "0:5", "0:6"] == sorted({d for key, d, _ in told if key == "gpu_memory_used"})


def test_instances_are_told_by_uuid(from_capture: Any, fake: Callable[..., Any]) -> None:
    """The UUID of card and instance, which CUDA_VISIBLE_DEVICES may name, stands beside the slow series."""
    readings = from_capture("a100", "").read()
    named = {
        s.device: dict(s.attributes)["slatag.gpu.uuid"]
        for s, _ in readings
        if s.counter.key == "gpu_memory_limit"
    }

    assert {"0": "GPU-513536b6-7d19-9063-b049-1e69664bb298", "0:4": "MIG-1"} == {
        k: named[k] for k in ("0", "0:4")
    }
