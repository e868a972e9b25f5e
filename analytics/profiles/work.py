"""How many floating-point operations and bytes one call of an operator takes, from the shapes of its inputs.

FLOPs count a multiplication and an addition each. Bytes are the least that must move: every input read
once, the output written once. Attention counts all pairs of queries and keys, or those that a causal mask
leaves where the values of the call say that it is causal. Operators that are not listed have no work (None).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from otel_attrib.analytics.profiles.number_formats import bytes_of_dtype
from otel_attrib.analytics.profiles.timeline import Shape

__all__ = ["Work", "work_of"]

Dims = Sequence[int]


@dataclass(frozen=True, slots=True)
class Work:
    """What one call must do; `dtype` is that of its first input, as the trace writes it."""

    flops: float
    bytes: float
    dtype: str


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The tensors among an operator's inputs, in order; a scalar has no dims."""

    dims: tuple[Dims, ...]
    types: tuple[str, ...]
    values: tuple[str, ...]

    def size(self, place: int) -> int:
        """Return the bytes of one number of an input; 2 where the type is unknown to us."""
        return bytes_of_dtype(self.types[place]) or 2

    def bytes(self, *places: int) -> int:
        """Return the bytes of some inputs."""
        return sum(prod(self.dims[place]) * self.size(place) for place in places)


def work_of(operator: str, shape: Shape) -> Work | None:
    """Return the work of a call of `aten::mm`, …; None where shapes or the arithmetic are unknown."""
    count = _COUNTS.get(operator.rsplit("::", 1)[-1].rstrip("_") if "::" in operator else operator)
    inputs = _read(shape)
    if count is None or inputs is None:
        return None
    try:
        return count(inputs)
    except (IndexError, ValueError):
        return None


def _read(shape: Shape) -> _Inputs | None:
    """Scalars and absent inputs stand as []; a list of tensors as a list of lists of dims, left out here."""
    try:
        dims, types = json.loads(shape.dims or "[]"), json.loads(shape.types or "[]")
    except ValueError:
        return None
    if not isinstance(dims, list) or len(types) < len(dims):
        return None
    flat = [tuple(one) if _plain(one) else () for one in dims]
    return _Inputs(tuple(flat), tuple(str(word) for word in types[: len(flat)]), _values(shape))


def _values(shape: Shape) -> tuple[str, ...]:
    try:
        told = json.loads(shape.values or "[]")
    except ValueError:
        return ()
    return tuple(str(value) for value in told) if isinstance(told, list) else ()


def _plain(dims: object) -> bool:
    return isinstance(dims, list) and all(isinstance(number, int) for number in dims)


def _product(inputs: _Inputs, left: int, right: int, batch: bool = False) -> Work:
    """[…, m, k] × [k, n] or [b, m, k] × [b, k, n]."""
    a, b = inputs.dims[left], inputs.dims[right]
    if a[-1] != b[-2]:
        raise ValueError("not a matrix product")
    rows, n = prod(a[:-1]), b[-1]
    flops = 2.0 * rows * a[-1] * n
    output = rows * n * inputs.size(left)
    others = [place for place in range(len(inputs.dims)) if place < min(left, right)]
    return Work(flops, inputs.bytes(left, right, *others) + output, inputs.types[left])


def _linear(inputs: _Inputs) -> Work:
    """[…, k] × [n, k]ᵀ (+ [n])."""
    a, b = inputs.dims[0], inputs.dims[1]
    if a[-1] != b[-1]:
        raise ValueError("not a linear layer")
    rows, n = prod(a[:-1]), b[0]
    bias = inputs.bytes(2) if len(inputs.dims) > 2 and inputs.dims[2] else 0
    return Work(
        2.0 * rows * a[-1] * n, inputs.bytes(0, 1) + bias + rows * n * inputs.size(0), inputs.types[0]
    )


