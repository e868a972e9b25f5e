"""SQL statements kept as files in `queries/`, with fixed pieces put in by name.

`$piece` is filled from tables in the code (columns, conditions); every value is bound by
`{name:Type}` when the statement runs.
"""

from functools import cache
from importlib.resources import files
from string import Template

__all__ = ["statement"]


@cache
def _text(name: str) -> Template:
    return Template(files("otel_attrib.analytics").joinpath("queries", f"{name}.sql").read_text("utf-8"))


def statement(name: str, **pieces: str) -> str:
    """Return the statement in `queries/<name>.sql`; a piece missing or left over is an error of ours."""
    template = _text(name)
    if set(template.get_identifiers()) != set(pieces):
        raise ValueError(f"{name}.sql takes {template.get_identifiers()}, not {sorted(pieces)}")
    return template.substitute(pieces)
