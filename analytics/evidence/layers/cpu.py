"""The host's processors: engine threads that could not run, a clock that fell, collection, tokenising.

A host that is short of CPU delays everything on it: stages of several engines of one node move together.
One card alone speaks against it.
"""

from otel_attrib.analytics.evidence.signal import NOTHING, Finding, Signal, rise, saturate
from otel_attrib.analytics.evidence.view import View
from otel_attrib.analytics.wording import digits

__all__ = ["SIGNALS"]

HOST_STAGES = ("ingress", "tokenize", "egress", "decode_egress", "decode_batch_wait")
HOST_ALONE = ("tokenize", "decode_batch_wait")  # the others wait for sockets too: the network, a client


THREADS = ("run_queue_wait", "cpu_throttled", "off_cpu", "cpu_pressure")


def _host_steps(view: View) -> Finding | None:
    """How much of the steps' lengthening lies between the kernels."""
    best: Finding | None = None
    for kind in ("prefill", "decode"):
        whole, forward = view.steps.get((kind, "duration_us")), view.steps.get((kind, "forward_us"))
        if whole is None or forward is None:
            continue
        best = best or NOTHING
        sample = view.steps.get((kind, "sample_us"))
        rest = whole.change - forward.change - (sample.change if sample is not None else 0.0)
        if whole.change <= 0 or whole.relative < 0.02:
            continue
        share = min(1.0, max(0.0, rest / whole.change)) * saturate(whole.relative, 0.05)
        if share > best.strength:
            percent = min(100.0, 100 * rest / whole.change)
            best = Finding(share, f"{percent:.0f} % of what {kind} steps take longer lies on the host")
    return best


def _host_stages(view: View) -> Finding | None:
    """Stages that no card has a part in, slower at equal work; one of them must have no part in a socket."""
    ratios = {name: view.work.ratios[name] for name in HOST_STAGES if name in view.work.ratios}
    if not ratios:
        return None
    slower = sorted(name for name, ratio in ratios.items() if ratio > 1.15)
    strength = saturate(len(slower) - 1.0, 1.0) if set(slower) & set(HOST_ALONE) else 0.0
    return Finding(strength, f"{', '.join(slower)} slower together") if strength > 0 else NOTHING


def _tokenizer(view: View) -> Finding | None:
    ratio = view.work.ratios.get("tokenize")
    if ratio is None:
        return None
    strength = saturate(ratio - 1.1, 0.5) * saturate(view.of("tokenize"), 0.2)
    return (
        Finding(strength, f"tokenising takes {digits(ratio)} times as long per prompt token")
        if strength > 0
        else NOTHING
    )


def _tokenizer_cpu(view: View) -> Finding | None:
    """More CPU time goes to tokenising, and each prompt's takes longer: not just more prompts."""
    found, ratio = rise("tokenize_cpu", 0.05)(view), view.work.ratios.get("tokenize")
    if found is None or ratio is None:
        return found
    return Finding(found.strength * saturate(ratio - 1.1, 0.1), found.text)


def _one_card(view: View) -> Finding | None:
    if not view.hit.paired or not view.hit.groups:
        return None
    part = view.hit.whole_nodes
    strength = max(0.0, 1 - part) if part < 1 else 0.0
    return Finding(strength, f"only {view.hit.name()} of its node is slow") if strength > 0 else NOTHING


def _quiet(view: View) -> Finding | None:
    """A sensor of the engine's threads was read, and nothing of the host's own moved."""
    if not any(key in view.contrasts for key in THREADS):
        return None
    own = (signal for signal in FOR if signal.own)
    loudest = max(found.strength for signal in own if (found := signal.measure(view)) is not None)
    text = "the engine's threads ran as before"
    return Finding(1 - 5 * loudest, text) if loudest < 0.2 else NOTHING


FOR = (
    Signal("run_queue", "cpu", True, "run_queue_wait", rise("run_queue_wait", 0.05)),
    Signal("off_cpu", "cpu", True, "off_cpu", rise("off_cpu", 0.2)),
    Signal("cgroup_throttled", "cpu", True, "cpu_throttled", rise("cpu_throttled", 0.05)),
    Signal("cpu_pressure", "cpu", True, "cpu_pressure", rise("cpu_pressure", 0.05)),
    Signal("memory_pressure", "cpu", True, "memory_pressure", rise("memory_pressure", 0.05)),
    # Other cores may be busy with nothing of ours.
    Signal("cores_busy", "cpu", True, "cpu_utilization", rise("cpu_utilization", 0.2), own=False),
    Signal("cpu_steal", "cpu", True, "cpu_steal", rise("cpu_steal", 0.05)),
    Signal("cpu_clock_down", "cpu", True, "cpu_clock", rise("cpu_clock", 0.1)),
    Signal("garbage", "cpu", True, "gc_time", rise("gc_time", 0.02)),
    Signal(
        "tokenizer_cpu",
        "cpu",
        True,
        "tokenize_cpu",
        _tokenizer_cpu,
        stages=("tokenize", "ingress", "queue"),
    ),
    Signal(
        "tokenizer_slower", "cpu", True, "requests.tokenize_us", _tokenizer, stages=("tokenize", "ingress")
    ),
    Signal("host_steps", "cpu", True, "steps.schedule_us", _host_steps),
    Signal("host_stages", "cpu", True, "requests.egress_us", _host_stages, own=False),
)
SIGNALS = (
    *FOR,
    Signal("one_card", "cpu", False, "slice", _one_card, own=False),
    Signal("threads_quiet", "cpu", False, "run_queue_wait", _quiet),
)
