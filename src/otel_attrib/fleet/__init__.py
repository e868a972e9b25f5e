"""A discrete-event model of a serving fleet whose causes are known: requests, steps, counters and the truth.

`load_scenario` reads what to simulate, `simulate` gives tables with the store's columns. Every fault scales
one term of the state from which both the times and the counters follow; the truth comes from the same run
without it.
"""

from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.shipped import load_scenario, shipped
from otel_attrib.fleet.simulation import Simulation, paired, simulate
from otel_attrib.fleet.truth import Truth

__all__ = ["Scenario", "Simulation", "Truth", "load_scenario", "paired", "shipped", "simulate"]
