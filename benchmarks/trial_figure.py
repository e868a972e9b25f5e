"""The figure of docs/control.md: what gates and the arbiter do to each tenant's attainment.

    python -m benchmarks.trial_figure [--seeds 10] [--out docs/control-trial.svg]

Two trials of `otel-attrib slo trial`'s default scenario: budgets as limits with all that the fleet can serve,
and shared ones with 70,000 tokens/s. The same seeds give the same bytes.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt
import numpy as np

from otel_attrib.commands.slo_trial import DEFAULT, SMALL
from otel_attrib.fleet import load_scenario
from otel_attrib.fleet.trial import ARMS, Asked, Trial, run_trial
from otel_attrib.fleet.trial.outcome import estimate
from otel_attrib.fleet.trial.report import TITLES

COLOURS = {"open": "#9aa5b1", "fixed": "#1f5fa8", "boost": "#e69f00", "throttle": "#7b3294"}
STYLE: Any = {
    "svg.hashsalt": "otel-attrib",
    "svg.fonttype": "path",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(panel: Any, trial: Trial, title: str) -> None:
    """Bars of attainment by tenant and arm, with 95 % intervals over the seeds."""
    width = 0.8 / len(ARMS)
    for nth, arm in enumerate(ARMS):
        found = [estimate(trial.of(arm, tenant, "attained")) for tenant in trial.tenants]
        middle = np.array([each.value for each in found])
        reach = np.array([each.interval()[1] - each.value for each in found])
        place = np.arange(len(trial.tenants)) + (nth - 1.5) * width
        panel.bar(place, 100 * middle, width, color=COLOURS[arm], label=TITLES[arm])
        panel.errorbar(place, 100 * middle, 100 * reach, fmt="none", ecolor="black", elinewidth=0.8)
    names = [f"{name}\n({'bursts' if name == trial.tenants[0] else 'quiet'})" for name in trial.tenants]
    panel.set_xticks(np.arange(len(trial.tenants)), names)
    panel.set_title(title, fontsize=9)
    panel.set_ylim(0, 100)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("docs/control-trial.svg"))
    args = parser.parse_args()
    scenario = load_scenario(DEFAULT, SMALL)
    trials = [
        run_trial(Asked(scenario, args.seeds)),
        run_trial(Asked(scenario, args.seeds, total=70_000.0, gate="share")),
    ]
    with mpl.rc_context(STYLE):
        figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
        titles = ("budgets are limits", "what one leaves goes to the others")
        for panel, trial, title in zip(panels, trials, titles, strict=True):
            draw(panel, trial, f"{title}: {trial.total:,.0f} tokens/s")
        panels[0].set_ylabel("requests within the threshold, %")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=4, frameon=False)
        figure.tight_layout(rect=(0, 0.07, 1, 1))
        figure.savefig(args.out, metadata={"Date": None, "Creator": None})
    print(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
