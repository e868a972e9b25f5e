"""Statements from files."""

import pytest

from otel_attrib.analytics.statement import statement


def test_pieces_are_put_in() -> None:
    """A piece stands where the file names it."""
    assert "FROM requests WHERE model = 'x'" in statement("newest_request", where="model = 'x'")


@pytest.mark.parametrize("pieces", [{}, {"where": "1", "other": "2"}], ids=["missing", "left over"])
def test_pieces_must_fit(pieces: dict[str, str]) -> None:
    """A missing or unknown piece is refused before anything runs."""
    with pytest.raises(ValueError, match=r"newest_request.sql takes \['where'\]"):
        statement("newest_request", **pieces)
