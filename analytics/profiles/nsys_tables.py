"""The tables of an Nsight Systems export as whole numbers, whatever version wrote them.

Tables and columns come and go between versions: each is asked for, and what is not there is UNKNOWN.
The database is only ever read.
"""

import sqlite3
from collections.abc import Iterator

from otel_attrib.analytics.profiles.kineto_values import one_line
from otel_attrib.analytics.profiles.timeline import UNKNOWN

__all__ = ["DURATION", "NsysTables"]

DURATION = '"end" - start'
# A time that another can be added to; anything else is damage.
SOUND = f'start BETWEEN 0 AND {1 << 61} AND "end" BETWEEN start AND {1 << 61}'


class NsysTables:
    """One opened export."""

    def __init__(self, database: sqlite3.Connection) -> None:
        """Look at what it holds."""
        self.database = database
        named = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
        self._columns = {
            table: {str(row[1]) for row in database.execute("SELECT * FROM pragma_table_info(?)", (table,))}
            for (table,) in named
        }

    def __contains__(self, table: str) -> bool:
        """Say whether there is such a table."""
        return table in self._columns

    def has(self, table: str, *columns: str) -> bool:
        """Say whether a table has all of these columns."""
        return set(columns) <= self._columns.get(table, set())

    def whole(self, table: str, expression: str) -> str:
        """Return SQL for a column, or an expression over columns that are there, as a whole number."""
        if not expression.isidentifier():
            return f"CAST(coalesce({expression}, {UNKNOWN}) AS INTEGER)"
        known = self.has(table, expression)
        return f'CAST(coalesce("{expression}", {UNKNOWN}) AS INTEGER)' if known else str(UNKNOWN)

    def rows(self, table: str, *expressions: str) -> Iterator[tuple[int, ...]]:
        """Yield whole numbers for each row of a table with sound times; none if it is not there."""
        if self.has(table, "start", "end"):
            wanted = ", ".join(self.whole(table, text) for text in expressions)
            yield from self.database.execute(f"SELECT {wanted} FROM {table} WHERE {SOUND}")

    def unsound(self, table: str) -> int:
        """Return how many rows of a table are left out: they have no end, or times that are damaged."""
        if not self.has(table, "start", "end"):
            return 0
        found = self.database.execute(f"SELECT count() FROM {table} WHERE ({SOUND}) IS NOT TRUE").fetchone()
        return int(found[0])

    def texts(self) -> dict[int, str]:
        """Return the texts that other tables name by number."""
        if not self.has("StringIds", "id", "value"):
            return {}
        return {
            number: one_line(str(text))
            for number, text in self.database.execute("SELECT id, value FROM StringIds")
        }
