"""/metrics stays small whatever names clients make up, and loses no request."""

from collections import Counter

from prometheus_client.parser import text_string_to_metric_families as parse

from otel_attrib.analytics.exposition import Latencies, encoded
from otel_attrib.analytics.exposition.folding import MOST, OTHER, Folding
from otel_attrib.schema.store import Store

Sets = dict[str, int]


def rows(sets: Sets) -> list[dict[str, object]]:
    """Rows of the store's counters, one for each model."""
    return [
        {"model": name, "status": "ok", "requests": n, "ttft": {100: n}, "ttft_us": 50.0 * n}
        for name, n in sets.items()
    ]


def counted(folding: Folding, sets: Sets) -> Sets:
    """Model -> requests after folding."""
    found = folding.folded(rows(sets), ("model", "status"))
    assert all(row["ttft"] == {100: row["requests"]} for row in found)
    assert all(row["ttft_us"] == 50.0 * row["requests"] for row in found)
    return {row["model"]: row["requests"] for row in found}


def test_the_greatest_have_their_own() -> None:
    """Of four with room for two the two greatest are shown, the others together; each stays where it is."""
    folding = Folding(2)

    assert {"a": 9, "b": 8, OTHER: 5} == counted(folding, {"c": 3, "a": 9, "d": 2, "b": 8})
    assert {"a": 9, "b": 8, OTHER: 105} == counted(folding, {"c": 103, "a": 9, "d": 2, "b": 8})
    assert {"a": 9, "b": 8, OTHER: 106} == counted(folding, {"c": 103, "a": 9, "d": 2, "b": 8, "new": 1})


def test_a_page_of_a_store_full_of_made_up_models(store: Store) -> None:
    """Five times as many models as have room: all requests are on the page, in so many sets and one."""
    store.command(
        "INSERT INTO requests (time, service, model, status, ttft_us, weight)"
        f" SELECT now64(6), 's', concat('m', toString(number)), 'ok', 1000, 3 FROM numbers({5 * MOST})"
    )
    body, _ = encoded([Latencies(lambda: store)], "")
    found: Counter[str] = Counter()
    for family in parse(body.decode()):
        for sample in family.samples:
            if sample.name == "otel_attrib_requests_total":
                found[sample.labels["gen_ai_request_model"]] += int(sample.value)

    assert MOST + 1 == len(found)
    assert {3: MOST, 3 * 4 * MOST: 1} == Counter(found.values())
    assert 3 * 4 * MOST == found[OTHER]
