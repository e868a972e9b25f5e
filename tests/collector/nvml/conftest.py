"""A FAKE NVML (a C library of ours) behind NVIDIA's real bindings; captures of real cards as its state."""

import ctypes
import importlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.agent.readings import Layouts
from otel_attrib.collector.agent.source import Reading
from otel_attrib.collector.sources.nvml import Nvml

NATIVE = Path(__file__).parents[2] / "native/nvml/fake_nvml.c"
CAPTURES = Path(__file__).parents[2] / "fixtures/gpu_telemetry"
GCC = shutil.which("gcc")
MIB = 1048576


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`libnvidia-ml.so.1` of the fake, alone in a folder."""
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed: pip install 'otel-attrib[gpu]'")
    if GCC is None:
        pytest.skip("gcc is not installed: the fake NVML cannot be compiled")
    out = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    command = [
        GCC,
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wno-format-truncation",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
    ]
    subprocess.run([*command, "-o", str(out), str(NATIVE)], check=True)
    return out


@dataclass
class Fake:
    """The fake library: `script` is what its cards do, `at` moves its time and the source's clock."""

    path: Path
    folder: Path
    now: float = 0.0
    open_sources: list[Nvml] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Load it once more: the dynamic linker gives the same copy that the bindings use."""
        self.library = ctypes.CDLL(str(self.path))
        self.library.fake_nvml_set_time.argtypes = [ctypes.c_double]
        self.library.fake_nvml_calls.restype = ctypes.c_ulonglong

    def script(self, *lines: str) -> None:
        """Start over with these lines."""
        file = self.folder / "script"
        file.write_text("\n".join(lines) + "\n")
        assert self.library.fake_nvml_load(str(file).encode()) == 0

    def at(self, seconds: float) -> None:
        """Move to this second."""
        self.now = seconds
        self.library.fake_nvml_set_time(seconds)

    def calls(self) -> int:
        """How many calls the library has answered."""
        return int(self.library.fake_nvml_calls())

    def source(self, **values: Any) -> Nvml:
        """The source over this library; every part of it is read every time."""
        given: dict[str, Any] = {
            "secondly_s": 0.0,
            "slow_s": 0.0,
            "processes_s": 0.0,
            "clock": lambda: self.now,
        } | values
        source = Nvml(str(self.path), **given)
        self.open_sources.append(source)
        return source


@pytest.fixture
def fake(fake_library: Path, tmp_path: Path) -> Iterator[Fake]:
    """The fake NVML at second 0, without a card."""
    bindings: Any = importlib.import_module("pynvml")
    loaded = bindings.nvmlLib
    found = Fake(fake_library, tmp_path)
    found.script("gpus 0")
    yield found
    for source in found.open_sources:
        source.close()
    bindings.nvmlLib = loaded
    bindings._nvmlGetFunctionPointer_cache.clear()


Told = dict[tuple[str, str, str], float]


def told(readings: list[Reading]) -> Told:
    """(key, device, attributes) → value of what the agent would keep; names of cards left out."""
    kept, _ = Layouts().taken(readings)
    left_out = ("slatag.gpu.uuid", "hw.name", "hw.gpu.interconnect.type")
    out: Told = {}
    for series, value in kept:
        more = ",".join(f"{name}={text}" for name, text in series.attributes if name not in left_out)
        out[series.counter.key, series.device, more] = value
    return out


@pytest.fixture
def told_of() -> Callable[[list[Reading]], Told]:
    """See `told`."""
    return told


def card(index: int = 0, **more: str) -> list[str]:
    """Lines of a sound, plain card; `use__gpu="91"` replaces `use.gpu`."""
    facts = {
        "uuid": f"GPU-{index:08d}",
        "name": "Fake H100",
        "use.gpu": "91",
        "use.memory": "30",
        "memory.total": str(80000 * MIB),
        "memory.used": str(20000 * MIB),
        "clock.1": "1980",
        "clock.2": "2619",
        "max_clock.1": "1980",
        "temperature.0": "59",
        "power_limit_mw": "700000",
        "reasons": "0",
        "pcie_gen": "5",
        "pcie_width": "16",
        "pcie_gen_max": "5",
        "pcie_width_max": "16",
    } | {name.replace("__", "."): value for name, value in more.items()}
    return [f"gpu {index} {name} {value}" for name, value in facts.items()]


@pytest.fixture
def plain_card() -> Callable[..., list[str]]:
    """See `card`."""
    return card


# -- captures of real cards --


def section(text: str, title: str) -> str:
    """One section of a capture, without its head."""
    found = re.search(
        rf"(?ms)^# {re.escape(title)}[^\n]*\n# \$ [^\n]*\n#+\n(.*?)(?=^#{{80}}\n# \w+ :: |\Z)", text
    )
    assert found is not None, title
    return found[1]


def parse_query(text: str) -> dict[str, str]:
    """`nvidia-smi -q` as path → value; the path's parts are joined by `/`."""
    out: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in text.splitlines():
        indent, stripped = len(line) - len(line.lstrip()), line.strip()
        if not stripped or stripped.startswith("="):
            continue
        while path and path[-1][0] >= indent:
            path.pop()
        name, colon, value = stripped.partition(" : ")
        path.append((indent, name.strip()))
        if colon:
            out["/".join(part for _, part in path[1:])] = value.strip()
    return out


