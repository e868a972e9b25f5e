"""The objects of OpenSLO files by kind and name, before anybody has asked what they mean.

Every object has a header (apiVersion, kind, metadata, spec); two of one kind and name are refused wherever
they stand, because which of them was meant could not be said.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from otel_attrib.analytics.objectives.node import Node, documents
from otel_attrib.errors import DataError

__all__ = ["KINDS", "VERSION", "Library", "Thing", "library_of", "read_library", "thing_of"]

VERSION = "openslo/v1"
KINDS = ("SLO", "SLI", "Service", "DataSource", "AlertPolicy", "AlertCondition", "AlertNotificationTarget")
NAME = re.compile(r"[a-z0-9][a-z0-9.|/\\-]*")
NAME_AT_MOST = 255
ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Thing:
    """One object: its metadata read, its spec as it stands in the file."""

    name: str
    title: str
    annotations: Mapping[str, Node]
    spec: Node


@dataclass(frozen=True, slots=True)
class Library:
    """All objects of some files, in their order."""

    things: Mapping[tuple[str, str], Thing]

    def of(self, kind: str) -> list[Thing]:
        """Return all of one kind."""
        return [thing for (its, _), thing in self.things.items() if its == kind]

    def get(self, kind: str, at: Node) -> Thing:
        """Return the object whose name stands at a place in a file."""
        try:
            return self.things[kind, at.text()]
        except KeyError:
            at.fail(f"no {kind} {at.text()!r} in these files")

    def sources(self) -> dict[str, str]:
        """Return the types of the data sources by name."""
        found = {}
        for source in self.of("DataSource"):
            fields = source.spec.fields(("description", "type", "connectionDetails"))
            found[source.name] = fields["type"].text() if "type" in fields else ""
        return found


def read_library(path: Path) -> Library:
    """Read a file, or every .yaml and .yml below a folder; names that begin with a dot are passed over."""
    if not path.is_dir():
        return library_of(documents(path))
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix in ENDINGS
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not files:
        raise DataError(f"{path}: no .yaml or .yml file in this folder")
    return library_of(node for file in files for node in documents(file))


def library_of(nodes: Iterable[Node]) -> Library:
    """Sort documents by kind and name."""
    things: dict[tuple[str, str], Thing] = {}
    for node in nodes:
        kind, thing = _read(node)
        before = things.get((kind, thing.name))
        if before is not None:
            first = f"{before.spec.file}:{before.spec.raw.start_mark.line + 1}"
            node.fail(f"{kind} {thing.name!r} is there already (its spec stands at {first}); rename one")
        things[kind, thing.name] = thing
    return Library(things)


def _read(node: Node) -> tuple[str, Thing]:
    fields = node.fields(("apiVersion", "kind", "metadata", "spec"))
    for name in ("apiVersion", "kind", "metadata", "spec"):
        if name not in fields:
            node.fail(f"write {name}" + (f": {VERSION}" if name == "apiVersion" else ""))
    if fields["apiVersion"].text() != VERSION:
        fields["apiVersion"].fail(f"{fields['apiVersion'].text()!r} is another format; write {VERSION}")
    return fields["kind"].one_of(KINDS), thing_of(fields["metadata"], fields["spec"])


def thing_of(metadata: Node, spec: Node) -> Thing:
    """Read the metadata of an object, or of one that stands inside another."""
    fields = metadata.fields(("name", "displayName", "labels", "annotations"))
    if "name" not in fields:
        metadata.fail("write name")
    name = fields["name"].text()
    if NAME.fullmatch(name) is None or len(name) > NAME_AT_MOST:
        fields["name"].fail(f"{name!r} is no name; write small letters, digits, - and ., such as chat-ttft")
    title = fields["displayName"].text() if "displayName" in fields else ""
    annotations = fields["annotations"].fields() if "annotations" in fields else {}
    return Thing(name, title, annotations, spec)
