"""Objectives that are read again when their file changes."""

import logging
import os
import shutil
from pathlib import Path

import pytest

from otel_attrib.analytics.objectives.slo_files import SloFiles
from otel_attrib.errors import DataError

CLASSES = Path(__file__).parents[3] / "examples/slo/classes.yaml"


def write(file: Path, text: str) -> None:
    """Replace a file, a second later by its clock."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text)
    os.utime(file, ns=(before + 10**9, before + 10**9))


def names(slo_files: SloFiles) -> list[str]:
    """The objectives' names."""
    return [objective.name for objective in slo_files.objectives()]


def test_no_path_holds_nothing() -> None:
    """Without the setting there are no objectives, and that is no fault."""
    assert () == SloFiles("").objectives()


def test_a_change_is_read(tmp_path: Path) -> None:
    """A renamed objective, a file that is added and one that is taken away are seen at the next look."""
    file = tmp_path / "a.yaml"
    write(file, CLASSES.read_text())
    slo_files = SloFiles(str(tmp_path))
    assert ["gold-ttft", "silver-ttft", "bronze-ttft"] == names(slo_files)

    write(file, CLASSES.read_text().replace("name: gold-ttft\n", "name: golden\n"))
    assert ["golden", "silver-ttft", "bronze-ttft"] == names(slo_files)
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep/b.yaml", CLASSES.read_text().split("---")[2].replace("gold", "more"))
    assert "more-ttft" in names(slo_files)
    shutil.rmtree(tmp_path / "deep")
    assert ["golden", "silver-ttft", "bronze-ttft"] == names(slo_files)


def test_a_broken_file_leaves_what_was_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What was read stays in force, the fault is kept and logged once, and mending the file ends it."""
    file = tmp_path / "a.yaml"
    write(file, CLASSES.read_text())
    slo_files = SloFiles(str(file))
    good = slo_files.objectives()

    write(file, "a: [")
    with caplog.at_level(logging.WARNING):
        assert [good, good] == [slo_files.objectives(), slo_files.objectives()]
    assert 1 == len(caplog.records)
    assert f"{file}:1: is not YAML: " in slo_files.fault
    write(file, CLASSES.read_text().replace("gold", "golden"))
    assert ("golden-ttft", "") == (names(slo_files)[0], slo_files.fault)


def test_a_file_that_never_was_good_is_told_each_time(tmp_path: Path) -> None:
    """There is nothing to fall back on."""
    slo_files = SloFiles(str(tmp_path / "none.yaml"))

    for _ in range(2):
        with pytest.raises(DataError, match="cannot be read"):
            slo_files.objectives()
