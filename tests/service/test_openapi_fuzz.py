"""Whatever is sent to the API within its own description, and beside it, is answered as described."""

import json
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from jsonschema import Draft202012Validator
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from otel_attrib.analytics.service.app import Behind, service_app
from otel_attrib.config import Settings
from otel_attrib.schema.store import Store

# Not typed: conftest modules cannot be imported.
Api = Any

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
EXAMPLES = 12  # of each operation: the whole file stays within a minute
ENDLESS = ("/api/v1/live",)


def _no_store() -> Store:
    raise AssertionError("the document needs no store")


DOCUMENT = service_app(Settings(), Behind(_no_store, lambda: "", lambda host: {})).openapi()
PATHS = [(path, method) for path, operations in DOCUMENT["paths"].items() for method in operations]


@pytest.mark.parametrize(("path", "method"), [each for each in PATHS if each[0] not in ENDLESS])
def test_no_server_error(api: Api, path: str, method: str) -> None:
    """No input makes a 5xx; every status, content type and body is one that the document names."""
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    operation = schema[path][method]

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @schemathesis_given(operation)  # type: ignore[untyped-decorator] # schemathesis has no types here
    def answered(case: Any) -> None:
        call = case.as_transport_kwargs(base_url="http://127.0.0.1:8080")
        words = {name: call[name] for name in ("params", "headers", "json", "content") if call.get(name)}
        try:
            answer = api.ask(case.method, case.formatted_path, **words)
        except httpx.InvalidURL:  # longer than the client sends
            return
        case.validate_response(schemathesis.Response.from_any(answer), checks=CHECKS)

    answered()


def schemathesis_given(operation: Any) -> Any:
    """Hypothesis' decorator for cases of one operation, valid and broken ones."""
    from hypothesis import given, strategies
    from schemathesis import GenerationMode

    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    return given(strategies.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes)))


def test_the_document_is_valid() -> None:
    """The document passes the published schema of OpenAPI 3.1, as the validator of schemathesis has it."""
    schemathesis.openapi.from_dict(DOCUMENT).validate()


@pytest.mark.parametrize(("path", "method"), PATHS)
def test_everything_is_described(path: str, method: str) -> None:
    """Each operation has a stable id, a summary and its problems; each parameter a type and a description."""
    operation = DOCUMENT["paths"][path][method]

    assert operation["operationId"].replace("_", "").isalnum() and operation["summary"]
    for parameter in operation.get("parameters", ()):
        assert parameter.get("description"), parameter["name"]
        assert {"type", "anyOf", "enum"} & set(parameter["schema"]), parameter["name"]
        Draft202012Validator.check_schema(parameter["schema"])
    if path.startswith("/api/v1"):
        for status in ("401", "403", "422"):
            assert ["application/problem+json"] == list(operation["responses"][status]["content"])
    assert json.loads(json.dumps(operation)) == operation
