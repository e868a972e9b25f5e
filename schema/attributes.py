"""Every attribute name that is written or read, once: type, unit, meaning, source and place.

Names under `slatag.` are ours; the others belong to OpenTelemetry (the GenAI conventions
0.1.0, the core conventions 1.44) or to an engine whose own spans are accepted as they are.
A constant is the name in capitals with dots as underscores, `slatag.` left out.
Nothing here is imported from outside the standard library: it is loaded in other people's servers.
"""

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["string", "int", "double", "bool", "string[]"]
Where = Literal["resource", "span", "step", "metric"]

REQUEST_SCOPE: Final = "otel_attrib.request"
STEPS_SCOPE: Final = "otel_attrib.steps"
STEPS_SPAN_NAME: Final = "engine_steps"

STAGES: Final = ("ingress", "tokenize", "queue", "kv_init", "prefill", "sample", "egress", "outside")
"""The stages of TTFT in order; their times add up to it."""

DECODE_STAGES: Final = ("batch_wait", "forward", "sample", "egress")
"""The stages of one output token after the first."""

LAYERS: Final = ("scheduler", "gpu", "pcie", "nvlink", "cpu", "network", "client")
"""What can be at fault. `workload`, `load` and `unexplained` are lines beside them, not layers."""

STATUSES: Final = ("ok", "error", "aborted", "timeout")

SKETCH_GROWTH: Final = 1.02
"""Bucket i of `slatag.token_gap.sketch` holds gaps in (g**(i-1), g**i] µs, stands for 2*g**i/(g+1): ±1 %."""

STEPS_PER_SPAN: Final = 256
"""The most engine steps that one step span carries."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute name and what it holds."""

    name: str
    type: Kind
    unit: str
    meaning: str
    source: str
    where: Where


_SEMCONV = "OpenTelemetry semantic conventions 1.44"
_GEN_AI = "OpenTelemetry GenAI conventions 0.1.0"
_OURS = "otel-attrib"
_GIVEN = "otel-attrib (fixed)"
_ENGINES = "vLLM and SGLang"
_SGLANG = "SGLang"

_registry: list[Attribute] = []


def _add(name: str, kind: Kind, unit: str, meaning: str, source: str = _OURS, where: Where = "span") -> str:
    _registry.append(Attribute(name, kind, unit, meaning, source, where))
    return name


# The process that served the request.
SERVICE_NAME = _add("service.name", "string", "", "Name of the service", _SEMCONV, "resource")
SERVICE_VERSION = _add(
    "service.version",
    "string",
    "",
    "Version of the service, the deploy that is compared",
    _SEMCONV,
    "resource",
)
SERVICE_INSTANCE_ID = _add(
    "service.instance.id", "string", "", "One process of the service", _SEMCONV, "resource"
)
HOST_ID = _add("host.id", "string", "", "Machine of the agent (/etc/machine-id)", _SEMCONV, "resource")
HOST_NAME = _add("host.name", "string", "", "Node; column `node`", _SEMCONV, "resource")
PROCESS_PID = _add("process.pid", "int", "", "Process id on the node", _SEMCONV, "resource")
K8S_NODE_NAME = _add(
    "k8s.node.name",
    "string",
    "",
    "Node in Kubernetes; `node` where host.name is absent",
    _SEMCONV,
    "resource",
)
K8S_NAMESPACE_NAME = _add("k8s.namespace.name", "string", "", "Namespace in Kubernetes", _SEMCONV, "resource")
K8S_POD_NAME = _add("k8s.pod.name", "string", "", "Pod in Kubernetes", _SEMCONV, "resource")

SHIM = _add(
    "slatag.shim",
    "string",
    "",
    "On an engine's own resource: the version of the shim that reports its requests instead",
    where="resource",
)

