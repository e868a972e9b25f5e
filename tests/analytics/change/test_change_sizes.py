"""How long a stage takes for its size, against sizes that are known."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from otel_attrib.analytics.change.sizes import fit_sizes
from otel_attrib.analytics.columns import Rows

Make = Callable[..., Rows]


def test_known_line_is_found(rows: Make) -> None:
    """A prefill of 5 ms and 0.05 ms a token is read off noisy rows to 10 %, and its R² is high."""
    random = np.random.default_rng(1)
    prompt = np.round(random.uniform(50, 4000, 20_000))
    parts = np.ones((20_000, 3))
    parts[:, 1] = (5 + 0.05 * prompt) * random.lognormal(0, 0.2, 20_000)

    sizes = fit_sizes(rows(parts, prompt))
    probe = rows(np.ones((4, 3)), np.array([200.0, 800.0, 1600.0, 3200.0]))

    assert 5 + 0.05 * probe.prompt == pytest.approx(sizes.of(probe)[:, 1], rel=0.1)
    assert sizes.fit["m"]["prefill"] > 0.8
    assert sizes.fit["m"]["queue"] == 0.0


def test_longer_is_never_faster(rows: Make) -> None:
    """Where the rows say that longer prompts are faster, the curve stays level."""
    random = np.random.default_rng(2)
    prompt = np.round(random.uniform(1, 1000, 5000))
    parts = np.ones((5000, 3))
    parts[:, 1] = np.sin(prompt / 100) + 2 + random.random(5000)

    expected = fit_sizes(rows(parts, prompt)).of(rows(np.ones((1000, 3)), np.arange(1.0, 1001)))[:, 1]

    assert (np.diff(expected) >= 0).all()
    assert expected[-1] > expected[0]


def test_few_rows_of_a_model_are_read_off_all(rows: Make) -> None:
    """A model with 19 rows, or one never seen, takes the curve of all models; one with 20 has its own."""
    parts = np.repeat([[1.0, 10.0, 1.0], [1.0, 50.0, 1.0]], [1000, 19], axis=0)
    models = ["many"] * 1000 + ["few"] * 19
    probe = rows(np.ones((3, 3)), model=["many", "few", "never"])

    few = fit_sizes(rows(parts, model=models))
    enough = fit_sizes(rows(np.vstack([parts, [[1.0, 50.0, 1.0]]]), model=[*models, "few"]))

    assert [10.0, 10.0, 10.0] == few.of(probe)[:, 1].tolist()
    assert [10.0, 50.0, 10.0] == enough.of(probe)[:, 1].tolist()


@pytest.mark.parametrize("time", [0.0, 3.0])
def test_all_equal(rows: Make, time: float) -> None:
    """A stage that always takes the same has that size, one of no time the size 1, never 0."""
    sizes = fit_sizes(rows(np.full((100, 3), time), np.arange(100.0)))

    assert {time or 1.0} == set(sizes.of(rows(np.ones((5, 3)), np.arange(5.0))).ravel().tolist())


def test_decoding_takes_its_size_from_the_output(rows: Make) -> None:
    """The decode stages of E2E grow with the output tokens."""
    random = np.random.default_rng(3)
    output = np.round(random.uniform(10, 1000, 5000))
    parts = np.ones((5000, 3))
    parts[:, 1] = 20 * output
    made = replace(rows(parts), names=("queue", "decode_forward", "outside"), output=output)

    expected = fit_sizes(made).of(made)[:, 1]

    assert 20 * output == pytest.approx(expected, rel=0.15)
