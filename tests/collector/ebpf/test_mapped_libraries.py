"""Finding the copies of a library that a process has loaded, over a recorded /proc."""

from pathlib import Path

import pytest

from otel_attrib.collector.sources.ebpf.mapped_libraries import library_name, mapped_libraries

MAPS = """\
55d0a1000000-55d0a1001000 r--p 00000000 fd:01 1311 /usr/bin/python3.11
7f0000000000-7f0000010000 rw-p 00000000 00:00 0
7f0001000000-7f0001080000 r--p 00000000 fd:01 201 /venv/lib/nvidia/cuda_runtime/lib/libcudart.so.12
7f0001080000-7f0001090000 r-xp 00080000 fd:01 201 /venv/lib/nvidia/cuda_runtime/lib/libcudart.so.12
7f0002000000-7f0002080000 r-xp 00000000 fd:01 202 /venv/lib/torch.libs/libcudart-d0da41ae.so.11.0
7f0003000000-7f0003080000 r-xp 00000000 fd:01 203 /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
7f0004000000-7f0004080000 r-xp 00000000 fd:01 204 /venv/a folder/libnccl.so.2
7f0005000000-7f0005080000 r-xp 00000000 fd:01 205 /old/libnccl.so.2 (deleted)
7f0006000000-7f0006080000 r-xp 00000000 fd:01 206 /usr/lib/libcudadebugger.so.1
7f0007000000-7f0007080000 r-xp 00000000 fd:01 207 /usr/lib/libnccl-net.so
7f0008000000-7f0008080000 rw-s 00000000 00:05 208 /dev/nvidia0
"""


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        (
            "libcudart",
            [
                "venv/lib/nvidia/cuda_runtime/lib/libcudart.so.12",
                "venv/lib/torch.libs/libcudart-d0da41ae.so.11.0",
            ],
        ),
        ("libcuda", ["usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15"]),
        ("libnccl", ["venv/a folder/libnccl.so.2"]),
    ],
    ids=["runtime", "driver", "nccl"],
)
def test_every_copy_once(tmp_path: Path, stem: str, expected: list[str]) -> None:
    """Each copy of the library is named once, under its process's own root; what was deleted is not."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7/maps").write_text(MAPS)

    assert [tmp_path / "7/root" / path for path in expected] == list(
        mapped_libraries(7, library_name(stem), tmp_path)
    )


def test_a_process_that_is_gone(tmp_path: Path) -> None:
    """A process that has ended has nothing loaded."""
    assert () == mapped_libraries(7, library_name("libcuda"), tmp_path)
