"""OTLP's JSON, which is not Protobuf's: ids are hex, enums are integers, names are lowerCamelCase only.

Unknown names and nulls are ignored, 64-bit integers may be strings or numbers. The document becomes
the keyword arguments of the message, so that Protobuf's C code does the rest.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from otel_attrib.collector.json_fault import FAULTS, json_fault
from otel_attrib.errors import DataError

__all__ = ["parse"]

_HEX = frozenset(("trace_id", "span_id", "parent_span_id", "profile_id"))
# In place of an id that is not hexadecimal: no id is this long, so its item is taken out like a wrong one.
_NO_ID = b"\0"
_JUDGED = frozenset(("Span", "LogRecord"))
_INTEGER = re.compile(r"-?\d{1,20}")

Cast = Callable[[Any], Any]


def parse(message: type[Message], body: bytes) -> Message:
    """Make a `message` from JSON bytes; `DataError` says what is wrong, and in which field."""
    try:
        return message(**_arguments(message.DESCRIPTOR, json.loads(body)))
    except json.JSONDecodeError as fault:
        raise DataError(str(fault)) from fault
    except (*FAULTS, TypeError, OverflowError) as fault:
        raise DataError(json_fault(fault)) from fault


def _arguments(descriptor: Any, document: object) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise DataError(f"{descriptor.name} is {_shown(document)}, not an object")
    known = _fields(descriptor)
    arguments = {}
    for key, value in document.items():
        if value is None or key not in known:
            continue
        name, cast = known[key]
        try:
            arguments[name] = cast(value)
        except (TypeError, ValueError) as fault:
            raise DataError(f"{descriptor.name}.{key}: {fault}") from fault
    return arguments


@cache
def _fields(descriptor: Any) -> Mapping[str, tuple[str, Cast]]:
    return {field.json_name: (field.name, _cast(field)) for field in descriptor.fields}


def _cast(field: FieldDescriptor) -> Cast:
    cast = _single(field)
    return (lambda value: [cast(each) for each in _list(value)]) if field.is_repeated else cast


def _single(field: FieldDescriptor) -> Cast:
    inner = field.message_type
    if inner is not None:
        return lambda value: _arguments(inner, value)
    if field.type == FieldDescriptor.TYPE_BYTES:
        if field.name not in _HEX:
            return _base64
        holder = field.containing_type
        return _judged_hex if holder is not None and holder.name in _JUDGED else _hex
    if field.type == FieldDescriptor.TYPE_STRING:
        return _string
    if field.type == FieldDescriptor.TYPE_BOOL:
        return _boolean
    if field.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
        return _double
    return _integer


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{_shown(value)} is not a list")
    return value


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{_shown(value)} is not a string")
    return value


def _hex(value: object) -> bytes:
    return bytes.fromhex(_string(value))


def _judged_hex(value: object) -> bytes:
    text = _string(value)
    try:
        return bytes.fromhex(text)
    except ValueError:
        return _NO_ID


def _base64(value: object) -> bytes:
    text = _string(value).replace("-", "+").replace("_", "/")
    return b64decode(text + "=" * (-len(text) % 4), validate=True)


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{_shown(value)} is not true or false")
    return value


def _double(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"{_shown(value)} is not a number")
    return float(value)


def _integer(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    raise TypeError(f"{_shown(value)} is not an integer")


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
