"""Attribute values become the text that the Go exporter writes."""

import base64
from collections.abc import Callable
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import ArrayValue

from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.store import Store

Spans = Callable[..., bytes]

PLAIN: dict[str, tuple[Any, str]] = {
    "string": ("stop", "stop"),
    "empty": ("", ""),
    "unset": (None, ""),
    "int": (5, "5"),
    "negative": (-(2**63), "-9223372036854775808"),
    "zero": (0, "0"),
    "true": (True, "true"),
    "false": (False, "false"),
    "whole double": (1.0, "1"),
    "zero double": (0.0, "0"),
    "double": (0.1, "0.1"),
    "small double": (1e-7, "1e-7"),
    "shortest double": (2.0 / 3, "0.6666666666666666"),
    "bytes": (b"ab\x00", "YWIA"),
    "unicode": ("é\U0001f600", "é\U0001f600"),
}
LISTS: dict[str, tuple[Any, str]] = {
    "one": (["stop"], '["stop"]'),
    "strings": (["a", "b"], '["a","b"]'),
    "ints": ([1, 0, -5, 2**62], "[1,0,-5,4611686018427387904]"),
    "doubles": ([1.5, -1e300], "[1.5,-1e300]"),
    "bools": ([True, False], "[true,false]"),
    "mixed": (["a", 1, None, 2.5], '["a",1,null,2.5]'),
    "quoted": (['q"u\no/é'], '["q\\"u\\no/é"]'),
    "long element": (["x" * 200, "y"], '["' + "x" * 200 + '","y"]'),
    "newlines": (["\n" * 10, "\n"], '["' + "\\n" * 10 + '","\\n"]'),
    "many": ([str(n) for n in range(300)], "[" + ",".join(f'"{n}"' for n in range(300)) + "]"),
    "map": ({"a": 1, "b": "x", "c": 1.5, "d": True, "e": None}, '{"a":1,"b":"x","c":1.5,"d":true,"e":null}'),
    "map of long": ({"k": "z" * 300}, '{"k":"' + "z" * 300 + '"}'),
}


def text_of(store: Store, body: bytes) -> dict[str, str]:
    """Attributes of the only span, as stored."""
    insert_traces(store, [body], token="t")
    (row,) = store.rows("SELECT SpanAttributes FROM otel_traces")
    found: dict[str, str] = row["SpanAttributes"]
    return found


def test_scalars(store: Store, spans: Spans) -> None:
    """Scalars are plain text, doubles in their shortest form, bytes base64."""
    found = text_of(store, spans({key: value for key, (value, _) in PLAIN.items()}))

    assert {key: text for key, (_, text) in PLAIN.items()} == found


def test_lists_and_maps(store: Store, spans: Spans) -> None:
    """Flat lists and maps are JSON."""
    found = text_of(store, spans({key: value for key, (value, _) in LISTS.items()}))

    assert {key: text for key, (_, text) in LISTS.items()} == found


def test_what_is_not_taken_apart_is_kept(store: Store, spans: Spans) -> None:
    """What is nested in a list, and a list longer than 4 KiB, is base64 of its own bytes."""
    found = text_of(store, spans({"nested": [["n"]], "huge": ["y" * 5000]}))

    inner = base64.b64decode(found["nested"][2:-2])
    assert "n" == ArrayValue.FromString(inner[2:]).values[0].string_value
    assert "y" * 5000 == ArrayValue.FromString(base64.b64decode(found["huge"])).values[0].string_value


def test_on_a_resource_and_below_a_span(store: Store, spans: Spans) -> None:
    """A resource's lists are JSON as well; a scalar looks the same everywhere."""
    insert_traces(store, [spans({"a": 1}, resource={"service.name": "s", "args": ["x", "y"]})], token="t")

    (row,) = store.rows("SELECT ResourceAttributes, ServiceName FROM otel_traces")
    assert {"service.name": "s", "args": '["x","y"]'} == row["ResourceAttributes"]
    assert "s" == row["ServiceName"]
