"""The contract: asleep until asked, a supported range, changed functions left alone, failures counted."""

from types import SimpleNamespace
from typing import Any

import pytest

from otel_attrib.instrumentation import shim
from otel_attrib.instrumentation.shim import FAULTS, Faults, Hook, Patches, guarded

RANGE = ("0.32.0", "0.33.0")


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({}, "OTEL_ATTRIB_ENABLED is not set"),
        ({"OTEL_ATTRIB_ENABLED": "0"}, "OTEL_ATTRIB_ENABLED is not set"),
        ({"OTEL_ATTRIB_ENABLED": "1"}, None),
        ({"OTEL_ATTRIB_ENABLED": "1", "OTEL_ATTRIB_DISABLED": "1"}, "OTEL_ATTRIB_DISABLED is set"),
    ],
    ids=["not asked", "said no", "asked", "killed"],
)
def test_asleep_until_asked(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], reason: str | None
) -> None:
    """Installed is not enabled; the kill switch wins over everything."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert reason == shim.not_asked_for()


@pytest.mark.parametrize(
    ("version", "supported"),
    [
        ("0.32.0", True),
        ("0.32.5+cpu", True),
        ("0.32.1rc1", True),
        ("0.31.9", False),
        ("0.33.0", False),
        ("1.0", False),
    ],
)
def test_supported_range(version: str, supported: bool) -> None:
    """Versions in [first, end) are supported; the reason for any other names it and the range."""
    reason = shim.outside(version, RANGE)

    assert supported == (reason is None)
    assert reason is None or (version in reason and "0.33.0" in reason)


def test_any_version_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable tries an unsupported version: the hooks check their functions by themselves."""
    monkeypatch.setenv("OTEL_ATTRIB_ANY_VERSION", "1")

    assert shim.outside("0.99", RANGE) is None


def test_guarded_counts_and_switches_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A callback that raises gives None; after the limit it is not called any more; two lines say so."""
    monkeypatch.setattr(shim, "FAULTS", faults := Faults(limit=3))
    calls: list[int] = []

    def callback(number: int) -> int:
        calls.append(number)
        raise ValueError(f"bad {number}")

    safe = guarded("the callback", callback)

    assert [None] * 5 == [safe(number) for number in range(5)]
    assert [0, 1, 2] == calls
    assert 3 == faults.counts["the callback"]
    assert [
        "otel-attrib: the callback failed (ValueError: bad 0); the server is not affected",
        "otel-attrib: the callback failed 3 times and is switched off",
    ] == capsys.readouterr().err.splitlines()


def test_guarded_passes_results() -> None:
    """A callback that works gives its result."""
    assert 7 == guarded("works", lambda number: number + 1)(6)
    assert 0 == FAULTS.counts["works"]


class Host:
    """Something to hook."""

    def method(self, one: int, two: int = 2) -> int:
        """Add."""
        return one + two


def doubling(original: Any) -> Any:
    """A wrapper that changes the result, to see it."""
    return lambda self, *args: 2 * original(self, *args)


def test_install_and_restore() -> None:
    """A hook with the known parameters is put in place, once, and taken out again."""
    module, patches = SimpleNamespace(Host=Host), Patches()
    hooks = [Hook("m:Host.method", ("self", "one"), doubling)]

    patches.install(module, hooks)
    patches.install(module, hooks)
    hooked = Host().method(1)
    patches.restore()

    assert 6 == hooked
    assert 3 == Host().method(1)
    assert {} == patches.off


@pytest.mark.parametrize(
    ("target", "parameters", "reason"),
    [
        ("m:Host.method", ("self", "uno"), "m:Host.method now takes (self, one, two)"),
        ("m:Host.gone", ("self",), "m:Host.gone is gone"),
        ("m:Other.method", ("self",), "m:Other.method is gone"),
    ],
    ids=["parameters", "method", "class"],
)
def test_a_changed_function_is_left_alone(
    target: str, parameters: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that is not what the hook knows stays as it is; one line says which and why."""
    patches = Patches()
    before = Host.__dict__["method"]

    patches.install(SimpleNamespace(Host=Host), [Hook(target, parameters, doubling)])

    assert before is Host.__dict__["method"]
    assert {target: reason} == patches.off
    assert f"otel-attrib: one hook is off: {reason}\n" == capsys.readouterr().err
