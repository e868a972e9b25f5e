"""Long work shows a bar on a terminal and is silent in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["counted"]


@contextmanager
def counted(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on standard error that moves by what the yielded function is given; the end may be unknown."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=total)
        yield lambda done: bars.advance(task, done)
