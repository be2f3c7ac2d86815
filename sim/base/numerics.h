// SPDX-License-Identifier: Apache-2.0
// Numerics answers how a model's numbers are stored and which kernels work on them, whatever the
// model runs for. Sequence lengths, batches and everything that only training has stand in job.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/enum_names.h"

namespace meshwright {

enum class Precision { fp32, tf32, fp16, bf16, fp8, fp4 };
inline constexpr std::array kPrecisionNames{
    EnumName{Precision::fp32, "fp32"}, EnumName{Precision::tf32, "tf32"},
    EnumName{Precision::fp16, "fp16"}, EnumName{Precision::bf16, "bf16"},
    EnumName{Precision::fp8, "fp8"},   EnumName{Precision::fp4, "fp4"}};
constexpr std::string_view name_of(Precision v) { return name_in(kPrecisionNames, v); }

enum class AttentionKernel {
  flash,    // scores never reach memory; FlashAttention, cuDNN
  unfused,  // batched GEMM, softmax, batched GEMM, as Megatron's core attention without a fused
            // kernel
};
inline constexpr std::array kAttentionKernelNames{EnumName{AttentionKernel::flash, "flash"},
                                                  EnumName{AttentionKernel::unfused, "unfused"}};
constexpr std::string_view name_of(AttentionKernel v) { return name_in(kAttentionKernelNames, v); }

// Scaling of fp8 operands (Megatron-LM --fp8-recipe; fp4 has NVFP4 alone). narrow_format.h has the
// operands of each.
enum class Fp8Recipe { delayed, tensorwise, blockwise, mxfp8 };
inline constexpr std::array kFp8RecipeNames{
    EnumName{Fp8Recipe::delayed, "delayed"}, EnumName{Fp8Recipe::tensorwise, "tensorwise"},
    EnumName{Fp8Recipe::blockwise, "blockwise"}, EnumName{Fp8Recipe::mxfp8, "mxfp8"}};
constexpr std::string_view name_of(Fp8Recipe v) { return name_in(kFp8RecipeNames, v); }

// Fusion of the kernels between GEMMs, which decides the arrays that they keep. Eager: every
// operator of PyTorch is a kernel of its own that keeps its inputs (Nanotron's models/llama.py;
// operators.h lists them). Compiled: torch.compile fuses each block, and the loss runs eagerly in
// fp32 (torchtitan, 2024). Transformers: eager as in Hugging Face transformers, whose norms work in
// fp32.
enum class KernelFusion { fused, eager, compiled, transformers };
inline constexpr std::array kKernelFusionNames{
    EnumName{KernelFusion::fused, "fused"}, EnumName{KernelFusion::eager, "eager"},
    EnumName{KernelFusion::compiled, "compiled"},
    EnumName{KernelFusion::transformers, "transformers"}};
// Every operator of PyTorch is a kernel of its own.
constexpr bool is_eager(KernelFusion fusion) {
  return fusion == KernelFusion::eager || fusion == KernelFusion::transformers;
}
constexpr std::string_view name_of(KernelFusion v) { return name_in(kKernelFusionNames, v); }

// Linears that LoRA (arXiv 2106.09685) adapts, by Megatron-Bridge's names (peft/lora.py,
// peft/canonical_lora.py). linear_qkv and linear_fc1 are one adapter each; the names of their parts
// are one adapter a part, as Hugging Face PEFT has them.
enum LoraModule : unsigned {
  kLoraQkv = 1U << 0U,
  kLoraQ = 1U << 1U,
  kLoraK = 1U << 2U,
  kLoraV = 1U << 3U,
  kLoraProj = 1U << 4U,
  kLoraFc1 = 1U << 5U,
  kLoraFc1Up = 1U << 6U,
  kLoraFc1Gate = 1U << 7U,
  kLoraFc2 = 1U << 8U
};
inline constexpr std::array kLoraModuleNames{
    EnumName{kLoraQkv, "linear_qkv"},      EnumName{kLoraQ, "linear_q"},
    EnumName{kLoraK, "linear_k"},          EnumName{kLoraV, "linear_v"},
    EnumName{kLoraProj, "linear_proj"},    EnumName{kLoraFc1, "linear_fc1"},
    EnumName{kLoraFc1Up, "linear_fc1_up"}, EnumName{kLoraFc1Gate, "linear_fc1_gate"},
    EnumName{kLoraFc2, "linear_fc2"}};
struct LoraModules {
  unsigned bits = kLoraQkv | kLoraProj;
  bool operator==(const LoraModules&) const = default;
};

// Bytes of one stored number. tf32 is a compute format of fp32 storage; fp8 and fp4 store
// activations in bf16 between operators (Transformer Engine) and are narrow inside GEMM operands.
constexpr double bytes_per_element(Precision p) {
  constexpr std::array kBytes{4.0, 4.0, 2.0, 2.0, 1.0, 0.5};  // in the enumeration's order
  return kBytes[static_cast<std::size_t>(p)];
}
// Formats of operands alone, cast from 16 bits.
constexpr bool is_narrow(Precision p) { return p == Precision::fp8 || p == Precision::fp4; }

struct Numerics {
  Precision precision = Precision::bf16;  // number format of GEMM operands
  AttentionKernel attention_kernel = AttentionKernel::flash;
  KernelFusion kernel_fusion = KernelFusion::fused;
  bool dropout = false;                    // attention and hidden dropout masks are kept
  bool cross_entropy_loss_fusion = false;  // Transformer Engine's loss: no fp32 copy of the logits
  // Pieces of the tokens for which torch runs head, loss and their backward, one after the other
  // (torchtitan components/loss.py, ChunkedCELoss).
  int loss_chunks = 1;
  bool fp8_param_gather = false;        // linear weights are held and gathered in fp8 alone
  std::optional<Fp8Recipe> fp8_recipe;  // none: delayed scaling, as Megatron-LM's default
  // The device's products take per-tensor fp8 operands by rows and by columns (Device), so that one
  // copy serves both; set by job_on().
  bool operands_in_any_layout = false;
  // fc1's output waits in fp8 for the gated activation's backward.
  bool activation_func_fp8_input_store = false;
  // Fused attention multiplies fp8 numbers, and its inputs and output wait in fp8 for its backward
  // (Transformer Engine DotProductAttention); counts in fp8 and fp4 jobs.
  bool fp8_dot_product_attention = false;
  // Linears hold an fp8 weight by rows alone and transpose it before each input gradient
  // (Megatron-LM disable_parameter_transpose_cache).
  bool disable_parameter_transpose_cache = false;
  // Tokens on their way to experts, and the gradients of what comes back: bf16, or fp8 with a scale
  // for 32 numbers. The other two ways are bf16.
  Precision moe_dispatch_fwd_dtype = Precision::bf16;
  Precision moe_combine_bwd_dtype = Precision::bf16;
  // The router computes in fp32 and its probabilities travel so (Megatron-LM --moe-router-dtype
  // fp32), not in the activations' format.
  bool moe_router_fp32 = false;
  bool causal = true;  // fused kernels skip the masked half
  // Tokens of the rank whose experts get most of them over the mean. Megatron-LM's benchmarks force
  // balance (moe_router_force_load_balancing, independent normal logits): 1.004 to 1.012.
  double moe_load_imbalance = 1.01;
  // The vocabulary is padded to a multiple of this x tensor size.
  int make_vocab_size_divisible_by = 128;
  // Rank of LoRA's adapters; 0: all weights are trained. Adapters are 16-bit weights beside frozen
  // ones, which have neither weight gradients nor optimizer states.
  int lora_rank = 0;
  LoraModules lora_target_modules;
  double lora_dropout = 0.0;  // share of an adapter's input that is dropped
  // Tensor ranks exchange what row-parallel adapters put out by all-to-all, in place of an
  // all-gather (Megatron-Bridge a2a_experimental).
  bool lora_all_to_all = false;
  // Format of the frozen weights of linears. None: as other weights; fp8; fp4: the 4-bit
  // NormalFloat of QLoRA (arXiv 2305.14314).
  std::optional<Precision> frozen_weight_precision;

