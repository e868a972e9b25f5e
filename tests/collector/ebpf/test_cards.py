"""Which card a process computes on, over a recorded /proc."""

from pathlib import Path

import pytest

from otel_attrib.collector.sources.ebpf.cards import card_of


@pytest.mark.parametrize(
    ("files", "by_nvml", "expected"),
    [
        (["/dev/nvidiactl", "/dev/nvidia3", "/dev/nvidia3", "/dev/nvidia-uvm"], {}, "3"),
        (["/dev/nvidia0", "/dev/nvidia1"], {}, ""),
        (["/dev/nvidia0", "/dev/nvidia1"], {7: "1"}, "1"),
        (["/dev/null"], {8: "1"}, ""),
    ],
    ids=["one device file", "two device files", "NVML knows", "no card"],
)
def test_card(tmp_path: Path, files: list[str], by_nvml: dict[int, str], expected: str) -> None:
    """One card is named where it is certain; NVML's word comes before what is open."""
    (tmp_path / "7/fd").mkdir(parents=True)
    for number, target in enumerate(files):
        (tmp_path / "7/fd" / str(number)).symlink_to(target)

    assert expected == card_of(7, by_nvml, tmp_path)


def test_gone(tmp_path: Path) -> None:
    """A process that has ended is on no card."""
    assert "" == card_of(7, {}, tmp_path)