def parse_xml(path: Path) -> dict[str, str]:
    """`nvidia-smi -q -x` of one card as tag path → value."""
    gpu = ElementTree.parse(path).getroot().find("gpu")
    assert gpu is not None
    out: dict[str, str] = {}

    def walk(element: ElementTree.Element, at: str) -> None:
        for child in element:
            place = f"{at}/{child.tag}" if at else child.tag
            if len(child):
                walk(child, place)
            elif child.text:
                out.setdefault(place, child.text.strip())

    walk(gpu, "")
    return out


def number(value: str | None) -> float | None:
    """The number at the start of a value; None for N/A and what is deprecated."""
    found = re.match(r"-?\d+(\.\d+)?", value or "")
    return float(found[0]) if found else None


@dataclass(frozen=True)
class Wording:
    """Where a capture says what; the fake's fact and the unit's factor beside it."""

    fact: str
    factor: float
    text: str
    xml: str


WORDINGS = (
    Wording("use.gpu", 1, "Utilization/GPU", "utilization/gpu_util"),
    Wording("use.memory", 1, "Utilization/Memory", "utilization/memory_util"),
    Wording("memory.total", MIB, "FB Memory Usage/Total", "fb_memory_usage/total"),
    Wording("memory.reserved", MIB, "FB Memory Usage/Reserved", "fb_memory_usage/reserved"),
    Wording("memory.used", MIB, "FB Memory Usage/Used", "fb_memory_usage/used"),
    Wording("clock.1", 1, "Clocks/SM", "clocks/sm_clock"),
    Wording("clock.2", 1, "Clocks/Memory", "clocks/mem_clock"),
    Wording("max_clock.1", 1, "Max Clocks/SM", "max_clocks/sm_clock"),
    Wording("temperature.0", 1, "Temperature/GPU Current Temp", "temperature/gpu_temp"),
    Wording("field.82", 1, "Temperature/Memory Current Temp", "temperature/memory_temp"),
    Wording("field.186", 1000, "GPU Power Readings/Instantaneous Power Draw", ""),
    Wording("power_mw", 1000, "GPU Power Readings/Average Power Draw", "gpu_power_readings/power_draw"),
    Wording(
        "power_limit_mw",
        1000,
        "GPU Power Readings/Current Power Limit",
        "gpu_power_readings/current_power_limit",
    ),
    Wording(
        "pcie_gen",
        1,
        "PCI/GPU Link Info/PCIe Generation/Current",
        "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    ),
    Wording(
        "pcie_gen_max",
        1,
        "PCI/GPU Link Info/PCIe Generation/Max",
        "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    ),
    Wording(
        "pcie_width",
        1,
        "PCI/GPU Link Info/Link Width/Current",
        "pci/pci_gpu_link_info/link_widths/current_link_width",
    ),
    Wording(
        "pcie_width_max",
        1,
        "PCI/GPU Link Info/Link Width/Max",
        "pci/pci_gpu_link_info/link_widths/max_link_width",
    ),
    Wording("field.94", 1, "PCI/Replays Since Reset", "pci/replay_counter"),
    Wording("pcie_kb_s.0", 1, "PCI/Tx Throughput", "pci/tx_util"),
    Wording("pcie_kb_s.1", 1, "PCI/Rx Throughput", "pci/rx_util"),
    Wording("field.74", 1000, "Clocks Event Reasons Counters/SW Power Capping", ""),
    Wording("field.76", 1000, "Clocks Event Reasons Counters/Sync Boost", ""),
    Wording("field.269", 1000, "Clocks Event Reasons Counters/SW Thermal Slowdown", ""),
    Wording("field.270", 1000, "Clocks Event Reasons Counters/HW Thermal Slowdown", ""),
    Wording("field.271", 1000, "Clocks Event Reasons Counters/HW Power Braking", ""),
    Wording("field.142", 1, "Remapped Rows/Correctable Error", ""),
    Wording("field.143", 1, "Remapped Rows/Uncorrectable Error", ""),
)
WIDE = {"field.74", "field.76", "field.269", "field.270", "field.271"}
BITS = {
    "Idle": 0x1,
    "Applications Clocks Setting": 0x2,
    "SW Power Cap": 0x4,
    "HW Slowdown": 0x8,
    "Sync Boost": 0x10,
    "SW Thermal Slowdown": 0x20,
    "HW Slowdown/HW Thermal Slowdown": 0x40,
    "HW Slowdown/HW Power Brake Slowdown": 0x80,
    "Display Clock Setting": 0x100,
}
XML_BITS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clocks_setting": 0x100,
}


def state_of(said: dict[str, str], xml: bool = False) -> list[str]:
    """What a capture says, as lines of the fake's script for card 0; what is N/A there is not there."""
    lines = [
        f"gpu 0 {wording.fact} {_typed(wording.fact, round(value * wording.factor))}"
        for wording in WORDINGS
        if (value := number(said.get(wording.xml if xml else wording.text))) is not None
    ]
    return [*lines, *_reasons(said, xml), *_errors(said, xml), *_named(said, xml)]


def _typed(fact: str, value: float) -> str:
    return f"{'ull' if fact in WIDE else 'uint'} {value}" if fact.startswith("field.") else f"{value}"


def _reasons(said: dict[str, str], xml: bool) -> list[str]:
    prefix = "clocks_event_reasons/clocks_event_reason_" if xml else "Clocks Event Reasons/"
    names = XML_BITS if xml else BITS
    found = [bit for name, bit in names.items() if said.get(prefix + name) == "Active"]
    return [f"gpu 0 reasons {sum(found)}"]


def _errors(said: dict[str, str], xml: bool) -> list[str]:
    """ECC: volatile counts of both kinds of memory together, which is what NVML's totals are."""
    if xml:
        parts = {3: ["sram_correctable", "dram_correctable"], 4: ["sram_uncorrectable", "dram_uncorrectable"]}
        names = {f: [f"ecc_errors/volatile/{n}" for n in p] for f, p in parts.items()}
    else:
        parts = {
            3: ["SRAM Correctable", "DRAM Correctable"],
            4: ["SRAM Uncorrectable Parity", "SRAM Uncorrectable SEC-DED", "DRAM Uncorrectable"],
        }
        names = {f: [f"ECC Errors/Volatile/{n}" for n in p] for f, p in parts.items()}
    out = []
    for fact, places in names.items():
        numbers = [number(said.get(place)) for place in places]
        if all(value is not None for value in numbers):
            out.append(f"gpu 0 field.{fact} ull {sum(value or 0 for value in numbers):.0f}")
    return out


def _named(said: dict[str, str], xml: bool) -> list[str]:
    name, uuid = ("product_name", "uuid") if xml else ("Product Name", "GPU UUID")
    mig = said.get("mig_mode/current_mig" if xml else "MIG Mode/Current")
    lines = [f"gpu 0 name {said[name]}", f"gpu 0 uuid {said[uuid]}"]
    return lines + ([f"gpu 0 mig {int(mig == 'Enabled')}"] if mig in ("Enabled", "Disabled") else [])


def links_of(text: str) -> list[str]:
    """The section `nvlink -s` as lines: each link it lists is up, at the speed it says (GB/s)."""
    lines = []
    for link, speed in re.findall(r"Link (\d+): ([\d.]+) GB/s", section(text, "capabilities :: nvlink -s")):
        scope = f".{link}" if link != "0" else ""
        lines += [f"gpu 0 field.164{scope} uint {float(speed) * 1000:.0f}", f"gpu 0 field.165{scope} uint 1"]
    return lines


def processes_of(text: str) -> list[str]:
    """Compute processes of a loaded capture: memory from its table, SM time from its first `pmon` round."""
    held = re.findall(r", (\d+), [^,\n]+, (\d+) MiB", section(text, "load :: query-compute-apps"))
    rounds = re.findall(r"(?m)^ +\d+ +(\d+) +\S+ +(\d+|-)", section(text, "load :: pmon"))
    used = dict(reversed(rounds))
    lines = [f"gpu 0 processes {len(held)}"]
    for pid, mib in held:
        share = used.get(pid, "-")
        lines.append(f"gpu 0 process {pid} {int(mib) * MIB} {'999' if share == '-' else share}")
    return lines


@pytest.fixture
def from_capture(fake: Fake) -> Callable[[str, str], Nvml]:
    """The source over a card as a capture (`h100`, …) shows it, idle or under load."""

    def open_as(name: str, moment: str) -> Nvml:
        (path,) = CAPTURES.glob(f"{name}*")
        if path.suffix == ".xml":
            lines = state_of(parse_xml(path), xml=True) + mig_of(path)
        else:
            text = path.read_text()
            lines = state_of(parse_query(section(text, f"{moment} :: query (-q)"))) + links_of(text)
            lines += processes_of(text) if moment == "load" else []
        fake.script("gpus 1", *lines)
        return fake.source()

    return open_as


def mig_of(path: Path) -> list[str]:
    """MIG instances of an XML capture."""
    gpu = ElementTree.parse(path).getroot().find("gpu")
    lines = []
    for place, device in enumerate(gpu.iterfind("mig_devices/mig_device") if gpu is not None else ()):
        instance = device.findtext("gpu_instance_id")
        lines.append(f"gpu 0 instance {instance} MIG-{place}")
        for name in ("total", "reserved", "used", "free"):
            value = number(device.findtext(f"fb_memory_usage/{name}"))
            lines.append(f"gpu 0 mig_memory.{place}.{name} {int(value or 0) * MIB}")
    return lines
