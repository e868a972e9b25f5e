"""What work a kernel does, told from its name: one declared table, the first match decides.

Names are the only thing that every profiler records, and they are the libraries' habits, not a
standard: each line of the table says whose habit it reads. A name that matches nothing is `other`,
and its share stands in every breakdown, so that a gap of the table shows.
"""

import re
from typing import Final, NamedTuple

__all__ = ["ACTIVITIES", "CLASSES", "COLLECTIVE", "MULTIPLY", "OTHER", "RULES", "Rule", "kernel_class"]

ACTIVITIES: Final = ("compute", "memory", "collective", "copy", "idle")
"""What a step's time goes to; each moment belongs to the first of these that ran."""

MULTIPLY: Final = ("gemm", "flash_attention", "attention", "convolution", "moe", "graph")
"""Classes that count as `compute`: they multiply; a graph recorded as one piece counts as such."""


class Rule(NamedTuple):
    """Names that match `pattern` (a regular expression, case ignored) do this kind of work, because."""

    kind: str
    pattern: str
    reason: str


RULES = (
    Rule("collective", r"nccl|rccl", "NCCL and RCCL name every kernel of theirs so"),
    Rule(
        "collective",
        r"cross_device_reduce|(all|multimem)_?reduce_|allreduce_fusion|quick_?reduce|\bone_shot|\btwo_shot"
        r"|all_?gather_kernel|reduce_?scatter_kernel|all_?to_?all|nvshmem|deep_ep|symm_mem",
        "all-reduce of engines (vLLM, TensorRT-LLM, SGLang, PyTorch symmetric memory), DeepEP, NVSHMEM",
    ),
    Rule(
        "memset",
        r"^memset|fillbufferaligned|FillFunctor|^_?memset_kernel",
        "fills of the driver, ROCm and ATen",
    ),
    Rule("copy", r"^memcpy|rocclr_copybuffer|^Copy(Host|Device)", "the driver's and ROCm's copies"),
    Rule(
        "kv_cache",
        r"reshape_and_cache|concat_and_cache|copy_blocks|swap_blocks|append_paged|gather_cache"
        r"|convert_req_index",
        "vLLM, SGLang and FlashInfer: writing, moving and gathering blocks of keys and values",
    ),
    Rule(
        "flash_attention",
        r"flash|fmha|sdpa_sm|cudnn_generated_fort_native_sdpa|BatchPrefillWith|BatchDecodeWith|SinglePrefill"
        r"|SingleDecode|_mla_|mla_(decode|prefill|reduce)|MlaDecode|FlashMLA|aiter.*attn",
        "fused attention of flash-attn, FlashInfer, xFormers/CUTLASS, cuDNN, FlashMLA and AITER",
    ),
    Rule("kv_cache", r"kv_?cache", "what else has the cache in its name and is no attention"),
    Rule(
        "moe",
        r"moe|routing|_topk_forward|topk_?gating|bitmatrix|expert|permute_?token|_matmul_ogs_scatter"
        r"|finalize_matmul_scatter",
        "routing tokens to experts: vLLM, SGLang, triton_kernels",
    ),
    Rule(
        "attention",
        r"attention|attn|\bsoftmax|_softmax|SoftMax|reduce_segments",
        "vLLM's paged and unified attention with its segment reduction; softmax of unfused attention",
    ),
    Rule("rope", r"rotary|\brope|_rope", "rotary position embedding"),
    Rule(
        "norm",
        r"rms_?norm|layer_?norm|batch_?norm|group_?norm|\bbn_(fw|bw)|instance_?norm|RowwiseMoments"
        r"|GammaBetaBackward|cuComputePartGrad|cuComputeGrad",
        "normalisation of ATen, Apex, cuDNN, vLLM, Composable Kernel and FlashInfer",
    ),
    Rule(
        "sampling",
        r"sampl|top_?k_?top_?p|apply_penalt|multinomial|argmax|ArgMaxOps|logits|bitonicSort|radixSort"
        r"|exponential_kernel|distribution_elementwise|gumbel|min_p\b|token_bin",
        "choosing the next token: sampling, penalties, sorts and random numbers",
    ),
    Rule("sampling", r"top_?k|gatherTopK|sbtopk|mbtopk", "a top-k that is not of the experts' router"),
    Rule(
        "convolution",
        r"conv(?!ert)|wgrad|dgrad|implicit_?gemm|winograd|xmma_fprop|cudnn::cnn|scudnn|cask_cudnn|fft2d|nchwTo"
        r"|nhwcTo",
        "cuDNN and MIOpen",
    ),
    Rule(
        "embedding",
        r"split_embedding|EmbeddingBag|embedding_(forward|backward)",
        "FBGEMM's and ATen's tables",
    ),
    Rule(
        "gemm",
        r"gemm|\bgemv|gemv|cijk_|nvjet|cutlass|wmma|matmul|\bmm_|_mm_|splitK|split_?k_?reduce|xmma"
        r"|cublas|hipblas|marlin|awq|gptq|exllama|machete|bmm|device_kernel<.*Gemm|dot_kernel|ck::kernel_",
        "matrix products of cuBLAS, CUTLASS, hipBLASLt, Triton, quantised kernels; with their split-k sums",
    ),
    Rule(
        "activation",
        r"silu|gelu|relu|swiglu|swish|act_and_mul|sigmoid|tanh_kernel|threshold_kernel|softplus",
        "activation functions, alone or with the product that gates them",
    ),
    Rule(
        "embedding",
        r"index_?select|embedding|vectorized_gather|index_elementwise|indexFunc|gather_kernel|scatter"
        r"|index_put|index_kernel",
        "rows taken from or put into a table",
    ),
    Rule(
        "copy",
        r"copy_kernel|copy_async|CatArrayBatchedCopy|transpose|permute|batched_copy|_to_copy",
        "data moved or converted by the streaming multiprocessors",
    ),
    Rule(
        "reduction",
        r"reduce|max_pool|avg_pool|DeviceScan|DeviceSelect|cub::|\bscan|prefix_sum|norm_kernel|_sum_",
        "sums, means, scans and pooling",
    ),
    Rule(
        "elementwise",
        r"elementwise|triton_poi|pointwise|multi_tensor_apply|dropout|_kernel_with_index|quant|arange"
        r"|masked|where|clamp|OpTensor|PackedTensor|bounds_check|epilogue",
        "one output for each input: ATen, torch.compile, optimisers, (de)quantisation",
    ),
    Rule("norm", r"triton_(red|per)_.*(rsqrt|mean.*pow|norm)", "torch.compile's fused normalisation"),
    Rule("reduction", r"triton_(red|per)_", "torch.compile's other reductions"),
    Rule("graph", r"^CUDA graph ", "a whole graph that the profiler did not take apart"),
)
OTHER, COLLECTIVE = "other", "collective"
CLASSES = (*dict.fromkeys(rule.kind for rule in RULES), OTHER)
_PATTERNS = tuple((rule.kind, re.compile(rule.pattern, re.IGNORECASE)) for rule in RULES)


def kernel_class(name: str) -> str:
    """Return the class of a kernel, copy, memset or graph."""
    plain = name.replace("fbgemm_gpu::", "")  # a namespace, not a product
    return next((kind for kind, pattern in _PATTERNS if pattern.search(plain)), OTHER)
