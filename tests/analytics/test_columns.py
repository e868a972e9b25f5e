"""Typed columns: words become codes whatever they came as."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.columns import Dimension

WORDS = ["b", "a", "b", "", "c"]


@pytest.mark.parametrize(
    "column",
    [
        WORDS,
        np.array(WORDS),
        pa.array(WORDS),
        pa.chunked_array([WORDS[:2], WORDS[2:]]),
        pa.array(WORDS).dictionary_encode(),
        pa.DictionaryArray.from_arrays([1, 2, 3, 0, 4], ["", "b", "a", "b", "c", "unused"]),
        pa.array(["b", "a", "b", None, "c"]),
    ],
    ids=["list", "numpy", "strings", "chunks", "codes", "codes in disorder", "null"],
)
def test_words_become_the_same_codes(column: Any) -> None:
    """Labels are the words that occur, sorted; a missing word is the empty one."""
    dimension = Dimension.of(column)

    assert ("", "a", "b", "c") == dimension.labels
    assert [2, 1, 2, 0, 3] == dimension.codes.tolist()
    assert WORDS == dimension.words().tolist()


def test_no_words() -> None:
    """No row makes no label."""
    assert ((), 0) == (Dimension.of([]).labels, Dimension.of([]).codes.size)
