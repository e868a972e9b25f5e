"""What a file is, is told from what it holds."""

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_attrib.analytics.profiles.breakdown import breakdowns
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


def last_events() -> bytes:
    """The last events of a recorded trace, and what stands behind them."""
    whole = gzip.decompress((FIXTURES / "kineto/vllm_decode.json.gz").read_bytes())
    return whole[whole.index(b', {"ph"', len(whole) - 30_000) :]


DAMAGE = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 60),
        st.sampled_from(
            [b"", b"\x00", b'"', b"{", b"9" * 30, b"1e999", b"NaN", b"null", b"[]", b"-", b"\xff"]
        ),
    ),
    min_size=1,
    max_size=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(damage=DAMAGE)
def test_damage_is_never_more_than_one_fault(damage: list[tuple[float, int, bytes]], tmp_path: Path) -> None:
    """Whatever stands in the place of some bytes, a file is read as far as it goes or refused in one line."""
    content = bytearray(b'{"traceEvents": [{}' + last_events())
    for share, length, other in damage:
        at = int(share * len(content))
        content[at : at + length] = other
    path = tmp_path / "damaged.json"
    path.write_bytes(content)

    try:
        found = read_profile(path)
    except DataError as fault:
        assert "\n" not in str(fault)
    else:
        assert len(breakdowns(found)) == len(found.used_devices)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    """What can be read once only is refused by name: it neither hangs nor counts as empty."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for place in (pipe, Path("/dev/null")):
        with pytest.raises(UsageError, match=f"{place} is a pipe or a device"):
            read_profile(place)
