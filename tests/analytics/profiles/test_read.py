"""What a file is, is told from what it holds."""

import gzip
import json
from pathlib import Path

import pytest

from otel_attrib.analytics.profiles.read import read_profile
from otel_attrib.errors import DataError, UsageError

FIXTURES = Path(__file__).parents[2] / "fixtures"
TRACE = json.dumps({"traceEvents": []}).encode()


@pytest.mark.parametrize(
    ("content", "source"),
    [
        (TRACE, "kineto"),
        (b"\xef\xbb\xbf\n " + TRACE, "kineto"),
        (gzip.compress(TRACE), "kineto"),
        ((FIXTURES / "nsys/mfu_2gpu_after.sqlite.gz").read_bytes(), "nsys"),
        (gzip.decompress((FIXTURES / "nsys/mfu_2gpu_after.sqlite.gz").read_bytes()), "nsys"),
    ],
    ids=["json", "json-bom", "json-gz", "sqlite-gz", "sqlite"],
)
def test_by_content(content: bytes, source: str, tmp_path: Path) -> None:
    """The name of a file says nothing."""
    path = tmp_path / "profile.txt"
    path.write_bytes(content)

    assert source == read_profile(path).source


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.json", b"", "e.json is empty"),
        ("x.nsys-rep", b"NVIDIA\x00\x01", "nsys export --type sqlite"),
        (
            "x.pb",
            b"\x0a\x05hello",
            "neither JSON of the PyTorch profiler nor an Nsight Systems SQLite export",
        ),
        ("x.gz", gzip.compress(TRACE)[:10], "damaged gzip file"),
        ("y.gz", gzip.compress(TRACE)[:24], "y.gz ends before its first event"),
    ],
    ids=["empty", "report", "other", "cut", "cut-later"],
)
def test_what_is_no_profile(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    """Each thing that is no profile is named, with what to do where there is something."""
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(DataError, match=message):
        read_profile(path)


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    """A file that is not there, or is a folder, is the caller's mistake."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(UsageError, match=f"cannot read {path}: "):
            read_profile(path)
