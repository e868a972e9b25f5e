"""Scenarios by name or path, with single fields replaced."""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from otel_attrib.errors import UsageError
from otel_attrib.fleet.scenario import Scenario, scenario_of

__all__ = ["load_scenario", "shipped"]


def shipped() -> dict[str, str]:
    """Return the names of the scenarios that come with the package, with their titles."""
    folder = files("otel_attrib.fleet").joinpath("scenarios")
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    texts = {name.removesuffix(".toml"): folder.joinpath(name).read_text(encoding="utf-8") for name in found}
    return {name: str(tomllib.loads(text).get("title", "")) for name, text in texts.items()}


def load_scenario(name_or_path: str, overrides: tuple[str, ...] = ()) -> Scenario:
    """Read a shipped scenario by name or a file by path; `overrides` are `section.field=value`.

    A value is read as TOML and else as text; `fault.severity=3` means the first fault, `fault.2.where=…` the
    second.
    """
    text, place = _text(name_or_path)
    said = _toml(text, place)
    for override in overrides:
        _put(said, override)
    return scenario_of(Path(name_or_path).stem, said, place)


def _toml(text: str, place: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise UsageError(f"{place} is no TOML: {fault}") from None
    except RecursionError:
        raise UsageError(f"{place} is nested too deeply") from None
    except ValueError:  # Python's own, of a number with thousands of digits or a day that is none
        raise UsageError(f"{place} holds a number or a date that cannot be read") from None


def _text(name_or_path: str) -> tuple[str, str]:
    entry = files("otel_attrib.fleet").joinpath("scenarios", f"{name_or_path}.toml")
    if "/" not in name_or_path and entry.is_file():
        return entry.read_text(encoding="utf-8"), f"scenario {name_or_path}"
    path = Path(name_or_path)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except (OSError, UnicodeDecodeError) as fault:
        if path.suffix != ".toml":
            raise UsageError(
                f"no scenario {name_or_path!r}; --list shows them, or give a .toml file"
            ) from None
        raise UsageError(f"{path} cannot be read: {getattr(fault, 'strerror', None) or fault}") from None


def _put(said: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    words = key.strip().split(".")
    if not equals or len(words) < 2:
        raise UsageError(f"--set {override}: write section.field=value, such as fault.severity=3")
    *path, last = words
    table: Any = said
    if path[0] in ("fault", "decoy"):
        entries = said.setdefault(path[0], [])
        if not isinstance(entries, list):
            raise UsageError(f"--set {override}: write [[{path[0]}]] in the file, there may be several")
        number = int(path[1]) if len(path) > 1 and path[1].isdecimal() else 1
        if not 1 <= number <= len(entries):
            raise UsageError(f"--set {override}: the scenario has {len(entries)} [[{path[0]}]]")
        table = entries[number - 1]
    else:
        for word in path:
            table = table.setdefault(word, {}) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        raise UsageError(f"--set {override}: {'.'.join(path)} is no table")
    table[last] = _value(value.strip())


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # what is no TOML is a text, and may be refused as such
        return text
