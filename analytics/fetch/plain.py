"""Tables as calculations expect them: words as strings, whether stored as words or as codes."""

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["plain"]


def plain(table: pa.Table) -> pa.Table:
    """Return the table with dictionary columns decoded."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, pc.cast(table[field.name], pa.string()))
    return table
