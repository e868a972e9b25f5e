"""Addresses of a running service that cannot be one."""

from collections.abc import Callable

import pytest

from otel_attrib.errors import UsageError
from otel_attrib.schema.service import service_post, service_status

WRONG = [
    "",
    "host:8080",
    "http://",
    "http://[::1",
    "http://h:many",
    "http://h:99999",
    "http://h /x",
    "http://h\n",
]


@pytest.mark.parametrize("url", WRONG)
def test_a_mistyped_service_is_told(url: str) -> None:
    """Whatever is no address of HTTP is the user's mistake, in one line that holds no password."""
    secret = url.replace("http://", "http://me:hunter2@")
    asks: list[Callable[[], object]] = [
        lambda: service_status(secret),
        lambda: service_post(secret, "marks", {}),
    ]
    for ask in asks:
        with pytest.raises(UsageError, match="is not of the form http://host:port") as told:
            ask()

        assert "hunter2" not in str(told.value)
