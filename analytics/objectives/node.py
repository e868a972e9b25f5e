"""YAML that is read field by field, so that every complaint names the file, the line and what to write.

Documents are composed with PyYAML's safe loader and never built into Python objects: only fields that
somebody asks for are read, and a field that nobody knows is refused. Anchors, aliases and `<<` work.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from otel_attrib.errors import DataError

if TYPE_CHECKING:
    import yaml

__all__ = ["Node", "documents"]

BYTES_AT_MOST = 4 << 20
MERGE = "tag:yaml.org,2002:merge"
TRUTHS = "tag:yaml.org,2002:bool"
NOTHING = "tag:yaml.org,2002:null"
MERGED_AT_MOST = 32


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a file; `name` is how a person would call it, such as `spec.timeWindow[0].duration`."""

    file: str
    raw: "yaml.Node"
    name: str = ""

    def fail(self, what: str) -> NoReturn:
        """Refuse the file because of this value."""
        named = f"{self.name}: " if self.name else ""
        raise DataError(f"{self.file}:{self.raw.start_mark.line + 1}: {named}{what}")

    def fields(self, known: Sequence[str] | None = None) -> dict[str, "Node"]:
        """Return the fields of a mapping; one that is not `known` is refused (None: all may be there)."""
        found: dict[str, Node] = {}
        for key, value in self._pairs(0):
            if known is not None and key.raw.value not in known:
                key.fail(_unknown(key.raw.value, known))
            found[key.raw.value] = Node(self.file, value, f"{self.name}.{key.raw.value}".lstrip("."))
        return found

    def _pairs(self, depth: int) -> "Iterator[tuple[Node, yaml.Node]]":
        """Yield what `<<` brings first, so that a mapping's own fields win; one given twice is refused."""
        import yaml

        if not isinstance(self.raw, yaml.MappingNode):
            self.fail("write fields here, as `name: value` lines")
        if depth > MERGED_AT_MOST:
            self.fail(f"`<<` leads on more than {MERGED_AT_MOST} times")
        own: dict[str, tuple[Node, yaml.Node]] = {}
        for key, value in self.raw.value:
            at = Node(self.file, key, self.name)
            if key.tag == MERGE:
                # Of several the first wins, and what comes last wins here.
                for each in reversed(value.value) if isinstance(value, yaml.SequenceNode) else [value]:
                    yield from Node(self.file, each, self.name)._pairs(depth + 1)
            elif not isinstance(key, yaml.ScalarNode):
                at.fail("the name of a field has to be a word")
            elif key.value in own:
                at.fail(f"{key.value!r} is given twice; keep one")
            else:
                own[key.value] = (at, value)
        yield from own.values()

    def items(self) -> list["Node"]:
        """Return the values of a list."""
        import yaml

        if not isinstance(self.raw, yaml.SequenceNode):
            self.fail("write a list here, as `- value` lines")
        return [Node(self.file, each, f"{self.name}[{i}]") for i, each in enumerate(self.raw.value)]

    @property
    def kind(self) -> str:
        """Return `mapping`, `list` or `scalar`."""
        import yaml

        if isinstance(self.raw, yaml.MappingNode):
            return "mapping"
        return "list" if isinstance(self.raw, yaml.SequenceNode) else "scalar"

    def text(self) -> str:
        """Return a value as it was written."""
        if self.kind != "scalar" or self.raw.tag == NOTHING:
            self.fail("write text here")
        return str(self.raw.value)

    def number(self) -> float:
        """Return a number, in quotes or not."""
        if self.kind == "scalar":
            try:
                return float(self.raw.value)
            except ValueError:
                pass
        self.fail("write a number here")

    def truth(self) -> bool:
        """Return true or false."""
        if self.raw.tag != TRUTHS:
            self.fail("write true or false here")
        return str(self.raw.value).lower() in ("true", "yes", "on")

    def one_of(self, words: Sequence[str]) -> str:
        """Return a word out of `words`."""
        word = self.text()
        if word not in words:
            self.fail(f"{word!r} is none of {', '.join(words)}")
        return word


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1)
    meant = f"did you mean {near[0]!r}?" if near else f"here stand {', '.join(known)}"
    return f"no field {name!r} here; {meant}"


def documents(path: Path) -> list[Node]:
    """Return the documents of a file that hold something."""
    import yaml

    try:
        data = path.read_bytes()
        text = data.decode() if len(data) <= BYTES_AT_MOST else ""
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror}") from fault
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not text in UTF-8") from None
    if len(data) > BYTES_AT_MOST:
        raise DataError(
            f"{path}: has {len(data):,} bytes; a file of objectives has at most {BYTES_AT_MOST:,}"
        )
    try:
        found = [node for node in yaml.compose_all(text, yaml.SafeLoader) if node is not None]
    except yaml.YAMLError as fault:
        raise DataError(_broken(path, fault)) from None
    except RecursionError:
        raise DataError(f"{path}: is nested too deeply to be objectives") from None
    return [Node(str(path), node) for node in found if node.tag != NOTHING]


def _broken(path: Path, fault: "yaml.YAMLError") -> str:
    mark = getattr(fault, "problem_mark", None)
    line = f":{mark.line + 1}" if mark is not None else ""
    what = getattr(fault, "problem", None) or str(fault).splitlines()[0]
    return f"{path}{line}: is not YAML: {what}"