# The request, in words that every GenAI tool knows.
GEN_AI_OPERATION_NAME = _add(
    "gen_ai.operation.name", "string", "", "chat, text_completion, embeddings or generate_content", _GEN_AI
)
GEN_AI_PROVIDER_NAME = _add(
    "gen_ai.provider.name", "string", "", "Who serves the model, such as vllm", _GEN_AI
)
GEN_AI_REQUEST_MODEL = _add("gen_ai.request.model", "string", "", "Model asked for", _GEN_AI)
GEN_AI_RESPONSE_MODEL = _add("gen_ai.response.model", "string", "", "Model that answered", _GEN_AI)
GEN_AI_RESPONSE_ID = _add("gen_ai.response.id", "string", "", "The engine's request id", _GEN_AI)
GEN_AI_REQUEST_STREAM = _add("gen_ai.request.stream", "bool", "", "Whether the answer was streamed", _GEN_AI)
GEN_AI_REQUEST_MAX_TOKENS = _add(
    "gen_ai.request.max_tokens", "int", "{token}", "Most output tokens asked for", _GEN_AI
)
GEN_AI_USAGE_INPUT_TOKENS = _add("gen_ai.usage.input_tokens", "int", "{token}", "Prompt tokens", _GEN_AI)
GEN_AI_USAGE_OUTPUT_TOKENS = _add("gen_ai.usage.output_tokens", "int", "{token}", "Output tokens", _GEN_AI)
GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS = _add(
    "gen_ai.usage.cache_read.input_tokens",
    "int",
    "{token}",
    "Prompt tokens found in the prefix cache",
    _GEN_AI,
)
GEN_AI_RESPONSE_FINISH_REASONS = _add(
    "gen_ai.response.finish_reasons", "string[]", "", "Why each choice ended", _GEN_AI
)
GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK = _add(
    "gen_ai.response.time_to_first_chunk", "double", "s", "Arrival to first token written", _GEN_AI
)
ERROR_TYPE = _add("error.type", "string", "", "Class of the failure; absent when there was none", _SEMCONV)
HTTP_ROUTE = _add("http.route", "string", "", "Matched route of the HTTP server", _SEMCONV)
HTTP_RESPONSE_STATUS_CODE = _add("http.response.status_code", "int", "", "Status code sent", _SEMCONV)

# What engines write by themselves, accepted as it is.
GEN_AI_LATENCY_TTFT = _add(
    "gen_ai.latency.time_to_first_token", "double", "s", "Arrival to first token", _ENGINES
)
GEN_AI_LATENCY_E2E = _add("gen_ai.latency.e2e", "double", "s", "Arrival to end of the request", _ENGINES)
GEN_AI_LATENCY_QUEUE = _add(
    "gen_ai.latency.time_in_queue", "double", "s", "Time waiting for the scheduler; stage `queue`", "vLLM"
)
GEN_AI_LATENCY_PREFILL = _add(
    "gen_ai.latency.time_in_model_prefill",
    "double",
    "s",
    "First schedule to first token; stage `prefill`",
    _ENGINES,
)
GEN_AI_LATENCY_DECODE = _add(
    "gen_ai.latency.time_in_model_decode", "double", "s", "First to last token", _ENGINES
)
GEN_AI_LATENCY_INFERENCE = _add(
    "gen_ai.latency.time_in_model_inference", "double", "s", "Prefill and decode together", _ENGINES
)
GEN_AI_USAGE_PROMPT_TOKENS = _add("gen_ai.usage.prompt_tokens", "int", "{token}", "Prompt tokens", _ENGINES)
GEN_AI_USAGE_COMPLETION_TOKENS = _add(
    "gen_ai.usage.completion_tokens", "int", "{token}", "Output tokens", _ENGINES
)
GEN_AI_USAGE_CACHED_TOKENS = _add(
    "gen_ai.usage.cached_tokens", "int", "{token}", "Prompt tokens found in the prefix cache", _SGLANG
)
GEN_AI_REQUEST_ID = _add("gen_ai.request.id", "string", "", "The engine's request id", "vLLM")
RID = _add("rid", "string", "", "The engine's request id", _SGLANG)
MODULE = _add("module", "string", "", "Part of the engine; a request's root span says Req", _SGLANG)

# Who asked, on which engine.
ENGINE = _add("slatag.engine", "string", "", "vllm, sglang, …")
ENGINE_VERSION = _add("slatag.engine_version", "string", "", "Version of the engine")
REPLICA = _add("slatag.replica", "string", "", "Index of the engine behind one service")
GPU_SET = _add("slatag.gpu_set", "string", "", "Devices of the engine, such as node3:0,1")
TENANT = _add("slatag.tenant", "string", "", "Who is served")
SLA_CLASS = _add("slatag.sla_class", "string", "", "Class of the promise, such as interactive")
SLA_DEADLINE_MS = _add(
    "slatag.sla_deadline_ms", "double", "ms", "Promised time to the first token; absent when none", _GIVEN
)
STREAM_ID = _add("slatag.stream_id", "string", "", "The stream that the request belongs to", _GIVEN)
PARTITION_ID = _add("slatag.partition_id", "string", "", "Partition of the stream", _GIVEN)
OPERATOR_ID = _add(
    "slatag.operator_id", "string", "", "Operator of the chain; also read as flink_operator_id", _GIVEN
)
PARALLELISM = _add("slatag.parallelism", "string", "", "Parallelism of the operator", _GIVEN)

