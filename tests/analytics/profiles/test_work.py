"""FLOPs and bytes of operators against arithmetic done by hand."""

import json

import pytest

from otel_attrib.analytics.profiles.engine_marks import StepLengths, step_lengths
from otel_attrib.analytics.profiles.timeline import Shape
from otel_attrib.analytics.profiles.work import work_of

BF16 = "c10::BFloat16"


def shape(dims: list[object], types: list[str]) -> Shape:
    """As a trace writes the inputs of a call."""
    return Shape(json.dumps(dims), json.dumps(types))


@pytest.mark.parametrize(
    ("operator", "dims", "types", "flops", "moved"),
    [
        ("aten::mm", [[32, 2880], [2880, 201088]], [BF16] * 2, 2 * 32 * 2880 * 201088,
         2 * (32 * 2880 + 2880 * 201088 + 32 * 201088)),
        ("aten::addmm", [[512], [141, 512], [512, 512], [], []], [BF16] * 3 + ["Scalar"] * 2,
         2 * 141 * 512 * 512, 2 * (512 + 141 * 512 + 512 * 512 + 141 * 512)),
        ("aten::bmm", [[8, 10, 64], [8, 64, 20]], ["float"] * 2, 2 * 8 * 10 * 64 * 20,
         4 * 8 * (10 * 64 + 64 * 20 + 10 * 20)),
        ("aten::linear", [[1, 141, 512], [1024, 512], []], [BF16, BF16, ""], 2 * 141 * 512 * 1024,
         2 * (141 * 512 + 1024 * 512 + 141 * 1024)),
        ("aten::_flash_attention_forward", [[1, 141, 8, 64]] * 3 + [[]], [BF16] * 3 + [""],
         4 * 8 * 141 * 141 * 64, 2 * 4 * 141 * 8 * 64),
        ("aten::scaled_dot_product_attention", [[2, 8, 100, 64], [2, 8, 300, 64], [2, 8, 300, 64]],
         ["c10::Half"] * 3, 4 * 2 * 8 * 100 * 300 * 64, 2 * 2 * 8 * 64 * (2 * 100 + 2 * 300)),
        ("aten::add_", [[16, 1000], [1000], []], ["float", "float", "Scalar"], 16_000,
         4 * (16_000 + 1_000 + 16_000)),
        ("aten::copy_", [[100], [100], []], [BF16, "float", "Scalar"], 0, 100 * (2 + 4)),
        ("aten::native_layer_norm", [[141, 512], [], [512]], [BF16, "", BF16], 5 * 141 * 512,
         2 * 2 * 141 * 512),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_by_hand(operator: str, dims: list[object], types: list[str], flops: int, moved: int) -> None:
    """A multiplication and an addition count two; inputs are read once, outputs written once."""
    work = work_of(operator, shape(dims, types))

    assert work is not None
    assert (flops, moved) == (work.flops, work.bytes)


@pytest.mark.parametrize(("queries", "keys"), [(7, 7), (5, 9), (9, 5)])
@pytest.mark.parametrize(
    ("operator", "place", "value", "causal"),
    [
        ("aten::_scaled_dot_product_flash_attention", 4, "True", True),
        ("aten::_scaled_dot_product_flash_attention", 4, "False", False),
        ("aten::_scaled_dot_product_efficient_attention", 6, "True", True),
        ("aten::scaled_dot_product_attention", 5, "True", True),
    ],
)
def test_causal_attention(
    operator: str, place: int, value: str, causal: bool, queries: int, keys: int
) -> None:
    """A causal call counts the pairs that a mask of ones below the diagonal leaves; another counts all."""
    pairs = sum(1 for q in range(queries) for k in range(keys) if k <= q or not causal)
    dims = [[2, 8, queries, 64], [2, 8, keys, 64], [2, 8, keys, 64]]
    told = Shape(json.dumps(dims), json.dumps([BF16] * 3), json.dumps([""] * place + [value, "0.125"]))
    work = work_of(operator, told)

    assert work is not None
    assert 4 * 2 * 8 * 64 * pairs == work.flops


@pytest.mark.parametrize(
    ("operator", "dims"),
    [
        ("aten::mm", [[3, 4], [5, 6]]),
        ("aten::mm", [[3, 4]]),
        ("aten::mm", []),
        ("aten::embedding", [[3, 4], [5]]),
        ("aten::cat", [[[3, 4], [3, 4]], []]),
        ("mm", "not JSON"),
    ],
    ids=["sizes that do not fit", "one input", "none", "unlisted", "a list of tensors", "no list"],
)
def test_what_has_no_answer(operator: str, dims: object) -> None:
    """Work that cannot be known is None, never zero."""
    assert work_of(operator, Shape(json.dumps(dims), json.dumps([BF16, BF16]))) is None


# What torch.utils.flop_counter.FlopCounterMode of PyTorch 2.13 counts for these calls on meta tensors.
COUNTED: list[tuple[str, list[object], int]] = [
    ("aten::mm", [[32, 2880], [2880, 5000]], 921_600_000),
    ("aten::addmm", [[512], [141, 512], [512, 512]], 73_924_608),
    ("aten::bmm", [[8, 10, 64], [8, 64, 20]], 204_800),
    ("aten::baddbmm", [[8, 10, 20], [8, 10, 64], [8, 64, 20]], 204_800),
    ("aten::_scaled_dot_product_flash_attention", [[2, 8, 128, 64]] * 3, 67_108_864),
]


@pytest.mark.parametrize(("operator", "dims", "flops"), COUNTED, ids=[row[0] for row in COUNTED])
def test_as_pytorch_counts(operator: str, dims: list[object], flops: int) -> None:
    """FLOPs are those of PyTorch's own counter."""
    work = work_of(operator, shape(dims, [BF16] * len(dims)))

    assert work is not None
    assert flops == work.flops


def test_causal_pairs_of_a_vllm_step() -> None:
    """The sums in a mark give the pairs that counting every token's own past gives."""
    prefills, decodes = [(5, 5), (3, 11)], [(1, 40), (1, 7)]
    pairs = sum(sk - sq + 1 + place for sq, sk in [*prefills, *decodes] for place in range(sq))

    def sums(rows: list[tuple[int, int]]) -> str:
        products = (sum(q for q, _ in rows), sum(k for _, k in rows), sum(q * q for q, _ in rows))
        return "sq{}sk{}sqsq{}sqsk{}".format(*products, sum(q * k for q, k in rows))

    mark = f"execute_10_context_2({sums(prefills)})_generation_2({sums(decodes)})"

    assert StepLengths(4, 10, 63, pairs) == step_lengths(mark)


def test_other_marks_have_no_lengths() -> None:
    """A mark without the sums is none."""
    assert step_lengths("ProfilerStep#6") is step_lengths("execute_context_1(8)_generation_3(3)") is None
