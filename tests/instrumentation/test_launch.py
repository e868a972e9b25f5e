"""`otel-attrib run`: the server runs in its own process, with the shim asked for and found."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from otel_attrib import __version__
from otel_attrib.errors import UsageError
from otel_attrib.instrumentation import launch
from otel_attrib.instrumentation.launch import Options, environment, overlay

COMMAND = ["vllm", "serve", "m"]
ON = [sys.executable, "-m", "otel_attrib", "run"]


def started(*words: str, **variables: str) -> "subprocess.Popen[str]":
    """`otel-attrib run` with these words."""
    env = os.environ | variables
    return subprocess.Popen([*ON, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def python(code: str) -> list[str]:
    """A command that runs a piece of Python."""
    return ["--", sys.executable, "-c", code]


def test_sane_defaults(tmp_path: Path) -> None:
    """Nothing set: the shim is asked for, spans go to loopback each second, the service is named."""
    env = environment({"PATH": "/bin"}, COMMAND, tmp_path, Options())

    assert {
        "PATH": "/bin",
        "OTEL_ATTRIB_ENABLED": "1",
        "OTEL_ATTRIB_STATUS_DIR": str(tmp_path),
        "OTEL_ATTRIB_OTLP_ENDPOINT": "http://127.0.0.1:4317",
        "OTEL_SERVICE_NAME": "vllm",
        "OTEL_BSP_SCHEDULE_DELAY": "1000",
        "PYTHONPATH": str(tmp_path / "overlay"),
    } == env


def test_the_users_settings_stay(tmp_path: Path) -> None:
    """What the user set is kept; a path is added to, a list of allowed plugins as well."""
    base = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://col:4317",
        "OTEL_RESOURCE_ATTRIBUTES": "service.name=mine",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "PYTHONPATH": "/x",
        "VLLM_PLUGINS": "other",
    }

    env = environment(base, COMMAND, tmp_path, Options())

    assert "OTEL_ATTRIB_OTLP_ENDPOINT" not in env
    assert "OTEL_SERVICE_NAME" not in env
    assert ("50", f"{tmp_path}/overlay:/x", "other,otel_attrib") == (
        env["OTEL_BSP_SCHEDULE_DELAY"],
        env["PYTHONPATH"],
        env["VLLM_PLUGINS"],
    )


def test_options_win(tmp_path: Path) -> None:
    """What is said on the command line wins over the environment."""
    base = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://col:4317", "OTEL_SERVICE_NAME": "old"}

    env = environment(base, COMMAND, tmp_path, Options("http://here:1", "new", "rules.toml", True))

    assert ("http://here:1", "new", "1") == (
        env["OTEL_ATTRIB_OTLP_ENDPOINT"],
        env["OTEL_SERVICE_NAME"],
        env["OTEL_ATTRIB_TOKEN_TIMELINE"],
    )
    assert str(Path("rules.toml").resolve()) == env["OTEL_ATTRIB_SLA_FILE"]


def test_overlay_is_as_good_as_installed(tmp_path: Path) -> None:
    """A Python that has never heard of the package finds its plugin through the overlay alone."""
    folder = overlay(tmp_path / "overlay")
    code = (
        "import json; from importlib.metadata import entry_points, version;"
        "(plugin,) = [one for one in entry_points(group='vllm.general_plugins')];"
        "(instrumentor,) = [one for one in entry_points(group='opentelemetry_instrumentor')];"
        "found = [version('otel-attrib'), plugin.value, instrumentor.value, plugin.load().__name__];"
        "print(json.dumps(found))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )

    base = "otel_attrib.instrumentation.vllm"
    assert [__version__, f"{base}:plugin", f"{base}:VLLMInstrumentor", "plugin"] == json.loads(done.stdout)


def test_exit_code_and_output_are_the_servers() -> None:
    """The server's output and exit code come out as they are; it runs under the same process id."""
    code = "import os, sys; print(os.getpid(), os.environ['OTEL_ATTRIB_ENABLED']); sys.exit(7)"
    process = started(*python(code))
    out, err = process.communicate(timeout=30)

    assert 7 == process.returncode
    assert f"{process.pid} 1\n" == out
    assert "" == err


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_server(which: signal.Signals) -> None:
    """A signal is the server's own: it ends as the server decides, and the temporary folder is gone."""
    code = (
        "import os, signal, sys, time\n"
        f"signal.signal({int(which)}, lambda *_: sys.exit(3))\n"
        "print(os.environ['OTEL_ATTRIB_STATUS_DIR'], flush=True)\n"
        "time.sleep(30)"
    )
    process = started(*python(code))
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    assert folder.is_dir()

    process.send_signal(which)
    process.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)

    assert 3 == process.returncode
    assert not folder.exists()


def test_the_watcher_speaks_for_the_processes() -> None:
    """What a process tells in the folder comes out as a line while the server runs."""
    code = (
        "import os, time; from otel_attrib.instrumentation import status\n"
        "status.tell('plugin', enabled=True, reason=''); status.tell('server')\n"
        "status.tell('request'); status.tell('exported', endpoint='h:1', spans=1); time.sleep(1.5)"
    )
    _, err = started(*python(code)).communicate(timeout=30)

    assert "otel-attrib: spans arrive at h:1, 0.0 s after the first request ended\n" == err


def test_the_kill_switch_is_said() -> None:
    """With the kill switch on, the server runs without the shim and one line says so."""
    _, err = started(*python("pass"), OTEL_ATTRIB_DISABLED="1").communicate(timeout=30)

    assert "otel-attrib: OTEL_ATTRIB_DISABLED is set: the server runs without instrumentation\n" == err


@pytest.mark.parametrize(
    ("command", "complaint"),
    [([], "no command: write it after --"), (["no-such-server"], "'no-such-server' is not found on PATH")],
)
def test_usage(command: list[str], complaint: str) -> None:
    """A command that is missing or unknown is a usage error, before anything is started."""
    with pytest.raises(UsageError, match=complaint):
        launch.run(command, Options())
