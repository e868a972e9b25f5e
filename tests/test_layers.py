"""Imports point only down: the rule of ARCHITECTURE.md, held over the source text."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/otel_attrib"
BASE = {"errors", "__init__"}
MAY_IMPORT = {
    "schema": BASE | {"config"},
    "collector": BASE | {"config", "schema"},
    "analytics": BASE | {"config", "schema"},
    "dashboards": BASE | {"config", "schema", "analytics"},
    "instrumentation": BASE | {"schema.attributes", "schema.board", "schema.kernel_class"},
    "doctor": BASE | {"config", "schema", "collector", "instrumentation", "__version__"},
    "demo": BASE | {"config", "schema"},
    "fleet": BASE | {"config", "schema", "analytics", "collector", "instrumentation", "__version__"},
    "testing_agent": BASE | {"schema", "collector"},
    "testing_clickhouse": BASE | {"schema"},
    "testing_otlp": BASE | {"schema"},
    "config": BASE,
    "errors": set[str](),
}
# Runs inside somebody else's server: OpenTelemetry and wrapt alone, and neither is needed to import it.
FOREIGN_TO_INSTRUMENTATION = ("opentelemetry", "wrapt", "vllm", "sglang", "torch")


def modules(area: str) -> list[Path]:
    """Every module of an area, a folder or one file."""
    folder, file = SOURCE / area, SOURCE / f"{area}.py"
    return sorted(folder.rglob("*.py")) or ([file] if file.exists() else [])


def imported(path: Path) -> set[str]:
    """Every absolute module name that a file imports, at any depth of nesting."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return names


@pytest.mark.parametrize("area", MAY_IMPORT)
def test_imports_point_down(area: str) -> None:
    """No module of an area imports from a layer beside or above it, and each area named here is there."""
    assert modules(area)
    allowed = tuple(f"otel_attrib.{name}" for name in MAY_IMPORT[area] | {area})
    wrong = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in modules(area)
        for name in imported(path)
        if name.startswith("otel_attrib.")
        and name not in ("otel_attrib.__version__",)
        and not any(name == good or name.startswith(f"{good}.") for good in allowed)
        and not any(good.startswith(f"{name}.") for good in allowed)
    }

    assert set() == wrong


def test_instrumentation_carries_no_luggage() -> None:
    """Inside an engine only the standard library, OpenTelemetry and the engine itself are imported."""
    import sys

    foreign = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in modules("instrumentation")
        for name in imported(path)
        if (root := name.split(".")[0]) not in sys.stdlib_module_names
        and root not in (*FOREIGN_TO_INSTRUMENTATION, "otel_attrib")
    }

    assert set() == foreign


def test_every_area_has_a_rule() -> None:
    """A new folder or module beside the command cannot escape the rule."""
    names = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}

    assert {"commands", "cli", "__init__", "__main__", "__pycache__"} == (names | {"__pycache__"}) - set(
        MAY_IMPORT
    )


def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """The walk sees an import inside a function, so the tests above can fail."""
    module = tmp_path / "m.py"
    module.write_text("def f():\n    from otel_attrib.collector import spool\n")

    assert "otel_attrib.collector.spool" in imported(module)