def _attention(inputs: _Inputs, heads_last: bool, causal: int) -> Work:
    """[b, h, s, d] (or [b, s, h, d]) queries, keys and values: two products over the pairs.

    `causal` is the place of the argument that says so: `True`, or a kind of mask above 0.
    """
    q, k = inputs.dims[0], inputs.dims[1]
    if len(q) != 4 or len(k) != 4 or q[-1] != k[-1]:
        raise ValueError("not an attention of four dimensions")
    place = 1 if heads_last else 2
    masked = inputs.values[causal : causal + 1] in (("True",), ("1",), ("2",))
    pairs = _causal_pairs(q[place], k[place]) if masked else q[place] * k[place]
    flops = 4.0 * q[0] * q[3 - place] * pairs * q[-1]
    return Work(flops, inputs.bytes(0, 1, 2) + inputs.bytes(0), inputs.types[0])


def _causal_pairs(queries: int, keys: int) -> int:
    """Query i sees the keys up to i, counted from the first of both."""
    seen = min(queries, keys)
    return seen * (seen + 1) // 2 + (queries - seen) * keys


def _norm(inputs: _Inputs) -> Work:
    """Read once, written once; about five operations a number, which no card is bound by."""
    numbers = prod(inputs.dims[0])
    return Work(5.0 * numbers, 2 * inputs.bytes(0), inputs.types[0])


def _elementwise(inputs: _Inputs) -> Work:
    """One operation a number of the largest input; all inputs read, an output as large as the largest."""
    largest = max(
        range(len(inputs.dims)), key=lambda place: prod(inputs.dims[place]) if inputs.dims[place] else 0
    )
    if not inputs.dims[largest]:
        raise ValueError("no tensor")
    tensors = [place for place, dims in enumerate(inputs.dims) if dims]
    return Work(
        float(prod(inputs.dims[largest])),
        inputs.bytes(*tensors) + inputs.bytes(largest),
        inputs.types[largest],
    )


_COUNTS: Final[Mapping[str, Callable[[_Inputs], Work]]] = {
    "mm": lambda inputs: _product(inputs, 0, 1),
    "addmm": lambda inputs: _product(inputs, 1, 2),
    "bmm": lambda inputs: _batched(inputs, 0, 1),
    "baddbmm": lambda inputs: _batched(inputs, 1, 2),
    "matmul": lambda inputs: _product(inputs, 0, 1),
    "_scaled_mm": lambda inputs: _product(inputs, 0, 1),
    "linear": _linear,
    "rocm_unquantized_gemm": _linear,
    "_flash_attention_forward": lambda inputs: _attention(inputs, True, 8),
    "_efficient_attention_forward": lambda inputs: _attention(inputs, True, 9),
    "_scaled_dot_product_flash_attention": lambda inputs: _attention(inputs, False, 4),
    "_scaled_dot_product_efficient_attention": lambda inputs: _attention(inputs, False, 6),
    "_scaled_dot_product_cudnn_attention": lambda inputs: _attention(inputs, False, 6),
    "scaled_dot_product_attention": lambda inputs: _attention(inputs, False, 5),
    "native_layer_norm": _norm,
    "layer_norm": _norm,
    "native_group_norm": _norm,
    "rms_norm": _norm,
    "copy": lambda inputs: Work(0.0, inputs.bytes(0, 1), inputs.types[0]),
    "fill": lambda inputs: Work(0.0, inputs.bytes(0), inputs.types[0]),
    "zero": lambda inputs: Work(0.0, inputs.bytes(0), inputs.types[0]),
    **dict.fromkeys(
        (
            "add", "sub", "mul", "div", "gelu", "relu", "silu", "sigmoid", "tanh", "exp", "neg", "pow",
            "sqrt", "rsqrt", "clamp", "where", "eq", "ne", "lt", "gt", "le", "ge", "native_dropout",
            "threshold_backward", "gelu_backward", "softmax", "_softmax", "masked_fill", "sin", "cos", "abs",
        ),
        _elementwise,
    ),
}  # fmt: skip


def _batched(inputs: _Inputs, left: int, right: int) -> Work:
    """[b, m, k] × [b, k, n]."""
    a, b = inputs.dims[left], inputs.dims[right]
    if a[-1] != b[-2] or a[0] != b[0]:
        raise ValueError("not a batched product")
    flops = 2.0 * prod(a) * b[-1]
    output = prod(a[:-1]) * b[-1] * inputs.size(left)
    return Work(flops, inputs.bytes(*range(right + 1)) + output, inputs.types[left])
