"""The recorded profiles, each read once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from otel_attrib.analytics.profiles.read import read_profile
from otel_attrib.analytics.profiles.timeline import Profile

FIXTURES = Path(__file__).parents[2] / "fixtures"


@cache
def read(name: str) -> Profile:
    """One of the recorded profiles."""
    return read_profile(FIXTURES / name)


@pytest.fixture
def recorded() -> Callable[[str], Profile]:
    """Reads a recorded profile by its path below tests/fixtures; a second time it is remembered."""
    return read
