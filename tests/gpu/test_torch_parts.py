"""Parts of a step on a real card: events beside CUDA's own profiler, nothing waited for, graphs left alone.

Runs as it is where this interpreter has a torch that sees a card; elsewhere each test skips and says why.
"""

import importlib
import importlib.util
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from otel_attrib.instrumentation.torch.calls import largest_bytes, timed
from otel_attrib.instrumentation.torch.parts import Parts, StepParts
from otel_attrib.instrumentation.torch.window import ProfileWindows


@pytest.fixture
def torch() -> Any:
    """The torch of this interpreter."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("this interpreter has no torch")
    module = importlib.import_module("torch")
    if not module.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    return module


def later(parts: StepParts, step: Any) -> Parts:
    """Read a step on another thread, once the device is past it."""
    found: list[Parts] = []

    def read() -> None:
        end = time.monotonic() + 20
        while not found and time.monotonic() < end:
            told = parts.read(step)
            found.extend([told] if told is not None else [])
            time.sleep(0.001)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    return found[0]


def products(torch: Any, count: int) -> Callable[[], None]:
    """Work for the device: `count` products, a millisecond or so each."""
    matrix = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)

    def work() -> None:
        for _ in range(count):
            matrix @ matrix

    work()
    torch.cuda.synchronize()
    return work


def test_like_cudas_own_events(torch: Any) -> None:
    """A part lasts as long as events of our own around it say, and launching it waits for nothing."""
    work, parts = products(torch, 20), StepParts("cuda")
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before = time.monotonic_ns()
    step = parts.begin()
    first.record()
    with parts.part("forward"):
        work()
    last.record()
    parts.end()
    launched = time.monotonic_ns() - before
    found = later(parts, step)
    last.synchronize()

    assert found.forward == pytest.approx(first.elapsed_time(last) * 1e6, rel=0.05)
    assert launched < found.forward


def test_a_copy_to_the_card(torch: Any) -> None:
    """256 MiB to the card count as such, at a rate that a link can have."""
    size = 256 << 20
    host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    parts = StepParts("cuda")
    copy = timed(parts, "copy", lambda tensor: tensor.to("cuda", non_blocking=True), largest_bytes)
    copy(host)
    step = parts.begin()
    copy(host)
    parts.end()
    found = later(parts, step)

    assert size == found.copy_bytes
    assert 1.0 < size / found.copy < 500.0  # GB/s


def test_while_a_graph_is_captured(torch: Any) -> None:
    """A part inside a capture leaves the graph whole, and is absent from then on."""
    parts = StepParts("cuda")
    call = timed(parts, "collective", lambda tensor: tensor.add_(1.0), largest_bytes)
    state = torch.zeros(1024, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    parts.begin()
    with torch.cuda.graph(graph):
        call(state)
    parts.end()
    state.zero_()
    step = parts.begin()
    graph.replay()
    parts.end()
    found = later(parts, step)
    torch.cuda.synchronize()

    assert 1.0 == float(state[0])
    assert -1 == found.collective


def test_a_window(torch: Any) -> None:
    """A window over products and a rest says compute and idle, of one device, adding up to 1."""
    work, parts = products(torch, 20), StepParts("cuda")
    windows = ProfileWindows(1, most=0.0, events=parts.events)
    windows.before()
    work()
    torch.cuda.synchronize()
    time.sleep(0.02)
    work()
    windows.after()
    torch.cuda.synchronize()
    windows.before()
    (found,) = windows.take()

    assert 1.0 == pytest.approx(sum(found.shares.values()))
    assert found.shares["compute"] > 0.1
    assert found.shares["idle"] > 0.1
    assert {"taken": 1} == dict(windows.outcomes)
