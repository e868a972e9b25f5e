"""Kernels by what their names say they do."""

import pytest

from otel_attrib.analytics.profiles.kernel_class import CLASSES, RULES, kernel_class


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", "gemm"),
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "gemm"),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x256", "gemm"),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", "gemm"),
        ("void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8, 4>(int4 const*)", "gemm"),
        (
            "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64>>",
            "flash_attention",
        ),
        (
            "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)",
            "flash_attention",
        ),
        ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<...>", "flash_attention"),
        ("kernel_unified_attention_2d", "attention"),
        ("void vllm::paged_attention_v2_kernel<__half, __half, 128, 16, 128>(float*)", "attention"),
        ("void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>(…)", "kv_cache"),
        ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "rope"),
        ("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(…)", "norm"),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>", "norm"),
        ("void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel>(…)", "activation"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>", "memset"),
        ("void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda>", "copy"),
        ("void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>", "elementwise"),
        ("triton_poi_fused__to_copy_1", "copy"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, ArgMaxOps<float>>>", "sampling"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, MeanOps<float>>>", "reduction"),
        ("_topk_forward", "moe"),
        ("void vllm::moe::topkGatingSoftmax<4, 128, 4, 16, long>", "moe"),
        ("void at::native::sbtopk::gatherTopK<float, unsigned int, 1, false>", "sampling"),
        ("sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32", "convolution"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "collective"),
        ("void vllm::cross_device_reduce_1stage<c10::BFloat16, 2>(…)", "collective"),
        ("__amd_rocclr_copyBuffer", "copy"),
        ("__amd_rocclr_fillBufferAligned", "memset"),
        ("my_kernel(float*)", "other"),
    ],
    ids=lambda text: text[:40],
)
def test_known_names(name: str, kind: str) -> None:
    """Names of the usual libraries fall into the class of their work."""
    assert kind == kernel_class(name)


def test_each_rule_has_a_reason() -> None:
    """No line of the table stands without saying whose names it reads."""
    assert [] == [rule for rule in RULES if len(rule.reason) < 10]
    assert len(set(CLASSES)) == len(CLASSES)
