"""The real vLLM, or the reason why this machine cannot have it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from otel_attrib.demo.environment import CANNOT_RUN_HERE, INSTALLER, ensure_model, folder

sys.path.insert(0, str(Path(__file__).parents[2]))


@pytest.fixture(scope="session")
def vllm() -> Path:
    """Programs of the vLLM environment; `make test` sets it up, a plain `pytest` only looks."""
    asked_for = os.environ.get("OTEL_ATTRIB_TEST_VLLM") == "1"
    done = subprocess.run(
        ["bash", str(INSTALLER), *([] if asked_for else ["--check"])], capture_output=True, text=True
    )
    if done.returncode == CANNOT_RUN_HERE:
        pytest.skip(done.stderr.strip())
    if done.returncode and not asked_for:
        pytest.skip("vLLM is not set up: `make test` or `make vllm` does it")
    assert done.returncode == 0, done.stderr
    return folder() / "bin"


@pytest.fixture(scope="session")
def model(vllm: Path) -> Path:
    """The tiny model."""
    return ensure_model()
