"""The collector's documented keys, from `fixtures/otel_collector/components.yaml`, and what breaks them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

KINDS = ("receivers", "processors", "exporters", "extensions")
_FIXTURE = Path(__file__).parents[1] / "fixtures/otel_collector/components.yaml"
_DURATION = re.compile(r"(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+|0")
_VALUES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (int, float),
    "duration": (str,),
}


class Documented:
    """The fixture, read once."""

    def __init__(self, text: str | None = None) -> None:
        """Read `text`, by default the fixture."""
        self.all: dict[str, Any] = yaml.safe_load(text or _FIXTURE.read_text("utf-8"))

    def keys(self, shape: Any) -> dict[str, Any]:
        """Return the keys of an object's shape, those of squashed types too."""
        if isinstance(shape, str) and shape.startswith("="):
            return self.keys(self.all["types"][shape[1:]]["keys"])
        own = {name: part for name, part in shape.items() if name != "<<"}
        for name in shape.get("<<", ()):
            own = {**self.keys(f"={name}"), **own}
        return own

    def component(self, kind: str, name: str) -> Any:
        """Return what is documented of `type` or `type/name`, or None."""
        return self.all[kind].get(name.partition("/")[0])

    def faults(self, config: Mapping[str, Any]) -> list[str]:
        """Return what in a configuration is not as documented."""
        return [*self._components(config), *_service(config)]

    def _components(self, config: Mapping[str, Any]) -> Iterator[str]:
        for kind in KINDS:
            for name, values in config.get(kind, {}).items():
                known, path = self.component(kind, name), f"{kind}.{name}"
                if known is None:
                    yield f"{path}: no such component"
                    continue
                yield from (
                    f"{path}: {key} is missing" for key in known.get("required", ()) if key not in values
                )
                yield from self._object(known["keys"], values or {}, path)

    def _object(self, shape: Any, values: Any, path: str) -> Iterator[str]:
        if not isinstance(values, dict):
            yield f"{path}: not an object"
            return
        keys = self.keys(shape)
        for name, value in values.items():
            part = keys.get(name, keys.get("*"))
            if part is None:
                yield f"{path}.{name}: no such key"
            else:
                yield from self._value(part, value, f"{path}.{name}")

    def _value(self, shape: Any, value: Any, path: str) -> Iterator[str]:
        if isinstance(shape, list):
            if not isinstance(value, list):
                yield f"{path}: not a list"
                return
            for place, one in enumerate(value):
                yield from self._value(shape[0], one, f"{path}[{place}]")
        elif isinstance(shape, dict) or shape.startswith("="):
            yield from self._object(shape, value, path)
        elif not isinstance(value, _VALUES[shape]) or (isinstance(value, bool) and shape != "bool"):
            yield f"{path}: {value!r} is no {shape}"
        elif shape == "duration" and not _DURATION.fullmatch(str(value)):
            yield f"{path}: {value!r} is no duration"


@pytest.fixture(scope="session")
def documented() -> Documented:
    """The collector's documented keys."""
    return Documented()


def _service(config: Mapping[str, Any]) -> Iterator[str]:
    """Everything that a pipeline names is there, and everything that is there is used."""
    service = config["service"]
    used: dict[str, set[str]] = {kind: set() for kind in KINDS}
    used["extensions"] = set(service.get("extensions", ()))
    for parts in service["pipelines"].values():
        for kind, names in parts.items():
            used[kind] |= set(names)
    for kind in KINDS:
        there = set(config.get(kind, {}))
        yield from (f"service: {kind} {name} is not defined" for name in sorted(used[kind] - there))
        yield from (f"{kind}.{name}: in no pipeline" for name in sorted(there - used[kind]))
