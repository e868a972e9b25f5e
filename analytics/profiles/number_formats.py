"""The number formats of a trace: bytes of one number, and which published peak holds for it."""

from typing import Final

__all__ = ["bytes_of_dtype", "peak_of_dtype"]

_BYTES: Final = {
    "bfloat16": 2, "half": 2, "float16": 2, "float": 4, "float32": 4, "double": 8, "float64": 8,
    "signed char": 1, "unsigned char": 1, "char": 1, "byte": 1, "bool": 1, "int8": 1, "uint8": 1,
    "short": 2, "short int": 2, "int": 4, "int32": 4, "long": 8, "long int": 8, "long long": 8, "int64": 8,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1,
}  # fmt: skip
_PEAK: Final = {
    "bfloat16": "bf16", "half": "fp16", "float16": "fp16", "float": "fp32", "float32": "fp32",
    "signed char": "int8", "char": "int8", "int8": "int8",
    "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "float8_e4m3fnuz": "fp8", "float8_e5m2fnuz": "fp8",
}  # fmt: skip


def bytes_of_dtype(word: str) -> int | None:
    """Return the bytes of one number of a type as traces write it (`c10::BFloat16`); None if unknown."""
    return _BYTES.get(_plain(word))


def peak_of_dtype(word: str, kernel: str = "") -> str | None:
    """Return the name of the peak that holds for a type; floats that a `tf32` kernel takes have its peak."""
    name = _PEAK.get(_plain(word))
    return "tf32" if name == "fp32" and "tf32" in kernel.casefold() else name


def _plain(word: str) -> str:
    return word.removeprefix("c10::").removeprefix("at::").strip().casefold()
