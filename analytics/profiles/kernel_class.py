"""The classes of a profile's activities, by the names of its kernels (`schema.kernel_class`)."""

from collections.abc import Sequence

import numpy as np

from otel_attrib.analytics.profiles.timeline import Activities, Ints, Kind
from otel_attrib.schema.kernel_class import CLASSES, COLLECTIVE, OTHER, RULES, Rule, kernel_class

__all__ = ["CLASSES", "COLLECTIVE", "RULES", "Rule", "classes_of", "kernel_class"]


def classes_of(activities: Activities, names: Sequence[str]) -> Ints:
    """Return the number in CLASSES of each activity; copies and memsets by their kind, not their name."""
    of_name = np.full(len(names), CLASSES.index(OTHER), np.int64)
    for code in np.unique(activities.name):
        of_name[code] = CLASSES.index(kernel_class(names[code]))
    found = of_name[activities.name]
    found[activities.kind == Kind.COPY] = CLASSES.index("copy")
    found[activities.kind == Kind.MEMSET] = CLASSES.index("memset")
    return found
