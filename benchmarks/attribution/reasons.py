"""What a person found out about missed targets and standing weaknesses: all that is typed."""

from typing import Final

__all__ = ["REASONS"]

REASONS: Final = {
    "layer L1 error / ΔP99, mean": (
        "where an engine is close to saturation in the baseline already (kv_fragmentation above all), the"
        " replay of the queue misses its gate and the waiting stays unexplained; most of the waiting behind"
        " a collapse of the prefix cache is dealt to load; single runs of scheduler_policy and hbm_bandwidth"
        " are far off; small faults behind a large chance of two windows make the rest."
    ),
    "always": (
        "Times and counters come from a model: a real engine has causes and correlations that it lacks."
        " The runs on a real engine are few and on a CPU.\n"
        "The fleet's sensors report what the evidence rules read: a counter that lies in a way that neither"
        " knows is not tested here.\n"
        "Faults that move P99 by less than a rise are not asked for; how small a fault can be found is not"
        " measured."
    ),
}
