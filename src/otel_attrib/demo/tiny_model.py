"""Make the small Llama that the demonstration serves: random weights, a tokenizer, a chat template.

A script for the Python of the vLLM environment: `python tiny_model.py FOLDER`. Nothing is
downloaded. The tokenizer is a byte-level BPE trained on the standard library's own source
and the weights come from a fixed seed, so the same Python makes the same model. With
fewer than a million parameters a step takes about a millisecond: what a request waits for
is then the server around the model, which is what the demonstration is about.
"""

import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# vLLM's environment has these, the project's own does not.
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # type: ignore[import-not-found]
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

VOCABULARY = 1024
ROLES = ("<|system|>", "<|user|>", "<|assistant|>")
CHAT_TEMPLATE = (
    "{%- for message in messages -%}<|{{ message.role }}|>{{ message.content }}\n{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)


def corpus() -> Iterator[str]:
    """Source text that every Python installation has."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:80]:
        yield path.read_text(encoding="utf-8", errors="ignore")


def tokenizer() -> Any:
    """Train a byte-level BPE of 1024 entries and wrap it for transformers."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=["<s>", "</s>", *ROLES], initial_alphabet=alphabet
    )
    bpe.train_from_iterator(corpus(), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
        chat_template=CHAT_TEMPLATE,
    )


def model(words: Any) -> Any:
    """Build two Llama layers of width 128 with grouped attention, in bfloat16."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=2048,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
    )
    return LlamaForCausalLM(config).to(torch.bfloat16)


def main(folder: str) -> None:
    """Write tokenizer and model to `folder`."""
    words = tokenizer()
    words.save_pretrained(folder)
    made = model(words)
    made.save_pretrained(folder)
    print(f"tiny model: {sum(p.numel() for p in made.parameters()):,} parameters, {len(words)} tokens")


if __name__ == "__main__":
    main(sys.argv[1])
