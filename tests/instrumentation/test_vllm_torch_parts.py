"""A vLLM worker's parts: what computes, what is out of sight, which card, and when it counts as loaded."""

from types import SimpleNamespace
from typing import Any

import pytest

from otel_attrib.instrumentation import background
from otel_attrib.instrumentation.torch import calls, device
from otel_attrib.instrumentation.torch.device import CudaEvents
from otel_attrib.instrumentation.torch.window import ProfileWindows
from otel_attrib.instrumentation.vllm import torch_parts
from otel_attrib.instrumentation.vllm.torch_parts import WorkerParts


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> WorkerParts:
    """Fresh parts of this process, with something shaped like vLLM's platform and torch."""
    modules = {
        "torch": SimpleNamespace(
            compiler=SimpleNamespace(is_compiling=lambda: False),
            cuda=SimpleNamespace(current_device=lambda: 1, is_current_stream_capturing=lambda: False),
        ),
        "torch.distributed": SimpleNamespace(),
        "vllm.platforms": SimpleNamespace(
            current_platform=SimpleNamespace(use_custom_op_collectives=lambda: False)
        ),
    }
    for module in (calls, device, torch_parts):
        monkeypatch.setattr(module, "import_module", modules.__getitem__)
    monkeypatch.setattr(background, "every_tick", lambda _work: None)
    made = WorkerParts()
    monkeypatch.setattr(torch_parts, "WORKER_PARTS", made)
    return made


def worker(mode: int = 0) -> Any:
    """Something shaped like a worker of an engine of 8 requests and 400 tokens a step."""
    return SimpleNamespace(
        rank=1,
        vllm_config=SimpleNamespace(
            scheduler_config=SimpleNamespace(max_num_seqs=8, max_num_batched_tokens=400),
            compilation_config=SimpleNamespace(mode=mode),
        ),
    )


def one_collective(parts: WorkerParts, group: Any) -> Any:
    """A step in which a group of ranks reduces; what is told of it."""
    reduce = torch_parts.collective(lambda _self, tensor: tensor)
    step = parts.begin(SimpleNamespace())
    reduce(group, SimpleNamespace(nbytes=24))
    parts.end(step)
    return parts.read(step, own_thread=True)


def test_a_group_of_ranks(parts: WorkerParts) -> None:
    """A group of two tells bytes and time; a group of one has no collective."""
    parts.look(worker(), "cpu")

    alone = one_collective(parts, SimpleNamespace(world_size=1))
    two = one_collective(parts, SimpleNamespace(world_size=2))

    assert (-1, -1) == (alone.collective, alone.collective_bytes)
    assert 24 == two.collective_bytes
    assert two.collective >= 0


def test_compiled_collectives_are_absent(parts: WorkerParts) -> None:
    """Where vLLM compiles its collectives in, what is still seen is not told as if it were all."""
    parts.look(worker(mode=3), "cpu")

    found = one_collective(parts, SimpleNamespace(world_size=2))

    assert (-1, -1) == (found.collective, found.collective_bytes)


@pytest.mark.parametrize(("where", "bytes_told"), [("cpu", -1), ("cuda", 16)])
def test_copies_are_a_devices(
    parts: WorkerParts, monkeypatch: pytest.MonkeyPatch, where: str, bytes_told: int
) -> None:
    """A buffer's copy counts where there is a device to copy to; on a CPU it is the same memory."""
    event = SimpleNamespace(record=lambda: None, query=lambda: True, elapsed_time=lambda _later: 0.5)
    cuda = SimpleNamespace(Event=lambda enable_timing: event, is_current_stream_capturing=lambda: False)
    monkeypatch.setattr(torch_parts, "CudaEvents", lambda: CudaEvents(cuda))
    copy = torch_parts.copy(lambda _self: SimpleNamespace(nbytes=16))
    parts.look(worker(), where)
    step = parts.begin(SimpleNamespace())
    copy(None)
    parts.end(step)
    own = parts.read(step, own_thread=True)
    other = parts.read(step, own_thread=False)

    assert other is not None
    assert bytes_told == other.copy_bytes
    assert (where == "cpu") == (own is not None)
    assert (500_000 if where == "cuda" else -1) == other.copy


@pytest.mark.parametrize(("device_type", "switch"), [("xpu", "1"), ("cpu", "0")])
def test_where_nothing_is_timed(
    parts: WorkerParts, monkeypatch: pytest.MonkeyPatch, device_type: str, switch: str
) -> None:
    """On a device whose clock we cannot read, or switched off, no step is begun."""
    monkeypatch.setenv(torch_parts.SWITCH, switch)
    parts.look(worker(), device_type)

    assert parts.begin(SimpleNamespace()) is None
    assert parts.read(None, own_thread=False) is None


def test_switched_off_nothing_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With OTEL_ATTRIB_TORCH=0 the host's functions stay themselves."""
    monkeypatch.setenv(torch_parts.SWITCH, "0")

    def host() -> None:
        """Do what vLLM does."""

    assert host is torch_parts.collective(host)
    assert host is torch_parts.copy(host)


@pytest.mark.parametrize(
    ("requests", "tokens", "level", "loaded"),
    [(5, 100, 0, False), (6, 100, 0, True), (1, 300, 0, True), (1, 1, 1, True)],
    ids=["room", "many requests", "many tokens", "the shim sheds work"],
)
def test_loaded(
    parts: WorkerParts,
    monkeypatch: pytest.MonkeyPatch,
    requests: int,
    tokens: int,
    level: int,
    loaded: bool,
) -> None:
    """From three quarters of the most requests or tokens on, or with the budget spent, no window opens."""
    monkeypatch.setenv("OTEL_ATTRIB_TORCH_PROFILE_EVERY", "5")
    monkeypatch.setattr(background.BUDGET, "level", level)
    asked: list[bool] = []
    monkeypatch.setattr(ProfileWindows, "before", lambda _self, loaded: asked.append(loaded))
    parts.look(worker(), "cpu")
    counts = dict.fromkeys(range(requests), 1)
    parts.begin(SimpleNamespace(num_scheduled_tokens=counts, total_num_scheduled_tokens=tokens))

    assert [loaded] == asked


@pytest.mark.parametrize(
    ("visible", "card"), [(None, "1"), ("4,6", "6"), (" 2 , 3 ", "3"), ("0", "1"), ("", "1")]
)
def test_which_card(monkeypatch: pytest.MonkeyPatch, visible: str | None, card: str) -> None:
    """The worker's card is the one that CUDA_VISIBLE_DEVICES has at its place."""
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    assert card == torch_parts._card()


def test_somebody_asks_for_a_profile(parts: WorkerParts) -> None:
    """Our window is closed before vLLM opens a profiler of its own; whatever happens, vLLM's call passes."""
    order: list[str] = []
    parts.windows = SimpleNamespace(give_up=lambda: order.append("closed"))  # type: ignore[assignment]
    ask = torch_parts.profile(lambda _self, start: order.append("opened"))
    ask(None, True)

    assert ["closed", "opened"] == order
