"""Where the demonstration's vLLM and its model live, and how they come to be there."""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from otel_attrib.errors import OtelAttribError

__all__ = [
    "VLLM_VERSION",
    "CannotInstall",
    "clean_environment",
    "ensure_model",
    "ensure_vllm",
    "folder",
    "server_environment",
]

VLLM_VERSION = "0.32.0"
HERE = Path(__file__).parent
INSTALLER = HERE / "install_vllm.sh"
MODEL_MAKER = HERE / "tiny_model.py"
CANNOT_RUN_HERE = 3


class CannotInstall(OtelAttribError):
    """vLLM cannot be set up on this machine, or its installation failed."""


def cache() -> Path:
    """Return the user's folder for what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "otel-attrib"


def folder() -> Path:
    """Return the folder of vLLM's own Python environment."""
    return Path(os.environ.get("OTEL_ATTRIB_VLLM_VENV") or cache() / f"vllm-{VLLM_VERSION}")


def ensure_vllm() -> Path:
    """Install vLLM unless it is there, telling on stderr; return the folder of its programs."""
    done = subprocess.run(
        ["bash", str(INSTALLER)],
        stdout=sys.stderr,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise CannotInstall(done.stderr.strip() or f"{INSTALLER} ended with {done.returncode}")
    return folder() / "bin"


def ensure_model() -> Path:
    """Make the tiny model unless this very maker has made it; return its folder."""
    maker = sha256(MODEL_MAKER.read_bytes()).hexdigest()[:12]
    model = cache() / f"tiny-llama-{maker}"
    if not (model / "config.json").exists():
        building = model.with_name(f"{model.name}.{os.getpid()}")
        python = folder() / "bin" / "python"
        done = subprocess.run(
            [python, MODEL_MAKER, building], env=server_environment(), capture_output=True, text=True
        )
        if done.returncode:
            raise OtelAttribError(
                f"the tiny model could not be made: {done.stderr.strip().splitlines()[-1:]}"
            )
        _put_in_place(building, model)
    return model


def _put_in_place(building: Path, model: Path) -> None:
    """Give the finished folder its name; whoever comes second throws the copy away."""
    try:
        building.rename(model)
    except OSError:
        shutil.rmtree(building)


def clean_environment() -> dict[str, str]:
    """Return the user's variables without those that would send our spans or questions elsewhere."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TRACEPARENT"))
    }


def server_environment() -> dict[str, str]:
    """Return variables for a vLLM that stays on this machine and on one thread, beside the user's own."""
    return clean_environment() | {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
