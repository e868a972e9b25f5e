"""OTEL_* and OTEL_ATTRIB_* variables of this shell that would surprise a server started from it."""

import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from urllib.parse import SplitResult, urlsplit

from otel_attrib.config import PREFIX, Settings, load
from otel_attrib.doctor.check import Finding, Surroundings, check, fail, ok, warn
from otel_attrib.errors import ConfigError

Environment = Mapping[str, str]

_GRPC, _HTTP = "4317", "4318"
_TRUE = ("1", "true", "yes", "on")
_SAMPLERS = (
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
)
_ATTRIBUTES = 64  # a request span carries up to about this many
_LENGTH = 16_384  # a step span's packed columns may be as long
# Of the shim and of single commands.
_NO_SETTINGS = (
    "ANY_VERSION",
    "BOARD",
    "BUDGET",
    "CHILD_SPANS",
    "CONFIG",
    "DISABLED",
    "DSN",
    "ENABLED",
    "GPU_SET",
    "GRAFANA_TOKEN",
    "GRAFANA_URL",
    "GRAFANA_USER",
    "HEADERS",
    "LOG_IDS",
    "OTLP_ENDPOINT",
    "SLA_FILE",
    "STATUS_DIR",
    "TAIL_E2E_MS",
    "TAIL_QUANTILE",
    "TAIL_SAMPLE",
    "TAIL_TPOT_MS",
    "TAIL_TRICKLE",
    "TAIL_TTFT_MS",
    "TOKEN",
    "TOKEN_TIMELINE",
    "TORCH",
    "TORCH_PROFILE_EVERY",
    "TORCH_PROFILE_SHARE",
    "URL",
    "VLLM_VENV",
)


@check("settings")
def settings(around: Surroundings) -> Iterator[Finding]:
    """The settings can be read, and no variable is misspelt."""
    try:
        load(around.environ)
    except ConfigError as fault:
        yield fail("settings", str(fault), "correct it; docs/reference/settings.md lists what is allowed")
    known = {entry.name.upper() for entry in fields(Settings)} | set(_NO_SETTINGS)
    ours = [
        name for name in around.environ if name.startswith(PREFIX) and not name.startswith(f"{PREFIX}TEST_")
    ]
    strange = [name for name in ours if name.removeprefix(PREFIX) not in known]
    for name in strange:
        yield warn("settings", f"{name} is no setting", "check its spelling; it has no effect")
    if not strange:
        yield ok("settings", f"{len(ours)} OTEL_ATTRIB_* variables, all known")


@check("OTEL_*")
def standard(around: Surroundings) -> Iterator[Finding]:
    """Standard variables that would keep spans from arriving."""
    env = around.environ
    given = [name for name in env if name.startswith("OTEL_") and not name.startswith(PREFIX)]
    found = [finding for look in _LOOKS for finding in look(env)]
    yield from found
    if not found:
        yield ok("OTEL_*", f"{len(given)} set, nothing that would surprise" if given else "none is set")


def _switches(env: Environment) -> Iterator[Finding]:
    if env.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield _surprise("OTEL_SDK_DISABLED", env, "no span is made at all", "unset it")
    exporters = [word.strip() for word in env.get("OTEL_TRACES_EXPORTER", "otlp").split(",")]
    if not any(word.startswith("otlp") for word in exporters):
        yield _surprise("OTEL_TRACES_EXPORTER", env, "spans do not reach a collector", "set it to otlp")
    if "vllm" in env.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "").replace(" ", "").split(","):
        yield _surprise("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", env, "vLLM is left out", "take vllm out")
    if env.get("OTEL_ATTRIB_DISABLED", "").lower() in _TRUE:
        yield _surprise("OTEL_ATTRIB_DISABLED", env, "the instrumentation stays asleep", "unset it")


def _sampler(env: Environment) -> Iterator[Finding]:
    name, ratio = env.get("OTEL_TRACES_SAMPLER", ""), env.get("OTEL_TRACES_SAMPLER_ARG", "")
    if name and name not in _SAMPLERS:
        yield _surprise(
            "OTEL_TRACES_SAMPLER", env, "is not a known sampler", f"one of {', '.join(_SAMPLERS)}"
        )
    elif name.endswith("always_off"):
        yield _surprise("OTEL_TRACES_SAMPLER", env, "no request is kept", "set it to parentbased_always_on")
    elif name.endswith("traceidratio"):
        kept = f"keeps {ratio or '1.0'} of the requests: tails are thinned as well"
        yield _surprise("OTEL_TRACES_SAMPLER", env, kept, "parentbased_always_on keeps every request")


