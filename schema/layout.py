"""How the tables are laid out: engine, cluster and time to live, as parameters of the migrations."""

import re
from dataclasses import dataclass

from otel_attrib.errors import UsageError

__all__ = ["ENGINES", "Layout"]

ENGINES = {"MergeTree": "", "ReplicatedMergeTree": "Replicated", "SharedMergeTree": "Shared"}
"""Engine that a user names → the prefix of all engines of its family."""

DEDUPLICATION_WINDOW = 10_000
"""Blocks whose tokens each table remembers: at four a second, the last forty minutes."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Engine family, cluster ('' for one server) and days to keep rows (0 for ever)."""

    engine: str = "MergeTree"
    cluster: str = ""
    ttl_days: int = 0

    def __post_init__(self) -> None:
        """Refuse what would not be valid SQL."""
        if self.engine not in ENGINES:
            raise UsageError(f"engine {self.engine!r} is not one of {', '.join(ENGINES)}")
        if not re.fullmatch(r"[\w.-]{0,64}", self.cluster):
            raise UsageError(f"cluster {self.cluster!r} is not a plain name")
        if self.ttl_days < 0:
            raise UsageError(f"ttl of {self.ttl_days} days is less than none")

    @property
    def on_cluster(self) -> str:
        """The clause that runs a statement on every server of the cluster."""
        return f"ON CLUSTER '{self.cluster}'" if self.cluster else ""

    def parameters(self) -> dict[str, str]:
        """What stands for each `$name` in a migration."""
        return {
            "replicated": ENGINES[self.engine],
            "cluster": self.cluster,
            "on_cluster": self.on_cluster,
            "local": "_local" if self.cluster else "",
            "ttl_days": str(self.ttl_days),
            "window": str(DEDUPLICATION_WINDOW),
        }
