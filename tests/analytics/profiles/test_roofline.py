"""Verdicts of the roofline against ratios computed by hand, and on a real trace."""

import json
from pathlib import Path

import pytest

from otel_attrib.analytics.profiles.cards import card_named
from otel_attrib.analytics.profiles.read import read_profile
from otel_attrib.analytics.profiles.roofline import ClassRoof, roofline, rule_of_thumb
from otel_attrib.analytics.profiles.timeline import Profile

KINETO = Path(__file__).parents[2] / "fixtures/kineto"
H100 = card_named("h100_sxm")
PEAK, BANDWIDTH = 989e12, 3350e9


def traced(tmp_path: Path, *calls: tuple[str, str, list[list[int]], float]) -> Profile:
    """A trace of operators that launch one kernel each: operator, kernel, inputs (bfloat16), µs."""
    events, at = [], 1000.0
    for number, (operator, kernel, dims, us) in enumerate(calls, 1):
        inputs = {"External id": number, "Input Dims": dims, "Input type": ["c10::BFloat16"] * len(dims)}
        events.append(
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": operator,
                "pid": 1,
                "tid": 1,
                "ts": at,
                "dur": 2,
                "args": inputs,
            }
        )
        told = {"External id": number, "device": 0, "stream": 7, "correlation": number}
        events.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": kernel,
                "pid": 0,
                "tid": 7,
                "ts": at,
                "dur": us,
                "args": told,
            }
        )
        at += us + 1
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return read_profile(path)


def only(roofs: list[ClassRoof]) -> ClassRoof:
    """The one class."""
    (roof,) = roofs
    return roof


def test_compute_bound_product(tmp_path: Path) -> None:
    """8192³ in 1.5 ms is 733 TFLOP/s, 74 % of an H100: compute-bound."""
    profile = traced(tmp_path, ("aten::mm", "nvjet_tst_128x256", [[8192, 8192], [8192, 8192]], 1500.0))
    roof = only(roofline(profile, 0, H100))

    assert ("gemm", "compute-bound") == (roof.kind, roof.verdict)
    assert 2 * 8192**3 / PEAK / 1.5e-3 == pytest.approx(roof.compute_share)
    assert 3 * 8192**2 * 2 / BANDWIDTH / 1.5e-3 == pytest.approx(roof.memory_share)
    assert 8192 / 3 == pytest.approx(roof.intensity)


def test_bandwidth_bound_product(tmp_path: Path) -> None:
    """One row times 8192² weights in 50 µs moves 134 MB, 80 % of the memory's bandwidth: bandwidth-bound."""
    profile = traced(tmp_path, ("aten::mm", "gemv_kernel", [[1, 8192], [8192, 8192]], 50.0))
    roof = only(roofline(profile, 0, H100))

    assert "bandwidth-bound" == roof.verdict
    assert (8192**2 + 2 * 8192) * 2 / BANDWIDTH / 50e-6 == pytest.approx(roof.memory_share)


def test_latency_bound_product(tmp_path: Path) -> None:
    """A product of 64³ in 8 µs is near neither roof."""
    profile = traced(tmp_path, ("aten::mm", "cutlass_gemm", [[64, 64], [64, 64]], 8.0))
    roof = only(roofline(profile, 0, H100))

    assert "latency-bound" == roof.verdict
    assert "0 % of the card's arithmetic, 0 % of its memory bandwidth; 8.0 µs a kernel" == roof.reason


def test_without_card_or_shapes(tmp_path: Path) -> None:
    """Without peaks or shapes nothing is known, and short kernels alone say nothing of launching."""
    long = traced(tmp_path, ("aten::mm", "cutlass_gemm", [[64, 64], [64, 64]], 80.0))
    short = traced(tmp_path, ("aten::unheard_of", "elementwise_kernel", [[64, 64]], 2.0))

    assert ("unknown", "no peaks for this card: name it with --card") == verdict(long, None)
    assert ("unknown", "the file has no shapes for these kernels") == verdict(short, H100)


@pytest.mark.parametrize(("lead", "said"), [(4, "launch-bound"), (40, "unknown")], ids=["late", "queued"])
def test_launch_bound_needs_launches_that_came_late(tmp_path: Path, lead: int, said: str) -> None:
    """Kernels of 2 µs are bound by launching when called for after the device ran dry, not when queued."""
    events = []
    for number in range(10):
        at, told = 1000 + 10 * number, {"device": 0, "stream": 7, "correlation": number + 1}
        call = {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": "cudaLaunchKernel",
            "pid": 1,
            "tid": 1,
            "ts": at - lead,
        }
        events.append(call | {"dur": 3, "args": told})
        kernel = {"ph": "X", "cat": "kernel", "name": "elementwise_kernel", "pid": 0, "tid": 7, "ts": at}
        events.append(kernel | {"dur": 2, "args": told})
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))

    assert said == verdict(read_profile(path), H100)[0]


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.1, "latency-bound"), (0.29, "latency-bound"), (0.31, "undecided"), (0.59, "undecided")]
    + [(0.61, "bandwidth-bound"), (1.04, "bandwidth-bound"), (1.06, "unknown"), (7.0, "unknown")],
)
def test_no_bound_is_said_where_the_least_work_cannot_tell(tmp_path: Path, share: float, said: str) -> None:
    """Latency is said only where twice the least bytes are below the line too; above the roof nothing is."""
    moved = 3 * 4096**2 * 2 / BANDWIDTH * 1e6
    profile = traced(
        tmp_path, ("aten::add", "elementwise_kernel", [[4096, 4096], [4096, 4096]], moved / share)
    )
    roof = only(roofline(profile, 0, H100))

    assert share == pytest.approx(roof.memory_share, rel=1e-3)
    assert said == roof.verdict


