"""A worker's stopwatch: host times on a CPU, device times on a GPU, nothing on a shared output."""

import pickle
import time
from types import SimpleNamespace
from typing import Any

import pytest

from otel_attrib.instrumentation.torch import device as torch_device
from otel_attrib.instrumentation.vllm import torch_parts, worker
from otel_attrib.instrumentation.vllm.worker import ATTRIBUTE, Work


class Output:
    """Shaped like a ModelRunnerOutput."""

    def __init__(self, requests: list[str]) -> None:
        """Answer `requests`."""
        self.req_ids = requests


class Later:
    """Shaped like an output that is fetched from the device later."""

    def __init__(self, output: Output) -> None:
        """Hold `output` until it is asked for."""
        self.output = output

    def get_output(self) -> Output:
        """Fetch it."""
        return self.output


class Event:
    """A CUDA event whose time a test sets."""

    def __init__(self, at_ms: float, over: bool = True) -> None:
        """Happen at `at_ms`."""
        self.at_ms = at_ms
        self.over = over

    def record(self) -> None:
        """Be recorded."""

    def query(self) -> bool:
        """Whether the device is past it."""
        return self.over

    def elapsed_time(self, later: "Event") -> float:
        """Milliseconds until `later`."""
        return later.at_ms - self.at_ms


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> worker._Stopwatch:
    """A fresh stopwatch of a worker without a GPU."""
    made = worker._Stopwatch()
    made.looked = True
    made.parts.on = True
    monkeypatch.setattr(worker, "_WATCH", made)
    return made


def step(output: Any, *, pause: float = 0.0) -> Any:
    """One step as the worker process makes it: forward pass, then sampling."""
    execute = worker._execute_model(lambda *_args: time.sleep(pause))

    def sampled(*_args: Any) -> Any:
        time.sleep(pause)
        return output

    sample = worker._sample_tokens(sampled)
    assert execute(None, object()) is None
    return sample(None, None)


def test_on_a_cpu(watch: worker._Stopwatch) -> None:
    """Forward ends with the logits, sampling with the token ids; both as the host's clock says."""
    before = time.monotonic_ns()

    work = Work(*getattr(step(Output(["a"]), pause=0.002), ATTRIBUTE))

    assert before <= work.started <= work.ready <= work.done <= time.monotonic_ns()
    assert work.forward == work.ready - work.started >= 2_000_000
    assert work.done - work.ready >= 2_000_000
    assert watch.clock == work.clock
    assert (-1, -1) == (work.collective, work.copy)


def test_the_numbers_survive_pickling_without_us(watch: worker._Stopwatch) -> None:
    """What rides on the output is a plain tuple of ints, so a host without the package unpickles it."""
    output = step(SimpleNamespace(req_ids=["a"]))

    pickled = pickle.dumps(output)

    assert b"otel_attrib." not in pickled
    assert getattr(output, ATTRIBUTE) == getattr(pickle.loads(pickled), ATTRIBUTE)
    assert tuple is type(getattr(output, ATTRIBUTE))


def test_a_shared_empty_output_stays_as_it_is(watch: worker._Stopwatch) -> None:
    """vLLM shares one empty output between steps; nothing is put on it."""
    assert not hasattr(step(Output([])), ATTRIBUTE)


def test_fetched_later(watch: worker._Stopwatch) -> None:
    """With an asynchronous output the numbers belong to its own step though another has begun since."""
    fetch = worker._get_output(Later.get_output)
    one, two = step(Later(Output(["a"]))), step(Later(Output(["b"])))

    first, second = (Work(*getattr(fetch(output), ATTRIBUTE)) for output in (one, two))

    assert first.started < second.started
    assert first.ready < second.started < first.done


def test_on_a_gpu(watch: worker._Stopwatch) -> None:
    """With events the device's times count: forward 8 ms, sampling 2 ms before the ids were on the host."""
    watch.events = lambda: [Event(0.0), Event(8.0), Event(10.0)]
    sampled = worker._sample(lambda *_args: None)
    execute = worker._execute_model(lambda *_args: None)
    sample = worker._sample_tokens(lambda *_args: (sampled(None), Output(["a"]))[1])
    execute(None, object())

    work = Work(*getattr(sample(None, None), ATTRIBUTE))

    assert 8_000_000 == work.forward
    assert 2_000_000 == work.done - work.ready
    assert -1 == work.collective


@pytest.mark.parametrize("called", [True, False], ids=["the device is not past it", "sampling was not seen"])
def test_on_a_gpu_without_an_answer(watch: worker._Stopwatch, called: bool) -> None:
    """When the device's events give no answer the times are unknown; the host never waits for them."""
    watch.events = lambda: [Event(0.0), Event(8.0), Event(10.0, over=False)]
    execute = worker._execute_model(lambda *_args: None)
    execute(None, object())
    if called:
        worker._sample(lambda *_args: None)(None)

    work = Work(*getattr(worker._sample_tokens(lambda *_args: Output(["a"]))(None, None), ATTRIBUTE))

    assert (-1, -1) == (work.forward, work.ready)


@pytest.mark.parametrize(
    ("device", "events", "known"), [("cpu", False, True), ("cuda", True, True), ("xpu", False, False)]
)
def test_whose_clock_counts(monkeypatch: pytest.MonkeyPatch, device: str, events: bool, known: bool) -> None:
    """The host's on a CPU, the device's events on a GPU; on any other device nothing is claimed."""
    modules = {
        "vllm.platforms": SimpleNamespace(current_platform=SimpleNamespace(device_type=device)),
        "torch": SimpleNamespace(
            cuda=SimpleNamespace(Event=lambda enable_timing: Event(0.0), current_device=lambda: 0)
        ),
    }
    for module in (worker, torch_parts, torch_device):
        monkeypatch.setattr(module, "import_module", modules.__getitem__)
    monkeypatch.setattr(worker, "_WATCH", made := worker._Stopwatch())
    worker._execute_model(lambda *_args: None)(None, object())
    worker._sample(lambda *_args: None)(None)

    work = Work(*getattr(worker._sample_tokens(lambda *_args: Output(["a"]))(None, None), ATTRIBUTE))

    assert events == (made.events is not None)
    assert known == (work.forward >= 0)
    assert known == (work.ready >= 0)


def test_an_output_of_the_forward_pass_itself(watch: worker._Stopwatch) -> None:
    """Where one call gives the answer (pooling, pipeline ranks) it carries the numbers."""
    output = worker._execute_model(lambda *_args: Output(["a"]))(None, object())

    work = Work(*getattr(output, ATTRIBUTE))

    assert work.started <= work.ready <= work.done
