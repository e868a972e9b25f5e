"""Requests follow from seeds: the same shape in every phase, other words, sizes that the model can take."""

from collections import Counter

from otel_attrib.demo.arrivals import load
from otel_attrib.demo.workload import Planned, plan


def prompt(request: Planned) -> str:
    """What the user says in it."""
    text: str = request.body.get("prompt") or request.body["messages"][0]["content"]
    return text


def test_same_shape_other_words() -> None:
    """Two phases send the same sizes, kinds and tenants at the same moments, and no prompt twice."""
    first, second = plan(load()[:300], 0, 1), plan(load()[:300], 0, 2)

    assert [(p.at, p.kind, p.tenant, p.route, len(prompt(p).split())) for p in first] == [
        (p.at, p.kind, p.tenant, p.route, len(prompt(p).split())) for p in second
    ]
    assert all(prompt(a) != prompt(b) for a, b in zip(first, second, strict=True))


def test_same_seeds_same_requests() -> None:
    """A plan can be made again, word for word."""
    assert plan(load()[:50], 3, 4) == plan(load()[:50], 3, 4)


def test_long_prompts_of_a_tenant_begin_alike() -> None:
    """Prompts of one tenant that are long enough share 160 words, those of two tenants do not."""
    openings = Counter(
        (p.tenant, " ".join(prompt(p).split()[:160]))
        for p in plan(load()[:300], 0, 1)
        if len(prompt(p).split()) > 160
    )

    assert 3 == len(openings)
    assert 3 == len({text for _, text in openings})


def test_every_kind_is_there() -> None:
    """Streamed, whole, abandoned and wrong requests all occur, and most are streamed."""
    kinds = Counter(p.kind for p in plan(load(), 0, 1))

    assert {"stream", "whole", "aborted", "bad"} == set(kinds)
    assert kinds["stream"] > 0.75 * kinds.total()


def test_sizes_fit_the_model() -> None:
    """No prompt and answer together are longer than 1,024 tokens at one token a word."""
    served = [p for p in plan(load(), 0, 1) if p.kind != "bad"]

    assert max(len(prompt(p).split()) + p.body["max_tokens"] for p in served) <= 1024 - 128
