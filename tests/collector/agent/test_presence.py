"""Two agents of one machine notice each other."""

import os
from uuid import uuid4

from otel_attrib.collector.agent.presence import Presence


def test_the_second_sees_the_first_until_it_ends() -> None:
    """The second learns the first one's pid; once that has closed, a third is alone again."""
    name = f"\0otel-attrib-test-{uuid4()}"
    first, second = Presence(name), Presence(name)
    first.close()
    third = Presence(name)
    seen = [first.other, second.other, third.other]
    second.close()
    third.close()

    assert [None, os.getpid(), None] == seen


def test_many_look_without_being_answered() -> None:
    """A mark that never accepts still tells its pid to those that ask one after the other."""
    name = f"\0otel-attrib-test-{uuid4()}"
    first = Presence(name)
    others = [Presence(name) for _ in range(50)]
    first.close()

    assert {os.getpid()} == {other.other for other in others}
