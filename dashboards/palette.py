"""One colour for one thing, on every dashboard and on the page.

The eight colours of Okabe and Ito (Color Universal Design, 2008) stay apart for people who see no red or no
green; grey is for what is not explained.
"""

from typing import Final

__all__ = ["BAD", "COLORS", "GOOD", "LAYER_COLORS", "QUANTILE_COLORS", "STAGE_COLORS", "WARN"]

COLORS: Final = {
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
    "grey": "#999999",
}
"""Name → the published value; black is left out, which no dark theme shows."""

STAGE_COLORS: Final = {
    "ingress": COLORS["sky"],
    "tokenize": COLORS["blue"],
    "queue": COLORS["orange"],
    "kv_init": COLORS["purple"],
    "prefill": COLORS["vermilion"],
    "sample": COLORS["yellow"],
    "egress": COLORS["green"],
    "outside": COLORS["grey"],
}
"""Stage of TTFT → colour."""

LAYER_COLORS: Final = {
    "scheduler": COLORS["orange"],
    "gpu": COLORS["vermilion"],
    "pcie": COLORS["purple"],
    "nvlink": COLORS["yellow"],
    "cpu": COLORS["blue"],
    "network": COLORS["sky"],
    "client": COLORS["green"],
    "unexplained": COLORS["grey"],
}
"""Layer → colour."""

QUANTILE_COLORS: Final = {
    "p50": COLORS["sky"],
    "p90": COLORS["blue"],
    "p95": COLORS["purple"],
    "p99": COLORS["vermilion"],
}
"""Quantile → colour: the further out, the warmer."""

GOOD: Final = COLORS["green"]
"""Within the limit."""

WARN: Final = COLORS["orange"]
"""Close to the limit."""

BAD: Final = COLORS["vermilion"]
"""Beyond it."""
