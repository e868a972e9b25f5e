"""When a budget that burns is worth an alert: several windows, several burn rates.

The burn rate is the share of bad requests over the share that may be bad: at 1 the budget lasts exactly as
long as the window. The four pairs are those of Google's SRE workbook (chapter 5): an alert when 2 % of a
30 day budget went in an hour, 5 % in six, 10 % in a day or in three, and the short window, a twelfth of the
long one, says that it still goes on. For another window W the pairs keep their share of the budget and
their windows shrink or grow by W / 30 d (as Pyrra's do), so the factors stay 14.4, 6, 3 and 1. Windows
are whole minutes, a long one five at least; where that changes a long window the factor is made anew from
the share, `share × W / long`, and a pair whose factor falls below 1 is left out: a budget that burns at 1
is met.
"""

from dataclasses import dataclass
from datetime import timedelta

__all__ = ["RATE_WINDOWS", "THIRTY_DAYS", "BurnPair", "burn_windows"]

THIRTY_DAYS = timedelta(days=30)
LEAST_SHORT, LEAST_LONG = timedelta(minutes=1), timedelta(minutes=5)
MINUTE = timedelta(minutes=1)

RATE_WINDOWS = tuple(
    timedelta(seconds=seconds) for seconds in (300, 1800, 3600, 7200, 21_600, 86_400, 259_200, 2_592_000)
)
"""The windows that burn rates are told for: 5m, 30m, 1h, 2h, 6h, 1d, 3d, 30d."""


@dataclass(frozen=True, slots=True)
class BurnPair:
    """An alert of `severity` (page or ticket) when both windows burn faster than `factor`.

    `share` is how much of the budget is gone when the long window is.
    """

    factor: float
    long: timedelta
    short: timedelta
    severity: str
    share: float


WORKBOOK = (
    ("page", timedelta(hours=1), timedelta(minutes=5), 0.02),
    ("page", timedelta(hours=6), timedelta(minutes=30), 0.05),
    ("ticket", timedelta(days=1), timedelta(hours=2), 0.10),
    ("ticket", timedelta(days=3), timedelta(hours=6), 0.10),
)


def burn_windows(window: timedelta = THIRTY_DAYS) -> tuple[BurnPair, ...]:
    """Return the pairs for an objective over `window`, the quickest first."""
    pairs = (_scaled(window, *each) for each in WORKBOOK)
    return tuple(pair for pair in pairs if pair.factor >= 1)


def _scaled(window: timedelta, severity: str, long: timedelta, short: timedelta, share: float) -> BurnPair:
    scale = window / THIRTY_DAYS
    long, short = max(LEAST_LONG, _whole(long * scale)), max(LEAST_SHORT, _whole(short * scale))
    return BurnPair(round(share * (window / long), 6), long, short, severity, share)


def _whole(length: timedelta) -> timedelta:
    """Return it rounded to the minute, which is the step that budgets are counted in."""
    return round(length / MINUTE) * MINUTE
