"""Parts of a step: the host's clock or a device's events, never waited for; each moment counted once."""

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from otel_attrib.instrumentation import shim
from otel_attrib.instrumentation.shim import Faults, Patches
from otel_attrib.instrumentation.torch import calls
from otel_attrib.instrumentation.torch.calls import COLLECTIVES, largest_bytes, timed, watch_collectives
from otel_attrib.instrumentation.torch.device import CudaEvents
from otel_attrib.instrumentation.torch.parts import MOST_PAIRS, MOST_UNREAD, StepParts


class FakeEvent:
    """An event of the fake device below: it happens when the device gets there."""

    def __init__(self, device: "FakeCuda") -> None:
        """Belong to `device`."""
        self.device = device
        self.at_ms = -1.0

    def record(self) -> None:
        """Take the place in the stream that the device's work has now."""
        self.at_ms = self.device.launched_ms

    def query(self) -> bool:
        """Whether the device has come this far."""
        return self.device.done_ms >= self.at_ms

    def elapsed_time(self, later: "FakeEvent") -> float:
        """Milliseconds between two events; CUDA refuses while either is ahead."""
        assert self.query() and later.query(), "cudaErrorNotReady"
        return later.at_ms - self.at_ms

    def synchronize(self) -> None:
        """Nobody may wait."""
        raise AssertionError("waited for the device")


class FakeCuda:
    """Looks like `torch.cuda`: work is launched at once and done when a test says so."""

    def __init__(self) -> None:
        """Start idle."""
        self.launched_ms = 0.0
        self.done_ms = 0.0
        self.capturing = False
        self.made = 0

    def Event(self, enable_timing: bool) -> FakeEvent:
        """Make one event."""
        assert enable_timing
        self.made += 1
        return FakeEvent(self)

    def is_current_stream_capturing(self) -> bool:
        """Whether a graph is being captured."""
        return self.capturing

    def launch(self, ms: float) -> None:
        """Give the device work of that length."""
        self.launched_ms += ms

    def synchronize(self) -> None:
        """Nobody may wait."""
        raise AssertionError("waited for the device")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A torch that compiles nothing, and no failure counted before."""
    modules = {
        "torch": SimpleNamespace(compiler=SimpleNamespace(is_compiling=lambda: False)),
        "torch.distributed": SimpleNamespace(Work=Handle, is_available=lambda: True),
    }
    monkeypatch.setattr(calls, "import_module", modules.__getitem__)
    monkeypatch.setattr("otel_attrib.instrumentation.shim.FAULTS", Faults())


class Handle:
    """What an asynchronous collective returns."""


class FakeTensor:
    """Something with a size."""

    def __init__(self, nbytes: int) -> None:
        """Have `nbytes` bytes."""
        self.nbytes = nbytes


def on_another_thread(work: Any) -> Any:
    """Run `work` elsewhere and return what it returns."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_on_the_host() -> None:
    """Parts last what their blocks last, a collective within the forward pass counts in both."""
    parts = StepParts()
    before = time.monotonic_ns()
    step = parts.begin()
    with parts.part("forward"):
        with parts.part("collective", 512):
            time.sleep(0.004)
        time.sleep(0.002)
    parts.end()

    found = parts.read(step)

    assert found is not None
    assert before <= found.started <= found.ended <= time.monotonic_ns()
    assert 4_000_000 <= found.collective <= found.forward - 2_000_000
    assert found.forward <= found.ended - found.started
    assert (512, -1, -1) == (found.collective_bytes, found.copy, found.copy_bytes)


def test_a_part_once_seen_is_zero_where_it_is_not() -> None:
    """A step without a collective says 0 when the process makes some, and nothing when it never did."""
    parts = StepParts()
    first = parts.begin()
    parts.end()
    never = parts.read(first)
    parts.begin()
    with parts.part("collective"):
        pass
    last = parts.begin()
    parts.end()
    later = parts.read(last)

    assert never is not None and later is not None
    assert (-1, 0) == (never.collective, later.collective)


