"""`__all__` is what a module offers: every name in it exists (its order is ruff's RUF022)."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/otel_attrib"
# `rglob` does not enter a link below its root, so each area is a root of its own.
ROOTS = (SOURCE, *(path for path in SOURCE.iterdir() if path.is_symlink()))
MODULES = sorted({path for root in ROOTS for path in root.rglob("*.py")})


def exported(tree: ast.Module) -> list[str] | None:
    """The literal `__all__` of a module, or None."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return None


def defined(tree: ast.Module) -> set[str]:
    """Every name bound at the top of a module."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_all_is_true(path: Path) -> None:
    """Names in `__all__` exist once, and every module says in a docstring what it is."""
    tree = ast.parse(path.read_text())
    names = exported(tree) or []

    assert ast.get_docstring(tree)
    assert len(set(names)) == len(names)
    assert set() == set(names) - defined(tree) - {"__version__"}
