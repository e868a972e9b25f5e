"""Query parameters that several routes share; they are the options of the commands of the same name."""

from typing import Annotated, Literal

from fastapi import Query
from pydantic import StringConstraints

__all__ = ["At", "Baseline", "By", "Id", "LookBack", "Metric", "Quantile", "Where", "Window"]

Metric = Annotated[
    Literal["ttft", "tpot", "tbt", "e2e"], Query(description="Which latency.", examples=["ttft"])
]
Quantile = Annotated[
    float,
    Query(
        gt=0, lt=1, allow_inf_nan=False, description="Strictly between 0 and 1; 0.99 is P99.", examples=[0.99]
    ),
]
Where = Annotated[
    list[str],
    Query(
        max_length=32,
        description="`dimension=value`: only requests with this value (model, tenant, node, …). Repeatable:"
        " one dimension several times means any of the values.",
        examples=[["model=llama-8b"]],
    ),
]
At = Annotated[
    str,
    Query(
        max_length=64,
        description="Windows reach back from `now`, the `newest` request, or a time in RFC 3339.",
        examples=["now"],
    ),
]
By = Annotated[
    str, Query(max_length=200, description="One series for each value: `model,node`.", examples=["model"])
]
Baseline = Annotated[
    str | None,
    Query(
        max_length=100,
        description="Compared with: `FROM..TO`, how long before (`15m`), `before` (as long as the window),"
        " `same-hour` (of an earlier day), or `auto`.",
        examples=["same-hour"],
    ),
]
Window = Annotated[
    str,
    Query(max_length=100, description="`15m`, `2h`, `7d` back from `at`, or `FROM..TO`.", examples=["15m"]),
]
LookBack = Annotated[
    str, Query(max_length=20, description="How much each number looks back.", examples=["5m"])
]
Id = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
