"""The page on instrumentation names every variable, header and stage that the code knows, and the version."""

import re
from pathlib import Path

from otel_attrib.instrumentation.sla import HEADERS
from otel_attrib.instrumentation.vllm import SUPPORTED
from otel_attrib.schema.attributes import DECODE_STAGES, STAGES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/instrumentation.md").read_text()


def test_every_variable_is_documented() -> None:
    """Each OTEL_ATTRIB_* variable of the shim stands in the table of settings, and no other does."""
    source = "".join(path.read_text() for path in (ROOT / "instrumentation").rglob("*.py"))
    known = set(re.findall(r'"(OTEL_ATTRIB_[A-Z_]+)"', source))

    assert known == set(re.findall(r"^\| `(OTEL_ATTRIB_[A-Z_]+)`", PAGE, re.M))


def test_every_header_is_documented() -> None:
    """Each dimension stands with all of its headers."""
    rows = dict(re.findall(r"^\| `(slatag\.\w+)` \| (.+?) \|", PAGE, re.M))

    assert {name: list(headers) for name, headers in HEADERS.items()} == {
        name: re.findall(r"`([^`]+)`", cell) for name, cell in rows.items()
    }


def test_stages_and_version_are_documented() -> None:
    """Every stage has its definition, and the supported range is the code's."""
    first = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))
    decode = set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)?) \|", PAGE, re.M)))
    )

    assert set(STAGES) <= first
    assert set(DECODE_STAGES) <= decode
    assert f"`>= {SUPPORTED[0]}, < {SUPPORTED[1].removesuffix('.0')}`" in PAGE
