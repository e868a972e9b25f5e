"""A Grafana over HTTP, through grafana-client; its refusals as one line each.

The token is read from the environment by the command and goes into a header; it is never printed or logged.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from otel_attrib.dashboards.config import OLDEST_GRAFANA, TIMEOUT
from otel_attrib.errors import GrafanaError, UsageError
from otel_attrib.schema.address import hidden, http_parts

__all__ = ["Connection"]

Secret = str | tuple[str, str]

# The client writes a traceback's worth for what is one line to the user.
logging.getLogger("grafana_client").setLevel(logging.CRITICAL + 1)


class Connection:
    """One Grafana; every call that it refuses is a `GrafanaError` that says what to do."""

    def __init__(self, url: str, secret: Secret | None, verify: bool | str = True) -> None:
        """`verify` is False, True or the file of a certificate authority."""
        from grafana_client.api import GrafanaApi

        parts = http_parts(url)
        if parts is None or parts.hostname is None:
            raise UsageError(
                f"--grafana-url {hidden(url)!r} is no address: write http://host:3000 or https://…"
            )
        if parts.username or parts.password:
            raise UsageError(
                "--grafana-url holds a password, which other users can see in the process list: set "
                "OTEL_ATTRIB_GRAFANA_USER=name:password instead"
            )
        self.url = url.rstrip("/")
        self._unchecked = verify is False
        self.api: Any = GrafanaApi(
            secret,
            host=parts.hostname if ":" not in parts.hostname else f"[{parts.hostname}]",
            port=parts.port,
            protocol=parts.scheme,
            url_path_prefix=f"{parts.path.strip('/')}/" if parts.path.strip("/") else "",
            verify=verify,  # a path is the session's to understand
            timeout=TIMEOUT,
        )

    def __enter__(self) -> "Connection":
        """Return the connection itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its sockets."""
        self.api.client.s.close()

    @contextmanager
    def told(self, doing: str) -> Iterator[None]:
        """Turn what the client raises into one line that names what was being done."""
        from grafana_client.client import GrafanaException
        from niquests.exceptions import JSONDecodeError, RequestException

        try:
            with warnings.catch_warnings():
                if self._unchecked:  # the user said so, and need not hear it with every request
                    warnings.filterwarnings("ignore", message="Unverified HTTPS request")
                yield
        except GrafanaException as refused:
            raise GrafanaError(_refusal(self.url, doing, refused), refused.status_code) from refused
        except (JSONDecodeError, AttributeError, TypeError) as fault:  # the client asks no type of an answer
            raise GrafanaError(f"{self.url} does not answer as a Grafana does, {doing}") from fault
        except (RequestException, OSError) as fault:
            raise GrafanaError(f"Grafana at {self.url} cannot be reached: {_reason(fault)}") from fault

    def found(self, doing: str, call: Any, *words: Any) -> Mapping[str, Any] | None:
        """The object, or None where Grafana has no such thing (404)."""
        try:
            with self.told(doing):
                answer = call(*words)
        except GrafanaError as fault:
            if fault.status == 404:
                return None
            raise
        if not isinstance(answer, Mapping):
            raise GrafanaError(f"{self.url} does not answer as a Grafana does, {doing}")
        return answer

    def version(self) -> str:
        """Grafana's version; one that is too old is refused, one that does not say is not."""
        with self.told("asking for its version"):
            info = self.api.health.check() or {}
        version = str(info.get("version") or "")
        if version and _number(version) < _number(OLDEST_GRAFANA):
            raise GrafanaError(
                f"Grafana at {self.url} is {version}; dashboards need {OLDEST_GRAFANA} or newer"
            )
        return version


_ADVICE = {
    401: "the token or password is not accepted: set OTEL_ATTRIB_GRAFANA_TOKEN to a service account's token",
    403: "the account may not do that: it needs the role Editor (and Admin for data sources)",
    404: "there is no such thing there; is the address Grafana's, with its sub-path?",
    412: "it was changed meanwhile, or its name is taken; look with `otel-attrib dashboards diff`",
}


def _refusal(url: str, doing: str, refused: Any) -> str:
    status = refused.status_code
    if not status:
        return f"Grafana at {url} gave no answer within {TIMEOUT:g} s while {doing}"
    answer = refused.response
    said = answer.get("message", "") if isinstance(answer, dict) else ""
    advice = _ADVICE.get(status, "")
    return f"Grafana at {url} refused {doing} ({status}{f': {said}' if said else ''}); {advice}".rstrip("; ")


def _reason(fault: BaseException) -> str:
    """The innermost cause in words, without the chain of wrappers around it."""
    text = str(fault)
    if "certificate" in text.lower() or "SSL" in text:
        return "its certificate is not trusted (--ca FILE names its authority)"
    if "refused" in text:
        return "connection refused"
    if "resolve" in text.lower() or "getaddrinfo" in text or "Name or service" in text:
        return "its name is not known"
    return type(fault).__name__


def _number(version: str) -> tuple[int, ...]:
    words = version.split("-")[0].split("+")[0].split(".")[:2]
    return tuple(int(word) if word.isdigit() else 0 for word in words)