# How it ended.
STATUS = _add("slatag.status", "string", "", "ok, error, aborted or timeout")
PROCESSING_STAGE = _add(
    "slatag.processing_stage", "string", "", "Last stage reached; on a child span, its stage", _GIVEN
)
SOURCE = _add(
    "slatag.source",
    "string",
    "",
    "On a request: import where it was read from a file. On a counter: who read it (ebpf, …); of several "
    "one counts, they are never added",
)

# How many requests it stands for.
SAMPLE_WEIGHT = _add(
    "slatag.sample.weight",
    "double",
    "{request}",
    "How many requests this one stands for, where others like it were sampled away; absent: what the trace "
    "state says (W3C th), else 1",
)
SAMPLE_REASON = _add(
    "slatag.sample.reason",
    "string",
    "",
    "Why tail sampling kept it: failed, asked, slow, new, trickle (each whole) or rest (for others like it). "
    "On slatag.requests.dropped why it is not there: sampled, head, queue or budget",
)

# Where the time went.
FIRST_BYTE_LATENCY_US = _add(
    "slatag.first_byte_latency_us",
    "double",
    "us",
    "TTFT: arrival to first token written; absent when none was",
    _GIVEN,
)
MEASURED_FROM = _add(
    "slatag.measured_from",
    "string",
    "",
    "`queued` where TTFT and E2E start at the queue: imported rows whose arrival is on another clock",
)
TPOT_US = _add("slatag.tpot_us", "double", "us", "(last − first token) / (output tokens − 1)")
E2E_US = _add("slatag.e2e_us", "double", "us", "Arrival to last byte")
_STAGE_MEANING = {
    "ingress": "HTTP and JSON parsing, validation, routing",
    "tokenize": "Chat template and tokenizer",
    "queue": "Waiting for the scheduler, between prefill chunks and after a preemption as well",
    "kv_init": "KV blocks found, allocated, loaded or transferred",
    "prefill": "Prompt computed, its chunks summed",
    "sample": "First token sampled",
    "egress": "Detokenised, serialised, first socket write",
    "outside": "The rest of TTFT that no stage explains",
}
_DECODE_MEANING = {
    "batch_wait": "waiting for the next step",
    "forward": "the model's forward pass",
    "sample": "sampling",
    "egress": "detokenise, serialise, write",
}


def stage_attribute(stage: str) -> str:
    """Name of the attribute that holds one of `STAGES`, in µs."""
    return f"slatag.stage.{stage}_us"


def decode_attribute(stage: str) -> str:
    """Name of the attribute that holds one of `DECODE_STAGES`, in µs per output token after the first."""
    return f"slatag.decode.{stage}_us"


for _stage in STAGES:
    _add(stage_attribute(_stage), "double", "us", _STAGE_MEANING[_stage])
for _stage in DECODE_STAGES:
    _add(decode_attribute(_stage), "double", "us", f"Mean per output token: {_DECODE_MEANING[_stage]}")

# The gaps between successive tokens.
TOKEN_GAP_COUNT = _add("slatag.token_gap.count", "int", "{gap}", "Gaps between successive tokens")
TOKEN_GAP_MEAN_US = _add("slatag.token_gap.mean_us", "double", "us", "Mean gap")
TOKEN_GAP_P50_US = _add("slatag.token_gap.p50_us", "double", "us", "Median gap")
TOKEN_GAP_P99_US = _add("slatag.token_gap.p99_us", "double", "us", "99th percentile of the gaps")
TOKEN_GAP_MAX_US = _add("slatag.token_gap.max_us", "double", "us", "Longest gap")
TOKEN_GAP_SKETCH = _add(
    "slatag.token_gap.sketch", "string", "", "index:count pairs of logarithmic buckets, each within 1 %"
)
TOKEN_TIMELINE = _add(
    "slatag.token_timeline", "string", "us", "Every gap: base64 of little-endian uint32; only when asked for"
)
TOKEN_STALL_EVENT: Final = "token_stall"
TOKEN_INDEX = _add("slatag.token_index", "int", "", "On a token_stall event: the token that came late")
GAP_US = _add("slatag.gap_us", "double", "us", "On a token_stall event: how late")

