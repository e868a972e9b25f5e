"""What a step of an engine costs, from the card, the model and the settings."""

from dataclasses import dataclass

import numpy as np

from otel_attrib.analytics.columns import Floats, Ints
from otel_attrib.errors import UsageError
from otel_attrib.fleet.cards import Card, Model, card_named
from otel_attrib.fleet.scenario import Scenario

__all__ = ["CPU", "Costs", "costs"]

# CPU time in seconds: (a step, a sequence of it) before and after the pass; tokenising a request and a token.
CPU = {
    "schedule": 4e-4,
    "schedule_sequence": 4e-6,
    "output": 3e-4,
    "output_sequence": 8e-6,
    "sample": 4e-4,
    "sample_sequence": 2e-6,
    "launch": 1.2e-3,
    "parse": 6e-4,
    "tokenize": 3e-4,
    "tokenize_token": 1.6e-6,
    "handoff": 4e-4,
    "write": 5e-4,
}
_COPY_START = 2e-5
_COPY_EFFICIENCY = 0.8
_MEMORY_USED = 0.9  # of the card's memory, as engines take it
_WORKSPACE = 4e9  # bytes that activations and graphs take


@dataclass(frozen=True)
class Costs:
    """What `kernel.run` needs of one replica: `cost` (18,) in seconds, `limits` (6,) whole numbers."""

    cost: Floats
    limits: Ints


def costs(scenario: Scenario, model: Model, largest: int) -> Costs:
    """Work out the costs of one replica that serves `model`; `largest` tokens must fit its KV blocks."""
    fleet = scenario.fleet
    card = card_named(fleet.card)
    ranks = fleet.tp
    compute = card.flops * (fleet.compute_efficiency or card.compute_efficiency) * ranks
    memory = card.memory_bandwidth * (fleet.memory_efficiency or card.memory_efficiency)
    if ranks > 1 and ranks not in card.collectives:
        known = ", ".join(str(number) for number in (1, *card.collectives))
        raise UsageError(f"tp = {ranks} was never measured on {card.title}; choose one of {known}")
    begin, bandwidth = card.collectives.get(ranks, (0.0, 1.0))
    cost = np.array(
        [
            2 * model.params / compute,
            4 * model.layers * model.heads * model.head_dim / compute,
            model.params * 2 / ranks / memory,
            model.kv_bytes / ranks / memory,
            2 * model.layers,
            begin,
            model.hidden * 2,
            1 / bandwidth,
            model.kv_bytes / ranks,
            _COPY_START,
            1 / (card.pcie_bandwidth * _COPY_EFFICIENCY),
            CPU["schedule"],
            CPU["schedule_sequence"],
            CPU["sample"],
            CPU["sample_sequence"],
            CPU["launch"],
            CPU["output"],
            CPU["output_sequence"],
        ]
    )
    blocks = fleet.kv_blocks or _blocks(card, model, scenario)
    fits = -(-largest // fleet.block_size) + 1
    if blocks < fits:
        raise UsageError(f"{blocks} KV blocks of {fleet.block_size} tokens do not hold {largest} tokens")
    limits = [fleet.token_budget, fleet.max_num_seqs, blocks, fleet.block_size, ranks, fits]
    return Costs(cost, np.array(limits, dtype=np.int64))


def _blocks(card: Card, model: Model, scenario: Scenario) -> int:
    """Return how many KV blocks the memory leaves after weights and workspace."""
    ranks = scenario.fleet.tp
    left = card.memory * _MEMORY_USED - model.params * 2 / ranks - _WORKSPACE
    if left <= 0:
        raise UsageError(f"{model.name} does not fit {ranks} × {card.title}: raise tp")
    return int(left / (model.kv_bytes / ranks * scenario.fleet.block_size))
