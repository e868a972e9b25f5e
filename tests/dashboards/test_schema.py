"""Dashboards against the types that Grafana publishes (npm: @grafana/schema, as in package-lock.json).

Every dashboard is written as a TypeScript literal of the type `Dashboard`, and each panel's options and field
options as literals of its own panel's types; `tsc --strict` then refuses a property that Grafana does not
know, a value of the wrong type and a word that is none of an enum's. Skipped where there is no Node or no
registry.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.dashboards.boards import NAMES, texts

ROOT = Path(__file__).parents[2]
PACKAGES = Path(__file__).parent / "grafana_schema"
BUILT = ROOT / "build" / "grafana-schema"

# Panel type → module of its options; a panel of another type has no published types.
MODULES = {
    "barchart": "barchart/panelcfg/x/BarChartPanelCfg_types.gen",
    "heatmap": "heatmap/panelcfg/x/HeatmapPanelCfg_types.gen",
    "histogram": "histogram/panelcfg/x/HistogramPanelCfg_types.gen",
    "stat": "stat/panelcfg/x/StatPanelCfg_types.gen",
    "table": "table/panelcfg/x/TablePanelCfg_types.gen",
    "timeseries": "timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen",
    "trend": "trend/panelcfg/x/TrendPanelCfg_types.gen",
}
UNTYPED = {"row", "traces"}
# A JSON word stands for the enum's member with that value.
HEAD = """\
import type { AnnotationQuery, Dashboard, DataQuery, FieldConfig } from '@grafana/schema';
type Plain<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T
  : T extends Array<infer U> ? Array<Plain<U>> : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
// The query of an annotation is the data source's: the published type has what all data sources share.
type Asked = Omit<Plain<AnnotationQuery>, 'target'> & { target: DataQuery & Record<string, unknown> };
type Board = Omit<Plain<Dashboard>, 'annotations'> & { annotations?: { list?: Asked[] } };
"""
# What Grafana 10.1 needs and the newest no longer names: a heat map's tooltip is shown.
OLDER = {"heatmap": {"tooltip": "show"}}


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder of the published packages, installed once by `npm ci`."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    if not (BUILT / "node_modules" / "typescript").is_dir():
        BUILT.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PACKAGES / name, BUILT / name)
        done = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=BUILT,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            pytest.skip(f"npm cannot get @grafana/schema: {done.stderr.strip().splitlines()[-1]}")
    return BUILT


def source(boards: dict[str, dict[str, Any]]) -> str:
    """The TypeScript program whose types are checked; it is never run."""
    lines = [HEAD]
    lines += [
        f"import type * as {kind} from '@grafana/schema/dist/esm/raw/composable/{module}';"
        for kind, module in MODULES.items()
    ]
    for name, board in boards.items():
        lines.append(f"export const {name}: Board = {json.dumps(board)};")
        for panel in board["panels"]:
            if panel["type"] not in UNTYPED:
                lines += _panel(f"{name}{panel['id']}", panel)
    return "\n".join(lines)


def _panel(name: str, panel: dict[str, Any]) -> list[str]:
    kind, config, options = panel["type"], panel["fieldConfig"]["defaults"], panel.get("options", {})
    for part, older in OLDER.get(kind, {}).items():
        options = {**options, part: {key: value for key, value in options[part].items() if key != older}}
    custom = config.get("custom", {})
    # What a panel needs and the dashboard leaves to Grafana's defaults is no fault, so options are Partial.
    found = [f"export const o{name}: Partial<Plain<{kind}.Options>> = {json.dumps(options)};"]
    if custom:
        found.append(f"export const c{name}: Partial<Plain<{kind}.FieldConfig>> = {json.dumps(custom)};")
    plain = json.dumps({key: value for key, value in config.items() if key != "custom"})
    return [*found, f"export const d{name}: Plain<Omit<FieldConfig, 'custom'>> = {plain};"]


def checked(packages: Path, text: str, folder: Path) -> list[str]:
    """What `tsc` has to say of the program."""
    program = folder / "dashboards.ts"
    program.write_text(text)
    (folder / "node_modules").symlink_to(packages / "node_modules")
    options = [
        "--strict",
        "--noEmit",
        "--module",
        "esnext",
        "--moduleResolution",
        "bundler",
        "--skipLibCheck",
    ]
    done = subprocess.run(
        ["node", str(packages / "node_modules/typescript/bin/tsc"), *options, str(program)],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
    )
    return done.stdout.strip().splitlines()


def test_every_dashboard_is_of_grafanas_types(packages: Path, tmp_path: Path) -> None:
    """The published types of the newest Grafana take every dashboard, every panel and every option."""
    boards = {name: json.loads(text) for name, text in texts().items()}

    assert set(NAMES) == set(boards)
    assert {panel["type"] for board in boards.values() for panel in board["panels"]} <= {*MODULES, *UNTYPED}
    assert [] == checked(packages, source(boards), tmp_path)


def test_the_check_can_fail(packages: Path, tmp_path: Path) -> None:
    """A property that Grafana does not know, a word of no enum and a number for a text are each refused."""
    unknown, word, number = (json.loads(texts()["cache"]) for _ in range(3))
    unknown["colour"] = "red"
    word["panels"][1]["options"]["legend"]["placement"] = "behind"
    number["panels"][1]["fieldConfig"]["defaults"]["unit"] = 3
    said = "\n".join(checked(packages, source({"a": unknown, "b": word, "c": number}), tmp_path))

    assert "'\"colour\"' does not exist in type" in said
    assert "'\"behind\"' is not assignable" in said
    assert "'number' is not assignable to type 'string'" in said
