"""Every function of vLLM that is wrapped, in whichever process its module is imported."""

from itertools import groupby
from types import ModuleType

from otel_attrib.instrumentation import spans, status
from otel_attrib.instrumentation.imports import when_imported
from otel_attrib.instrumentation.shim import Hook, Patches
from otel_attrib.instrumentation.vllm import engine, server, torch_parts, worker

__all__ = ["HOOKS", "watch"]

HOOKS: tuple[Hook, ...] = (*server.HOOKS, *engine.HOOKS, *worker.HOOKS, *torch_parts.HOOKS)

WORKER = "vllm.v1.worker.gpu_worker"


def watch(patches: Patches, version: str) -> None:
    """Install each hook when its module is imported, now if it already is; spans name the `version`."""
    spans.WRITER.versions["vllm"] = version
    for name, hooks in groupby(sorted(HOOKS, key=lambda hook: hook.module), key=lambda hook: hook.module):
        _watch_module(patches, name, tuple(hooks))
    when_imported(WORKER, torch_parts.watch_torch(patches))


def _watch_module(patches: Patches, name: str, hooks: tuple[Hook, ...]) -> None:
    def install(module: ModuleType) -> None:
        patches.install(module, hooks)
        for hook in hooks:
            if hook.target in patches.off:
                status.tell("hook off", once=False, reason=patches.off[hook.target])

    when_imported(name, install)
