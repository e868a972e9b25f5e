"""A hook waits for its module and never imports it."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from otel_attrib.instrumentation.imports import when_imported
from otel_attrib.instrumentation.shim import FAULTS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_called_back_once_after_import(folder: Path) -> None:
    """The callback sees the finished module right after its first import, and not again."""
    (folder / "awaited_module.py").write_text("value = 1\nvalue = 2\n")
    seen: list[int] = []

    when_imported("awaited_module", lambda module: seen.append(module.value))
    assert [] == seen
    assert "awaited_module" not in sys.modules
    import awaited_module  # type: ignore[import-not-found] # made above

    del sys.modules["awaited_module"]
    import awaited_module  # noqa: F811

    assert [2] == seen
    assert 2 == awaited_module.value


def test_called_at_once_when_loaded() -> None:
    """A module that is loaded already is handed over immediately."""
    seen: list[ModuleType] = []

    when_imported("sys", seen.append)

    assert [sys] == seen


def test_a_failing_callback_does_not_fail_the_import(folder: Path) -> None:
    """The import succeeds whatever our callback does; the failure is counted."""
    (folder / "awaited_with_fault.py").write_text("value = 3\n")

    when_imported("awaited_with_fault", lambda module: module.missing)
    import awaited_with_fault  # type: ignore[import-not-found] # made above

    assert 3 == awaited_with_fault.value
    assert 1 == FAULTS.counts["import of awaited_with_fault"]


def test_an_import_error_is_the_hosts(folder: Path) -> None:
    """A module that fails to import fails in its own words, and our callback is not called."""
    (folder / "awaited_broken.py").write_text("raise RuntimeError('of the host')\n")
    seen: list[ModuleType] = []

    when_imported("awaited_broken", seen.append)
    with pytest.raises(RuntimeError, match="of the host"):
        import awaited_broken  # type: ignore[import-not-found] # noqa: F401 # made above

    assert [] == seen
