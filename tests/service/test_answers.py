"""What an answer is: the command's JSON, its ETag, its bytes packed, its problems; and what is refused."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.one_request import explain_trace
from otel_attrib.analytics.quantiles_object import Words, ask_quantiles, quantiles_object
from otel_attrib.analytics.question import compare, pose
from otel_attrib.analytics.service.answer import encode
from otel_attrib.analytics.trace_lookup import look_up
from otel_attrib.analytics.trace_object import trace_object
from otel_attrib.analytics.why import explain
from otel_attrib.schema.store import Store

# Not typed: conftest modules cannot be imported.
Api = Any


@pytest.fixture(scope="module")
def at() -> str:
    """A time that stays, so that two questions are the same."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def test_quantiles_are_those_of_the_command(api: Api, filled: Store, at: str) -> None:
    """The body is what `quantiles --json` prints, for every option that both have."""
    words = Words("tpot", 0.9, "2m", "30s", "10m", "model,tenant", parse_filter(["node=n0"]), at)
    expected = quantiles_object(*ask_quantiles(filled, words))

    query = "metric=tpot&quantile=0.9&window=2m&step=30s&last=10m&by=model,tenant&where=node%3Dn0"
    answer = api.get(f"/quantiles?{query}&at={at}")

    assert (200, "application/json", expected) == (
        answer.status_code,
        answer.headers["content-type"],
        answer.json(),
    )
    assert expected["points"]


def test_why_and_diff_are_those_of_the_command(api: Api, filled: Store, at: str) -> None:
    """Bodies of /why, /why?trace and /diff are the reports that `why` and `diff` print."""
    asked = {"metric": "ttft", "window": "10m", "where": ["tenant=acme"], "at": at}
    why = explain(filled, pose(filled, baseline="before", **asked)).as_dict()  # type: ignore[arg-type] # by name
    one = explain_trace(filled, "acme-10-5").as_dict()
    diff = explain(filled, compare(filled, "tenant=acme", "tenant=zen", at=at)).as_dict()

    query = f"window=10m&baseline=before&where=tenant%3Dacme&at={at}"
    bodies = [
        api.get(path).json()
        for path in (f"/why?{query}", "/why?trace=acme-10-5", f"/diff?a=tenant%3Dacme&b=tenant%3Dzen&at={at}")
    ]

    assert json.loads(json.dumps([why, one, diff])) == bodies


def test_trace_is_that_of_the_command(api: Api, filled: Store) -> None:
    """The body is what `trace --json` prints; the gaps in their order are not known here, which it says."""
    expected = json.loads(json.dumps(trace_object(look_up(filled, "acme-10-5"), None)))

    body = api.get("/trace/acme-10-5").json()

    assert expected == {name: body[name] for name in expected}
    assert body["gaps_ms"] is None


def test_curves_of_one_request(api: Api, filled: Store) -> None:
    """With evidence the card's clock is a curve whose points are the samples around the request's time."""
    body = api.get("/trace/acme-10-5?evidence=true").json()
    (clock,) = [curve for curve in body["series"] if curve["counter"] == "gpu_clock"]
    start = body["request"]["time_us"]
    stored = filled.rows(
        "SELECT toUnixTimestamp64Micro(time) AS at, value FROM samples WHERE metric = 'hw.gpu.clock.graphics'"
    )
    near = {(row["at"] - start) / 1e3: row["value"] for row in stored}

    assert ("0", "MHz", "SM clock") == (clock["device"], clock["unit"], clock["title"])
    assert clock["points"] and all(near[ms] == value for ms, value in clock["points"])
    assert body["evidence"]["devices"] == ["n0:0"]


