// SPDX-License-Identifier: Apache-2.0
// The training job: sequence length, batch, optimizer and tokens, in addition to the numerics.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/enum_names.h"
#include "sim/base/numerics.h"
#include "sim/base/units.h"

namespace meshwright {

enum class Optimizer { adam, sgd };
inline constexpr std::array kOptimizerNames{EnumName{Optimizer::adam, "adam"},
                                            EnumName{Optimizer::sgd, "sgd"}};
constexpr std::string_view name_of(Optimizer v) { return name_in(kOptimizerNames, v); }

// A job that trains: it has gradients, optimizer states and a whole batch a step. Only functions
// that take one can count these; what takes Numerics knows weights and activations alone.
struct TrainingJob : Numerics {
  std::string name = "default";
  int seq_length = 4096;                             // tokens a sequence
  int global_batch_size = 512;                       // sequences a step
  Precision gradient_precision = Precision::fp32;    // main gradients, and their reduction
  Precision exp_avg_precision = Precision::fp32;     // Adam's first moment
  Precision exp_avg_sq_precision = Precision::fp32;  // Adam's second moment
  Optimizer optimizer = Optimizer::adam;
  // fp32 weights that the optimizer updates. Without them it updates 16-bit ones, as Hugging Face's
  // Trainer does with a model that was loaded in bf16.
  bool master_weights = true;
  // Of fp32 weights the optimizer keeps the 16 bits that a bf16 weight lacks (Transformer Engine
  // FusedAdam store_param_remainders; Megatron-LM's precision-aware optimizer). None: as the
  // software's recipes (MemoryFacts).
  std::optional<bool> store_param_remainders;
  std::optional<double> train_tokens;  // tokens of the whole training
  // Replicas that nothing shards keep and reduce fp32 gradients, whatever gradient_precision says
  // of shards; job_under() sets it (MemoryFacts).
  bool replicas_keep_fp32_gradients = false;
  bool replicates_units = false;  // replicas sum FSDP's units; job_under() (DataParallelFacts)

  bool operator==(const TrainingJob&) const = default;
};
// Training is the only kind of job so far.
using Job = TrainingJob;

// Bytes of optimizer moments a parameter: Adam's two, SGD's momentum.
constexpr double moment_bytes(const TrainingJob& job) {
  return bytes_per_element(job.exp_avg_precision) +
         (job.optimizer == Optimizer::adam ? bytes_per_element(job.exp_avg_sq_precision) : 0.0);
}

// Bytes of the optimizer's own copy of a weight. Remainders need a bf16 weight beside them.
constexpr double master_bytes(const TrainingJob& job) {
  if (!job.master_weights || !has_master_weights(job.precision)) return 0.0;
  const bool beside_bf16 = job.precision != Precision::fp16 && !job.fp8_param_gather;
  return job.store_param_remainders.value_or(false) && beside_bf16 ? 2.0 : 4.0;
}

}  // namespace meshwright
