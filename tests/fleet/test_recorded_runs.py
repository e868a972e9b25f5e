"""The model against two real vLLM runs: what docs/simulate.md says of its errors holds."""

import numpy as np
import pytest

from benchmarks.attribution.fleet_check import RUNS, errors, fit, recorded, simulated
from otel_attrib.fleet.cards import card_named


def test_efficiencies_are_the_fit_on_llama() -> None:
    """The RTX PRO 6000's two efficiencies are what the fit on the Llama run gives."""
    card = card_named("rtx_pro_6000")

    assert (card.compute_efficiency, card.memory_efficiency) == fit()


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("llama-3.1-8b", {"token": 0.04, "queue": 0.10, "prefill": 0.40, "TTFT": 0.08, "E2E": 0.03}),
        ("qwen3-32b", {"token": 0.25, "queue": 0.25, "prefill": 0.48, "TTFT": 0.24, "E2E": 0.24}),
    ],
)
def test_median_errors(model: str, most: dict[str, float]) -> None:
    """Median relative errors per request stay below these, on the run nothing was fitted on too."""
    real = recorded(model)
    found = errors(real, simulated(model, real))

    assert set(RUNS) == {"llama-3.1-8b", "qwen3-32b"}
    for name, limit in most.items():
        assert np.median(found[name]) < limit, name
