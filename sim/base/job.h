// SPDX-License-Identifier: Apache-2.0
// What is asked of the cluster: sequence length, batch, number formats, optimizer, tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"

namespace meshwright {

enum class Precision { fp32, tf32, fp16, bf16, fp8 };
inline constexpr std::array kPrecisionNames{
    EnumName{Precision::fp32, "fp32"}, EnumName{Precision::tf32, "tf32"},
    EnumName{Precision::fp16, "fp16"}, EnumName{Precision::bf16, "bf16"},
    EnumName{Precision::fp8, "fp8"}};
constexpr std::string_view name_of(Precision v) { return name_in(kPrecisionNames, v); }

enum class Optimizer { adam, sgd };
inline constexpr std::array kOptimizerNames{EnumName{Optimizer::adam, "adam"},
                                            EnumName{Optimizer::sgd, "sgd"}};
constexpr std::string_view name_of(Optimizer v) { return name_in(kOptimizerNames, v); }

enum class AttentionKernel {
  flash,    // scores never reach memory; FlashAttention, cuDNN
  unfused,  // batched GEMM, softmax, batched GEMM, as Megatron's core attention without a fused
            // kernel
};
inline constexpr std::array kAttentionKernelNames{EnumName{AttentionKernel::flash, "flash"},
                                                  EnumName{AttentionKernel::unfused, "unfused"}};
constexpr std::string_view name_of(AttentionKernel v) { return name_in(kAttentionKernelNames, v); }

// How fp8 operands are scaled (Megatron-LM --fp8-recipe).
enum class Fp8Recipe { delayed, tensorwise, blockwise, mxfp8 };
inline constexpr std::array kFp8RecipeNames{
    EnumName{Fp8Recipe::delayed, "delayed"}, EnumName{Fp8Recipe::tensorwise, "tensorwise"},
    EnumName{Fp8Recipe::blockwise, "blockwise"}, EnumName{Fp8Recipe::mxfp8, "mxfp8"}};
constexpr std::string_view name_of(Fp8Recipe v) { return name_in(kFp8RecipeNames, v); }

// What the kernels between the products keep. Eager: every operator of PyTorch is a kernel of its
// own that keeps its inputs (Nanotron's models/llama.py; operators.h lists them). Compiled:
// torch.compile fuses each block, and the loss runs eagerly in fp32 (torchtitan, 2024).
enum class KernelFusion { fused, eager, compiled };
inline constexpr std::array kKernelFusionNames{EnumName{KernelFusion::fused, "fused"},
                                               EnumName{KernelFusion::eager, "eager"},
                                               EnumName{KernelFusion::compiled, "compiled"}};
constexpr std::string_view name_of(KernelFusion v) { return name_in(kKernelFusionNames, v); }

// Bytes of one stored number. tf32 is a compute format of fp32 storage; fp8 stores activations in
// bf16 between operators (Transformer Engine) and is 1 byte inside GEMM operands.
constexpr double bytes_per_element(Precision p) {
  return p == Precision::fp32 || p == Precision::tf32 ? 4.0 : p == Precision::fp8 ? 1.0 : 2.0;
}

struct Job {
  std::string name = "default";
  int seq_length = 4096;
  int global_batch_size = 512;                       // sequences a step
  Precision precision = Precision::bf16;             // of GEMM operands
  Precision gradient_precision = Precision::fp32;    // main gradients, and their reduction
  Precision exp_avg_precision = Precision::fp32;     // Adam's first moment
  Precision exp_avg_sq_precision = Precision::fp32;  // Adam's second moment
  Optimizer optimizer = Optimizer::adam;
  AttentionKernel attention_kernel = AttentionKernel::flash;
  KernelFusion kernel_fusion = KernelFusion::fused;
  bool dropout = false;                    // attention and hidden dropout masks are kept
  bool cross_entropy_loss_fusion = false;  // Transformer Engine's loss: no fp32 copy of the logits
  bool fp8_param_gather = false;           // linear weights are held and gathered in fp8 alone
  std::optional<Fp8Recipe> fp8_recipe;  // for rules and launch files; its casts cost as delayed's
  bool causal = true;                   // fused kernels skip the masked half
  // Tokens of the rank whose experts get most of them over the mean. Megatron-LM's benchmarks force
  // balance (moe_router_force_load_balancing, independent normal logits): 1.004 to 1.012.
  double moe_load_imbalance = 1.01;
  int make_vocab_size_divisible_by = 128;
  std::optional<double> train_tokens;

  bool operator==(const Job&) const = default;
};

// Bytes of one activation as it is stored between operators and sent between ranks.
constexpr double activation_bytes(Precision p) {
  return p == Precision::fp8 ? 2.0 : bytes_per_element(p);
}
// Bytes of one weight as the forward pass holds it (fp8 training keeps bf16 weights, unless
// fp8_param_gather).
constexpr double weight_bytes(Precision p) { return activation_bytes(p); }
// Bytes of optimizer moments a parameter: Adam's two, SGD's momentum.
constexpr double moment_bytes(const Job& job) {
  return bytes_per_element(job.exp_avg_precision) +
         (job.optimizer == Optimizer::adam ? bytes_per_element(job.exp_avg_sq_precision) : 0.0);
}
// Bytes of one element of a linear's input as it is kept for the weight gradient: Transformer
// Engine keeps the fp8 operand.
constexpr double operand_bytes(Precision p) { return bytes_per_element(p); }
// fp32 master weights exist beside 16-bit ones.
constexpr bool has_master_weights(Precision p) {
  return p != Precision::fp32 && p != Precision::tf32;
}

}  // namespace meshwright
