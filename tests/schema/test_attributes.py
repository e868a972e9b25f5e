"""The attribute registry: names once, constants, the page made from it, nothing imported."""

import ast
from pathlib import Path

from otel_attrib.schema import attributes
from otel_attrib.schema.attributes import (
    ATTRIBUTES,
    DECODE_STAGES,
    STAGES,
    STEP_COLUMNS,
    decode_attribute,
    stage_attribute,
    steps_attribute,
)
from otel_attrib.schema.attributes_page import page

ROOT = Path(__file__).parents[2]


def names() -> list[str]:
    """Every registered name."""
    return [entry.name for entry in ATTRIBUTES]


def test_names_stand_once() -> None:
    """No name is registered twice."""
    assert sorted(set(names())) == sorted(names())


def test_given_names_are_kept() -> None:
    """The names that users type are there."""
    given = {
        "slatag.stream_id",
        "slatag.sla_deadline_ms",
        "slatag.processing_stage",
        "slatag.first_byte_latency_us",
        "slatag.partition_id",
        "slatag.operator_id",
        "slatag.parallelism",
    }

    assert given <= set(names())


def test_every_stage_has_its_attribute() -> None:
    """Stages of TTFT, of a token and columns of a step are registered under their own names."""
    wanted = {
        *map(stage_attribute, STAGES),
        *map(decode_attribute, DECODE_STAGES),
        *map(steps_attribute, STEP_COLUMNS),
    }

    assert wanted <= set(names())
    assert "slatag.stage.kv_init_us" == stage_attribute("kv_init")


def test_every_name_has_a_constant() -> None:
    """Whatever is not reached through a stage or a step column has a constant."""
    constants = {value for key, value in vars(attributes).items() if key.isupper() and isinstance(value, str)}
    families = ("slatag.stage.", "slatag.decode.", "slatag.steps.")

    assert [] == [name for name in names() if name not in constants and not name.startswith(families)]


def test_units_and_words_are_given() -> None:
    """Every attribute says what it means, and a duration has its unit in its name."""
    assert [] == [entry.name for entry in ATTRIBUTES if not entry.meaning or not entry.source]
    assert {"us"} == {entry.unit for entry in ATTRIBUTES if entry.name.endswith("_us")}


def test_page_is_current() -> None:
    """The committed page is what the registry says now."""
    assert page() == (ROOT / "docs/reference/attributes.md").read_text(encoding="utf-8")


def test_standard_library_only() -> None:
    """The module imports nothing that an engine's environment might lack."""
    tree = ast.parse((ROOT / "schema/attributes.py").read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert {"dataclasses", "typing"} == modules
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
