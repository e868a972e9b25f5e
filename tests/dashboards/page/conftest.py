"""The real page, in a real browser, from a real `otel-attrib up` over a model fleet whose cards throttle."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright (group dev)")
sys.path.insert(0, str(Path(__file__).parents[3]))

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.dashboards.page.page_site import Site, run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
).split()
SCENARIO = (
    "clock-throttle-node",
    "--set=fleet.gpus_per_node=1",
    "--set=fault.severity=1.5",
    "--set=windows.baseline=150",
    "--set=windows.current=150",
    "--set=sensors.timeline=true",
)
PATIENCE_MS = 30_000  # on a machine that others use as well
expect.set_options(timeout=PATIENCE_MS)
SLO = Path(__file__).with_name("objectives.yaml")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service; with a deploy at the onset, two objectives and one open incident."""
    if not Path(CHROMIUM).exists():
        pytest.skip("needs chromium on PATH")
    folder = tmp_path_factory.mktemp("site")
    dsn = f"chdb://{folder}/store"
    told = run("simulate", *SCENARIO, "--dsn", dsn).split("otel-attrib why ")[1].split()
    window, baseline = (told[told.index(f"--{name}") + 1] for name in ("window", "baseline"))
    run("mark", "v2", "--kind", "deploy", "--at", window.split("..")[0], "--dsn", dsn)
    words = [sys.executable, "-m", "otel_attrib", "up", "--dsn", dsn, "--no-agent", "--json"]
    ports = [f"--{name}-port=0" for name in ("otlp-grpc", "otlp-http", "clickhouse", "http")]
    environment = {**os.environ, "OTEL_ATTRIB_SLO": str(SLO)}
    with subprocess.Popen([*words, *ports], stdout=subprocess.PIPE, text=True, env=environment) as service:
        try:
            assert service.stdout is not None
            found = Site(json.loads(service.stdout.readline())["http"], window, baseline)
            _incident(found)
            yield found
        finally:
            service.terminate()
            service.wait(20)


def _incident(site: Site) -> None:
    """Keep the real answer as the watch would, through the service's own port."""
    from datetime import UTC, datetime

    from otel_attrib.schema.reports import ReportRow, into_receiver

    body = site.api("why", **site.question)
    onset = datetime.fromisoformat(site.window.split("..")[0])
    row = ReportRow(
        time=datetime.now(UTC),
        incident="5eed5eed5eed5eed",
        state="open",
        onset=onset,
        service="model-fleet",
        model="llama-3.1-8b",
        metric="ttft",
        quantile=0.99,
        where={"service": "model-fleet"},
        verdict=body["verdict"],
        layer="gpu",
        delta_ms=body["delta_ms"],
        report=json.dumps(body, ensure_ascii=False),
        hash=body["hash"],
    )
    into_receiver(site.url)(row)
    for _ in range(100):
        if site.api("reports")["items"]:
            return
        time.sleep(0.1)
    raise AssertionError("the report did not arrive")


@pytest.fixture(scope="session")
def why(site: Site) -> dict[str, Any]:
    """The API's answer to the site's question."""
    body: dict[str, Any] = site.api("reports/5eed5eed5eed5eed")["items"][0]["report"]
    return body


@pytest.fixture(scope="module")
def browser(site: Site) -> Iterator[Browser]:
    """Chromium, for one module: while Playwright runs, no other test's event loop can."""
    with sync_playwright() as starter:
        found = starter.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser's profile of its own."""
    found = browser.new_context(viewport={"width": 1360, "height": 900}, color_scheme="light")
    found.set_default_timeout(PATIENCE_MS)
    yield found
    found.close()


@pytest.fixture
def faults() -> list[str]:
    """What a tab complained of, and whom else it asked; a test that provokes faults empties it."""
    return []


@pytest.fixture
def page(context: BrowserContext, site: Site, faults: list[str]) -> Iterator[Page]:
    """A tab that must log no error and ask nobody but the service."""
    found = context.new_page()
    found.on("console", lambda told: faults.append(told.text) if told.type in ("error", "warning") else None)
    found.on("pageerror", lambda fault: faults.append(str(fault)))
    found.on("request", lambda asked: _outside(asked.url, site.url, faults))
    yield found
    assert [] == faults


def _outside(url: str, own: str, faults: list[str]) -> None:
    if not url.startswith((own, "data:", "blob:")):
        faults.append(f"asked {url}")


@pytest.fixture
def known(page: Page, why: dict[str, Any]) -> Page:
    """A tab that gets the answer of `why`, which the real service gave once, without asking again."""
    stream = f"event: result\ndata: {json.dumps(why, ensure_ascii=False)}\n\n"
    page.route(
        "**/api/v1/why?*window=*",
        lambda route: route.fulfill(status=200, content_type="text/event-stream", body=stream),
    )
    return page
