"""The traces that are compared with HolisticTraceAnalysis, and why some of its tables differ from ours."""

__all__ = ["TRACES", "WHY"]

TRACES = (
    "h100_bert",
    "h100_qwen",
    "hta_control",
    "hta_nccl_data",
    "hta_sampled",
    "resnet50",
    "vllm_decode",
    "vllm_piecewise",
)
WHOLE_MICROSECONDS = (
    "It cuts every piece between two changes to whole microseconds before adding up; we add nanoseconds. "
    "Its `temporal_breakdown` of the same trace adds the same compute time without the cut, and agrees."
)
ADDED_UP = (
    "Where a trace has more than ten kernel names it groups twice, so `max`, `min` and `mean` are of the one "
    "sum per name; the sums agree."
)
OWN_RATE = (
    "These traces have whole microseconds. It takes the rate that the profiler computed from the time before "
    "rounding; we divide bytes by the time that stands in the file."
)
GRAPHS = (
    "It counts launches of single kernels by CUDA's and some of HIP's names; we count every call that "
    "started something: a graph launch as one, and `hipModuleLaunchKernel`."
)
FIRST_ROW = (
    "For 7 of the 509 activities whose call was not recorded it takes the file's first event for the call, "
    "and 9.1 µs of gaps for host wait; we go by the gap's length alone. The sum of both parts agrees."
)
TIES = (
    "At one microsecond a launch and a start stand beside each other, in no order that the file gives; we "
    "let the launch come first. One mean of 32 figures moves by 0.14 %."
)
# (trace, table): why figures differ.
WHY: dict[tuple[str, str], str] = {
    **{
        (name, "gpu_kernel_breakdown (types)"): WHOLE_MICROSECONDS
        for name in ("h100_bert", "h100_qwen", "hta_nccl_data", "vllm_decode", "vllm_piecewise")
    },
    **{(name, "gpu_kernel_breakdown (names)"): ADDED_UP for name in TRACES if name != "h100_bert"},
    **{(name, "memory_bw_summary"): OWN_RATE for name in ("hta_control", "hta_sampled", "resnet50")},
    **{(name, "queue_length_summary"): GRAPHS for name in ("vllm_decode", "vllm_piecewise")},
    ("h100_qwen", "idle_time_breakdown"): FIRST_ROW,
    ("hta_control", "queue_length_summary"): TIES,
}
