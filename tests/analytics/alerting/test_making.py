"""Alerts as they are made: no annotation grows with what a site has."""

from datetime import UTC, datetime, timedelta

from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.alerting.links import Links
from otel_attrib.analytics.alerting.making import DESCRIPTION, Burn, Maker
from otel_attrib.analytics.filters import EVERY_REQUEST
from otel_attrib.analytics.objectives import BurnPair, Limit, Objective

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_annotations_are_short_whatever_a_site_has() -> None:
    """A hundred budgets that burn at once, with long titles and many pairs, make no notification of pages."""
    maker = Maker(Links("http://page", ""))
    objective = Objective(
        name="chat",
        title="long " * 1000,
        where=EVERY_REQUEST,
        limits=(Limit("ttft", 100.0),),
        joint=True,
        target=0.99,
        window=30 * 24 * HOUR,
    )
    burns = [Burn(BurnPair(14.4, HOUR, HOUR / 12, "page", 0.02), 20.0, 30.0)] * 40
    others = [Alert(f"i{i}", {"alertname": "SloBurnPage", "slo": f"slo{i}"}, {}, NOON) for i in range(100)]

    alert = maker.beside(maker.burn(objective, burns, None, NOON), others)

    assert "and 95 more" == alert.annotations["related"].splitlines()[-1]
    assert "and 35 more" == alert.annotations["burn"].splitlines()[-1]
    assert all(
        len(text) <= (DESCRIPTION if name == "description" else 600)
        for name, text in alert.annotations.items()
    )
