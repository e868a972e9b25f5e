"""What every test gets: an environment without the caller's settings."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# How long one example takes says something of the machine, nothing of the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting of the caller's shell reaches a test, and `up` reads no counters of this machine."""
    import os

    for name in list(os.environ):
        if name.startswith(("OTEL_", "SLATAG_")) and not name.startswith("OTEL_ATTRIB_TEST_"):
            monkeypatch.delenv(name)
    # What a test's service receives is what the test sends; those of the agent switch it on.
    monkeypatch.setenv("OTEL_ATTRIB_AGENT", "off")
    yield


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Find a program of scripts/services.sh; a test that needs one which is missing is skipped."""
    unpacked = Path(__file__).parents[1] / "build/services/usr/bin"

    def found(name: str) -> str:
        path = shutil.which(name, path=f"{unpacked}:/usr/bin")
        if path is None:
            pytest.skip(f"{name} is missing: scripts/services.sh fetches it")
        if name == "prometheus-alertmanager" and not _templates().exists():
            pytest.skip(f"{_templates()} is missing: scripts/services.sh links it where it may")
        return path

    return found


def _templates() -> Path:
    return Path("/usr/share/prometheus/alertmanager/default.tmpl")