def verdict(profile: Profile, card: object) -> tuple[str, str]:
    """What is said of the one class."""
    roof = only(roofline(profile, 0, card))  # type: ignore[arg-type] # a card or None
    return roof.verdict, roof.reason


def test_kernels_of_graphs_have_no_shapes() -> None:
    """vLLM's decode runs as one graph: unknown with that reason, and never bound by launching its kernels."""
    roofs = roofline(read_profile(KINETO / "vllm_decode.json.gz"), 2, card_named("mi300x"))
    reasons = {roof.kind: roof.reason for roof in roofs if roof.verdict == "unknown"}

    assert (
        "its kernels run in CUDA graphs, where no operator is recorded" == reasons["gemm"] == reasons["norm"]
    )


def test_formats_without_a_peak_are_unknown(tmp_path: Path) -> None:
    """A product in bfloat16 on a card that has no peak for it is unknown, never zero of its arithmetic."""
    profile = traced(tmp_path, ("aten::mm", "cutlass_gemm", [[8192, 8192], [8192, 8192]], 9000.0))

    assert "unknown" == only(roofline(profile, 0, card_named("t4"))).verdict


def test_little_known_is_unknown(tmp_path: Path) -> None:
    """Where shapes cover less than half of a class's time, the verdict of the rest is not taken for it."""
    known = ("aten::mm", "cutlass_gemm_a", [[8192, 8192], [8192, 8192]], 1500.0)
    unknown = ("vllm::unheard_of", "cutlass_gemm_b", [[1]], 2000.0)
    profile = traced(tmp_path, known, unknown)

    assert ("unknown", "the file has no shapes for 57 % of the time of these kernels") == verdict(
        profile, H100
    )


def test_a_split_product_is_one_call(tmp_path: Path) -> None:
    """Two kernels of one operator share its work: the FLOPs count once, over both times."""
    path = tmp_path / "trace.json"
    profile = traced(tmp_path, ("aten::mm", "cutlass_gemm", [[8192, 8192], [8192, 8192]], 1000.0))
    trace = json.loads(path.read_text())
    second = {**trace["traceEvents"][1], "name": "cublasLt::splitKreduce_kernel", "ts": 3000.0, "dur": 500.0}
    path.write_text(json.dumps({**trace, "traceEvents": [*trace["traceEvents"], second]}))
    roof = only(roofline(read_profile(path), 0, H100))

    assert profile is not None
    assert 2 * 8192**3 == roof.flops
    assert 2 * 8192**3 / PEAK / 1.5e-3 == pytest.approx(roof.compute_share)


FLASH = "void flash_fwd_kernel<Flash_fwd_kernel_traits>"


@pytest.mark.parametrize(
    ("length", "us", "other_us", "applies", "verdict"),
    [
        (8192, 900.0, 100.0, True, "compute-bound"),
        (8192, 900.0, 1000.0, False, "compute-bound"),
        (128, 3.0, 0.5, True, "latency-bound"),
    ],
    ids=["the rule is wrong", "the rule is silent", "the rule is wrong of short prompts"],
)
def test_rule_of_thumb_is_checked(
    tmp_path: Path, length: int, us: float, other_us: float, applies: bool, verdict: str
) -> None:
    """Flash attention above 70 % is called bandwidth-bound by the rule; its arithmetic says otherwise."""
    attention = ("aten::_flash_attention_forward", FLASH, [[1, length, 16, 128]] * 3, us)
    profile = traced(tmp_path, attention, ("aten::other", "elementwise_kernel", [[1]], other_us))
    rule = rule_of_thumb(roofline(profile, 0, H100))

    assert rule is not None
    assert us / (us + other_us) == pytest.approx(rule.share)
    assert applies == rule.applies
    assert verdict == rule.verdict
    assert (f"but the roofline says {verdict}" in rule.text) is applies


def test_rule_without_shapes_cannot_be_checked(tmp_path: Path) -> None:
    """Without shapes the rule is shown, and said to be unchecked."""
    rule = rule_of_thumb(roofline(traced(tmp_path, ("custom::attention", FLASH, [], 90.0)), 0, H100))

    assert rule is not None
    assert "the rule of thumb (above 70 %) says bandwidth-bound; the roofline cannot check it" in rule.text


def test_real_trace_of_bert() -> None:
    """Of BERT on an H100 nearly all kernels are joined to shapes, and no share is beyond the roof."""
    profile = read_profile(KINETO / "h100_bert.json.gz")
    roofs = {roof.kind: roof for roof in roofline(profile, 0, H100)}
    gemm, attention = roofs["gemm"], roofs["flash_attention"]
    flops = 0.0
    for row in range(len(profile.ops)):
        if profile.names[profile.ops.name[row]] == "aten::addmm":
            _, (m, k), (_, n), *_ = json.loads(profile.shapes[profile.ops.shape[row]].dims)
            flops += 2 * m * k * n

    assert 26 == gemm.count
    assert gemm.time_ns == gemm.known_ns
    assert flops == gemm.flops
    assert 4 * 4 * 8 * 141 * 141 * 64 == attention.flops
    assert all((roof.compute_share or 0) < 1 and (roof.memory_share or 0) < 1 for roof in roofs.values())
