"""Sources are opened beside those that run already: one that has nothing to read is tried again later.

Opening may take seconds (a driver, a compiler) or hang; a thread of its own does it, so nothing waits.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from threading import Thread

from otel_attrib.collector.agent.source import Source, Unavailable
from otel_attrib.errors import OtelAttribError

__all__ = ["Opening", "opened"]

_log = logging.getLogger(__name__)

AGAIN_S = 240.0
"""A driver may be loaded, or a right given, while the agent runs."""

Makers = Mapping[str, Callable[[], Source]]


def opened(make: Callable[[], Source]) -> Source | str:
    """The source, or why there is none."""
    try:
        return make()
    except Unavailable as lack:
        return str(lack)
    except ImportError as lack:
        return f"a Python package is missing: {lack.name or lack}"
    except (OtelAttribError, OSError) as fault:
        return str(fault)
    except Exception as fault:  # a mistake in one source must not cost the others
        return f"{type(fault).__name__}: {fault} (please report this)"


class Opening:
    """Opens every source that can be, now and again."""

    def __init__(
        self,
        makers: Makers,
        take: Callable[[str, Source], None],
        asked: Sequence[str],
        clock: Callable[[], float],
    ) -> None:
        """`take` gets each source; of those `asked` for by name it is said loudly that they are not there."""
        self.missing: dict[str, str] = dict.fromkeys(makers, "")
        """Names of sources that are not open, and why not (empty: not tried yet)."""
        self._makers = makers
        self._take = take
        self._asked = asked
        self._clock = clock
        self._due = float("-inf")
        self._thread: Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether sources are being opened now."""
        return self._thread is not None and self._thread.is_alive()

    def look(self) -> bool:
        """Try what is missing when it is time to; whether that began; returns at once."""
        if not self.missing or self._clock() < self._due or self.busy:
            return False
        self._due = self._clock() + AGAIN_S
        self._thread = Thread(target=self.open_all, name="agent-opening", daemon=True)
        self._thread.start()
        return True

    def open_all(self) -> None:
        """Try every missing source once."""
        before = tuple(self.missing)
        for name in before:
            found = opened(self._makers[name])
            if not isinstance(found, str):
                del self.missing[name]
                self._take(name, found)
            elif found != self.missing[name]:
                self.missing[name] = found
                _log.log(logging.WARNING if name in self._asked else logging.INFO, "%s: %s", name, found)
        if found_now := [name for name in before if name not in self.missing]:
            _log.info("reads %s", ", ".join(found_now))
