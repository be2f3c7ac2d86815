// SPDX-License-Identifier: Apache-2.0
// Jobs as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/job.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"

namespace meshwright {
namespace {

// Number formats in which tokens are sent.
constexpr std::array kSentNames{EnumName{Precision::bf16, "bf16"}, EnumName{Precision::fp8, "fp8"}};

// Formats of frozen weights.
constexpr std::array kFrozenNames{EnumName{Precision::bf16, "bf16"},
                                  EnumName{Precision::fp8, "fp8"}, EnumName{Precision::fp4, "nf4"}};

Record<Job> make_job_record() {
  constexpr IntRange kSize{1, 100'000'000};
  Record<Job> r(
      "What is asked of the cluster. What is left out has the framework's default, else that of "
      "sim/base/job.h.");
  r.file_of({"meshwright.job/1"}, false);
  r.row<&Job::name>("Name of the job.");
  r.unread("source", kind::text().schema(), "Where the job was published.");
  r.row<&Job::seq_length>(kSize, "Tokens of a sequence.");
  r.row<&Job::global_batch_size>(kSize, "Sequences of a step.");
  r.row<&Job::precision>(kPrecisionNames, "Format of GEMM operands.");
  r.row<&Job::gradient_precision>(kPrecisionNames,
                                  "Format of the main gradients and of their reduction.");
  r.row<&Job::exp_avg_precision>(kPrecisionNames, "Format of Adam's first moment.");
  r.row<&Job::exp_avg_sq_precision>(kPrecisionNames, "Format of Adam's second moment.");
  r.row<&Job::optimizer>(kOptimizerNames, "Optimizer.");
  r.row<&Job::master_weights>("The optimizer updates fp32 weights; false: 16-bit ones.");
  r.omitted_at_default();
  r.row<&Job::store_param_remainders>(
      "Of fp32 weights the optimizer keeps the 16 bits that bf16 ones lack; default: as the "
      "software's recipes.");
  r.omitted_at_default();
  r.row<&Job::lora_rank>(IntRange{0, 65'536},
                         "Rank of LoRA's adapters; 0: all weights are trained.");
  r.omitted_at_default();
  r.row<&Job::lora_target_modules, &LoraModules::bits>(
      "lora_target_modules", kLoraModuleNames, "Linears that LoRA adapts; needs lora_rank.");
  r.omitted_at_default();
  r.row<&Job::lora_dropout>(NumberRange{.low = 0.0, .high = 1.0},
                            "Share of an adapter's input that is dropped.");
  r.omitted_at_default();
  r.row<&Job::lora_all_to_all>(
      "Tensor ranks exchange the output of row-parallel adapters by all-to-all.");
  r.omitted_at_default();
  r.row<&Job::frozen_weight_precision>(
      kFrozenNames,
      "How LoRA's frozen weights are stored; default: as other weights. nf4: QLoRA's 4 bits.");
  r.check([](const Job& job, ObjectReader& reader) {
    if (job.frozen_weight_precision && job.lora_rank == 0) {
      reader.fail("frozen_weight_precision", "may stand only beside lora_rank");
    }
  });
  r.row<&Job::attention_kernel>(kAttentionKernelNames, "Kernel that computes attention.");
  r.row<&Job::kernel_fusion>(kKernelFusionNames, "How operators between the GEMMs become kernels.");
  r.row<&Job::dropout>("Attention and hidden dropout masks are kept.");
  r.row<&Job::cross_entropy_loss_fusion>(
      "The loss keeps no fp32 copy of the logits (Transformer Engine).");
  r.row<&Job::loss_chunks>(IntRange{1, 65'536},
                           "Pieces in which head and loss run, forward and backward (torchtitan).");
  r.omitted_at_default();
  r.row<&Job::fp8_param_gather>(
      "Linear weights are held and gathered in fp8 alone; needs precision fp8.");
  r.check([](const Job& job, ObjectReader& reader) {
    if (job.fp8_param_gather && job.precision != Precision::fp8) {
      reader.fail("fp8_param_gather", "may be true only where precision is \"fp8\"");
    }
  });
  r.row<&Job::fp8_recipe>(
      kFp8RecipeNames, "How fp8 operands are scaled (Megatron-LM --fp8-recipe); default: delayed.");
  r.row<&Job::activation_func_fp8_input_store>(
      "The input of the gated activation waits in fp8 for its backward pass.");
  r.omitted_at_default();
  r.row<&Job::fp8_dot_product_attention>(
      "Fused attention works in fp8; counts where precision is fp8 or fp4.");
  r.omitted_at_default();
  r.row<&Job::disable_parameter_transpose_cache>(
      "fp8 weights have no transposed copy: they are transposed before each input gradient.");
  r.omitted_at_default();
  r.row<&Job::moe_dispatch_fwd_dtype>(kSentNames, "Format of tokens on their way to the experts.");
  r.omitted_at_default();
  r.row<&Job::moe_combine_bwd_dtype>(kSentNames,
                                     "Format of gradients on their way to the experts.");
  r.omitted_at_default();
  r.row<&Job::moe_router_fp32>(
      "The router's probabilities are computed and sent in fp32 (Megatron-LM --moe-router-dtype).");
  r.omitted_at_default();
  r.row<&Job::causal>("Fused attention skips the masked half.");
  r.row<&Job::moe_load_imbalance>(
      NumberRange{1.0, 1000.0},
      "Tokens of the rank whose experts get most of them, over the mean.");
  r.row<&Job::make_vocab_size_divisible_by>(
      IntRange{1, 1'000'000},
      "The vocabulary is padded to a multiple of this times the tensor-parallel size.");
  r.row<&Job::train_tokens>(kind::stated_number(), "Tokens of the whole training; 0: not stated.");
  r.unread("capacity", {{"type", "object"}}, "What meshwright capacity is asked.");
  r.unread("service", {{"type", "object"}},
           "A service that shares the cluster of the training (meshwright capacity).");
  return r;
}

}  // namespace

const Record<Job>& job_record() {
  static const Record<Job> record = make_job_record();
  return record;
}

Job job_from_json(const Json& json, const std::string& file, const std::string& pointer,
                  const Job& defaults) {
  return job_record().read(json, file, pointer, defaults);
}

Json to_json(const Job& job) { return job_record().write(job); }

}  // namespace meshwright
