"""ClickHouse's HTTP request as a `Query`: what may come in the URL, in headers, or in the body."""

import base64
import binascii
from collections.abc import Iterator
from email import message_from_bytes

from starlette.requests import Request

from otel_attrib.collector.query_engine import Query
from otel_attrib.collector.query_fault import QueryFault
from otel_attrib.collector.query_settings import TRANSPORT

__all__ = ["credentials", "query_of"]

_PARAMETER = "param_"


def query_of(request: Request, body: bytes) -> Query:
    """Put a statement together: the URL's part first, then the body's."""
    given = dict(request.query_params)
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        given |= dict(_form(request.headers["content-type"], body))
        body = b""
    return Query(
        sql=_statement(given.get("query", ""), body),
        parameters={
            name.removeprefix(_PARAMETER): value
            for name, value in given.items()
            if name.startswith(_PARAMETER)
        },
        settings={
            name: value
            for name, value in given.items()
            if name not in TRANSPORT and not name.startswith(_PARAMETER)
        },
        database=given.get("database") or request.headers.get("x-clickhouse-database", ""),
        default_format=given.get("default_format")
        or request.headers.get("x-clickhouse-format", "TabSeparated"),
        protocol=_number(given.get("client_protocol_version", "0")),
    )


def credentials(request: Request) -> tuple[str, str]:
    """User and password from the Authorization header, ClickHouse's own headers, or the URL."""
    scheme, _, packed = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            user, _, password = base64.b64decode(packed, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return "", ""
        return user or "default", password
    if "x-clickhouse-user" in request.headers or "x-clickhouse-key" in request.headers:
        return request.headers.get("x-clickhouse-user", "default"), request.headers.get(
            "x-clickhouse-key", ""
        )
    return request.query_params.get("user", "default"), request.query_params.get("password", "")


def _statement(in_url: str, body: bytes) -> str:
    try:
        in_body = body.decode()
    except UnicodeDecodeError as fault:
        raise QueryFault(62, "SYNTAX_ERROR", f"The statement is not UTF-8: {fault.reason}") from fault
    statement = f"{in_url}\n{in_body}" if in_url and in_body else in_url or in_body
    if not statement.strip():
        raise QueryFault(62, "SYNTAX_ERROR", "Empty query")
    return statement


def _form(content_type: str, body: bytes) -> Iterator[tuple[str, str]]:
    message = message_from_bytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    for part in message.walk():
        name = part.get_param("name", header="content-disposition")
        if not isinstance(name, str):
            continue
        if part.get_filename() is not None:
            raise QueryFault(48, "NOT_IMPLEMENTED", f"External table {name} cannot be sent to this endpoint")
        content = part.get_payload(decode=True)
        yield name, content.decode() if isinstance(content, bytes) else ""


def _number(text: str) -> int:
    if not text.isdecimal():
        raise QueryFault(72, "CANNOT_PARSE_NUMBER", f"client_protocol_version is {text!r}, not a number")
    return int(text)