def test_a_part_within_its_like_counts_once() -> None:
    """A collective that calls another is one, its bytes those of the outer one."""
    parts = StepParts()
    inner = timed(parts, "collective", lambda tensor: time.sleep(0.003), largest_bytes)
    outer = timed(parts, "collective", lambda tensor: inner(FakeTensor(7)), largest_bytes)
    step = parts.begin()
    outer(FakeTensor(100))
    parts.end()

    found = parts.read(step)

    assert found is not None
    assert 3_000_000 <= found.collective <= found.ended - found.started
    assert 100 == found.collective_bytes


def test_elsewhere_is_not_the_steps() -> None:
    """Calls between steps and on other threads are not counted."""
    parts = StepParts()
    call = timed(parts, "collective", lambda tensor: None, largest_bytes)
    call(FakeTensor(3))
    step = parts.begin()
    on_another_thread(lambda: call(FakeTensor(5)))
    parts.end()
    call(FakeTensor(9))

    found = parts.read(step)

    assert found is not None
    assert (-1, -1) == (found.collective, found.collective_bytes)


def test_an_asynchronous_call_gives_bytes_alone() -> None:
    """What goes on without the caller is counted by its bytes; its time is not known here."""
    parts = StepParts()
    handle = Handle()
    call = timed(parts, "collective", lambda tensor: handle, largest_bytes)
    step = parts.begin()
    assert handle is call(FakeTensor(11))
    parts.end()

    found = parts.read(step)

    assert found is not None
    assert (0, 11) == (found.collective, found.collective_bytes)


def test_the_hosts_exception_passes_and_ends_the_part() -> None:
    """A collective that fails raises as it did; the next one is counted again."""
    parts = StepParts()
    fault = RuntimeError("peer gone")

    def fail(_tensor: Any) -> None:
        raise fault

    failing = timed(parts, "collective", fail, largest_bytes)
    step = parts.begin()
    with pytest.raises(RuntimeError) as raised:
        failing(FakeTensor(1))
    timed(parts, "collective", lambda tensor: None, largest_bytes)(FakeTensor(6))
    parts.end()

    found = parts.read(step)

    assert fault is raised.value
    assert fault.__context__ is None
    assert found is not None
    assert 6 == found.collective_bytes


def test_our_own_failure_does_not_pass() -> None:
    """When sizing fails the host's result comes back, the failure is counted, and the part still ends."""
    parts = StepParts()

    def unsizable(*_args: Any, **_kwargs: Any) -> int:
        raise ValueError("no size")

    call = timed(parts, "collective", lambda tensor: 5, unsizable)
    step = parts.begin()
    results = [call(FakeTensor(1)), call(FakeTensor(1))]
    parts.end()
    found = parts.read(step)

    assert [5, 5] == results
    assert found is not None and 0 == found.collective_bytes <= found.collective
    assert {"torch collective": 2} == dict(shim.FAULTS.counts)


def test_while_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that traces the call sees the host's function alone."""
    compiling = SimpleNamespace(is_compiling=lambda: True)
    modules = {"torch": SimpleNamespace(compiler=compiling), "torch.distributed": SimpleNamespace()}
    monkeypatch.setattr(calls, "import_module", modules.__getitem__)
    parts = StepParts()
    monkeypatch.setattr(parts, "guarded_enter", lambda *_args: pytest.fail("stamped"))

    assert 3 == timed(parts, "collective", lambda number: number, largest_bytes)(3)


def test_on_a_device() -> None:
    """Events are read once the device is past them, by another thread, and nothing waits."""
    cuda = FakeCuda()
    parts = StepParts(events=CudaEvents(cuda))
    step = parts.begin()
    with parts.part("forward"):
        cuda.launch(3.0)
        with parts.part("collective", 64):
            cuda.launch(2.0)
        with parts.part("copy", 8):
            cuda.launch(0.5)
    parts.end()

    early = on_another_thread(lambda: parts.read(step))
    cuda.done_ms = 5.2
    still = on_another_thread(lambda: parts.settle())
    cuda.done_ms = 5.5
    totals = on_another_thread(lambda: parts.settle())
    found = parts.read(step)

    assert early is None
    assert 0 == still.steps
    assert found is not None
    assert (5_500_000, 2_000_000, 500_000) == (found.forward, found.collective, found.copy)
    assert (1, 5_500_000, 2_000_000, 500_000, 64, 8, 0) == tuple(totals)


