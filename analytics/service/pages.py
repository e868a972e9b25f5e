"""Query parameters of lists that are read page by page."""

from typing import Annotated

from fastapi import Query

from otel_attrib.analytics.cursor import LIMIT_AT_MOST

__all__ = ["Cursor", "Limit"]

Limit = Annotated[int, Query(ge=1, le=LIMIT_AT_MOST, description="Items of a page.", examples=[50])]
Cursor = Annotated[
    str | None,
    Query(max_length=8192, description="`next` of the page before, with the same other parameters."),
]
