"""The objectives that a command is about: of `--file`, else of setting `slo`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from otel_attrib.errors import NotFound, UsageError

if TYPE_CHECKING:
    from otel_attrib.analytics.objectives import Objective

__all__ = ["named", "objectives_if_any", "objectives_of_file"]


def objectives_of_file(file: str | None) -> "tuple[Objective, ...]":
    """Read the objectives of a file or folder; none named is a fault of use."""
    found = objectives_if_any(file)
    if not found:
        raise UsageError(
            "no objectives: name a file with --file or OTEL_ATTRIB_SLO;"
            " `otel-attrib slo preset` prints one to begin with"
        )
    return found


def objectives_if_any(file: str | None) -> "tuple[Objective, ...]":
    """Read the objectives of a file or folder; none where neither it nor the setting names one."""
    from pathlib import Path

    from otel_attrib.analytics.objectives import load_objectives
    from otel_attrib.config import load

    path = file or load().slo
    return load_objectives(Path(path)) if path else ()


def named(objectives: "tuple[Objective, ...]", names: Sequence[str]) -> "tuple[Objective, ...]":
    """Return the objectives of these names in their order; no names means all."""
    known = {objective.name: objective for objective in objectives}
    for name in names:
        if name not in known:
            raise NotFound(f"no objective {name!r}; there are {', '.join(known)}")
    return tuple(known[name] for name in names) if names else objectives