def test_an_etag_saves_the_body(api: Api, at: str) -> None:
    """The same question gives the same ETag, and 304 without a body to who has it; another gives another."""
    first = api.get(f"/quantiles?at={at}")
    tag = first.headers["etag"]
    again = api.get(f"/quantiles?at={at}", headers={"If-None-Match": f'"other", W/{tag}'})
    other = api.get(f"/quantiles?at={at}&metric=e2e", headers={"If-None-Match": tag})

    assert tag.startswith('"') and "no-cache" in first.headers["cache-control"]
    assert (304, b"", tag) == (again.status_code, again.content, again.headers["etag"])
    assert 200 == other.status_code


def test_large_answers_are_packed(api: Api, at: str) -> None:
    """Who takes gzip gets the same bytes packed; who refuses it gets them plain."""
    path = f"/heatmap?at={at}"
    packed, plain = (api.get(path, headers={"Accept-Encoding": each}) for each in ("gzip", "gzip;q=0, br"))

    assert ("gzip", None) == (packed.headers.get("content-encoding"), plain.headers.get("content-encoding"))
    assert plain.content == packed.content  # the client unpacks
    assert int(packed.headers["content-length"]) < len(plain.content) / 2


def test_numbers_that_json_has_not() -> None:
    """NaN and infinity become null, everything else stays; only a long answer is packed."""
    encoded = encode({"a": [1.5, float("nan")], "b": {"c": float("inf"), "d": "é"}})

    assert '{"a":[1.5,null],"b":{"c":null,"d":"é"}}'.encode() == encoded.body
    assert encoded.packed is None
    long = encode({"a": "x" * 5000})
    assert long.packed is not None and long.body == gzip.decompress(long.packed)


REFUSED = {
    "/quantiles?metrc=ttft": (422, "no parameter 'metrc' here: do you mean 'metric'?"),
    "/quantiles?metric=ttft&metric=tpot": (422, "metric: given 2 times, give it once"),
    "/quantiles?metric=latency": (422, "metric: Input should be 'ttft', 'tpot', 'tbt' or 'e2e'"),
    "/quantiles?quantile=99": (422, "quantile: Input should be less than 1"),
    "/quantiles?window=5": (422, "'5' is no duration"),
    "/quantiles?where=planet%3Dmars": (422, "no dimension 'planet' here"),
    "/quantiles?by=model,model": (422, "names model twice"),
    "/quantiles?step=10s&last=500d": (422, "windows are too many"),
    "/trace/nothing": (404, "no request with trace, span or request id 'nothing'"),
    "/trace/acme-10-": (422, "means more than 10 requests"),
    "/why?trace=acme-10-5&baseline=before": (422, "baseline has no use with trace"),
    "/why?metric=tbt&trace=acme-10-5": (422, "tbt has no stages to compare"),
    "/nothing": (404, "Not Found"),
}


@pytest.mark.parametrize("path", REFUSED)
def test_a_problem_says_what_to_do(api: Api, path: str) -> None:
    """What cannot be answered is a problem of RFC 9457 with the command's own words."""
    status, detail = REFUSED[path]
    answer = api.get(path)
    body = answer.json()

    assert (status, "application/problem+json") == (answer.status_code, answer.headers["content-type"])
    assert {"type", "title", "status", "detail"} == set(body) and status == body["status"]
    assert detail in body["detail"]


def test_methods_that_a_route_has_not(api: Api) -> None:
    """Another method is 405, as a problem, and says which there are."""
    answer = api.ask("DELETE", "/api/v1/quantiles")

    assert (405, "GET") == (answer.status_code, answer.headers["allow"])
    assert "application/problem+json" == answer.headers["content-type"]


def test_newest_looks_back_from_the_last_request(api: Api, filled: Store) -> None:
    """`at=newest` ends at the last request of the selection, for a caller's own tenants."""
    (row,) = filled.rows("SELECT max(time) AS last FROM requests WHERE tenant = 'acme'")
    body = api.get("/quantiles?at=newest&where=tenant%3Dacme&step=10s").json()
    last = datetime.fromisoformat(body["points"][-1]["end"])

    assert timedelta() <= last - row["last"] <= timedelta(seconds=310)
