"""A release with a slower tokenizer: a call burns CPU in proportion to its text, as a Python one would."""

import functools
import os
import time
from typing import Any

US_PER_CHARACTER = float(os.environ.get("SLOW_TOKENIZER_US", "30"))


def register() -> None:
    """Wrap the tokenizer's call; vLLM runs this in each of its processes."""
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase

    original = PreTrainedTokenizerBase.__call__

    @functools.wraps(original)
    def slow(self: Any, text: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(text, str):
            end = time.thread_time() + len(text) * US_PER_CHARACTER / 1e6
            while time.thread_time() < end:
                pass
        return original(self, text, *args, **kwargs)

    PreTrainedTokenizerBase.__call__ = slow
