"""How readings and series of one counter combine: what is added, what a reading stands for, what wraps.

Totals of one place are added over their series (processes, links, reasons), gauges are averaged unless they
are named here. Of several sources of one counter (`slatag.source`) one counts: a sum would count twice.
"""

from typing import Final

from otel_attrib.schema.context_counters import EVERY_COUNTER
from otel_attrib.schema.counters import Counter

__all__ = ["MEANS", "PASSING", "SUMMED", "WRAP", "summed", "table", "wraps"]

SUMMED: Final = frozenset(
    {
        "engine_running",
        "engine_waiting",
        "gpu_throttled",
        "nvlink_receive",
        "nvlink_transmit",
        "process_gpu_memory",
        "process_gpu_utilization",
        "send_queue",
    }
)
"""Gauges of which one place may have several series that add up: one a reason, a link, a process."""

MEANS: Final = frozenset(
    {
        "cpu_utilization",
        "dram_activity",
        "gpu_throttled",
        "gpu_utilization",
        "graphics_activity",
        "memory_controller",
        "nvlink_receive",
        "nvlink_transmit",
        "pcie_receive",
        "pcie_transmit",
        "process_gpu_utilization",
        "profile_share",
        "run_queue_wait_p99",
        "sm_activity",
        "sm_occupancy",
        "tensor_activity",
    }
)
"""Gauges whose reading is the mean of the time since the reading before it; the others hold from then on."""

PASSING: Final = frozenset({"gpu_throttle_time"})
"""Totals of time whose series overlap (two reasons hold at once): no more than the time that passed."""

WRAP: Final = 2.0**32
"""Where a counter of 32 bits starts again; one of 64 bits outlives the machine."""


def summed(counter: Counter) -> bool:
    """Return whether series of one place are added (else averaged)."""
    return counter.kind == "total" or counter.key in SUMMED


def wraps(counter: Counter) -> bool:
    """Return whether a fall from the top of 32 bits to the bottom is a wrap: of whole numbers only."""
    return counter.kind == "total" and (counter.unit == "By" or counter.unit.startswith("{"))


def table() -> str:
    """Return the registry as a ClickHouse array of tuples, for the views that need it.

    (key, metric, attribute and value that select, unit, total?, per device?, summed?, mean?, wraps?, most, a
    second: of a gauge its highest, of a total of time what passes)
    """
    return "[\n    " + ",\n    ".join(_row(counter) for counter in EVERY_COUNTER) + "\n]"


def _row(counter: Counter) -> str:
    name, value = counter.select or ("", "")
    words = (counter.key, counter.metric, name, value, counter.unit)
    flags = (
        counter.kind == "total",
        counter.per_device,
        summed(counter),
        counter.key in MEANS,
        wraps(counter),
    )
    most = counter.most if counter.kind == "gauge" else 1.0 if counter.key in PASSING else 1e300
    numbers = [*(str(int(flag)) for flag in flags), f"{min(most, 1e300):e}"]
    return f"({', '.join([*(_quoted(word) for word in words), *numbers])})"


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
