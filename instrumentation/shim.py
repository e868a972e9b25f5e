"""The contract between a shim and the server it lives in.

The host's calls, results and exceptions pass through unchanged; whatever our own code raises
is caught and counted, and a callback that keeps failing is switched off. Nothing is patched
unless it was asked for, the engine's version is supported and the hooked signature is the known one.
"""

import functools
import inspect
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "FAULTS",
    "Faults",
    "Hook",
    "Patches",
    "guarded",
    "logs_named",
    "not_asked_for",
    "outside",
    "say",
    "switched_on",
]

ENABLED = "OTEL_ATTRIB_ENABLED"
DISABLED = "OTEL_ATTRIB_DISABLED"
ANY_VERSION = "OTEL_ATTRIB_ANY_VERSION"
ENDPOINT = "OTEL_ATTRIB_OTLP_ENDPOINT"
"""Wins over OTEL_EXPORTER_OTLP_ENDPOINT, which the engine's own tracing reads as well."""
TOKEN_TIMELINE = "OTEL_ATTRIB_TOKEN_TIMELINE"
CHILD_SPANS = "OTEL_ATTRIB_CHILD_SPANS"
SLA_FILE = "OTEL_ATTRIB_SLA_FILE"
HEADERS = "OTEL_ATTRIB_HEADERS"
GPU_SET = "OTEL_ATTRIB_GPU_SET"
SHARE = "OTEL_ATTRIB_BUDGET"
LOG_IDS = "OTEL_ATTRIB_LOG_IDS"

Callback = Callable[..., Any]


def say(line: str) -> None:
    """Print one line for the operator. Not logged: a host's logging set-up may swallow it."""
    print(f"otel-attrib: {line}", file=sys.stderr, flush=True)


def switched_on(variable: str) -> bool:
    """Whether an environment variable says yes."""
    return os.environ.get(variable, "").strip().lower() in {"1", "true", "yes", "on"}


def logs_named() -> bool:
    """Whether log records get the ids of their request (default yes)."""
    return os.environ.get(LOG_IDS, "1").strip().lower() not in {"0", "false", "no", "off"}


def not_asked_for() -> str | None:
    """Why the shim must stay asleep, in one line, or None when it was asked for."""
    if switched_on(DISABLED):
        return f"{DISABLED} is set"
    if not switched_on(ENABLED):
        return f"{ENABLED} is not set"
    return None


def release(version: str) -> tuple[int, ...]:
    """Leading numbers of a version, such as (0, 32, 0) for `0.32.0+cpu`."""
    numbers = []
    for part in version.split("+")[0].split("."):
        digits = "".join(ch for ch in part if ch.isdigit())
        if not part[:1].isdigit():
            break
        numbers.append(int(digits))
    return tuple(numbers)


def outside(version: str, supported: tuple[str, str]) -> str | None:
    """Why `version` is not in [first, end), or None when it is (or any is accepted)."""
    first, end = supported
    if release(first) <= release(version) < release(end) or switched_on(ANY_VERSION):
        return None
    return f"version {version} is outside the supported range >= {first}, < {end} ({ANY_VERSION}=1 tries it)"


@dataclass(slots=True)
class Faults:
    """Our own failures, by the callback that raised; they never reach the host."""

    limit: int = 20
    counts: Counter[str] = field(default_factory=Counter)
    last: dict[str, str] = field(default_factory=dict)

    def count(self, name: str, error: BaseException) -> None:
        """Add one; say so once at the first and once at the limit."""
        self.counts[name] += 1
        self.last[name] = f"{type(error).__name__}: {error}"
        if self.counts[name] == 1:
            say(f"{name} failed ({self.last[name]}); the server is not affected")
        if self.counts[name] == self.limit:
            say(f"{name} failed {self.limit} times and is switched off")

    def exhausted(self, name: str) -> bool:
        """Whether a callback has failed too often to be called again."""
        return self.counts[name] >= self.limit


FAULTS = Faults()


def guarded(name: str, callback: Callback) -> Callback:
    """Return `callback` made harmless: its exceptions are counted, not raised; None is returned instead."""

    off = False

    @functools.wraps(callback)
    def call(*args: Any) -> Any:
        nonlocal off
        if off:
            return None
        try:
            return callback(*args)
        except Exception as error:
            FAULTS.count(name, error)
            off = FAULTS.exhausted(name)
            return None

    return call


@dataclass(frozen=True, slots=True)
class Hook:
    """One function of the host to wrap: `module:qualified.name`, its leading parameters, and the wrapper."""

    target: str
    parameters: tuple[str, ...]
    wrapper: Callable[[Callback], Callback]

    @property
    def module(self) -> str:
        """Module that defines the function."""
        return self.target.partition(":")[0]

    def changed(self, function: object) -> str | None:
        """Why `function` is not what this hook was written for, or None."""
        if not callable(function):
            return f"{self.target} is gone"
        names = tuple(inspect.signature(function).parameters)
        if names[: len(self.parameters)] != self.parameters:
            return f"{self.target} now takes ({', '.join(names)})"
        return None


@dataclass(slots=True)
class Patches:
    """Hooks that are in place, each with what it replaced, and those that are off with the reason."""

    installed: dict[str, tuple[Any, str, Callback]] = field(default_factory=dict)
    off: dict[str, str] = field(default_factory=dict)

    def install(self, module: Any, hooks: Sequence[Hook]) -> None:
        """Wrap each hook's function in `module`; a changed one is left alone and named in `off`."""
        for hook in hooks:
            if hook.target not in self.installed:
                self._install(module, hook)

    def _install(self, module: Any, hook: Hook) -> None:
        owner, name = locate(module, hook.target)
        function = owner.__dict__.get(name) if owner is not None else None
        reason = hook.changed(function)
        if reason is not None or owner is None or function is None:
            self.off[hook.target] = reason or f"{hook.target} is gone"
            say(f"one hook is off: {self.off[hook.target]}")
            return
        setattr(owner, name, hook.wrapper(function))
        self.installed[hook.target] = (owner, name, function)

    def restore(self) -> None:
        """Put every replaced function back."""
        for owner, name, function in self.installed.values():
            setattr(owner, name, function)
        self.installed.clear()


def locate(module: Any, target: str) -> tuple[Any, str]:
    """Return the object that holds a hook's function and the name it has there."""
    *path, name = target.partition(":")[2].split(".")
    owner = module
    for part in path:
        owner = getattr(owner, part, None)
    return owner, name
