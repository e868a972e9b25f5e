"""Start a server with its shim asked for: environment, overlay, and a watcher that says what came of it.

The server replaces this process (exec), so its signals, exit code and terminal are its own.
The package need not be installed beside the server: a folder on PYTHONPATH holds a link to it and
the metadata by which the engine finds plugins. The server's own OpenTelemetry is all it needs.
"""

import os
import select
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import otel_attrib
from otel_attrib.errors import UsageError
from otel_attrib.instrumentation.shim import (
    DISABLED,
    ENABLED,
    ENDPOINT,
    SLA_FILE,
    TOKEN_TIMELINE,
    say,
    switched_on,
)
from otel_attrib.instrumentation.status import STATUS_DIR
from otel_attrib.instrumentation.verdict import Watch, read_facts

__all__ = ["Options", "environment", "overlay", "run"]

DEFAULT_ENDPOINT = "http://127.0.0.1:4317"
PLUGIN = "otel_attrib"
_ENTRY_POINTS = """\
[vllm.general_plugins]
otel_attrib = otel_attrib.instrumentation.vllm:plugin

[opentelemetry_instrumentor]
vllm = otel_attrib.instrumentation.vllm:VLLMInstrumentor
"""


def overlay(folder: Path) -> Path:
    """Make a folder that, on PYTHONPATH, is as good as an installed otel-attrib without its extras."""
    folder.mkdir(parents=True)
    (folder / "otel_attrib").symlink_to(Path(otel_attrib.__file__).resolve().parent, target_is_directory=True)
    metadata = folder / f"otel_attrib-{otel_attrib.__version__}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: otel-attrib\nVersion: {otel_attrib.__version__}\n"
    )
    (metadata / "entry_points.txt").write_text(_ENTRY_POINTS)
    return folder


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for; None leaves it to the environment."""

    otlp: str | None = None
    service: str | None = None
    sla: str | None = None
    timeline: bool = False


def environment(
    base: Mapping[str, str], command: Sequence[str], folder: Path, options: Options
) -> dict[str, str]:
    """The server's environment: what the user set stays, what is missing gets a sane default."""
    env = dict(base)
    env[ENABLED] = "1"
    env[STATUS_DIR] = str(folder)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder / "overlay"), base.get("PYTHONPATH"))))
    if options.otlp is not None:
        env[ENDPOINT] = options.otlp
    elif not {"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} & set(base):
        env.setdefault(ENDPOINT, DEFAULT_ENDPOINT)
    if options.service is not None:
        env["OTEL_SERVICE_NAME"] = options.service
    elif "service.name=" not in base.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        env.setdefault("OTEL_SERVICE_NAME", "vllm" if "vllm" in " ".join(command) else Path(command[0]).name)
    if options.sla is not None:
        env[SLA_FILE] = str(Path(options.sla).resolve())
    if options.timeline:
        env[TOKEN_TIMELINE] = "1"
    env.setdefault("OTEL_BSP_SCHEDULE_DELAY", "1000")
    _allow_plugin(env)
    return env


def _allow_plugin(env: dict[str, str]) -> None:
    """A list of allowed plugins that the user set must name ours as well."""
    allowed = env.get("VLLM_PLUGINS")
    if allowed is not None and PLUGIN not in allowed.split(","):
        env["VLLM_PLUGINS"] = f"{allowed},{PLUGIN}" if allowed else PLUGIN


def run(command: Sequence[str], options: Options) -> int:
    """Become the server; a watcher beside it tells within 10 s of the first request whether spans arrive."""
    if not command:
        raise UsageError("no command: write it after --, as in: otel-attrib run -- vllm serve MODEL")
    if shutil.which(command[0]) is None:
        raise UsageError(f"command {command[0]!r} is not found on PATH")
    folder = Path(tempfile.mkdtemp(prefix="otel-attrib-run-"))
    overlay(folder / "overlay")
    env = environment(os.environ, command, folder, options)
    if switched_on(DISABLED):
        say(f"{DISABLED} is set: the server runs without instrumentation")
    if env.get("VLLM_USE_RUST_FRONTEND", "0") not in ("", "0"):
        say("VLLM_USE_RUST_FRONTEND is set: requests pass a front end that cannot be instrumented")
    server = os.getpid()
    _detached(lambda: watch(server, folder, _endpoint(env)))
    sys.stdout.flush()
    os.execvpe(command[0], list(command), env)


def _endpoint(env: Mapping[str, str]) -> str:
    names = (ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    return next((env[name] for name in names if env.get(name)), DEFAULT_ENDPOINT)


def watch(server: int, folder: Path, endpoint: str) -> None:
    """Follow the server until it ends, then remove the folder."""
    try:
        process = os.pidfd_open(server)
        seen = Watch(time.time(), endpoint)
        ended = False
        while not ended:
            ended = bool(select.select([process], [], [], 0.5)[0])
            for line in seen.lines(read_facts(folder), time.time()):
                say(line)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _detached(work: Callable[[], None]) -> None:
    """Do `work` in a process that is not the server's child: a server may wait for, or kill, its children."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        work()
    finally:
        os._exit(0)
