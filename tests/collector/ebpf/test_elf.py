"""Where functions lie in a library's file, against where the loader put them."""

import ctypes
from pathlib import Path

import pytest

from otel_attrib.collector.sources.ebpf.elf import function_offsets

NAMES = ("getpid", "sendto", "fopen", "pthread_create")


def mapped(name: str) -> tuple[Path, int]:
    """File and offset of a function of this process's C library, from its address and /proc/self/maps."""
    address = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    assert address
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, _, offset, _, _, *path = line.split(maxsplit=5)
        start, end = (int(bound, 16) for bound in span.split("-"))
        if start <= address < end:
            return Path(path[0]), address - start + int(offset, 16)
    raise AssertionError(name)


@pytest.mark.parametrize("name", NAMES)
def test_an_offset_is_where_the_function_was_mapped_from(name: str) -> None:
    """The offset found in the file is the one that the dynamic loader's address says."""
    library, expected = mapped(name)

    assert {name: expected} == function_offsets(library, [name])


def test_what_a_library_lacks_is_left_out() -> None:
    """Names are looked up whole: a part of one, or one that is only used, is not found."""
    library, _ = mapped("getpid")

    assert {"getpid"} == function_offsets(library, ["getpid", "etpid", "not_in_any_library"]).keys()


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    """A text file and a file that was cut off are told apart from a library."""
    text = tmp_path / "text"
    text.write_text("no library\n" * 10)
    with pytest.raises(ValueError, match="not an ELF file"):
        function_offsets(text, ["x"])

    library, _ = mapped("getpid")
    cut = tmp_path / "cut.so"
    cut.write_bytes(library.read_bytes()[:4096])
    with pytest.raises(ValueError):
        function_offsets(cut, ["x"])
