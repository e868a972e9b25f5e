"""The NVML source on the card of this machine, beside what `nvidia-smi` says at the same time.

Runs as it is wherever there is an NVIDIA driver; elsewhere each test is skipped and says what is missing.
"""

import csv
import io
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest

from otel_attrib.collector.agent.readings import Layouts
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.nvml import Nvml

MIB = 1048576
Told = dict[tuple[str, str, str], float]

EXACT = {
    "memory.total": ("gpu_memory_limit", MIB),
    "pcie.link.gen.max": ("pcie_generation_max", 1.0),
    "pcie.link.width.max": ("pcie_width_max", 1.0),
    "pcie.link.width.current": ("pcie_width", 1.0),
    "clocks.max.sm": ("gpu_clock_max", 1.0),
    "enforced.power.limit": ("gpu_power_limit", 1.0),
    "ecc.errors.corrected.volatile.total": ("remapped_rows", 1.0),
    "ecc.errors.uncorrected.volatile.total": ("ecc_errors", 1.0),
}
"""What does not change from one second to the next: query → key and unit."""

NEAR = {
    "temperature.gpu": ("gpu_temperature", 1.0, 8.0),
    "temperature.memory": ("gpu_memory_temperature", 1.0, 8.0),
    "power.draw.instant": ("gpu_power", 1.0, 150.0),
    "memory.used": ("gpu_memory_used", MIB, 4096.0 * MIB),
}
"""What moves: query → key, unit, and how far the two may be apart."""


@pytest.fixture(scope="module")
def source() -> Iterator[Nvml]:
    """The source as the agent opens it, with every part read at every read."""
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed: pip install 'otel-attrib[gpu]'")
    try:
        found = Nvml(secondly_s=0.0, slow_s=0.0, processes_s=0.0)
    except Unavailable as why:
        pytest.skip(f"no NVIDIA card can be read here: {why}")
    yield found
    found.close()


@pytest.fixture(scope="module")
def told(source: Nvml) -> Told:
    """(key, device, attributes) → value after two reads 300 ms apart."""
    source.read()
    time.sleep(0.3)
    kept, _ = Layouts().taken(source.read())
    out: Told = {}
    for series, value in kept:
        named = dict(series.attributes)
        out[series.counter.key, series.device, named.get("slatag.link", named.get("hw.state", ""))] = value
    return out


@pytest.fixture(scope="module")
def smi() -> dict[str, str]:
    """What `nvidia-smi` says of card 0, as text."""
    if shutil.which("nvidia-smi") is None:
        pytest.skip("nvidia-smi is not installed: nothing to compare with")
    names = [*EXACT, *NEAR]
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    (row,) = csv.reader(io.StringIO(done.stdout), skipinitialspace=True)
    return dict(zip(names, row, strict=True))


def test_what_stands_still_is_equal(told: Told, smi: dict[str, str]) -> None:
    """Limits and counts are what nvidia-smi prints; what it has no value for is absent here too."""
    wanted, found = {}, {}
    for name, (key, unit) in EXACT.items():
        text = smi[name]
        wanted[name] = None if not text.replace(".", "").isdigit() else float(text) * unit
        value = told.get((key, "0", ""))
        # nvidia-smi prints whole MiB and hundredths of a watt.
        found[name] = value if value is None else pytest.approx(value, abs=unit if unit == MIB else 0.01)

    assert wanted == found


@pytest.mark.parametrize("name", NEAR)
def test_what_moves_is_near(told: Told, smi: dict[str, str], name: str) -> None:
    """Levels read within a second of each other lie close, or both are absent."""
    key, unit, apart = NEAR[name]
    text = smi[name]
    if not text.replace(".", "").isdigit():
        assert (key, "0", "") not in told
        return

    assert float(text) * unit == pytest.approx(told[key, "0", ""], abs=apart)


def test_the_card_is_sound(told: Told) -> None:
    """It says that it is ok, or why not; a share is a share."""
    assert 1.0 == sum(told["gpu_status", "0", state] for state in ("ok", "degraded", "failed"))
    for key in (
        "gpu_utilization",
        "sm_activity",
        "sm_occupancy",
        "tensor_activity",
        "dram_activity",
        "gpu_throttled",
    ):
        assert 0.0 <= told.get((key, "0", ""), 0.0) <= 1.0


def test_hopper_has_gpm(source: Nvml, told: Told) -> None:
    """A card that says it has GPM gives its shares, and cycles and percentage agree."""
    if not any(card.gpm for card in source._cards.values()):
        pytest.skip("this card has no GPM: it is older than Hopper, or in MIG mode")

    assert {"sm_activity", "sm_occupancy", "dram_activity"} <= {key for key, _, _ in told}


def test_nothing_is_refused_on_an_idle_second(source: Nvml) -> None:
    """No value of a real card exceeds what its link carries."""
    time.sleep(0.2)

    assert [] == Layouts().taken(source.read())[1]


def test_what_a_read_costs(source: Nvml, capsys: pytest.CaptureFixture[str]) -> None:
    """Time and CPU of 20 reads, printed for the record; one takes less than a second."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(20):
        source.read()
    wall, cpu = (time.perf_counter() - wall) / 20, (time.process_time() - cpu) / 20
    with capsys.disabled():
        print(f"\na read of everything: {wall * 1e3:.2f} ms, of which {cpu * 1e3:.2f} ms CPU")

    assert wall < 1.0