def test_events_are_used_again() -> None:
    """A thousand steps need no more events than the first ones."""
    cuda = FakeCuda()
    parts = StepParts(events=CudaEvents(cuda))
    for _ in range(1000):
        parts.begin()
        with parts.part("collective", 1):
            cuda.launch(1.0)
        parts.end()
        cuda.done_ms = cuda.launched_ms
        parts.settle()

    assert 2 == cuda.made
    assert 1000 * 1_000_000 == parts.totals.collective


def test_in_a_captured_graph() -> None:
    """While a graph is captured nothing is recorded; from then on the part is absent, not small."""
    cuda = FakeCuda()
    parts = StepParts(events=CudaEvents(cuda))
    call = timed(parts, "collective", lambda tensor: cuda.launch(1.0), largest_bytes)
    cuda.capturing = True
    call(FakeTensor(4))
    cuda.capturing = False
    step = parts.begin()
    call(FakeTensor(4))
    with parts.part("copy"):
        cuda.launch(0.25)
    parts.end()
    cuda.done_ms = cuda.launched_ms

    found = parts.read(step)

    assert 4 == cuda.made
    assert found is not None
    assert (-1, -1, 250_000) == (found.collective, found.collective_bytes, found.copy)


def test_bounds() -> None:
    """A step of too many parts says nothing of their time; steps nobody reads are dropped and counted."""
    cuda = FakeCuda()
    parts = StepParts(events=CudaEvents(cuda))
    step = parts.begin()
    for _ in range(MOST_PAIRS + 1):
        with parts.part("collective", 1):
            cuda.launch(0.001)
    parts.end()
    cuda.done_ms = cuda.launched_ms
    found = parts.read(step)
    for _ in range(MOST_UNREAD + 2):
        parts.begin()
        parts.end()

    assert found is not None
    assert (-1, MOST_PAIRS + 1) == (found.collective, found.collective_bytes)
    assert 3 == parts.settle().lost


def test_entry_points_are_wrapped_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each entry point of torch.distributed is counted with its bytes; one that changed is left alone."""
    made = {
        name: eval(f"lambda {', '.join(f'{one}=None' for one in names)}: None")
        for name, names in COLLECTIVES.items()
    }
    made["reduce"] = lambda something_else: None
    distributed = SimpleNamespace(Work=Handle, is_available=lambda: True, **made)
    torch = SimpleNamespace(compiler=SimpleNamespace(is_compiling=lambda: False))
    monkeypatch.setattr(
        calls, "import_module", {"torch": torch, "torch.distributed": distributed}.__getitem__
    )
    parts, patches = StepParts(), Patches()
    watch_collectives(parts, patches)
    step = parts.begin()
    distributed.all_reduce(FakeTensor(10))
    distributed.all_gather_into_tensor(FakeTensor(40), FakeTensor(20))
    distributed.reduce_scatter_tensor(FakeTensor(20), input=FakeTensor(40))
    distributed.all_gather([FakeTensor(5), FakeTensor(5)], FakeTensor(5))
    distributed.reduce(FakeTensor(1000))
    parts.end()
    found = parts.read(step)
    patches.restore()

    assert found is not None
    assert 10 + 40 + 40 + 10 == found.collective_bytes
    assert ["torch.distributed:reduce"] == list(patches.off)
    assert made["all_reduce"] is distributed.all_reduce


def test_without_distributed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A torch that was built without process groups is left alone."""
    monkeypatch.setattr(calls, "import_module", lambda _name: SimpleNamespace(is_available=lambda: False))
    patches = Patches()

    watch_collectives(StepParts(), patches)

    assert ({}, {}) == (patches.installed, patches.off)
