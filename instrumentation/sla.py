"""Whose request it is and what was promised: from its headers, else from a rule, else absent.

Headers (lower case; `OTEL_ATTRIB_HEADERS="slatag.tenant=x-org-id,…"` adds others) are asked first,
then W3C baggage under the attribute's own name, then the rules of OTEL_ATTRIB_SLA_FILE (TOML or
JSON): `[[rule]]` tables with glob patterns `model`, `tenant` and the values to set; the first match counts.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from otel_attrib.instrumentation import shim
from otel_attrib.schema.attributes import (
    OPERATOR_ID,
    PARALLELISM,
    PARTITION_ID,
    SLA_CLASS,
    SLA_DEADLINE_MS,
    STREAM_ID,
    TENANT,
)

__all__ = ["HEADERS", "Rule", "baggage_of", "promise", "read_rules"]

HEADERS: Mapping[str, tuple[str, ...]] = {
    STREAM_ID: ("x-slatag-stream-id",),
    SLA_DEADLINE_MS: ("x-slatag-sla-deadline-ms",),
    SLA_CLASS: ("x-slatag-sla-class",),
    TENANT: ("x-slatag-tenant", "x-tenant-id"),
    PARTITION_ID: ("x-slatag-partition-id",),
    OPERATOR_ID: ("x-slatag-operator-id", "flink-operator-id", "flink_operator_id"),
    PARALLELISM: ("x-slatag-parallelism",),
}
"""Attribute → headers that carry it, the first that is present counts."""

_LONGEST = 256


@dataclass(frozen=True, slots=True)
class Rule:
    """Values for the requests whose model and tenant match two glob patterns."""

    model: str
    tenant: str
    values: Mapping[str, Any]

    def matches(self, model: str, tenant: str) -> bool:
        """Whether the rule is meant for this model and tenant."""
        return fnmatchcase(model, self.model) and fnmatchcase(tenant, self.tenant)


def promise(
    headers: Iterable[tuple[bytes, bytes]],
    model: str,
    rules: Sequence[Rule] | None = None,
    more_headers: str | None = None,
) -> dict[str, Any]:
    """Return the `slatag.*` attributes of a request; what nobody said is absent."""
    given = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
    baggage = baggage_of(given.get("baggage", ""))
    found: dict[str, Any] = {}
    more = os.environ.get(shim.HEADERS, "") if more_headers is None else more_headers
    for attribute, names in _names(more).items():
        value = next((given[name] for name in names if given.get(name)), None)
        value = value or next((baggage[key] for key in _keys(attribute) if key in baggage), None)
        _set(found, attribute, value)
    for rule in _rules() if rules is None else rules:
        if rule.matches(model, str(found.get(TENANT, ""))):
            return _with_defaults(found, rule)
    return found


def _with_defaults(found: dict[str, Any], rule: Rule) -> dict[str, Any]:
    for attribute, value in rule.values.items():
        if attribute not in found:
            _set(found, attribute, value)
    return found


def _set(found: dict[str, Any], attribute: str, value: Any) -> None:
    """Keep a usable value; a deadline that is no positive number is as good as none."""
    if value is None or value == "":
        return
    if attribute != SLA_DEADLINE_MS:
        found[attribute] = str(value)[:_LONGEST]
        return
    try:
        deadline = float(value)
    except ValueError:
        return
    if 0 < deadline < float("inf"):
        found[attribute] = deadline


@lru_cache(maxsize=8)
def _names(more: str) -> Mapping[str, tuple[str, ...]]:
    names = dict(HEADERS)
    for pair in filter(None, (part.strip() for part in more.split(","))):
        attribute, _, header = pair.partition("=")
        attribute = attribute.strip()
        if attribute not in HEADERS or not header.strip():
            shim.say(f"{shim.HEADERS}: {pair!r} is not attribute=header")
            continue
        names[attribute] = (header.strip().lower(), *names[attribute])
    return names


def _keys(attribute: str) -> tuple[str, ...]:
    """Keys of an attribute in baggage."""
    return (attribute, "flink_operator_id") if attribute == OPERATOR_ID else (attribute,)


def baggage_of(header: str) -> dict[str, str]:
    """Return the members of a W3C baggage header, without their properties."""
    members = (member.split(";", 1)[0].partition("=") for member in header.split(",") if "=" in member)
    return {key.strip(): unquote(value.strip()) for key, _, value in members}


@lru_cache(maxsize=1)
def _rules() -> tuple[Rule, ...]:
    path = os.environ.get(shim.SLA_FILE)
    if not path:
        return ()
    try:
        return read_rules(Path(path))
    except (OSError, ValueError) as error:
        shim.say(f"{shim.SLA_FILE} is not used: {path}: {error}")
        return ()


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Read the rules of a TOML or JSON file; ValueError says which rule is wrong and why."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        document = json.loads(text)
    else:
        import tomllib

        document = tomllib.loads(text)
    return tuple(_rule(number, entry) for number, entry in enumerate(document.get("rule", []), start=1))


_KEYS = {attribute.removeprefix("slatag."): attribute for attribute in HEADERS}


def _rule(number: int, entry: Mapping[str, Any]) -> Rule:
    values = {key: value for key, value in entry.items() if key not in ("model", "tenant")}
    unknown = sorted(set(values) - set(_KEYS))
    if unknown:
        raise ValueError(f"rule {number} sets {', '.join(unknown)}; known are {', '.join(_KEYS)}")
    deadline = values.get("sla_deadline_ms", 1)
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or deadline <= 0:
        raise ValueError(f"rule {number}: sla_deadline_ms is {deadline!r}, not a positive number")
    return Rule(
        str(entry.get("model", "*")),
        str(entry.get("tenant", "*")),
        {_KEYS[key]: value for key, value in values.items()},
    )
