"""The golden formula: the same change as T = compute + memory + transfer + scheduling.

Compute and memory are the GPU's, transfer is PCIe, NVLink and network, scheduling is the scheduler and the
host's CPU. Nothing is measured anew, so the terms add up to the report's change with the lines that belong
to none of them: client, workload, load, unexplained.
"""

from collections.abc import Mapping

from otel_attrib.analytics.findings import LayerLine

__all__ = ["golden_formula"]

UNSPLIT = "gpu, not told apart"
TERMS = (
    ("compute", ("gpu.compute",)),
    ("memory", ("gpu.memory",)),
    (UNSPLIT, ("gpu",)),
    ("transfer", ("pcie", "nvlink", "network")),
    ("scheduling", ("scheduler", "cpu")),
    ("client", ("client",)),
)


def golden_formula(layers: Mapping[str, LayerLine], rest: Mapping[str, float]) -> dict[str, float]:
    """Return term → ms, then the lines of `rest`; all of them add up to layers + rest.

    What no counter tells apart between a GPU's compute and its memory is a term of its own.
    """
    if not layers:
        return {}
    split = _split(layers)
    terms = {term: sum(split.pop(name, 0.0) for name in names) for term, names in TERMS}
    if not terms[UNSPLIT]:
        del terms[UNSPLIT]
    return {**terms, **split, **rest}


def _split(layers: Mapping[str, LayerLine]) -> dict[str, float]:
    """Return ms by layer, those with parts cut into them and what they leave over."""
    split: dict[str, float] = {}
    for layer, line in layers.items():
        split.update(line.parts)
        left = line.ms - sum(line.parts.values())
        split[layer] = 0.0 if line.parts and abs(left) < 1e-9 else left
    return split
