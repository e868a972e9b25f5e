"""The matrix of bottlenecks: CPU, GPU, PCIe and NVLink against TTFT, TPOT and TBT.

Each column is one report's layers; with the other layers, workload, load and unexplained it adds up to that
report's change.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from otel_attrib.analytics.report import Report
from otel_attrib.analytics.wording import percent, signed

__all__ = ["MATRIX_METRICS", "matrix_of", "matrix_table"]

MATRIX_METRICS = ("ttft", "tpot", "tbt")
LAYERS = {"CPU": "cpu", "GPU": "gpu", "PCIe": "pcie", "NVLink": "nvlink"}
OTHERS = "other layers"


def matrix_of(reports: Mapping[str, Report]) -> dict[str, Any]:
    """Return metric → verdict, change, and ms and share by line."""
    return {name: _column(report) for name, report in reports.items()}


def _column(report: Report) -> dict[str, Any]:
    delta = report.delta.value if report.delta else None
    return {
        "verdict": report.verdict.word,
        "delta_ms": None if delta is None else round(delta, 9),
        "lines": {
            name: {"ms": round(ms, 9), "share": round(ms / delta, 9) if delta else None}
            for name, ms in _lines(report).items()
        },
    }


def _lines(report: Report) -> dict[str, float]:
    if not report.layers:
        return {}
    lines = {title: report.layers[layer].ms for title, layer in LAYERS.items() if layer in report.layers}
    others = (line.ms for layer, line in report.layers.items() if layer not in LAYERS.values())
    return {**lines, OTHERS: sum(others), **report.rest}


def matrix_table(matrix: Mapping[str, Any]) -> Iterator[str]:
    """Return the matrix as text: milliseconds, and each one's share of its column."""
    yield "Bottlenecks: ms that each layer added, and its share of the change"
    yield f"  {'':14}{''.join(f'{name.upper():>20}' for name in matrix)}"
    for row in dict.fromkeys([*LAYERS, *(name for column in matrix.values() for name in column["lines"])]):
        yield f"  {row:14}{''.join(_cell(column['lines'].get(row)) for column in matrix.values())}"
    yield f"  {'sum':14}{''.join(_cell(_sum(column)) for column in matrix.values())}"
    yield f"  {'verdict':14}{''.join(_word(column) for column in matrix.values())}"


def _sum(column: Mapping[str, Any]) -> dict[str, float] | None:
    return None if column["delta_ms"] is None else {"ms": column["delta_ms"], "share": 1.0}


def _cell(cell: Mapping[str, float | None] | None) -> str:
    if cell is None or cell["ms"] is None:
        return f"{'-':>20}"
    share = "" if cell["share"] is None else f" {percent(cell['share']):>7}"
    return f"{signed(cell['ms']) + share:>20}"


def _word(column: Mapping[str, Any]) -> str:
    return f"{column['verdict']:>20}"
