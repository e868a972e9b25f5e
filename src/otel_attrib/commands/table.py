"""A table: drawn by rich on a terminal, aligned plain text in a pipe."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["print_table", "rich_table", "table_text"]


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, caption: str = ""
) -> None:
    """Print it; the first `left` columns are flush left, the others, numbers, flush right."""
    if not sys.stdout.isatty():
        print(table_text(heads, rows, left), *([caption] if caption else []), sep="\n")
        return
    from rich.console import Console

    Console(highlight=False).print(rich_table(heads, rows, left, caption))


def table_text(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return it as plain lines, columns two spaces apart."""
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return "\n".join(line(row) for row in (heads, *rows))


def rich_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, caption: str = ""
) -> "Table":
    """Return it as a rich table."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption=caption or None, caption_justify="left")
    for i, head in enumerate(heads):
        table.add_column(head, justify="left" if i < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
