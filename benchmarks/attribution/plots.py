"""The proof's plots as SVG: the same figures give the same bytes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.attribution import metrics
from benchmarks.attribution.standings import Standing

__all__ = ["plot_all"]

OURS, THEIRS, FAINT = "#1f5fa8", "#9aa5b1", "#d5dae0"
STYLE: Any = {
    "svg.hashsalt": "otel-attrib",
    "svg.fonttype": "path",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 100,
}


def plot_all(found: Sequence[Standing], others: Mapping[str, Any], folder: Path) -> None:
    """Draw what there are figures for."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        _keep(_accuracy(found), folder / "accuracy.svg")
        _keep(_risk_coverage(found), folder / "risk_coverage.svg")
        _keep(_share_error(found), folder / "share_error.svg")
        if "detector" in others:
            _keep(_detection(others["detector"]), folder / "detection.svg")


def _keep(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    plt.close(figure)


def _accuracy(found: Sequence[Standing]) -> Any:
    """Bars: right, wrong and silent shares of the faults, and false attributions beside them."""
    able = [s for s in found if s.runs and s.peer.gives != "detection"]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 0.32 * len(able) + 1.4), sharey=True, width_ratios=(3, 2)
    )
    place = np.arange(len(able))[::-1]
    faults = [[run for run in s.runs if run.fault] for s in able]
    good = np.array([np.mean([r.right for r in runs]) if runs else 0.0 for runs in faults])
    said = np.array([np.mean([r.answered for r in runs]) if runs else 0.0 for runs in faults])
    colours = [OURS if s is found[0] else THEIRS for s in able]
    left.barh(place, good, color=colours, label="right")
    left.barh(place, said - good, left=good, color="#c8553d", label="wrong")
    left.barh(place, 1 - said, left=said, color=FAINT, label="no layer named")
    left.set_yticks(place, [s.peer.title for s in able])
    left.set_xlabel("share of faults: right · wrong (red) · none named (light)")
    left.set_xlim(0, 1)
    false = [s.figures["false"] for s in able]
    values = np.array([f.value for f in false])
    reach = np.array([[f.value - f.low, f.high - f.value] for f in false]).T
    right.barh(place, values, color=colours)
    right.errorbar(values, place, xerr=np.maximum(reach, 0), fmt="none", ecolor="black", elinewidth=0.8)
    right.set_xlabel("a layer named though nothing is broken")
    right.set_xlim(0, max(0.1, float(np.nanmax(values, initial=0.0)) * 1.25))
    return figure


def _risk_coverage(found: Sequence[Standing]) -> Any:
    """Lines: share wrong among the surest answers, as more runs are answered."""
    figure, axes = plt.subplots(figsize=(6.5, 4.2))
    others = plt.get_cmap("tab20")
    for nth, standing in enumerate(found):
        covered, risk = metrics.risk_coverage(standing.runs)
        if not covered.size or standing.peer.gives == "detection":
            continue
        ours = standing is found[0]
        colour = OURS if ours else others(nth % 20)
        axes.plot(
            covered,
            risk,
            color=colour,
            lw=2.4 if ours else 1.0,
            label=standing.peer.title,
            zorder=3 if ours else 2,
        )
    axes.axhline(0.05, color="black", lw=0.8, ls=":")
    axes.set_xlabel("share of all runs answered, the surest first")
    axes.set_ylabel("share of those answers that are wrong")
    axes.set_ylim(-0.02, 1.02)
    axes.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _share_error(found: Sequence[Standing]) -> Any:
    """Boxes: layer L1 error over ΔP99 by run, for the methods that give ms."""
    measured = {s.peer.title: metrics.layer_errors(s.runs) for s in found if s.runs}
    errors = {title: np.maximum(e[~np.isnan(e)], 0.01) for title, e in measured.items()}
    errors = {title: e for title, e in errors.items() if e.size}
    able = [s for s in found if s.peer.title in errors]
    figure, axes = plt.subplots(figsize=(7, 0.42 * len(able) + 1.3))
    boxes = axes.boxplot(
        list(errors.values())[::-1],
        orientation="horizontal",
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
    )
    for box, standing in zip(boxes["boxes"], able[::-1], strict=True):
        box.set_facecolor(OURS if standing is found[0] else FAINT)
    for line in boxes["medians"]:
        line.set_color("black")
    axes.set_yticks(range(1, len(able) + 1), [s.peer.title for s in able[::-1]])
    axes.axvline(0.15, color="black", lw=0.8, ls=":")
    axes.set_xscale("log")
    axes.set_xlim(left=0.01)
    axes.set_xlabel(
        "Σ |ms − true ms| over layers and the rest, divided by ΔP99 (box: quartiles, whiskers: 5–95 %)"
    )
    return figure


def _detection(document: Sequence[Mapping[str, Any]]) -> Any:
    """Points: alarms a day where nothing rises, against the median delay where something does."""
    figure, axes = plt.subplots(figsize=(6.5, 4.0))
    markers = "osD^vP*Xh8"
    streams = list(dict.fromkeys(row["stream"] for row in document))
    ways = list(dict.fromkeys(row["way"] for row in document))
    tones = plt.get_cmap("Dark2")
    colours = [OURS, *(tones(nth) for nth in range(1, 8))]
    for row in document:
        if row["delay_median_s"] is not None:
            style: Any = {"marker": markers[streams.index(row["stream"]) % len(markers)], "s": 42}
            colour = colours[ways.index(row["way"]) % len(colours)]
            axes.scatter(row["alarms_per_day"], row["delay_median_s"], color=colour, **style)
    for nth, way in enumerate(ways):
        axes.scatter([], [], color=colours[nth % len(colours)], marker="s", label=way)
    for nth, stream in enumerate(streams):
        axes.scatter([], [], color="black", marker=markers[nth % len(markers)], label=stream)
    axes.set_xscale("symlog", linthresh=0.1)
    axes.set_yscale("log")
    axes.axvline(1.0, color="black", lw=0.8, ls=":")
    axes.axhline(10.0, color="black", lw=0.8, ls=":")
    axes.set_xlabel("alarms a day where nothing rises")
    axes.set_ylabel("median delay in s")
    axes.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
