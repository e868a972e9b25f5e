"""What profiles do not say, as lines of text: the last thing that every part of `profile` prints."""

from collections.abc import Iterator, Sequence

from otel_attrib.analytics.wording import wrapped

__all__ = ["Missing", "missing_lines"]

Missing = Sequence[tuple[str, str]]
"""(file, sentence) each."""


def missing_lines(missing: Missing) -> Iterator[str]:
    """Yield an empty line and each sentence once, with the files that it is about where there are several."""
    if missing:
        yield ""
    for text in dict.fromkeys(text for _, text in missing):
        lacking = [file.rsplit("/", 1)[-1] for file, said in missing if said == text]
        where = f" ({', '.join(lacking)})" if len({file for file, _ in missing}) > 1 else ""
        yield from wrapped(text + where, "missing: ")
