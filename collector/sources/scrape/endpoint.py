"""One page, read again and again: recognised at its first answer, asked ever more rarely while down."""

import logging
import time
from collections.abc import Callable
from typing import Final

from otel_attrib.collector.agent.source import Reading, Series, series
from otel_attrib.collector.sources.scrape.fetch import Page as Fetch
from otel_attrib.collector.sources.scrape.fetch import Unreadable
from otel_attrib.collector.sources.scrape.mapping import KINDS, mapping
from otel_attrib.collector.sources.scrape.page import Page, recognised
from otel_attrib.collector.sources.scrape.target import Target

__all__ = ["Endpoint"]

_log = logging.getLogger(__name__)

_RAREST_S: Final = 60.0


class Endpoint:
    """The readings of one page."""

    def __init__(
        self,
        target: Target,
        token: str = "",
        steady: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Nothing is asked before the first read."""
        self.target = target
        self.fault = ""
        """Why the last read gave nothing; empty where it gave something."""
        self._fetch = Fetch(target, token if target.given else "")
        self._steady, self._wall = steady, wall
        self._page: Page | None = None
        self._due = float("-inf")
        self._wait_s = 0.0
        self._said = ""
        self._yields = False
        self._success = self._figure("scrape_success")
        self._unknown = self._figure("scrape_unknown")
        self._late = self._figure("scrape_late")

    @property
    def page(self) -> Page | None:
        """What is known of the page; None before it was recognised."""
        return self._page

    def read(self) -> list[Reading]:
        """Return what the page says now, and how that went; said once while it does not answer."""
        if self._steady() < self._due:
            return self._down()
        try:
            fetched = self._fetch.fetch()
            if self._page is None:
                self._page = self._recognise(fetched.text)
        except Unreadable as fault:
            self._failed(str(fault))
            return self._down()
        self._answered()
        found = self._page.readings(fetched.text, self._wall(), fetched.stamp_ms)
        self._say_yielded(self._page)
        counts = (self._unknown, float(self._page.unknown)), (self._late, float(self._page.late))
        return [*found, (self._success, 1.0), *counts]

    def close(self) -> None:
        """Close the connection."""
        self._fetch.close()

    def _recognise(self, text: str) -> Page:
        to = self.target
        if to.kind and to.given:
            rules = [mapping(to.kind)]
        else:
            rules = list(recognised(text, map(mapping, KINDS)))
        if not rules:
            raise Unreadable(f"{to.where}: its metrics are of none of {', '.join(KINDS)}")
        return Page(rules, self._place())

    def _place(self) -> dict[str, str]:
        """Tell pages apart; those of this machine need no more than their port."""
        local = self.target.host in ("localhost", "127.0.0.1", "::1")
        address = {} if local else {"server.address": self.target.host}
        return {"server.port": str(self.target.port), **address}

    def _figure(self, key: str) -> Series:
        return series(key, **{name.replace(".", "__"): value for name, value in self._place().items()})

    def _say_yielded(self, page: Page) -> None:
        if page.yielded and not self._yields:
            self._yields = True
            text = "%s: %d readings of its cards come from the driver itself and are left out here"
            _log.info(text, self.target.where, page.yielded)

    def _down(self) -> list[Reading]:
        """Say that it is down; a port that was found and never answered as an exporter is none."""
        return [(self._success, 0.0)] if self.target.given or self._page else []

    def _failed(self, why: str) -> None:
        self.fault = why
        self._wait_s = min(max(1.0, self._wait_s * 2), _RAREST_S)
        self._due = self._steady() + self._wait_s
        if why != self._said:
            self._said = why
            level = logging.WARNING if self.target.given else logging.INFO
            _log.log(level, "%s; asked again, ever more rarely", why)

    def _answered(self) -> None:
        if self._said:
            _log.info("%s answers", self.target.where)
        self.fault = self._said = ""
        self._wait_s = 0.0
