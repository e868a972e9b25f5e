"""What a person found out about missed targets and standing weaknesses: all that is typed."""

from typing import Final

__all__ = ["REASONS"]

REASONS: Final = {
    "layer L1 error / ΔP99, mean": (
        "where the KV cache is the engine's limit in the baseline already, the replay of the queue misses its"
        " gate, the waiting stays unexplained and the error is about 1; small faults behind a large chance of"
        " two windows make the rest."
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
