"""A caller's tenants in the questions that choose requests in several places."""

from dataclasses import replace

from otel_attrib.analytics.filters import Filter
from otel_attrib.analytics.question import Question
from otel_attrib.analytics.service.caller import Caller
from otel_attrib.analytics.service.problem import Forbidden

__all__ = ["scoped"]


def scoped(question: Question, caller: Caller) -> Question:
    """The comparison with the caller's tenants added wherever it names none; `Forbidden` for another's.

    A side of `diff` that names a tenant keeps it: so may two of the caller's tenants be compared.
    """
    if not caller.tenants:
        return question
    sides = tuple((name, _side(question.where, selection, caller)) for name, selection in question.sides)
    return replace(question, sides=sides)


def _side(where: Filter, selection: Filter, caller: Caller) -> Filter:
    named = dict((*where.allowed, *selection.allowed)).get("tenant")
    if named is None:
        return selection.also(caller.scope())
    if not all(caller.sees(tenant) for tenant in named):
        raise Forbidden(f"{caller.name} may not see requests of another tenant")
    return selection
