"""What other tools that a user can install say of the same runs, each in an environment of its own."""

from pathlib import Path

from otel_attrib.demo.service import Service
from otel_attrib.demo.story import Phase

__all__ = ["ask_rivals"]


def ask_rivals(service: Service, before: Phase, during: Phase, folder: Path) -> dict[str, str]:
    """Return the layer that each installed rival names ("" for none); those not installed are left out."""
    return {}
