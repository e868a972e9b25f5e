"""Windows of the profiler: every so many steps, within their share of the time, never in the way."""

from types import SimpleNamespace
from typing import Any

import pytest

from otel_attrib.instrumentation.torch import window
from otel_attrib.instrumentation.torch.device import CudaEvents
from otel_attrib.instrumentation.torch.window import MOST_OPEN, ProfileWindows

MS = 1_000_000


class Clock:
    """Monotonic time that a test moves."""

    def __init__(self) -> None:
        """Start at an hour."""
        self.ns = 3600 * 1000 * MS

    def __call__(self) -> int:
        """Read it."""
        return self.ns


class FakeProfiler:
    """Looks like `torch.autograd.profiler.profile`; opening costs 2 ms, closing 3 ms."""

    def __init__(self, clock: Clock, fault: Exception | None = None) -> None:
        """Move `clock`."""
        self.clock = clock
        self.fault = fault
        self.use_device: str | None = "cuda"
        self.kineto_results = SimpleNamespace(events=lambda: [])
        self.open = False

    def __enter__(self) -> None:
        """Open."""
        self.clock.ns += 2 * MS
        self.open = True

    def __exit__(self, *_error: object) -> None:
        """Close."""
        assert self.use_device is None, "a profile that knows its device waits for it"
        self.clock.ns += 3 * MS
        self.open = False
        if self.fault:
            raise self.fault


class Made:
    """Windows with fake profilers, and all that were made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        """Ask for one every 10 steps unless told otherwise."""
        monkeypatch.setattr(window, "_somebody_profiles", lambda: False)
        self.clock = Clock()
        self.profilers: list[FakeProfiler] = []
        self.fault: Exception | None = None
        settings: dict[str, Any] = {"steps": 10, "most": 0.01} | options
        self.windows = ProfileWindows(profiler=self._profiler, clock=self.clock, **settings)

    def _profiler(self) -> FakeProfiler:
        self.profilers.append(FakeProfiler(self.clock, self.fault))
        return self.profilers[-1]

    def run(self, steps: int, step_ms: float = 20.0, loaded: bool = False) -> None:
        """Take steps of one length."""
        for _ in range(steps):
            self.windows.before(loaded)
            self.clock.ns += int(step_ms * MS)
            self.windows.after()


def test_every_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a window is due every 10 steps and time does not matter, 95 steps take 9, each one step long."""
    made = Made(monkeypatch, most=0.0)
    made.run(95)

    assert 9 == len(made.profilers) == made.windows.outcomes["taken"]
    assert not any(profiler.open for profiler in made.profilers)
    assert 9 * (2 + 20 + 3) * MS == made.windows.spent_ns


def test_off_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is profiled unless it is asked for."""
    monkeypatch.delenv(window.EVERY, raising=False)
    made = Made(monkeypatch, steps=window.every())
    made.run(1000)

    assert [] == made.profilers


@pytest.mark.parametrize("most", [0.01, 0.002])
def test_at_most_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch, most: float) -> None:
    """Windows cost at most their share of the time that passes; the others are counted as not taken."""
    made = Made(monkeypatch, most=most)
    start = made.clock.ns
    made.run(20_000, step_ms=2.0)
    outcomes = made.windows.outcomes
    one = (2 + 2 + 3) * MS

    assert made.windows.spent_ns <= most * (made.clock.ns - start) + one
    assert made.windows.spent_ns >= 0.8 * most * (made.clock.ns - start)
    assert 2000 == outcomes["taken"] + outcomes["budget"]


def test_not_while_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loaded engine is left alone; the next window comes when one is due and there is room."""
    made = Made(monkeypatch, most=0.0)
    made.run(25, loaded=True)
    made.run(6)

    assert {"loaded": 2, "taken": 1} == dict(made.windows.outcomes)


def test_beside_somebody_elses_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """While another profile runs none is begun, and one that is asked for closes ours first."""
    made = Made(monkeypatch, most=0.0)
    monkeypatch.setattr(window, "_somebody_profiles", lambda: True)
    made.run(10)
    monkeypatch.setattr(window, "_somebody_profiles", lambda: False)
    made.run(9)
    made.windows.before()
    made.windows.give_up()

    assert {"other_profiler": 2} == dict(made.windows.outcomes)
    assert [False] == [profiler.open for profiler in made.profilers]
    assert [] == made.windows.take()


def cuda(**state: Any) -> Any:
    """A `torch.cuda` whose events happen when `done` is set."""
    made = SimpleNamespace(done=False, capturing=False)
    vars(made).update(state)
    made.is_current_stream_capturing = lambda: made.capturing
    made.Event = lambda enable_timing: SimpleNamespace(record=lambda: None, query=lambda: made.done)
    return made


def test_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window stays open until a later step finds the device past it, and closing does not wait."""
    device = cuda()
    made = Made(monkeypatch, most=0.0, events=CudaEvents(device))
    made.run(13)
    still = made.profilers[0].open
    device.done = True
    made.run(1)

    assert still
    assert not made.profilers[0].open
    assert {"taken": 1} == dict(made.windows.outcomes)


def test_a_device_that_never_gets_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window whose device is not done in time is closed and counted as unfinished."""
    made = Made(monkeypatch, steps=100, most=0.0, events=CudaEvents(cuda()))
    made.run(100 + MOST_OPEN)

    assert {"unfinished": 1} == dict(made.windows.outcomes)
    assert not made.profilers[0].open


def test_never_while_a_graph_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    """No window opens while the stream is captured."""
    made = Made(monkeypatch, most=0.0, events=CudaEvents(cuda(capturing=True)))
    made.run(20)

    assert {"capturing": 2} == dict(made.windows.outcomes)
    assert [] == made.profilers


def test_a_profiler_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure to close is counted and leaves no window open."""
    made = Made(monkeypatch, most=0.0)
    made.fault = RuntimeError("no CUPTI")
    made.run(9)
    made.windows.before()
    with pytest.raises(RuntimeError):
        made.windows.after()
    made.fault = None
    made.run(10)

    assert {"failed": 1, "taken": 1} == dict(made.windows.outcomes)


@pytest.mark.parametrize(("said", "steps"), [("500", 500), ("0", 0), ("-3", 0), ("often", 0), ("", 0)])
def test_settings(monkeypatch: pytest.MonkeyPatch, said: str, steps: int) -> None:
    """What is no number of steps asks for none."""
    monkeypatch.setenv(window.EVERY, said)
    monkeypatch.setenv(window.SHARE, said)

    assert steps == window.every()
    assert (float(said) if said.lstrip("-").isdigit() else 0.01) == window.share()
