"""A label and words beside it, wrapped at 80 columns."""

import textwrap
from collections.abc import Sequence

__all__ = ["labelled"]


def labelled(label: str, words: Sequence[str], separator: str = "  ") -> list[str]:
    """Lines such as `  columns   a=b  c=d`, a word never broken unless it is longer than a line."""
    if not words:
        return []
    glue = separator if any(" " in word or "=" in word for word in words) else " "
    text = glue.join(word.replace(" ", "\0") for word in words)
    wrapped = textwrap.wrap(
        text,
        width=80,
        initial_indent=f"  {label:<10}",
        subsequent_indent=" " * 12,
        drop_whitespace=True,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace("\0", " ") for line in wrapped]