# What the engine was doing meanwhile.
PREEMPTIONS = _add("slatag.preemptions", "int", "", "Times the request was preempted")
PREFILL_CHUNKS = _add("slatag.prefill_chunks", "int", "", "Steps that the prompt was computed in")
STEP_FIRST = _add("slatag.step.first", "int", "", "First engine step that served the request")
STEP_LAST = _add("slatag.step.last", "int", "", "Last engine step that served the request")
BATCH_SIZE_MEAN = _add("slatag.batch_size_mean", "double", "{request}", "Mean batch size over its steps")
KV_USAGE_MAX = _add("slatag.kv_usage_max", "double", "1", "Highest use of the KV cache over its steps")
WAITING_MAX = _add("slatag.waiting_max", "int", "{request}", "Most requests waiting over its steps")

# What the node's cards and host did meanwhile, where the agent's board is in reach.
SM_UTILIZATION = _add(
    "slatag.sm_utilization", "double", "1", "Share of SM cycles with a warp (GPM), mean over its cards"
)
SM_OCCUPANCY = _add("slatag.sm_occupancy", "double", "1", "Warps resident of those possible, mean")
DRAM_UTILIZATION = _add("slatag.dram_utilization", "double", "1", "Share of HBM cycles used, mean")
GPU_UTILIZATION = _add("slatag.gpu_utilization", "double", "1", "Time with a kernel running, mean")
SM_CLOCK_MHZ = _add("slatag.sm_clock_mhz", "double", "MHz", "SM clock of its slowest card, mean over time")
GPU_THROTTLED = _add("slatag.gpu_throttled", "double", "1", "Share of its time that the worst card throttled")
RUN_QUEUE_WAIT_US = _add(
    "slatag.run_queue_wait_us",
    "double",
    "us",
    "Engine threads of the host ready to run and waiting for a CPU",
)
EVIDENCE_COVERAGE = _add(
    "slatag.evidence_coverage", "double", "1", "Share of the request that these readings stand for, the least"
)

# Packed engine steps: comma-separated integers, one per step, an empty element where not observed.
STEPS_FIRST = _add("slatag.steps.first", "int", "", "Number of the first step in the span", where="step")
STEPS_COUNT = _add("slatag.steps.count", "int", "", "Steps in the span, at most 256", where="step")
STEP_COLUMNS: Final = {
    "start_us": ("us", "Start, counted from the span's start"),
    "duration_us": ("us", "Whole step"),
    "batch_size": ("{request}", "Requests in the batch"),
    "prefill_tokens": ("{token}", "Prompt tokens computed"),
    "decode_tokens": ("{token}", "Output tokens computed"),
    "waiting": ("{request}", "Requests waiting"),
    "running": ("{request}", "Requests running"),
    "preemptions": ("", "Requests preempted in the step"),
    "kv_usage_ppm": ("ppm", "Use of the KV cache"),
    "schedule_us": ("us", "Time in the scheduler"),
    "forward_us": ("us", "Time in the model's forward pass"),
    "sample_us": ("us", "Time sampling"),
    "collective_us": ("us", "Time in collectives between ranks"),
    "copy_us": ("us", "Time in copies between host and device"),
    "output_us": ("us", "Time handling the step's output"),
}
"""Column of a step → its unit and meaning; the attribute is `steps_attribute(column)`."""


def steps_attribute(column: str) -> str:
    """Name of the attribute that holds one of `STEP_COLUMNS`."""
    return f"slatag.steps.{column}"


for _column, (_unit, _meaning) in STEP_COLUMNS.items():
    _add(steps_attribute(_column), "string", _unit, f"Packed: {_meaning.lower()}", where="step")

# Counters of devices and hosts.
HW_ID = _add("hw.id", "string", "", "Device; column `device` of `samples`", _SEMCONV, "metric")
HW_TYPE = _add("hw.type", "string", "", "gpu, cpu, network, …", _SEMCONV, "metric")
HW_NAME = _add("hw.name", "string", "", "Name of the device", _SEMCONV, "metric")
GPU_UUID = _add(
    "slatag.gpu.uuid",
    "string",
    "",
    "UUID of the card or MIG instance, as CUDA_VISIBLE_DEVICES may name it",
    where="metric",
)
HW_STATE = _add("hw.state", "string", "", "ok, degraded or failed", _SEMCONV, "metric")
THROTTLE_REASONS = _add(
    "hw.gpu.throttle_reasons", "string", "", "What held the card's clocks down", "OpenLIT", "metric"
)
INTERCONNECT_TYPE = _add(
    "hw.gpu.interconnect.type", "string", "", "nvlink, xgmi or other", "OpenLIT", "metric"
)
LINK = _add("slatag.link", "string", "", "Number of one link of a card", where="metric")
CLOCK_UNCERTAINTY_US = _add(
    "slatag.clock_uncertainty_us",
    "double",
    "us",
    "How far the clock of this sample may be off",
    where="metric",
)

