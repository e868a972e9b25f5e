"""What is wrong with a text that is no JSON, in words of its own rather than the parser's."""

import json

__all__ = ["FAULTS", "json_fault"]

FAULTS = (ValueError, RecursionError)
"""What Python's parser raises, too deep a nesting and too long a number among it."""


def json_fault(fault: Exception) -> str:
    """Say it without where in the line: `nested too deeply`, `a number of thousands of digits`, …"""
    if isinstance(fault, RecursionError):
        return "nested too deeply"
    if isinstance(fault, json.JSONDecodeError):
        return fault.msg
    if isinstance(fault, UnicodeDecodeError):
        return "not in UTF-8"
    return "a number of thousands of digits" if "set_int_max_str_digits" in str(fault) else str(fault)