def _names(env: Environment) -> Iterator[Finding]:
    attributes = env.get("OTEL_RESOURCE_ATTRIBUTES", "")
    touched = any(name.startswith("OTEL_") and not name.startswith(PREFIX) for name in env)
    if touched and not env.get("OTEL_SERVICE_NAME") and "service.name=" not in attributes.replace(" ", ""):
        text = "OTEL_SERVICE_NAME is not set: services are told apart by it"
        yield warn("OTEL_*", text, "OTEL_SERVICE_NAME=chat, say")
    propagators = env.get("OTEL_PROPAGATORS", "tracecontext")
    if "tracecontext" not in propagators.replace(" ", "").split(","):
        yield _surprise("OTEL_PROPAGATORS", env, "callers' traceparent is not read", "add tracecontext")
    for name in ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"):
        if any("=" not in pair for pair in env.get(name, "").split(",") if pair.strip()):
            yield warn("OTEL_*", f"{name} is not of the form key=value,key=value", "write a space as %20")


def _limits(env: Environment) -> Iterator[Finding]:
    for name, least in (
        ("OTEL_ATTRIBUTE_COUNT_LIMIT", _ATTRIBUTES),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", _ATTRIBUTES),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", _LENGTH),
        ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", _LENGTH),
    ):
        value = env.get(name, "")
        if value.isdigit() and int(value) < least:
            yield _surprise(name, env, "cuts what our spans carry", f"unset it, or at least {least}")


def _endpoints(env: Environment) -> Iterator[Finding]:
    for name, of_traces in (
        ("OTEL_ATTRIB_OTLP_ENDPOINT", False),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", False),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", True),
    ):
        if env.get(name):
            yield from _endpoint(name, env, of_traces)


def _endpoint(name: str, env: Environment, of_traces: bool) -> Iterator[Finding]:
    """What is wrong with one endpoint: form, port of the other protocol, path, nobody there."""
    protocol = _protocol(env)
    if protocol not in ("grpc", "http/protobuf", "http/json"):
        fix = "OTEL_EXPORTER_OTLP_PROTOCOL=grpc or http/protobuf"
        yield warn("OTEL_*", f"OTLP protocol {protocol!r} is none that exporters know", fix)
    target = urlsplit(env[name])
    if target.scheme not in ("http", "https") or not target.hostname:
        yield _surprise(name, env, "is no http:// address", "write http://127.0.0.1:4317")
        return
    yield from _port(name, env, target, protocol)
    if protocol.startswith("http"):
        yield from _path(name, env, target, of_traces)
    if not _answers(target):
        yield _surprise(name, env, "nobody answers there", "start `otel-attrib up`, or correct it")


def _protocol(env: Environment) -> str:
    general = env.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    return env.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", general).strip()


def _port(name: str, env: Environment, target: SplitResult, protocol: str) -> Iterator[Finding]:
    port = target.netloc.rpartition(":")[2]
    if protocol == "grpc" and port == _HTTP:
        fix = "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or port 4317"
        yield _surprise(name, env, "is the HTTP port and the protocol is gRPC (the default)", fix)
    if protocol.startswith("http") and port == _GRPC:
        yield _surprise(name, env, f"is the gRPC port and the protocol is {protocol}", "use port 4318")


def _path(name: str, env: Environment, target: SplitResult, of_traces: bool) -> Iterator[Finding]:
    path = target.path.rstrip("/")
    if of_traces and not path.endswith("/v1/traces"):
        yield _surprise(name, env, "is used as it stands and lacks its path", "end it with /v1/traces")
    if not of_traces and path.endswith(("/v1/traces", "/v1/metrics", "/v1/logs")):
        yield _surprise(name, env, "gets /v1/traces added once more", "leave the path out")


def _answers(target: SplitResult) -> bool:
    try:
        port = target.port or (443 if target.scheme == "https" else 80)
        with socket.create_connection((target.hostname, port), timeout=1.0):
            return True
    except (OSError, ValueError):
        return False


def _proxies(env: Environment) -> Iterator[Finding]:
    """Exporters send through a proxy unless this machine is excepted."""
    lower = {name.lower(): value for name, value in env.items()}
    proxied = [name for name in ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy") if lower.get(name)]
    excepted = {word.strip() for word in lower.get("no_proxy", "").split(",")}
    if proxied and not excepted & {"*", "127.0.0.1", "127.0.0.0/8", "localhost"}:
        text = f"{proxied[0]} is set and this machine is not excepted: spans may go to the proxy"
        yield warn("OTEL_*", text, "NO_PROXY=127.0.0.1,localhost")


def _surprise(name: str, env: Environment, effect: str, fix: str) -> Finding:
    value = env[name]
    if "@" in value:  # a password may stand before it
        value = f"…@{value.rpartition('@')[2]}"
    return warn("OTEL_*", f"{name}={value}: {effect}", fix)


_LOOKS: tuple[Callable[[Environment], Iterator[Finding]], ...] = (
    _switches,
    _sampler,
    _names,
    _limits,
    _endpoints,
    _proxies,
)
