"""Recorded arrivals made into requests that the tiny model can serve.

Lengths are divided so that the longest fits the model's context; a few requests are
not streamed, are given up by their client, or are wrong, as in any real service. All of
it follows from a seed: every phase of the demonstration sends the same lengths at the same
moments, so that what differs between two phases is the server. Only the words differ,
except for the tenant's own opening, which the prefix cache is there for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from otel_attrib.demo.arrivals import Arrival
from otel_attrib.demo.server import MODEL_NAME

__all__ = ["Kind", "Planned", "plan"]

Kind = Literal["stream", "whole", "aborted", "bad"]

SHRINK_PROMPT = 10
PROMPT_TOKENS = (16, 720)
STRETCH_OUTPUT = 3  # a coding assistant answers in a dozen tokens; longer ones share the cache as chats do
OUTPUT_TOKENS = (8, 160)
OPENING_TOKENS = 160  # longer than the 128 tokens of one block of the prefix cache
TENANTS = (("ide", "interactive", 250.0), ("review", "interactive", 400.0), ("nightly", "batch", 2000.0))
SHARES = (0.6, 0.3, 0.1)
# Of a hundred requests: not streamed, given up while streaming, refused by the server.
WHOLE, ABORTED, BAD = 12, 3, 2
# Words that the model's tokenizer, trained on Python source, takes as one token each.
WORDS = (
    "self",
    "return",
    "if",
    "not",
    "def",
    "None",
    "for",
    "in",
    "else",
    "is",
    "import",
    "raise",
    "and",
    "or",
)


@dataclass(frozen=True, slots=True)
class Planned:
    """One request to be sent: when, by whom, and its JSON body."""

    index: int
    at: float
    kind: Kind
    route: str
    body: dict[str, Any]
    tenant: str
    sla_class: str
    deadline_ms: float
    abort_after: int | None = None


def plan(arrivals: Sequence[Arrival], seed: int, words_seed: int) -> list[Planned]:
    """Make one request of each arrival; `seed` settles its shape, `words_seed` its words."""
    shape, words = Random(seed), Random(words_seed)
    return [_planned(index, arrival, shape, words) for index, arrival in enumerate(arrivals)]


def _planned(index: int, arrival: Arrival, shape: Random, words: Random) -> Planned:
    kind = _kind(shape)
    tenant, sla_class, deadline_ms = shape.choices(TENANTS, SHARES)[0]
    chat = shape.random() < 0.5
    prompt = " ".join(_prompt(tenant, _between(arrival.prompt_tokens // SHRINK_PROMPT, PROMPT_TOKENS), words))
    tokens = _between(arrival.output_tokens * STRETCH_OUTPUT, OUTPUT_TOKENS)
    body = _body(prompt, tokens, chat, kind, words)
    route = "/v1/chat/completions" if chat else "/v1/completions"
    abort_after = shape.randint(0, 3) if kind == "aborted" else None
    return Planned(index, arrival.at, kind, route, body, tenant, sla_class, deadline_ms, abort_after)


def _kind(shape: Random) -> Kind:
    drawn = shape.randrange(100)
    if drawn < BAD:
        return "bad"
    if drawn < BAD + ABORTED:
        return "aborted"
    return "whole" if drawn < BAD + ABORTED + WHOLE else "stream"


def _between(value: int, limits: tuple[int, int]) -> int:
    return min(max(value, limits[0]), limits[1])


def _prompt(tenant: str, tokens: int, words: Random) -> Iterator[str]:
    """Yield about `tokens` words; a prompt long enough begins with its tenant's opening."""
    opening = Random(tenant)
    for position in range(tokens):
        source = opening if position < OPENING_TOKENS < tokens else words
        yield source.choice(WORDS)


def _body(prompt: str, tokens: int, chat: bool, kind: Kind, words: Random) -> dict[str, Any]:
    said: dict[str, Any] = {"messages": [{"role": "user", "content": prompt}]} if chat else {"prompt": prompt}
    body = {"model": MODEL_NAME, "max_tokens": tokens, "ignore_eos": True, "temperature": 1.0} | said
    if kind != "whole":
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if kind == "bad":
        body |= words.choice(({"model": "no-such-model"}, {"max_tokens": -1}, {"temperature": "warm"}))
    if kind == "aborted":
        body["max_tokens"] = OUTPUT_TOKENS[1]
    return body