# The part of a host that a counter is of.
PROCESS_ROLE = _add(
    "slatag.process.role",
    "string",
    "",
    "Part of the engine that a process is: api_server, engine_core, worker or other",
    where="metric",
)
ENGINE_PID = _add(
    "slatag.engine.pid",
    "int",
    "",
    "Process that the engine's tree starts at; the same for all of one engine",
    where="metric",
)
CPU_MODE = _add("cpu.mode", "string", "", "user or system", _SEMCONV, "metric")
PROCESS_CONTEXT_SWITCH_TYPE = _add(
    "process.context_switch.type", "string", "", "voluntary or involuntary", _SEMCONV, "metric"
)
PROCESS_PAGING_FAULT_TYPE = _add(
    "process.paging.fault_type", "string", "", "major (read from a disk) or minor", _SEMCONV, "metric"
)
OFF_CPU_REASON = _add(
    "slatag.off_cpu.reason",
    "string",
    "",
    "Why threads were blocked: futex, io, network, ioctl, memory, stopped or other; waiting for work: poll, "
    "sleep, accept, child or signal",
    where="metric",
)
RESOURCE = _add("resource", "string", "", "What was waited for: cpu, memory or io", where="metric")
CGROUP_PATH = _add(
    "slatag.cgroup.path", "string", "", "Control group, as its kernel names it", where="metric"
)
NETWORK_INTERFACE_NAME = _add("network.interface.name", "string", "", "Network interface", _SEMCONV, "metric")
ACTIVITY = _add(
    "slatag.activity",
    "string",
    "",
    "What a step's time on a device went to: compute, memory, collective, copy, idle",
    where="metric",
)
RANK = _add(
    "slatag.rank",
    "int",
    "",
    "Rank of a process among its engine's, as torch.distributed counts",
    where="metric",
)
PROFILE_OUTCOME = _add(
    "slatag.profile.outcome",
    "string",
    "",
    "What became of a step that the server's own profile was due for: taken, or why not: loaded, capturing, "
    "budget, other_profiler, unfinished, failed",
    where="metric",
)
PROFILE_ID = _add(
    "slatag.profile.id",
    "string",
    "",
    "The imported profile: 12 digits of its content's SHA-256",
    where="metric",
)
NETWORK_IO_DIRECTION = _add("network.io.direction", "string", "", "transmit or receive", _SEMCONV, "metric")
NET_NAMESPACE = _add(
    "slatag.net.namespace", "string", "", "Network namespace of the engine: its inode", where="metric"
)
CLOCK_STATE = _add(
    "slatag.clock.state", "string", "", "synchronized or unsynchronized, as the kernel says", where="metric"
)
CUDA_CALL = _add(
    "slatag.cuda.call",
    "string",
    "",
    "Kind of CUDA call, of the runtime or the driver: memcpy, memcpy_async, launch, graph_launch, "
    "stream_synchronize, device_synchronize or event_synchronize",
    where="metric",
)
COPY_DIRECTION = _add(
    "slatag.copy.direction",
    "string",
    "",
    "h2d (to the card), d2h, d2d, p2p (to another card), h2h, or unknown where the call does not say",
    where="metric",
)
NCCL_CALL = _add(
    "slatag.nccl.call", "string", "", "NCCL call: all_reduce, all_gather, …, group_end", where="metric"
)
SERVER_ADDRESS = _add(
    "server.address", "string", "", "Host of a page of metrics that is not on this node", _SEMCONV, "metric"
)
SERVER_PORT = _add("server.port", "int", "", "Port on which an engine serves requests", _SEMCONV, "metric")
FLOW = _add(
    "slatag.flow",
    "string",
    "",
    "Tenant whose traffic it is, as the given map of addresses says",
    where="metric",
)
AGENT_SOURCE = _add(
    "slatag.agent.source",
    "string",
    "",
    "Which of the agent's sources a figure of its own is about",
    where="metric",
)

ATTRIBUTES: Final[tuple[Attribute, ...]] = tuple(_registry)
"""The whole registry, in the order of the page that is made from it."""