  bool operator==(const Numerics&) const = default;
};

// Bytes of one activation as it is stored between operators and sent between ranks.
constexpr double activation_bytes(Precision p) { return is_narrow(p) ? 2.0 : bytes_per_element(p); }
// Bytes of one weight as the forward pass holds it (fp8 training keeps bf16 weights, unless
// fp8_param_gather).
constexpr double weight_bytes(Precision p) { return activation_bytes(p); }
// Bytes of one number of attention's query, key, value and output, as they wait for its backward.
constexpr double attention_bytes(const Numerics& numerics) {
  const bool narrow = numerics.fp8_dot_product_attention && is_narrow(numerics.precision);
  return narrow ? 1.0 : activation_bytes(numerics.precision);
}
constexpr bool freezes_weights(const Numerics& numerics) { return numerics.lora_rank > 0; }
// Bytes of one frozen weight of a layer's linear. 4-bit NormalFloat has a byte of scale for 64
// weights, and an fp32 one for 256 of these: 4.127 bits (arXiv 2305.14314, section 3).
constexpr double frozen_weight_bytes(const Numerics& numerics) {
  const auto stored = numerics.frozen_weight_precision;
  if (stored == Precision::fp4) return 0.5 + 1.0 / 64 + 4.0 / (64.0 * 256.0);
  return stored == Precision::fp8 ? 1.0 : weight_bytes(numerics.precision);
}
// fp32 master weights exist beside 16-bit ones.
constexpr bool has_master_weights(Precision p) {
  return p != Precision::fp32 && p != Precision::tf32;
}

}  // namespace meshwright
