"""What every test gets: an environment without the caller's settings."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting of the caller's shell reaches a test."""
    import os

    for name in list(os.environ):
        if name.startswith(("OTEL_", "SLATAG_")) and not name.startswith("OTEL_ATTRIB_TEST_"):
            monkeypatch.delenv(name)
    yield
