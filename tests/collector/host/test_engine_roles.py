"""Command lines of engines: which part each is."""

import pytest

from otel_attrib.collector.agent.engine_roles import is_tool, program_of, role_of

ROLES = [
    # vLLM: titles set by vllm/utils/system_utils.py, the rest as its documentation starts it.
    ("/opt/bin/python3.11 /opt/bin/vllm serve /models/m --port=1", "api_server"),
    ("vllm serve m", "api_server"),
    ("python -m vllm.entrypoints.openai.api_server --model m", "api_server"),
    ("python3 -X dev -u -m vllm.entrypoints.cli.main serve m", "api_server"),
    ("VLLM::APIServer_1", "api_server"),
    ("VLLM::EngineCore", "engine_core"),
    ("VLLM::EngineCore_DP3", "engine_core"),
    ("VLLM::Worker", "worker"),
    ("VLLM::Worker_DP0_PP1_TP7", "worker"),
    ("VLLM::DPCoordinator", "other"),
    ("ray::RayWorkerWrapper.execute_method", "worker"),
    # SGLang: titles of srt/managers.
    ("python -m sglang.launch_server --model-path m", "api_server"),
    ("python -m sgl_jax.launch_server", "api_server"),
    ("sglang serve --model-path m", "api_server"),
    ("sglang::scheduler", "engine_core"),
    ("sglang::scheduler_TP0", "engine_core"),
    ("sglang::scheduler_DP1_TP0_EP0", "engine_core"),
    ("sglang::scheduler_TP1", "worker"),
    ("sglang::scheduler_PP1_TP0", "worker"),
    ("sglang::semi_pd_scheduler_PREFILL_TP0", "engine_core"),
    ("sglang::gpu_worker_TP0_PP0", "worker"),
    ("sglang::detokenizer", "api_server"),
    ("sglang::tokenizer_worker:77", "api_server"),
    ("sglang-jax::multimodal_tokenizer", "api_server"),
    ("sglang::data_parallel_controller", "other"),
    # Others.
    ("text-generation-launcher --model-id m", "other"),
    ("text-generation-router --max-concurrent-requests 128", "api_server"),
    ("/usr/bin/python3 /opt/conda/bin/text-generation-server serve m", "worker"),
    ("/opt/tritonserver/bin/tritonserver --model-repository=/m", "api_server"),
    ("triton_python_backend_stub /m/1/model.py", "worker"),
    ("python3 -m llama_cpp.server --model m.gguf", "api_server"),
    ("./llama-server -m m.gguf", "api_server"),
    ("python /usr/bin/transformers serve", "api_server"),
    ("trtllm-serve m", "api_server"),
]
NONE = [
    "/opt/venv/bin/python -m otel_attrib run --service=s -- /opt/bin/vllm serve m",
    "otel-attrib agent",
    "bash -c vllm serve m",
    "vllm bench serve --model m",
    "python train.py vllm serve",
    "python -c from multiprocessing.spawn import spawn_main",
    "grep VLLM::EngineCore",
    "vim sglang::scheduler.md",
    "",
]


def words(line: str) -> tuple[str, ...]:
    """A command line as its kernel would keep it: a title is one word."""
    return (line,) if "::" in line.split(" ")[0] else tuple(line.split())


@pytest.mark.parametrize(("line", "role"), ROLES, ids=lambda value: value[:40])
def test_role(line: str, role: str) -> None:
    """Each part of each engine is told by its own words."""
    assert role == role_of(words(line))


@pytest.mark.parametrize("line", NONE, ids=lambda value: value[:40] or "empty")
def test_no_engine(line: str) -> None:
    """What only speaks of an engine is none."""
    assert role_of(words(line)) is None


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("python /opt/bin/vllm bench serve", True),
        ("python -m otel_attrib up", True),
        ("vllm serve m", False),
        ("python app.py", False),
    ],
)
def test_tool(line: str, tool: bool) -> None:
    """A tool beside an engine is told from the engine."""
    assert tool == is_tool(line.split())


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("/usr/bin/python3.11 -W ignore -X dev -u /opt/a/serve.py --key k", ("serve.py", "--key", "k")),
        ("python3 -m pkg.mod x", ("pkg.mod", "x")),
        ("python -c pass", ("-c",)),
        ("python", ()),
        ("/opt/bin/tritonserver x", ("tritonserver", "x")),
    ],
)
def test_program(line: str, program: tuple[str, ...]) -> None:
    """The interpreter, its options and the folder are left out."""
    assert program == program_of(line.split())
