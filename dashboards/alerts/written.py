"""How rule files are written: YAML that people can read, the same bytes for the same rules."""

from dataclasses import dataclass
from typing import Any

import yaml

__all__ = ["RuleFile", "as_yaml"]


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The text of the file, and what the reader has to know about it: a sentence for each objective."""

    text: str
    warnings: tuple[str, ...] = ()


class _Dumper(yaml.SafeDumper):
    """Repeats what is repeated, and writes text of several lines as a block."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def as_yaml(content: Any) -> str:
    """Return it as YAML, keys in their order."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=160, allow_unicode=True)
