"""DoWhy: `gcm.distribution_change`, Shapley values of mechanisms over the causal graph, for the quantile.

Budhathoki et al. (2021), "Why did the distribution change?", AISTATS. The graph is given: the work acts on
the stages, all stages on the latency. It is slow, hence 300 rows of each window.
"""

import numpy as np

from benchmarks.attribution.peers.answer import Answer
from benchmarks.attribution.peers.stage_answer import name_largest
from otel_attrib.analytics.columns import Rows
from otel_attrib.analytics.period import Period

__all__ = ["answer"]

ROWS = 300
WORK = ("prompt", "output")


def answer(baseline: Period, current: Period, level: float) -> Answer:
    """Name the layer of the stage whose mechanism's change moved the quantile most."""
    import networkx as nx
    import pandas as pd
    from dowhy import gcm

    gcm.config.disable_progress_bars()
    gcm.config.set_default_n_jobs(1)
    gcm.util.general.set_random_seed(0)
    names = [
        name for name, seen in zip(current.rows.names, current.rows.observed.T, strict=True) if seen.any()
    ]
    old, new = (pd.DataFrame(_columns(side.rows, names)) for side in (baseline, current))
    graph = nx.DiGraph(
        [(work, name) for name in names for work in WORK] + [(name, "latency") for name in names]
    )
    model = gcm.ProbabilisticCausalModel(graph)
    for node in WORK:
        model.set_causal_mechanism(node, gcm.EmpiricalDistribution())
    for node in (*names, "latency"):
        regressor = gcm.ml.create_linear_regressor()
        model.set_causal_mechanism(node, gcm.AdditiveNoiseModel(regressor))
    found = gcm.distribution_change(
        model,
        old,
        new,
        "latency",
        num_samples=1000,
        difference_estimation_func=lambda a, b: float(np.quantile(b, level) - np.quantile(a, level)),
        shapley_config=gcm.shapley.ShapleyConfig(
            approximation_method=gcm.shapley.ShapleyApproximationMethods.PERMUTATION,
            num_permutations=15,
            n_jobs=1,
        ),
    )
    stages = {name: float(found[name]) for name in names}
    workload = float(sum(found[work] for work in WORK))
    return name_largest(stages, float(sum(found.values())), workload)


def _columns(rows: Rows, names: list[str]) -> dict[str, np.ndarray]:
    """Return an even sample in time of the work, the stages and the latency."""
    chosen = np.linspace(0, rows.n - 1, min(ROWS, rows.n)).astype(int)
    columns = {"prompt": rows.prompt[chosen], "output": rows.output[chosen], "latency": rows.values[chosen]}
    return columns | {name: rows.stage(name)[chosen] for name in names}
