"""Reads keep no memory, whatever comes and goes."""

import tracemalloc
from typing import Any


def test_memory_is_flat(fake: Any, plain_card: Any) -> None:
    """Processes come and go, a field fails at times: once the interpreter's pools are full, nothing stays."""
    changes = [
        line
        for second in range(0, 3400, 7)
        for line in (
            f"at {second}",
            f"gpu 0 processes {second % 5}",
            f"gpu 0 field.82 {'fails 21' if second % 2 else 'uint 50'}",
        )
    ]
    processes = [f"gpu 0 process {100 + n} 1000 {n}" for n in range(4)]
    fake.script("gpus 1", *plain_card(gpm="1"), "gpu 0 field.82 uint 50", *processes, *changes)
    source = fake.source()

    def read(seconds: range) -> int:
        for second in seconds:
            fake.at(second)
            source.read()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = read(range(2400))
        grown = read(range(2400, 3400)) - before
    finally:
        tracemalloc.stop()

    assert grown < 16 * 1024
