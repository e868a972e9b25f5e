"""A check: a name and a function that looks at the surroundings and reports findings."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Literal

from otel_attrib.config import Settings, load
from otel_attrib.errors import ConfigError

__all__ = ["CHECKS", "Check", "Finding", "Level", "Surroundings", "check", "fail", "ok", "run_all", "warn"]

_AREAS = ("store", "ports", "paths", "telemetry", "clock", "parts", "agent", "ebpf")

Level = Literal["OK", "WARN", "FAIL"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `fix` says what to do, and is empty only where nothing is to be done."""

    level: Level
    name: str
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything that a check may look at; tests put their own in."""

    dsn: str | None = None
    url: str | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    proc: Path = Path("/proc")
    dev: Path = Path("/dev")

    def service_url(self) -> str | None:
        """The service that is meant, by option or environment; None when none is named."""
        return self.url or self.environ.get("OTEL_ATTRIB_URL")

    def settings(self) -> Settings:
        """The settings as `up` would read them, or its defaults where they cannot be read."""
        try:
            return load(self.environ)
        except ConfigError:
            return Settings()


Look = Callable[[Surroundings], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """One entry of the table."""

    name: str
    look: Look

    def findings(self, around: Surroundings) -> Iterator[Finding]:
        """What the check reports; one that breaks is itself a finding."""
        try:
            yield from self.look(around)
        except Exception as fault:  # a broken check must not hide the others
            yield warn(self.name, f"could not be checked: {type(fault).__name__}: {fault}", "report this")


CHECKS: list[Check] = []
"""Every check, in the order of the report."""


def check(name: str) -> Callable[[Look], Look]:
    """Enter a function in the table."""

    def enter(look: Look) -> Look:
        CHECKS.append(Check(name, look))
        return look

    return enter


def ok(name: str, text: str) -> Finding:
    """Nothing to be done."""
    return Finding("OK", name, text)


def warn(name: str, text: str, fix: str) -> Finding:
    """It works, but not as one would expect."""
    return Finding("WARN", name, text, fix)


def fail(name: str, text: str, fix: str) -> Finding:
    """It does not work."""
    return Finding("FAIL", name, text, fix)


def run_all(around: Surroundings) -> list[Finding]:
    """Run the whole table, area by area."""
    modules = [import_module(f"otel_attrib.doctor.{area}").__name__ for area in _AREAS]
    ordered = sorted(CHECKS, key=lambda each: modules.index(each.look.__module__))
    return [finding for each in ordered for finding in each.findings(around)]
