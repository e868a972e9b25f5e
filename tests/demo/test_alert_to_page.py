"""From a live fault to a notification, through its links to the page; and one number in four faces.

A simulated fleet streams in real time into a real `otel-attrib up`, which tells a real Alertmanager, which
notifies a webhook. The page is opened in a real Chromium. Then the recorded run of the demonstration with a
real vLLM is asked about in the same four ways: command, API, page, and Grafana's statement with its macros
expanded by the second implementation of the dashboards' tests.
"""

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright (group dev)")
sys.path.insert(0, str(Path(__file__).parents[2]))

from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.dashboards.macros import View

from benchmarks.alert_path import Notice, alertmanager, receiving, streaming, up
from otel_attrib.analytics.windows import rfc3339
from otel_attrib.analytics.wording import layer_title, milliseconds, signed
from otel_attrib.dashboards.boards import texts
from otel_attrib.demo.recording import batched, load_recording, shifted_body
from otel_attrib.demo.service import OURS, Service
from otel_attrib.demo.show import BODY_BYTES
from otel_attrib.demo.story import BASELINE, Phase

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
SERVICE = "checkout-chat"
NORMAL_S, FAULTY_S, BASELINE_S = 12, 63, 90
SHARE = NORMAL_S / (NORMAL_S + FAULTY_S)
FLEET = (
    "cpu-hog",
    "--set=fault.severity=3",
    f"--set=fault.start={SHARE}",
    "--set=fleet.nodes=1",
    "--set=fleet.gpus_per_node=4",
    f"--set=fleet.service={SERVICE}",
    f"--set=windows.baseline={BASELINE_S}",
    f"--set=windows.current={NORMAL_S + FAULTY_S}",
)
WITHIN_S = 60.0


@dataclass(frozen=True)
class Asked:
    """A service, and one question with fixed windows."""

    addresses: dict[str, str]
    service: str
    baseline: str
    window: str
    quantile: str

    def api(self, path: str, **words: str) -> Any:
        """What the API answers."""
        found = httpx.get(f"{self.addresses['http']}/api/v1/{path}", params=words, timeout=60)
        assert found.status_code == 200, found.text
        return found.json()

    def command(self, *words: str) -> Any:
        """What a command prints as JSON; exit codes of verdicts are none of its faults."""
        command = [*OURS, *words, "--json", "--url", self.addresses["http"]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90)
        assert done.returncode in (0, 3, 4), done.stderr
        return json.loads(done.stdout)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """What the ClickHouse port answers, as Grafana's data source would ask it."""
        found = httpx.post(
            self.addresses["clickhouse"],
            content=f"{sql}\nFORMAT JSONEachRow",
            headers={"X-ClickHouse-User": "readonly"},
            timeout=60,
        )
        assert found.status_code == 200, found.text
        return [json.loads(line) for line in found.text.splitlines()]

    @property
    def question(self) -> dict[str, str]:
        """Parameters of `why`."""
        words = {"where": f"service={self.service}", "window": self.window, "baseline": self.baseline}
        return {**words, "quantile": self.quantile}

    @property
    def range(self) -> tuple[datetime, datetime]:
        """Whole minutes with both windows in them."""
        begin, end = (self.baseline.split("..")[0], self.window.split("..")[1])
        first = datetime.fromisoformat(begin).replace(second=0, microsecond=0)
        last = datetime.fromisoformat(end).replace(second=0, microsecond=0) + timedelta(minutes=1)
        return first, last


@dataclass(frozen=True)
class Paged:
    """What came of the fault: the notification, and seconds from the fault to it."""

    asked: Asked
    notice: Notice
    seconds: float


