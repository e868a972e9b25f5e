"""`dashboards export`, the reference page of panels and docs/grafana.md."""

import json
import re
from pathlib import Path

import pytest
import yaml

from otel_attrib.cli import main
from otel_attrib.dashboards import palette, panels_page
from otel_attrib.dashboards.boards import NAMES, texts
from otel_attrib.schema.attributes import LAYERS, STAGES

ROOT = Path(__file__).parents[2]


def test_one_dashboard_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """`export NAME` prints the JSON that Grafana imports, and nothing else."""
    assert main(["dashboards", "export", "fleet"]) == 0

    assert texts()["fleet"] == capsys.readouterr().out


def test_files_for_provisioning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`export --out` writes each dashboard, and a provider that looks for them where they will be."""
    assert main(["dashboards", "export", "--out", str(tmp_path), "--at", "/etc/grafana/boards"]) == 0

    assert {f"{name}.json": text for name, text in texts().items()} == {
        path.name: path.read_text() for path in (tmp_path / "dashboards").iterdir()
    }
    (provider,) = yaml.safe_load((tmp_path / "provisioning/dashboards/otel-attrib.yaml").read_text())[
        "providers"
    ]
    assert ("file", "otel-attrib", "/etc/grafana/boards", False) == (
        provider["type"],
        provider["folderUid"],
        provider["options"]["path"],
        provider["allowUiUpdates"],
    )
    assert not (tmp_path / "provisioning/datasources").exists()
    assert "9 files written" in capsys.readouterr().out


def test_provisioned_data_sources_hold_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file names the variable that Grafana reads; a dollar sign that is meant is doubled."""
    monkeypatch.setenv("OTEL_ATTRIB_CLICKHOUSE_PASSWORD", "hunter2")
    words = [
        "--clickhouse",
        "https://reader@store/otel",
        "--prometheus",
        "http://prom:9090",
        "--page",
        "https://p/",
    ]
    assert main(["dashboards", "export", "--out", str(tmp_path), *words]) == 0
    text = (tmp_path / "provisioning/datasources/otel-attrib.yaml").read_text()
    store, prometheus = yaml.safe_load(text)["datasources"]

    assert "hunter2" not in text
    assert {"password": "$OTEL_ATTRIB_CLICKHOUSE_PASSWORD"} == store["secureJsonData"]
    assert ("store", 8443, True, "reader", "otel") == tuple(
        store["jsonData"][key] for key in ("host", "port", "secure", "username", "defaultDatabase")
    )
    trace = prometheus["jsonData"]["exemplarTraceIdDestinations"][0]
    assert "https://p/#/trace/$${__value.raw}" == trace["url"]


def test_an_objective_of_the_settings_has_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OTEL_ATTRIB_SLO names objectives: the dashboard has a panel of them, which it lacks without."""
    assert main(["slo", "preset", "llama2-70b-interactive"]) == 0
    (tmp_path / "slo.yaml").write_text(capsys.readouterr().out)
    monkeypatch.setenv("OTEL_ATTRIB_SLO", str(tmp_path / "slo.yaml"))
    assert main(["dashboards", "export", "slo"]) == 0

    titles = [panel["title"] for panel in json.loads(capsys.readouterr().out)["panels"]]
    assert "Objectives" in titles
    assert "Objectives" not in [panel["title"] for panel in json.loads(texts()["slo"])["panels"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("export",), "name one dashboard to print, or give --out DIR"),
        (("export", "--out", "/proc/nowhere"), "/proc/nowhere/dashboards/fleet.json cannot be written"),
        (("export", "--out", "x", "--clickhouse", "http://a:b@store"), "--clickhouse holds a password"),
        (("apply", "--out", "x"), "--out goes with export"),
    ],
    ids=["nothing named", "not writable", "password", "out of place"],
)
def test_mistakes_are_told(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the user got wrong is named in one line; the exit code is 2."""
    assert main(["dashboards", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_reference_page_is_current() -> None:
    """docs/reference/panels.md is what the dashboards say of themselves."""
    assert panels_page.page() == (ROOT / "docs/reference/panels.md").read_text()


def test_every_dashboard_and_panel_is_documented() -> None:
    """docs/grafana.md names each dashboard, the reference page each of their panels."""
    guide, reference = (ROOT / "docs" / name for name in ("grafana.md", "reference/panels.md"))
    for name, text in texts().items():
        board = json.loads(text)
        assert f"| `{name}` | {board['title']} |" in guide.read_text()
        section = reference.read_text().split(f"## {board['title']}\n")[1].split("\n## ")[0]
        for panel in board["panels"]:
            heads = (f"\n### {panel['title']}\n", f"| {panel['title']} |")
            assert heads[panel["type"] != "row"] in section
    assert len(NAMES) == len(re.findall(r"^\| `\w+` \| LLM", guide.read_text(), re.MULTILINE))


def test_colours_are_those_of_the_page() -> None:
    """A layer and a stage have one colour, in Grafana and on the page."""
    source = (ROOT / "dashboards/web/src/palette.ts").read_text()
    layers, stages = (
        dict(re.findall(r"(\w+): \"(#\w{6})\"", part)) for part in source.split("export const ")[1:3]
    )

    assert (layers, stages) == (palette.LAYER_COLORS, palette.STAGE_COLORS)
    assert (set(LAYERS), set(STAGES)) <= (set(layers), set(stages))
