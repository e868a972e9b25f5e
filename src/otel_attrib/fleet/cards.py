"""What cards, links and models can do: published figures and measured collectives, see `data/SOURCE.md`."""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from otel_attrib.errors import UsageError

__all__ = ["Card", "Model", "card_named", "model_named"]


@dataclass(frozen=True, slots=True)
class Card:
    """One accelerator; bytes, FLOP/s, watts, MHz. `collectives`: by ranks, (seconds to start, bytes/s)."""

    name: str
    title: str
    flops: float
    memory_bandwidth: float
    memory: float
    pcie_bandwidth: float
    power: float
    idle_power: float
    clock: float
    idle_clock: float
    generation: int
    nvlinks: int
    nvlink_bandwidth: float
    compute_efficiency: float
    memory_efficiency: float
    collectives: dict[int, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Model:
    """One dense transformer at two bytes a number."""

    name: str
    params: float
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int

    @property
    def kv_bytes(self) -> int:
        """Return the KV cache's bytes of one token."""
        return 2 * self.layers * self.kv_heads * self.head_dim * 2


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    text = files("otel_attrib.fleet").joinpath("data", "cards.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def card_named(name: str) -> Card:
    """Return a card by the name in `data/cards.toml`."""
    cards = _data()["card"]
    if name not in cards:
        raise UsageError(f"no card {name!r}; choose one of {', '.join(sorted(cards))}")
    said = dict(cards[name])
    pairs = said.pop("collectives")
    return Card(
        name=name, collectives={int(ranks): (pair[0], pair[1]) for ranks, pair in pairs.items()}, **said
    )


def model_named(name: str) -> Model:
    """Return a model by the name in `data/cards.toml`."""
    models = _data()["model"]
    if name not in models:
        raise UsageError(f"no model {name!r}; choose one of {', '.join(sorted(models))}")
    return Model(name=name, **models[name])
