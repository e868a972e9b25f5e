"""What every test gets: an environment without the caller's settings."""

from collections.abc import Iterator

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
