"""Whether what Grafana holds is what we want, whatever Grafana added of its own.

Grafana gives every object an id and a version, fills in defaults, and newer ones raise the schema version. So
only what we set is compared: each value of ours, each list with its length and order.
"""

import json
from collections.abc import Mapping
from difflib import unified_diff
from typing import Any, Final

__all__ = ["changes", "shown"]

# Grafana's own business, on the object itself.
_OWN: Final = ("id", "version", "schemaVersion")
_LINES: Final = 3


def shown(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """`theirs` without whatever ours does not say: equal to ours where nothing of ours was changed."""
    wanted = {key: value for key, value in ours.items() if key not in _OWN}
    found: dict[str, Any] = _projected(wanted, dict(theirs))
    return found


def changes(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Lines of a unified diff from theirs to ours; none when nothing of ours was changed."""
    before, after = _text(shown(ours, theirs)), _text(shown(ours, ours))
    return list(unified_diff(before, after, "in Grafana", "wanted", n=_LINES, lineterm=""))


def _projected(ours: Any, theirs: Any) -> Any:
    """A value of ours that is null and one that is absent are the same to Grafana."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        kept = {key: _projected(value, theirs.get(key)) for key, value in ours.items()}
        return {key: value for key, value in kept.items() if value is not None}
    if isinstance(ours, list) and isinstance(theirs, list):
        both = [_projected(mine, other) for mine, other in zip(ours, theirs, strict=False)]
        return both + theirs[len(ours) :]
    return theirs


def _text(value: Any) -> list[str]:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).splitlines()
