"""What goes wrong with cards and drivers: each case with what is read and the line that the user sees."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.nvml import Nvml
from otel_attrib.collector.sources.nvml_library import Library


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged since the last look."""
    found = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return found


def state(told: dict[Any, float], device: str) -> str:
    """The state that holds of a card."""
    (held,) = [
        more for (key, at, more), value in told.items() if key == "gpu_status" and at == device and value == 1
    ]
    return str(held).removeprefix("hw.state=")


def test_a_card_that_falls_off_the_bus(
    fake: Any, plain_card: Any, told_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """It is reported as failed at once and has no other reading; its neighbours go on without a gap."""
    fake.script(
        "gpus 3",
        *plain_card(0),
        *plain_card(1),
        *plain_card(2),
        *(f"gpu {i} field.198 ull 0" for i in range(3)),
        *(f"gpu {i} field.197 ull 0" for i in range(3)),
        *(f"gpu {i} grow.field.198 1e9" for i in range(3)),
        "at 5",
        "gpu 1 lost 15",
    )
    source = fake.source()
    source.read()
    fake.at(4)
    source.read()
    fake.at(5)
    told = told_of(source.read())

    assert ["ok", "failed", "ok"] == [state(told, device) for device in "012"]
    assert {"gpu_status", "xid"} == {key for key, device, _ in told if device == "1"}
    assert {1e9} == {told["pcie_receive", device, ""] for device in "02"}
    assert [
        "GPU 1: it no longer answers (GPU is lost); it is reported as failed and looked for again"
    ] == lines(caplog)


def test_a_lost_card_stays_failed_and_is_said_once(
    fake: Any, plain_card: Any, told_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """An hour of a lost card is one line, and 0 of its calls."""
    fake.script("gpus 2", *plain_card(0), *plain_card(1), "at 1", "gpu 0 lost 15")
    source = fake.source(slow_s=10.0)
    for second in range(120):
        fake.at(second)
        told = told_of(source.read())
        assert 1980.0 == told["gpu_clock", "1", ""]

    assert 1 == len(lines(caplog))
    assert ("gpu_clock", "0", "") not in told


def test_a_card_that_comes_back_is_asked_anew(
    fake: Any, plain_card: Any, told_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """After a reset it has what it has then: a field that it lacked before is read now."""
    fake.script(
        "gpus 2",
        *plain_card(0),
        *plain_card(1),
        "at 1",
        "gpu 0 lost 15",
        "at 20",
        "gpu 0 lost 0",
        "gpu 0 field.82 uint 44",
    )
    source = fake.source(slow_s=10.0)
    for second in (0, 1, 12, 30, 31):
        fake.at(second)
        told = told_of(source.read())

    assert (1980.0, 44.0, 1980.0) == (
        told["gpu_clock", "0", ""],
        told["gpu_memory_temperature", "0", ""],
        told["gpu_clock", "1", ""],
    )
    assert "GPU 0: it answers again and is read as before" == lines(caplog)[-1]


def test_a_card_that_is_lost_from_the_start(fake: Any, plain_card: Any, told_of: Any) -> None:
    """The agent starts with the others, and says that this one failed."""
    fake.script("gpus 2", *plain_card(0), *plain_card(1), "gpu 1 open 15")
    told = told_of(fake.source().read())

    assert ["ok", "failed"] == [state(told, device) for device in "01"]


def test_a_card_that_asks_for_a_reset_is_degraded(
    fake: Any, plain_card: Any, told_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """NVML's own recovery action (field 230) other than none."""
    fake.script("gpus 1", *plain_card(), "gpu 0 field.230 uint 0", "at 1", "gpu 0 field.230 uint 1")
    source = fake.source()
    before = state(told_of(source.read()), "0")
    fake.at(1)

    assert ("ok", "degraded") == (before, state(told_of(source.read()), "0"))
    assert ["GPU 0: NVML asks for a reset of the card; it is reported as degraded"] == lines(caplog)


def test_a_card_that_is_partitioned_while_it_is_read(fake: Any, plain_card: Any, told_of: Any) -> None:
    """New MIG instances appear within ten seconds under their own names, old ones end."""
    fake.script(
        "gpus 1",
        *plain_card(mig="1"),
        "gpu 0 instance 3 MIG-a",
        f"gpu 0 mig_memory.0.total {2**30}",
        f"gpu 0 mig_memory.0.used {2**20}",
        "at 5",
        "gpu 0 mig 0",
    )
    source = fake.source(slow_s=10.0)
    seen = []
    for second in (0, 4, 11):
        fake.at(second)
        seen.append(sorted({device for key, device, _ in told_of(source.read()) if key == "gpu_memory_used"}))

    assert [["0", "0:3"], ["0", "0:3"], ["0"]] == seen


def test_a_card_that_the_user_may_not_open(
    fake: Any, plain_card: Any, told_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """It is left out with one line; the others are read."""
    fake.script("gpus 2", *plain_card(0), *plain_card(1), "gpu 0 open 4")
    told = told_of(fake.source().read())

    assert {"1"} == {device for _, device, _ in told}
    assert ["GPU 0: cannot be opened, the others are read: Insufficient Permissions"] == lines(caplog)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param(["init 4"], "may not open the NVIDIA devices", id="no-permission"),
        pytest.param(["init 9"], "kernel module is not loaded", id="driver-not-loaded"),
        pytest.param(["init 18"], "of different versions", id="version-mismatch"),
        pytest.param(["init 15"], "fallen off the bus", id="lost-at-start"),
        pytest.param(["init 999"], "NVML does not start: Unknown Error", id="unknown"),
        pytest.param(["gpus 0"], "lists no GPU", id="no-card"),
        pytest.param(["gpus 1", "gpu 0 open 4"], "may open none", id="no-card-allowed"),
    ],
)
def test_nothing_to_read_is_said_with_what_to_do(fake: Any, script: list[str], words: str) -> None:
    """The constructor raises `Unavailable`, once, in words."""
    fake.script(*script)
    with pytest.raises(Unavailable, match=words):
        fake.source()


def test_a_version_mismatch_names_the_loaded_module(fake: Any, tmp_path: Path) -> None:
    """The kernel module's own line says which version runs."""
    (tmp_path / "driver/nvidia").mkdir(parents=True)
    (tmp_path / "driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX x86_64  590.48.01\nGCC version\n"
    )
    fake.script("init 18")
    with pytest.raises(Unavailable, match="NVRM version: NVIDIA UNIX x86_64 590.48.01"):
        Library(str(fake.path), tmp_path)


def test_a_library_that_is_not_there(tmp_path: Path) -> None:
    """The path is in the message."""
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    with pytest.raises(Unavailable, match=str(tmp_path)):
        Nvml(str(tmp_path / "libnvidia-ml.so.1"))


RUN = """
from otel_attrib.collector.sources.nvml import Nvml
for series, value in Nvml().read():
    print(series.counter.key, series.device, value)
"""


def run(folder: Path, script: Path) -> subprocess.CompletedProcess[str]:
    """The source in a process of its own, with NVML found as the dynamic linker finds it."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder), "FAKE_NVML_SCRIPT": str(script)}
    return subprocess.run(
        [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, timeout=60
    )


def test_the_loaders_path_is_the_usual_way(fake: Any, plain_card: Any) -> None:
    """Without an argument the bindings load `libnvidia-ml.so.1` themselves."""
    fake.script("gpus 1", *plain_card())
    done = run(fake.path.parent, fake.folder / "script")

    assert "" == done.stderr
    assert "gpu_clock 0 1980.0" in done.stdout.splitlines()


def test_no_driver_at_all(tmp_path: Path) -> None:
    """Where there is no `libnvidia-ml.so.1` the user is told how to bring the driver in."""
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    done = run(tmp_path, tmp_path / "none")
    if done.returncode == 0:
        pytest.skip("this machine has an NVIDIA driver")

    assert "Unavailable: no NVIDIA driver here" in done.stderr
