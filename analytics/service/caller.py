"""Who asks, what they may do, and whose requests they see.

A route takes `Reader`, `Writer` or `Admin`; without one of them it has no caller and no data. Every
condition on requests comes from `Caller.filter` (or `Caller.words`), which adds the caller's tenants.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from fastapi import Depends, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from otel_attrib.analytics.filters import Filter, parse_filter
from otel_attrib.analytics.service.problem import Forbidden, Unauthorized

__all__ = ["ROLES", "Admin", "Caller", "Reader", "Role", "Visitor", "Writer"]

Role = Literal["read", "write", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the least to the most; each may do what those before it may."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks; no `tenants` means that every tenant's requests are theirs to see."""

    name: str
    role: Role
    tenants: tuple[str, ...] = ()

    def may(self, role: Role) -> bool:
        """Whether the caller's role is `role` or above it."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def sees(self, tenant: str) -> bool:
        """Whether requests of `tenant` may be shown."""
        return not self.tenants or tenant in self.tenants

    def filter(self, words: Sequence[str]) -> Filter:
        """Read `where` words and add the caller's tenants; `Forbidden` when they name another's."""
        asked = parse_filter(words)
        named = dict(asked.allowed).get("tenant")
        if named is None:
            return asked.also(self.scope())
        others = [tenant for tenant in named if not self.sees(tenant)]
        if others:
            raise Forbidden(f"{self.name} may not see requests of tenant {others[0]!r}")
        return asked

    def words(self, words: Sequence[str]) -> list[str]:
        """The same condition as `where` words, for questions that read those."""
        return [f"{name}={value}" for name, values in self.filter(words).allowed for value in values]

    def scope(self) -> Filter:
        """The condition that the caller's tenants alone make."""
        return Filter((("tenant", self.tenants),)) if self.tenants else Filter()


_BEARER = HTTPBearer(auto_error=False, description="A token of `otel-attrib tokens add`", scheme_name="token")
_Given = Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]


async def _reader(request: Request, given: _Given) -> Caller:
    return _at_least("read", request, given)


async def _writer(request: Request, given: _Given) -> Caller:
    return _at_least("write", request, given)


async def _admin(request: Request, given: _Given) -> Caller:
    return _at_least("admin", request, given)


async def _visitor(request: Request, given: _Given) -> Caller | None:
    try:
        return _at_least("read", request, given)
    except (Forbidden, Unauthorized):
        return None


def _at_least(role: Role, request: Request, given: HTTPAuthorizationCredentials | None) -> Caller:
    caller: Caller = request.app.state.authentication.caller(given.credentials if given else None)
    if not caller.may(role):
        raise Forbidden(f"this needs role {role}, and {caller.name} has role {caller.role}")
    request.state.caller = caller
    return caller


Reader = Annotated[Caller, Depends(_reader)]
"""A caller who may read."""

Writer = Annotated[Caller, Depends(_writer)]
"""A caller who may write."""

Admin = Annotated[Caller, Depends(_admin)]
"""A caller who may do everything."""

Visitor = Annotated[Caller | None, Depends(_visitor)]
"""A caller if one is known, where nobody is turned away."""
