"""The shipped configuration of Alertmanager: amtool takes it, and its routes lead where they should."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples/alertmanager/alertmanager.yml"


def amtool(program: Callable[[str], str], *words: str) -> "subprocess.CompletedProcess[str]":
    """Run it."""
    program("prometheus-alertmanager")  # its templates are amtool's too
    return subprocess.run([program("amtool"), *words], capture_output=True, text=True)


def test_configuration(program: Callable[[str], str]) -> None:
    """Configuration and templates are ones that Alertmanager takes."""
    done = amtool(program, "check-config", str(EXAMPLE))

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "1 templates" in done.stdout


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        (("alertname=SloBurnPage", "severity=page"), "pager"),
        (("alertname=LatencyRegression", "severity=ticket"), "tickets"),
        (("alertname=OtelAttribTest", "severity=none"), "chat"),
    ],
)
def test_routes(program: Callable[[str], str], labels: tuple[str, ...], receiver: str) -> None:
    """A page goes to the pager, a ticket to the tickets, a test to neither."""
    done = amtool(program, "config", "routes", "test", f"--config.file={EXAMPLE}", *labels)

    assert receiver == done.stdout.strip(), done.stderr
