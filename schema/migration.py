"""The numbered SQL files, and the statements that a layout makes of one.

A file is plain SQL. `$name` stands for a parameter of the layout or for a file of `fragments/`, which
holds an expression that several statements share; a line with `$ttl_days` falls away when rows are
kept for ever; a file, or one statement, that begins with `-- only with a cluster` is for clusters.
A file that begins with `-- repeatable` makes views, which hold no rows: it runs again whenever it has
changed. `$counters` is the registry of counters.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from string import Template

from otel_attrib.schema import counter_rules
from otel_attrib.schema.layout import Layout

__all__ = ["Migration", "migrations"]

_HERE = Path(__file__).parent
_CLUSTER_ONLY = "-- only with a cluster"
_REPEATABLE = "-- repeatable"
_STATEMENT_END = re.compile(r"^(?!\s*--)(.*);\s*$", re.MULTILINE)  # a comment may end in a semicolon
_TABLE = re.compile(r"^CREATE TABLE IF NOT EXISTS (\S+)", re.MULTILINE)
_TTL = re.compile(r"^TTL (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Migration:
    """One numbered file."""

    version: int
    name: str
    text: str

    @cached_property
    def checksum(self) -> str:
        """Of the SQL with its fragments, whatever the layout."""
        return sha256(self.text.encode()).hexdigest()[:16]

    @property
    def repeatable(self) -> bool:
        """Whether it runs again when it has changed: it makes views alone."""
        return self.text.startswith(_REPEATABLE)

    def statements(self, layout: Layout) -> list[str]:
        """What to run, in order; nothing where the file is for clusters and the layout is not."""
        if self.text.startswith(_CLUSTER_ONLY) and not layout.cluster:
            return []
        parts = map(str.strip, _STATEMENT_END.sub("\\1\0", self._filled(layout)).split("\0"))
        return [part for part in parts if part and (layout.cluster or not part.startswith(_CLUSTER_ONLY))]

    def ttls(self, layout: Layout) -> list[tuple[str, str]]:
        """The tables whose rows expire, each with the expression that says when."""
        kept = Layout(layout.engine, layout.cluster, layout.ttl_days or 1)
        found = [(_TABLE.search(text), _TTL.search(text)) for text in self.statements(kept)]
        return [(table[1], expression[1]) for table, expression in found if table and expression]

    def _filled(self, layout: Layout) -> str:
        lines = self.text.splitlines()
        kept = lines if layout.ttl_days else [line for line in lines if "$ttl_days" not in line]
        return Template("\n".join(kept)).substitute(layout.parameters())


@lru_cache(maxsize=1)
def migrations() -> tuple[Migration, ...]:
    """Every migration, in order."""
    files = sorted((_HERE / "migrations").glob("[0-9]*.sql"))
    return tuple(Migration(int(file.stem[:4]), file.stem[5:], _with_fragments(file)) for file in files)


def _with_fragments(file: Path) -> str:
    """Put fragments, which may hold others, in their places."""
    fragments = {part.stem: part.read_text("utf-8").rstrip() for part in (_HERE / "fragments").glob("*.sql")}
    fragments["counters"] = counter_rules.table()
    text, before = file.read_text("utf-8"), ""
    while text != before:
        text, before = Template(text).safe_substitute(fragments), text
    return text