def _text(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


@pytest.fixture(scope="module")
def paged(
    program: Callable[[str], str], browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Paged]:
    """One fault of a live fleet, up to the notification that names its layer; the service still runs."""
    path = Path(program("prometheus-alertmanager"))
    folder = tmp_path_factory.mktemp("paged")
    with (
        receiving() as receiver,
        alertmanager(folder / "alertmanager", receiver.url, path) as told,
        up(folder / "up", alertmanager=told, alert_metrics="ttft") as addresses,
    ):
        with streaming(folder, addresses["http"], FLEET) as stream:
            fault = stream.moment(SHARE)
            notice = receiver.wait_for(lambda one: one.names("cpu"), stream.length_s + 30)
            assert notice, [one.annotations for one in receiver.notices]
            until = datetime.fromtimestamp(notice.time - 8, UTC)
        began = stream.began
        baseline = f"{_text(began - timedelta(seconds=BASELINE_S))}..{_text(began)}"
        window = f"{_text(datetime.fromtimestamp(fault, UTC))}..{_text(until)}"
        yield Paged(Asked(addresses, SERVICE, baseline, window, "0.75"), notice, notice.time - fault)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, once."""
    if not CHROMIUM:
        pytest.skip("chromium is missing: scripts/services.sh installs it")
    with sync_playwright() as starter:
        found = starter.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab of its own."""
    found = browser.new_page(viewport={"width": 1360, "height": 900})
    found.set_default_timeout(60_000)
    yield found
    found.close()


def test_the_right_layer_within_a_minute(paged: Paged) -> None:
    """Within 60 s of the fault Alertmanager has told its receiver of host CPU, with ms, evidence, links."""
    words, labels = paged.notice.annotations, paged.notice.labels
    print(f"{paged.seconds:.1f} s: {words['summary']}")

    assert 0 < paged.seconds <= WITHIN_S
    assert ("LatencyRegression", SERVICE, "ttft") == (
        labels["alertname"],
        labels["service"],
        labels["metric"],
    )
    assert words["layers"].startswith("host CPU +")
    assert words["evidence_for"]
    assert len(words["exemplars"].split()) >= 1


def test_the_notification_leads_to_the_report(paged: Paged, page: Page) -> None:
    """Its link opens the incident's report on the page, which as of the notification says the same, in ms."""
    incident, link = paged.notice.labels["incident"], paged.notice.annotations["report_url"]
    kept = paged.asked.api(f"reports/{incident}")["items"]
    told = next(
        one
        for one in kept
        if one.get("report") and one["report"]["headline"] in paged.notice.annotations["summary"]
    )
    page.goto(link)
    page.locator("h2.sentence").wait_for()
    if page.locator("#as-of").count():
        page.locator("#as-of").select_option(told["time"])

    expect(page.locator("h2.sentence")).to_have_text(told["report"]["headline"])
    (cpu,) = re.findall(r"host CPU (\S+) ms", paged.notice.annotations["layers"])
    assert milliseconds(told["report"]["layers"]["cpu"]["ms"], sign=True) == cpu
    assert signed(told["report"]["layers"]["cpu"]["ms"]) == _cells(page, "host CPU")[0]


def test_its_other_links_open(paged: Paged, page: Page) -> None:
    """The request that it names is drawn as a waterfall of that very trace, and the runbook is served."""
    words = paged.notice.annotations
    page.goto(words["trace_url"])
    expect(page.locator("main")).to_contain_text(words["trace_url"].rpartition("/")[2].split("?")[0])
    runbook = httpx.get(words["runbook_url"], timeout=10)

    assert 200 == runbook.status_code
    assert runbook.text.startswith("# LatencyRegression")


def test_one_p99_in_four_faces(paged: Paged, page: Page) -> None:
    """Command, API, the page's table and Grafana's statement give the same P99 for each column of the map."""
    _same_p99s(paged.asked, page)


def test_one_answer_in_three_faces(paged: Paged, page: Page) -> None:
    """Command, API and page give the same verdict and the same ms of each layer, for the same windows."""
    body = _same_answer(paged.asked, page)

    assert ("CAUSE", "cpu") == (body["verdict"], _largest(body))


@pytest.fixture(scope="module")
def recorded(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """What `otel-attrib demo --replay` sends, in a service that goes on; asked about its second fault."""
    recording = load_recording()
    by_ns = time.time_ns() - recording.story.end_ns
    story = recording.story.shifted(by_ns)
    with Service(tmp_path_factory.mktemp("recorded"), "--no-agent") as service:
        for body in batched(recording.bodies, BODY_BYTES):
            service.post("/v1/traces", shifted_body(body, by_ns))
        assert story.sent == service.wait_for_requests(story.sent, 60)
        (row,) = service.rows("SELECT any(service) AS name FROM requests")
        addresses = {name: str(value) for name, value in service.ready.items()}
        baseline, window = (_span(story.phase(name)) for name in (BASELINE, "small-cache"))
        yield Asked(addresses, row["name"], baseline, window, "0.9")


def _span(phase: Phase) -> str:
    begin, end = (datetime.fromtimestamp(ns // 1_000_000 / 1e3, UTC) for ns in (phase.start_ns, phase.end_ns))
    return f"{rfc3339(begin)}..{rfc3339(end)}"


def test_one_p99_in_four_faces_of_the_recorded_run(recorded: Asked, page: Page) -> None:
    """The same of a real vLLM's recorded requests."""
    _same_p99s(recorded, page)


def test_one_answer_in_three_faces_of_the_recorded_run(recorded: Asked, page: Page) -> None:
    """The second fault, a cache too small, is the scheduler's in every face, by the same ms."""
    body = _same_answer(recorded, page)

    assert ("CAUSE", "scheduler") == (body["verdict"], _largest(body))


def _same_p99s(asked: Asked, page: Page) -> None:
    begin, end = asked.range
    query = {"from": _text(begin), "to": _text(end), "where": f"service={asked.service}"}
    with page.expect_response(lambda one: "/api/v1/heatmap?" in one.url and one.status == 200) as answered:
        page.goto(f"{asked.addresses['http']}/#/?{urllib.parse.urlencode(query, safe=':=,')}")
    step_s = answered.value.json()["step_s"]
    span = f"{query['from']}..{query['to']}"
    words = {"window": f"{step_s}s", "step": f"{step_s}s", "last": span, "where": query["where"]}
    options = [word for name, value in words.items() for word in (f"--{name}", value)]
    said = _points(asked.command("quantiles", *options), step_s)

    assert len(said) >= 5
    assert said == _points(asked.api("quantiles", **words), step_s)
    drawn = _grafana(asked, begin, end, step_s)
    assert said == {time: drawn[time] for time in said}
    table = _table(page)
    assert {time: milliseconds(ms) for time, ms in said.items()} == {time: table[time] for time in said}


def _points(body: dict[str, Any], step_s: int) -> dict[str, float]:
    """P99 by the time at which its window begins, as the page writes times."""
    begins = {
        f"{datetime.fromisoformat(point['end']) - timedelta(seconds=step_s):%Y-%m-%d %H:%M:%S}": point["ms"]
        for point in body["points"]
    }
    return {time: ms for time, ms in begins.items() if ms is not None}


def _grafana(asked: Asked, begin: datetime, end: datetime, step_s: int) -> dict[str, float]:
    """The fleet dashboard's P99 of TTFT."""
    board = json.loads(texts()["fleet"])
    panel = next(one for one in board["panels"] if one["title"] == "TTFT: P50, P95, P99")
    (target,) = [one for one in panel["targets"] if one["refId"] == "A"]
    view = View(begin, end - timedelta(seconds=1), step_s, {"service": [asked.service]})
    return {row["time"]: row["p99"] for row in asked.rows(view.expanded(target["rawSql"]))}


def _table(page: Page) -> dict[str, str]:
    """The page's text alternative of its map: the P99 of each column."""
    page.get_by_role("button", name="Table").click()
    lines = page.get_by_role("region", name="The numbers of the heat map").locator("tbody tr")
    lines.first.wait_for()
    cells = [line.split("\t") for line in lines.all_inner_texts()]
    return {re.sub(r"( \S+ \S+)?$", "", cell[0][:19]): cell[2] for cell in cells}


def _same_answer(asked: Asked, page: Page) -> dict[str, Any]:
    options = [word for name, value in asked.question.items() for word in (f"--{name}", value)]
    body: dict[str, Any] = asked.command("why", *options)
    told = asked.api("why", **asked.question)
    page.goto(f"{asked.addresses['http']}/#/why?{urllib.parse.urlencode(asked.question, safe=':=,')}")
    expect(page.locator("article.answer h2.sentence")).to_have_text(body["headline"], timeout=60_000)

    assert body == told
    expect(page.locator(".verdict b")).to_have_text(body["verdict"])
    for name, layer in body["layers"].items():
        if abs(layer["ms"]) >= 0.005 * abs(body["delta_ms"]):
            assert signed(layer["ms"]) == _cells(page, layer_title(name))[0]
    assert milliseconds(body["delta_ms"], sign=True) == _cells(page, "sum")[0]
    return body


def _cells(page: Page, name: str) -> list[str]:
    """The cells of one line of the answer's first table."""
    row = page.locator("table.bars").first.locator(f"tr:has(th:text-is('{name}'))").first
    return row.locator("td").all_inner_texts()


def _largest(body: dict[str, Any]) -> str:
    layers: dict[str, dict[str, float]] = body["layers"]
    return max(layers, key=lambda name: layers[name]["ms"])
