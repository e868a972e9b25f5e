"""A label matcher of PromQL that takes some values and nothing else."""

import re
from collections.abc import Sequence

__all__ = ["matcher"]


def matcher(label: str, values: Sequence[str]) -> str:
    """Return `label="value"`, or for several values a pattern of RE2."""
    if len(values) == 1:
        return f'{label}="{_quoted(values[0])}"'
    return f'{label}=~"{_quoted("|".join(map(_literal, values)))}"'


def _literal(value: str) -> str:
    """Return a pattern of RE2 that matches a value and nothing else."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", value)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
