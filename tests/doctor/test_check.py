"""The table of checks: every one runs, and one that breaks hides no other."""

from collections.abc import Iterator

from otel_attrib.doctor.check import Check, Finding, Surroundings, ok


def test_a_broken_check_is_a_finding() -> None:
    """What was found before the fault is kept, and the fault is told."""

    def breaks(around: Surroundings) -> Iterator[Finding]:
        yield ok("first", "fine")
        raise RuntimeError("boom")

    first, second = Check("one", breaks).findings(Surroundings())

    assert ok("first", "fine") == first
    assert ("WARN", "one", "could not be checked: RuntimeError: boom") == (
        second.level,
        second.name,
        second.text,
    )


def test_settings_that_cannot_be_read_are_replaced() -> None:
    """A wrong setting is one finding, and the other checks look at the defaults."""
    assert 8080 == Surroundings(environ={"OTEL_ATTRIB_HTTP_PORT": "many"}).settings().http_port
