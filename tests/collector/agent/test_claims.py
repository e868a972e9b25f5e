"""One counter, two sources: only the better one gives it."""

from otel_attrib.collector.sources.claims import claim, claimed, release


def test_a_claim_holds_until_every_claimant_lets_go() -> None:
    """Two that claim the same must both release it before the other source gives it again."""
    assert not claimed("test_counter")
    claim("test_counter")
    claim("test_counter")
    release("test_counter")
    assert claimed("test_counter")
    release("test_counter")
    assert not claimed("test_counter")
