"""Totals: what a counter that only grows grew by from reading to reading."""

import numpy as np

from otel_attrib.analytics.columns import Floats
from otel_attrib.schema.counter_rules import WRAP

__all__ = ["steps"]

TOP = 15 / 16


def steps(value: Floats, wraps: bool) -> Floats:
    """Return (n − 1,) increases between readings: a fall from the top of 32 bits is a wrap."""
    step = np.diff(value)
    after_restart = value[1:]
    if wraps:
        wrapped = (value[:-1] >= TOP * WRAP) & (value[:-1] < WRAP) & (value[1:] < (1 - TOP) * WRAP)
        after_restart = np.where(wrapped, step + WRAP, after_restart)
    return np.where(step < 0, after_restart, step)
