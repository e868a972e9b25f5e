"""The arbiter tried on the model fleet: the same arrivals with a gate in front of the engines, or without.

The step loop is the fleet's own (`kernel`), run on from where it stood, so that a gate can decide between two
stretches by what was seen so far. Nothing in the fleet itself knows of it: with an open gate the numbers are
those of `simulate`, bit by bit.
"""

from otel_attrib.fleet.trial.outcome import ARMS, WHOLE, Trial
from otel_attrib.fleet.trial.trial import Asked, run_trial

__all__ = ["ARMS", "WHOLE", "Asked", "Trial", "run_trial"]
