"""Filters from `--where` words."""

import pytest

from otel_attrib.analytics.filters import EVERY_REQUEST, parse_filter
from otel_attrib.errors import UsageError


def test_words_become_bound_values() -> None:
    """Values stand in the parameters, names in the condition; one name twice means either value."""
    filter_ = parse_filter(["tenant=acme", "model=a=b", "tenant=zen"])

    assert "model IN {where_model:Array(String)} AND tenant IN {where_tenant:Array(String)}" == filter_.sql()
    assert {"where_model": ["a=b"], "where_tenant": ["acme", "zen"]} == filter_.parameters()
    assert "model=a=b tenant=acme tenant=zen" == str(filter_)


def test_no_words_mean_every_request() -> None:
    """Without a word the condition is true."""
    assert EVERY_REQUEST == parse_filter([])
    assert "1" == EVERY_REQUEST.sql()


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("tenant", "write it as dimension=value"),
        ("1=1 OR model=x", "no dimension '1' here"),
        ("=x", "no dimension ''"),
    ],
)
def test_bad_words(word: str, message: str) -> None:
    """A word without an equals sign, or with an unknown name, is refused."""
    with pytest.raises(UsageError, match=message):
        parse_filter([word])
