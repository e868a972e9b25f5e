"""The mark that keeps one request from being counted twice."""

import os

import pytest
from opentelemetry.sdk.resources import Resource

from otel_attrib import __version__
from otel_attrib.instrumentation.mark import marked_resource


@pytest.mark.parametrize("before", [None, "team=chat"], ids=["unset", "set"])
def test_only_what_is_made_inside_is_marked(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resource made inside has the mark beside what the user set; the environment is as it was after."""
    if before:
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", before)

    with pytest.raises(ValueError, match="host"), marked_resource():
        inside = Resource.create({"service.name": "x"}).attributes
        raise ValueError("host")

    assert __version__ == inside["slatag.shim"]
    assert ("chat" if before else None) == inside.get("team")
    assert before == os.environ.get("OTEL_RESOURCE_ATTRIBUTES")
    assert "slatag.shim" not in Resource.create().attributes
