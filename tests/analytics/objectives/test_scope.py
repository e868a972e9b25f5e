"""Which objectives a caller of certain tenants sees, and on whose requests."""

from otel_attrib.analytics.filters import Filter, parse_filter
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.analytics.objectives.scope import in_scope


def on(*where: str) -> Objective:
    """An objective on these requests."""
    return Objective("o", "", parse_filter(where), (Limit("ttft", 1),))


def wheres(tenants: tuple[str, ...], *objectives: Objective) -> list[Filter]:
    """What is left of each objective's requests."""
    return [objective.where for objective in in_scope(objectives, tenants)]


def test_no_tenants_means_all() -> None:
    """Who may see everything sees every objective as it stands."""
    assert [parse_filter(["tenant=zen"])] == wheres((), on("tenant=zen"))


def test_an_objective_on_all_is_counted_within_the_scope() -> None:
    """The caller's tenants are added; other conditions stay."""
    assert [parse_filter(["model=m", "tenant=acme", "tenant=zen"])] == wheres(("acme", "zen"), on("model=m"))


def test_an_objective_on_others_is_not_there() -> None:
    """Not even its name."""
    assert [] == wheres(("acme",), on("tenant=zen"), on("tenant=zen", "tenant=x"))


def test_an_objective_on_some_of_them_is_cut_to_the_callers() -> None:
    """Of acme and zen a caller of acme gets acme's requests alone."""
    assert [parse_filter(["tenant=acme"])] == wheres(("acme",), on("tenant=acme", "tenant=zen"))
