"""What is told of active alerts: each state once, nothing while silenced, ends always."""

from datetime import UTC, datetime, timedelta
from typing import Any

from otel_attrib.analytics.alerting.active import ActiveAlerts
from otel_attrib.analytics.alerting.alert import Alert, Change
from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.notifier import Notifier
from otel_attrib.analytics.alerting.silences import Silence, parse_matchers

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class Listener:
    """A fake for targets: it writes down what it is told."""

    def __init__(self) -> None:
        """Nothing was told."""
        self.bodies: list[list[tuple[str, str]]] = []
        self.firing: list[str] = []

    def tell(self, changes: list[Change]) -> None:
        """Take changes that belong together."""
        self.bodies.append([(change.what, change.alert.incident) for change in changes])

    def update(self, alerts: list[Alert]) -> None:
        """Take what is firing."""
        self.firing = [alert.incident for alert in alerts if alert.firing]


def alert(incident: str, verdict: str = "INSUFFICIENT", model: str = "m", **words: str) -> Alert:
    """An alert whose report had a verdict."""
    labels = {"alertname": "LatencyRegression", "service": "chat", "model": model, "incident": incident}
    return Alert(incident, labels, words, NOON, found={"verdict": verdict, "layers": []})


def parts() -> tuple[ActiveAlerts, Listener, Notifier]:
    """Active alerts, and a notifier over them."""
    active, listener = ActiveAlerts(), Listener()
    targets: Any = listener
    return active, listener, Notifier(active, targets, Meters())


def test_once_for_each_state() -> None:
    """A verdict is told once, a new one once more; other words that change are told with the next state."""
    active, listener, notifier = parts()

    for found in (alert("a"), alert("a", summary="more rows"), alert("a", "CAUSE"), alert("a", "CAUSE")):
        active.put(found)
        notifier.step((), NOON)
    active.put(alert("a", "CAUSE").ended(NOON + SECOND))
    notifier.step((), NOON + SECOND)
    notifier.step((), NOON + SECOND)

    assert [[("new", "a")], [("updated", "a")], [("ended", "a")]] == listener.bodies
    assert [] == listener.firing


def test_grouped() -> None:
    """Alerts of one service and model in the same look are one body; those of another have their own."""
    active, listener, notifier = parts()

    for found in (alert("a"), alert("b"), alert("c", model="other")):
        active.put(found)
    notifier.step((), NOON)

    assert [[("new", "a"), ("new", "b")], [("new", "c")]] == listener.bodies
    assert ["a", "b", "c"] == listener.firing


def test_silenced() -> None:
    """Nobody is told of what is silenced; when the silence ends first, it is told then."""
    active, listener, notifier = parts()
    silence = Silence.new(parse_matchers(["model=m"]), NOON, NOON + 10 * SECOND, "me", "test")
    active.put(alert("a"))

    notifier.step([silence], NOON)
    silent = list(listener.bodies), list(listener.firing)
    notifier.step([silence], NOON + 10 * SECOND)

    assert ([], []) == silent
    assert [[("new", "a")]] == listener.bodies
    assert ["a"] == listener.firing


def test_the_end_of_what_was_told_is_told() -> None:
    """A silence that comes later does not leave a receiver with an incident that never ends."""
    active, listener, notifier = parts()
    active.put(alert("a"))
    notifier.step((), NOON)
    silence = Silence.new(parse_matchers(["model=m"]), NOON, NOON + 99 * SECOND, "me", "test")

    active.put(alert("a").ended(NOON + SECOND))
    notifier.step([silence], NOON + SECOND)

    assert [[("new", "a")], [("ended", "a")]] == listener.bodies


def test_what_was_silent_ends_silently() -> None:
    """The end of an alert that nobody was told of is told to nobody."""
    active, listener, notifier = parts()
    silence = Silence.new(parse_matchers(["model=m"]), NOON, NOON + 99 * SECOND, "me", "test")
    active.put(alert("a"))
    notifier.step([silence], NOON)
    active.put(alert("a").ended(NOON + SECOND))
    notifier.step([silence], NOON + SECOND)

    assert [] == listener.bodies


def test_known_from_before() -> None:
    """What was told before a restart is not told again, unless it reads anew."""
    active, listener, notifier = parts()
    active.put(alert("a"))
    notifier.already([alert("a")])

    notifier.step((), NOON)
    active.put(alert("a", "CAUSE"))
    notifier.step((), NOON)

    assert [[("updated", "a")]] == listener.bodies


def test_related() -> None:
    """Alerts of the same service and model are related; one that names no model is about all of them."""
    active = ActiveAlerts()
    burn = Alert("s", {"alertname": "SloBurnPage", "service": "chat", "incident": "s"}, {}, NOON)
    for found in (alert("a"), alert("b", model="other"), burn):
        active.put(found)

    assert ["s"] == [other.incident for other in active.related(alert("a"))]
    assert ["a", "b"] == [other.incident for other in active.related(burn)]


def test_labels_survive_json() -> None:
    """An alert read back from the table of reports is the same alert."""
    there = alert("a", "CAUSE", summary="ü → 3 ms").ended(NOON + SECOND)

    assert there == Alert.from_json(there.as_json())
