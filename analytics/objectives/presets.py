"""Objectives that others published, to begin with: MLPerf's limits and GuideLLM's examples.

MLPerf limits each latency by itself, P99 of TTFT and P99 of TPOT: these are not joint. Its clock is the load
generator's, ours is the server's: what the network takes is in theirs alone. GuideLLM counts a request that
meets all limits, so these are joint; what it calls ITL is our TPOT.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from otel_attrib.analytics.filters import EVERY_REQUEST, Filter
from otel_attrib.analytics.objectives.objective import Limit, Objective

__all__ = ["PRESETS", "Preset"]

MLPERF = "MLPerf inference rules (mlcommons/inference_policies, inference_rules.adoc, ac93e89c), P99 limits"
GUIDELLM = "GuideLLM, docs/guides/service_level_objectives.md (b9ae3df4), an example"


@dataclass(frozen=True, slots=True)
class Preset:
    """Limits in ms with where they come from."""

    title: str
    limits: tuple[Limit, ...]
    joint: bool
    source: str

    def objective(self, name: str, where: Filter = EVERY_REQUEST) -> Objective:
        """Return it as an objective over 30 days: 99 of 100 requests."""
        return Objective(
            name=name,
            title=self.title,
            where=where,
            limits=self.limits,
            joint=self.joint,
            target=0.99,
            service=dict(where.allowed).get("service", ("llm",))[0],
            description=f"Source: {self.source}.",
        )


def _mlperf(title: str, ttft: float, tpot: float) -> Preset:
    return Preset(title, (Limit("ttft", ttft), Limit("tpot", tpot)), joint=False, source=MLPERF)


def _guidellm(title: str, **limits: float) -> Preset:
    return Preset(title, tuple(Limit(name, ms) for name, ms in limits.items()), joint=True, source=GUIDELLM)


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "llama3.1-8b-conversational": _mlperf("Llama 3.1 8B, conversational", 2000, 100),
        "llama3.1-8b-interactive": _mlperf("Llama 3.1 8B, interactive", 500, 30),
        "llama2-70b-conversational": _mlperf("Llama 2 70B, conversational", 2000, 200),
        "llama2-70b-interactive": _mlperf("Llama 2 70B, interactive", 450, 40),
        "llama3.1-405b-server": _mlperf("Llama 3.1 405B, server", 6000, 175),
        "llama3.1-405b-interactive": _mlperf("Llama 3.1 405B, interactive", 4500, 80),
        "mixtral-8x7b-server": _mlperf("Mixtral 8x7B, server", 2000, 200),
        "deepseek-r1-server": _mlperf("DeepSeek R1, server", 2000, 80),
        "deepseek-r1-interactive": _mlperf("DeepSeek R1, interactive", 1500, 15),
        "gpt-oss-120b-server": _mlperf("GPT-OSS 120B, server", 3000, 80),
        "gpt-oss-120b-interactive": _mlperf("GPT-OSS 120B, interactive", 2000, 20),
        "chat": _guidellm("Chat", ttft=200, tpot=50),
        "rag": _guidellm("Retrieval-augmented generation", ttft=300, tpot=100, e2e=3000),
        "agents": _guidellm("Instructions and agents", e2e=5000),
        "content-generation": _guidellm("Content generation", ttft=600, tpot=200),
        "code-generation": _guidellm("Code generation", ttft=500, tpot=150),
        "code-completion": _guidellm("Code completion", e2e=2000),
    }
)
"""Presets by name."""
