"""Every hook: the host's arguments, result and exception pass unchanged, and each name exists in vLLM."""

import ast
import asyncio
import inspect
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from otel_attrib.instrumentation.launch import overlay
from otel_attrib.instrumentation.shim import FAULTS, Faults, Hook
from otel_attrib.instrumentation.torch import calls
from otel_attrib.instrumentation.vllm import SUPPORTED, server
from otel_attrib.instrumentation.vllm.hooks import HOOKS

IDS = [hook.target for hook in HOOKS]
# This one returns the host's application inside ours, by design.
PASSING = [hook for hook in HOOKS if not hook.target.endswith("build_middleware_stack")]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No torch is needed, and failures of these odd arguments are not counted as the session's."""
    compiling = SimpleNamespace(is_compiling=lambda: False)
    monkeypatch.setattr(calls, "import_module", lambda _name: SimpleNamespace(compiler=compiling))
    monkeypatch.setattr("otel_attrib.instrumentation.shim.FAULTS", Faults())
    monkeypatch.setattr(server, "LIVE", {})


def arguments(hook: Hook) -> list[Any]:
    """Something for each parameter of a hook: not at all what the host would pass."""
    return [SimpleNamespace(request_id=f"odd {name}") for name in hook.parameters]


def outcome(call: Any) -> Any:
    """The result of a call, awaited if need be."""
    return asyncio.run(_await(call)) if inspect.isawaitable(call) else call


async def _await(awaitable: Any) -> Any:
    return await awaitable


def wrapped(hook: Hook, host: Any) -> Any:
    """The hook around `host`, which is asynchronous where vLLM's is."""
    if hook.target.rpartition(".")[2] not in ("_check_model", "render_chat_async", "render_cmpl_async"):
        return hook.wrapper(host)

    async def later(*args: Any, **kwargs: Any) -> Any:
        return host(*args, **kwargs)

    return hook.wrapper(later)


@pytest.mark.parametrize("hook", PASSING, ids=[hook.target for hook in PASSING])
def test_arguments_and_result_pass(hook: Hook) -> None:
    """The host's function gets what its caller gave, new arguments as well, and its result comes back."""
    seen: list[Any] = []
    host_result = object()

    def host(*args: Any, **kwargs: Any) -> Any:
        seen.append((list(args), kwargs))
        return host_result

    given = arguments(hook)

    assert host_result is outcome(wrapped(hook, host)(*given, "further", new_option=1))
    ((args, kwargs),) = seen
    assert (given, "further") == (args[: len(given)], args[-1])
    assert {"new_option": 1} == kwargs


@pytest.mark.parametrize("hook", HOOKS, ids=IDS)
def test_the_hosts_exception_passes(hook: Hook) -> None:
    """What the host's function raises comes out as it is: same object, nothing added."""
    fault = RuntimeError("of vLLM")

    def host(*_args: Any, **_kwargs: Any) -> Any:
        raise fault

    with pytest.raises(RuntimeError) as raised:
        outcome(wrapped(hook, host)(*arguments(hook)))

    assert fault is raised.value
    assert fault.__cause__ is None
    assert fault.__context__ is None


def site_packages() -> Path | None:
    """Where vLLM is installed: this environment or the one that `make demo` sets up."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    named = os.environ.get("OTEL_ATTRIB_VLLM_VENV") or cache / "otel-attrib/vllm-0.32.0"
    found = sorted(Path(named).glob("lib/python*/site-packages/vllm"))
    return found[0].parent if found else None


@pytest.fixture(scope="module")
def packages() -> Iterator[Path]:
    """The site-packages with vLLM."""
    found = site_packages()
    if found is None:
        pytest.skip("vLLM is not installed: `make demo` does it, or set OTEL_ATTRIB_VLLM_VENV")
    yield found


def definition(packages: Path, hook: Hook) -> list[str]:
    """Parameter names of a hooked function, read from its source: what cannot run here can be read."""
    module, _, qualified = hook.target.partition(":")
    path = packages / (module.replace(".", "/") + ".py")
    body: list[ast.stmt] = ast.parse(path.read_text()).body
    for name in qualified.split("."):
        (node,) = (one for one in body if getattr(one, "name", None) == name)
        assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        body = node.body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return [one.arg for one in (*node.args.posonlyargs, *node.args.args)]


@pytest.mark.vllm
@pytest.mark.parametrize("hook", HOOKS, ids=IDS)
def test_hooked_name_exists(packages: Path, hook: Hook) -> None:
    """The installed vLLM defines each hooked function with the parameters that the hook knows."""
    assert list(hook.parameters) == definition(packages, hook)[: len(hook.parameters)]


@pytest.mark.vllm
def test_installed_version_is_supported(packages: Path) -> None:
    """The range names the version that the tests run against."""
    (metadata,) = packages.glob("vllm-[0-9]*.dist-info")
    version = metadata.name.removeprefix("vllm-").removesuffix(".dist-info")

    assert SUPPORTED[0] <= version.partition("+")[0] < SUPPORTED[1]


_LOAD = """
import sys
from importlib.metadata import entry_points
(found,) = [one for one in entry_points(group="vllm.general_plugins") if one.name == "otel_attrib"]
plugin = found.load()
assert "vllm" not in sys.modules, "our import imports vLLM"
plugin()
import vllm.v1.engine.async_llm, vllm.v1.engine.core, vllm.v1.core.sched.scheduler
import vllm.v1.worker.gpu_worker, vllm.v1.worker.gpu_model_runner, vllm.entrypoints.serve.engine.serving
from otel_attrib.instrumentation.vllm import PATCHES
from otel_attrib.instrumentation.shim import FAULTS
print(len(PATCHES.installed), PATCHES.off, dict(FAULTS.counts), flush=True)
"""


@pytest.mark.vllm
@pytest.mark.parametrize("asked", [True, False], ids=["asked for", "not asked for"])
def test_plugin_in_the_real_process(packages: Path, tmp_path: Path, asked: bool) -> None:
    """vLLM finds the plugin in an overlay, without otel-attrib installed; asleep it changes nothing."""
    python = packages.parents[2] / "bin/python"
    env = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    env |= {"PYTHONPATH": str(overlay(tmp_path / "overlay")), "VLLM_CPU_KVCACHE_SPACE": "1"}
    if asked:
        env["OTEL_ATTRIB_ENABLED"] = "1"

    done = subprocess.run(
        [python, "-W", "ignore", "-c", _LOAD], env=env, capture_output=True, text=True, timeout=300
    )

    assert 0 == done.returncode, done.stderr
    installed, _, rest = done.stdout.splitlines()[-1].partition(" ")
    assert "{} {}" == rest
    assert (int(installed) >= 20) if asked else (int(installed) == 0)
    assert FAULTS.counts["plugin"] == 0
