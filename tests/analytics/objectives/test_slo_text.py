"""Standings as a person reads them: the answer first, nothing wider than a terminal."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from otel_attrib.analytics.filters import EVERY_REQUEST, parse_filter
from otel_attrib.analytics.objectives import Limit, Objective, Timeslices, burn_windows
from otel_attrib.analytics.objectives.attained import Attained, Share
from otel_attrib.analytics.objectives.slo_text import (
    FIRING_HEADS,
    HEADS,
    detail_lines,
    firing_rows,
    headline,
    limits_text,
    notes,
    share_text,
    table_rows,
)
from otel_attrib.analytics.objectives.standing import Firing, Standing
from otel_attrib.commands.table import table_text

MONTH = timedelta(days=30)
HOUR = timedelta(hours=1)
CHAT = Objective("chat", "Chat", parse_filter(["model=m"]), (Limit("ttft", 450), Limit("tpot", 40)))


def stands(
    objective: Objective, good: int, total: int, burn: float | None = 0.0, unmeasured: int = 0
) -> Standing:
    """An objective with so many good of so many, and every window burning alike."""
    share = Share(good, total, unmeasured, total)
    pairs = tuple(Firing(pair, "joint", burn, burn) for pair in burn_windows())
    marginal = {limit.metric: share for limit in objective.limits}
    rates = ((HOUR, burn), (MONTH, burn))
    return Standing(objective, datetime(2026, 5, 1, tzinfo=UTC), Attained(share, marginal), rates, pairs)


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (None, "-"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (0.9, "90.0 %"),
        (0.98999, "98.9 %"),
        (0.99, "99.00 %"),
        (0.9999999, "99.999 %"),
        (0.999, "99.900 %"),
        (0.99854, "99.85 %"),
    ],
)
def test_a_share_is_never_rounded_to_a_whole(share: float | None, expected: str) -> None:
    """One bad request in ten million is not 100 %, and 98.999 % has not met 99 %."""
    assert expected == share_text(share)


def test_the_first_line_names_the_worst() -> None:
    """A page comes before a warning, and what burns fastest is told with its window."""
    fine = stands(CHAT, 1000, 1000)
    paging = stands(replace(CHAT, name="gold"), 9000, 10_000, burn=16.2)
    spent = stands(replace(CHAT, name="old"), 9000, 10_000)

    assert "2 of 3 objectives are in trouble: gold burns its budget 16.2 times too fast over 1h" == headline(
        [fine, spent, paging]
    )
    assert "1 of 2 objectives is in trouble: old has no budget left" == headline([fine, spent])
    assert "gold burns its budget 16.2 times too fast over 1h" == headline([paging])


def test_the_first_line_when_all_is_well() -> None:
    """Objectives met, objectives without a request, and both are told apart."""
    fine, silent = stands(CHAT, 9990, 10_000), stands(CHAT, 0, 0, burn=None)

    assert "2 of 2 objectives are met" == headline([fine, fine])
    assert "1 of 2 objectives is met; 1 without a request" == headline([fine, silent])
    assert "no request of any of 2 objectives was judged" == headline([silent, silent])
    assert "no request of chat was judged" == headline([silent])
    assert "chat is met: 99.900 % good, with a target of 99 %" == headline([fine])
    few = stands(CHAT, 100, 100)
    assert "chat is met: 100 % good, of too few requests to say, with a target of 99 %" == headline([few])


def test_limits_say_whether_they_are_joint() -> None:
    """`and` where one request has to meet all, a comma where each limit stands alone."""
    assert "TTFT ≤ 450 ms and TPOT ≤ 40 ms" == limits_text(CHAT)
    assert "TTFT ≤ 450 ms, TPOT ≤ 40 ms" == limits_text(replace(CHAT, joint=False))


def test_the_table_is_ordered_and_fits() -> None:
    """The worst comes first, and with the longest words no line is wider than 80 columns."""
    long = replace(CHAT, name="a-name-that-is-longer-than-any-column", target=0.9995)
    shown = [
        stands(CHAT, 10**9, 10**9),
        stands(replace(long, name="z"), 0, 0, burn=None),
        stands(long, 1, 123_456_789_012, burn=1234.5),
    ]

    rows = table_rows(shown)

    assert ["page", "no data", "ok"] == [row[1] for row in rows]
    lines = [*table_text(HEADS, rows, 2).splitlines(), *notes(shown)]
    lines += table_text(FIRING_HEADS, firing_rows(shown[2]), 2).splitlines()
    lines += [line for each in shown for line in detail_lines(each)]
    assert max(map(len, lines)) <= 80


def test_what_is_missing_is_said() -> None:
    """Too few requests are marked, and unmeasured ones told with how far they reach."""
    shown = stands(CHAT, 90, 100, unmeasured=10)

    assert "~90.0 %" == table_rows([shown])[0][2]
    text = " ".join(notes([shown]))
    assert "a share to within half its budget takes 1,522 requests" in text
    assert "10 more lack a latency and are counted as neither" in text
    assert "the share lies between 81.8 % and 90.9 %" in text


def test_details_name_joint_and_marginal() -> None:
    """One objective's page says which attainment is which, in slices where it counts slices."""
    sliced = replace(CHAT, joint=False, slices=Timeslices(timedelta(minutes=5), 0.95), sla_class="gold")
    text = "\n".join(detail_lines(stands(sliced, 950, 1000)))

    assert "limits        marginal, each has the target to itself" in text
    assert "  ttft        95.0 % met it alone (950 of 1,000)" in text
    assert "target        99 % of 5m slices, each 95 % over 30d" in text
    assert "requests      model=m" in text
    assert "class         gold" in text
    every = "\n".join(detail_lines(stands(replace(CHAT, where=EVERY_REQUEST), 1, 1)))
    assert "requests      all" in every
    assert "limits        joint" in every
