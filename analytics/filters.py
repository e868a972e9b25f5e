"""Which requests are meant: `--where dimension=value`, as SQL with bound values.

Dimensions are a fixed table, so nothing that a user types becomes part of a statement. One
dimension given several times means any of the values; different dimensions must all hold.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from otel_attrib.errors import UsageError

__all__ = ["DIMENSIONS", "EVERY_REQUEST", "ROLLED_UP", "Filter", "check_dimensions", "parse_filter"]

ROLLED_UP = (
    "service",
    "node",
    "gpu_set",
    "engine",
    "model",
    "version",
    "replica",
    "tenant",
    "sla_class",
    "partition_id",
    "operator_id",
)
"""Dimensions that the 10 s states keep apart."""

DIMENSIONS = (
    *ROLLED_UP,
    "engine_version",
    "stream_id",
    "operation",
    "source",
    "status",
    "finish_reason",
    "error_type",
)
"""Dimensions of one request."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The values allowed for each named dimension."""

    allowed: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def sql(self) -> str:
        """Return a condition over `requests` or `requests_10s`."""
        return " AND ".join(f"{name} IN {{where_{name}:Array(String)}}" for name, _ in self.allowed) or "1"

    def parameters(self) -> dict[str, list[str]]:
        """Return the values that `sql` binds."""
        return {f"where_{name}": list(values) for name, values in self.allowed}

    def names(self) -> tuple[str, ...]:
        """Return the dimensions named."""
        return tuple(name for name, _ in self.allowed)

    @property
    def rolled_up(self) -> bool:
        """Return whether the 10 s states keep apart what is named."""
        return set(self.names()) <= set(ROLLED_UP)

    def also(self, other: "Filter") -> "Filter":
        """Return the condition that both hold; a dimension may be named in one of them only."""
        twice = [name for name in self.names() if name in other.names()]
        if twice:
            raise UsageError(f"{twice[0]} is chosen twice: by {self} and by {other}; choose it once")
        return Filter(tuple(sorted((*self.allowed, *other.allowed))))

    def as_dict(self) -> dict[str, str]:
        """Return it for a report, alternatives joined by a comma."""
        return {name: ",".join(values) for name, values in self.allowed}

    def __str__(self) -> str:
        """Write it as it can be typed."""
        return " ".join(f"{name}={value}" for name, values in self.allowed for value in values)


EVERY_REQUEST = Filter()
"""No condition."""


def parse_filter(words: Iterable[str]) -> Filter:
    """Read `dimension=value` words."""
    allowed: dict[str, list[str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} chooses no requests: write it as dimension=value")
        check_dimensions([name], DIMENSIONS)
        allowed.setdefault(name, []).append(value)
    return Filter(tuple((name, tuple(values)) for name, values in sorted(allowed.items())))


def check_dimensions(names: Iterable[str], known: Sequence[str]) -> None:
    """Refuse a dimension that is not among `known`."""
    for name in names:
        if name not in known:
            raise UsageError(f"no dimension {name!r} here; choose from {', '.join(known)}")
