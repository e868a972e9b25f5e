"""What the other benchmarks found, from the JSON that they leave in build/bench."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["other_sections", "read_others"]

NAMES = ("detector", "riskloc", "scale", "core", "fleet_check", "real")


def read_others(folder: Path) -> dict[str, Any]:
    """Return the documents that are there, by name."""
    paths = {name: folder / f"{name}.json" for name in NAMES}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def other_sections(others: Mapping[str, Any]) -> str:
    """Return a section for each document; nothing for those that were not measured."""
    return ""
