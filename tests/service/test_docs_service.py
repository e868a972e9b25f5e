"""docs/service.md, held to the OpenAPI document, the settings and the counters."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from otel_attrib.analytics.service.app import Behind, service_app
from otel_attrib.analytics.service.describe import PROBLEMS
from otel_attrib.analytics.service.meters import Meters
from otel_attrib.config import Settings
from otel_attrib.schema.store import Store

PAGE = (Path(__file__).parents[2] / "docs/service.md").read_text()
ROWS = {
    (found[1], found[2]): found[3]
    for line in PAGE.splitlines()
    if (found := re.match(r"\| `(GET|POST|DELETE) (/[^`]*)` \|(.*)", line))
}


def _no_store() -> Store:
    raise AssertionError("the document needs no store")


DOCUMENT = service_app(Settings(), Behind(_no_store, lambda: "", lambda host: {})).openapi()
OPERATIONS = {
    (method.upper(), path): operation
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}


def test_every_route_has_its_row() -> None:
    """The table names every operation of the document, and none that is not there (or describes it)."""
    files = {("GET", path) for path in ("/openapi.json", "/", "/assets/{file}", "/runbooks/{file}")}
    assert set(OPERATIONS) | files == set(ROWS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=" ".join)
def test_every_parameter_is_named(operation: tuple[str, str]) -> None:
    """A route's row names all of its parameters, or the fields of its body, and no others."""
    declared = {each["name"] for each in OPERATIONS[operation].get("parameters", ())}
    body = (
        OPERATIONS[operation]
        .get("requestBody", {})
        .get("content", {})
        .get("application/json", {})
        .get("schema")
    )
    if body:
        declared |= set(DOCUMENT["components"]["schemas"][body["$ref"].rpartition("/")[2]]["properties"])
    named = set(re.findall(r"`([\w-]+)`", ROWS[operation].rsplit("|", 2)[1]))

    assert declared == named


@pytest.mark.parametrize("operation", OPERATIONS, ids=" ".join)
def test_roles_are_right(operation: tuple[str, str]) -> None:
    """A row says read or write for a route that takes a token, write for those that change something."""
    role = ROWS[operation].split("|")[0].strip()
    takes_token = bool(OPERATIONS[operation].get("security")) and operation[1] != "/api/v1/status"

    assert (("read" if operation[0] == "GET" else "write") if takes_token else "none") == role


def test_every_status_is_told() -> None:
    """The table of faults has every status that any route declares."""
    told = {int(number) for number in re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE)}
    declared = {
        int(status)
        for each in (*(op["responses"] for op in OPERATIONS.values()), PROBLEMS)
        for status in each
    }

    assert {status for status in declared if status >= 400} <= told


def test_settings_and_counters_are_named() -> None:
    """Every setting of the API and every counter of its own stands on the page."""
    own = {entry.name for entry in fields(Settings) if entry.name.startswith("api_")}
    counters = {
        f"{metric.name}_total" if metric.type == "counter" else metric.name
        for metric in Meters().registry.collect()
    }

    assert all(f"`{name}`" in PAGE for name in own | counters | {"tokens", "access_log", "log_format"})
