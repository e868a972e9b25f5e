"""Columns called exactly like a duration (`ttft`, `queue`): read as one when all they hold is numbers."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from otel_attrib.collector.imports.mapping import Mapping
from otel_attrib.collector.imports.stamps import is_number, shown
from otel_attrib.collector.imports.table import Row

__all__ = ["Bare"]


@dataclass(slots=True)
class Bare:
    """What the whole table says of such columns: which hold a number, and where one holds something else."""

    names: Iterable[str]
    numbers: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Take one row in; empty cells and NaN say nothing."""
        for name in self.names:
            cell = row.cells.get(name)
            if is_number(cell):
                self.numbers.add(name)
            elif not _empty(cell):
                self.texts.setdefault(name, f"line {row.line} holds {shown(cell)}, no number")

    @property
    def durations(self) -> list[str]:
        """The columns whose every value is a number."""
        return [name for name in self.names if name in self.numbers and name not in self.texts]

    def remarks(self, mapping: Mapping) -> list[str]:
        """What to say of them: the unit that was assumed, and what is left unread."""
        unit = mapping.units
        assumed = [name for name in self.durations if name not in mapping.said]
        said = [f"{name} read in {unit[name]}; --unit {name}:ms if not" for name in assumed]
        return [*said, *(f"{name} is not read: {why}" for name, why in self.texts.items())]


def _empty(cell: object) -> bool:
    return cell is None or str(cell).strip().lower() in ("", "nan")
