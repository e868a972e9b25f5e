"""Versions and optional parts, with what is missing named."""

from pathlib import Path
from typing import Any

import pytest

from otel_attrib.doctor import parts
from otel_attrib.doctor.check import Surroundings

HERE = Surroundings()


def test_this_environment() -> None:
    """The environment of the tests is complete."""
    looks = (
        parts.python,
        parts.store_parts,
        parts.server_parts,
        parts.opentelemetry,
        parts.protobuf,
        parts.entries,
    )

    assert [] == [found for look in looks for found in look(HERE) if found.level != "OK"]


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is not there warns with the extra that brings it."""
    monkeypatch.setattr(parts, "_version", lambda name: None if name == "chdb" else "1")
    (found,) = parts.store_parts(HERE)

    assert ("WARN", "pip install 'otel-attrib[store]'") == (found.level, found.fix)
    assert found.text.startswith("chdb missing")


def test_mixed_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenTelemetry packages of two releases are told."""
    versions = {"opentelemetry-sdk": "1.30.0"}
    monkeypatch.setattr(parts, "_version", lambda name: versions.get(name, "1.45.2"))
    (found,) = parts.opentelemetry(HERE)

    assert "WARN" == found.level
    assert "sdk 1.30.0" in found.text


@pytest.mark.parametrize(
    ("installed", "level"), [(None, "OK"), ("0.32.0", "OK"), ("0.31.0", "WARN"), ("0.33.0", "WARN")]
)
def test_vllm_range(monkeypatch: pytest.MonkeyPatch, installed: str | None, level: str) -> None:
    """A vLLM outside the supported range is told with the range."""
    monkeypatch.setattr(parts, "_version", lambda name: installed)
    (found,) = parts.vllm(HERE)

    assert level == found.level


def test_no_driver(tmp_path: Path) -> None:
    """Without a driver NVML is not missed."""
    (found,) = parts.nvml(Surroundings(dev=tmp_path))

    assert "OK" == found.level


def test_driver_that_does_not_answer(tmp_path: Path) -> None:
    """A driver's device without a library that answers is a warning."""
    (tmp_path / "nvidiactl").write_text("")
    (found,) = parts.nvml(Surroundings(dev=tmp_path))

    assert "WARN" == found.level


def test_the_other_bcc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """PyPI's package of the same name is told from the BPF Compiler Collection."""
    origin = tmp_path / "__init__.py"
    spec: Any = type("Spec", (), {"origin": str(origin)})
    monkeypatch.setattr(parts, "find_spec", lambda name: spec)
    assert ["WARN"] == [found.level for found in parts.bcc(HERE)]

    (tmp_path / "libbcc.py").write_text("")
    assert ["OK"] == [found.level for found in parts.bcc(HERE)]
