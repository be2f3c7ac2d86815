// SPDX-License-Identifier: Apache-2.0
// What the training software makes of the hardware: how it works, as far as costs and rules can
// tell, and a few scalars that sums of kernels do not hold. A file of configs/frameworks each;
// neutral by default, as software that nobody named.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/hardware/limits.h"
#include "sim/layout/layout.h"

namespace meshwright {

// Defaults of jobs and layouts. Every command and the search begin here.
struct FrameworkDefaults {
  Job job;
  Layout layout;
  bool operator==(const FrameworkDefaults&) const = default;
};

// Copies between FSDP's collective buffers and parameters, as how often the compute stream reads or
// writes each byte: a gathered weight; before a reduction a weight-sized and a gradient-sized
// number.
struct FsdpCopies {
  double gather = 0.0;
  double reduce_weights = 0.0, reduce_gradients = 0.0;
  bool operator==(const FsdpCopies&) const = default;
};

// Bytes that PyTorch's allocator reserves for the bytes of tensors.
struct MemoryFacts {
  double reserved_ratio = 1.0;    // reserved at the peak over allocated at the peak
  bool reports_reserved = false;  // printed and stated peaks are of reserved memory
  // Its recipes in bf16 with bf16 gradients keep remainders (TrainingJob::store_param_remainders).
  bool recipes_store_remainders = false;
  // TrainingJob::replicas_keep_fp32_gradients
  bool replicas_keep_fp32_gradients = false;
  bool operator==(const MemoryFacts&) const = default;
};

// Data sets that the scalars were fitted on, and the error on held-out groups of runs.
struct FrameworkFit {
  std::vector<std::string> sets;         // data sets of the fit; empty: nothing was fitted
  std::vector<std::string> terms;        // scalars below
  std::optional<double> held_out_error;  // mean |predicted / measured - 1|, one group left out each
  bool operator==(const FrameworkFit&) const = default;
};

// Facts on the kernels of operators, and on the host that launches them.
struct KernelFacts {
  // cuBLAS for CUDA 11 multiplies batches of 16-bit matrices on tensor cores only where rows are
  // whole 16 bytes; attention heads of another size run at the device's fp32 rate.
  bool aligned_batched_products = false;
  // The host submits kernels while earlier ones run. Where it waits for each (CUDA_LAUNCH_BLOCKING,
  // or software that synchronises as often), every launch adds host_launch to the device's time.
  bool host_runs_ahead = true;
  // A weight's gradient is added to those of earlier micro-batches by a kernel of its own; false:
  // by the product that computes it (Megatron-LM gradient_accumulation_fusion, since 2022).
  bool adds_gradients = false;
  int flash_attention_version = 0;  // AttentionRate::version
  // Products in fp8 and fp4 over the device's.
  double narrow_gemm_time_factor = 1.0;
  // Fused attention over a ring of context ranks takes so many times as long as alone.
  double ring_attention_time_factor = 1.0;
  // Kernels that the host launches for a layer; 0: one an operator. Recompute adds the forward's.
  double forward_launches = 0.0, backward_launches = 0.0;
  bool operator==(const KernelFacts&) const = default;
};

struct PipelineFacts {
  // A stage sends and receives in program order, one message after the other (DeepSpeed
  // runtime/pipe/schedule.py, Nanotron's engine): what comes in and what goes out take turns,
  // instead of passing each other.
  bool blocking_sends = false;
  // Schedules that the software has; all false: not stated, and any may be asked for. A search
  // that names none goes through those stated, or 1f1b and interleaved.
  std::array<bool, kPipelineScheduleNames.size()> schedules{};
  [[nodiscard]] bool states_schedules() const { return schedules != decltype(schedules){}; }
  [[nodiscard]] bool has(PipelineSchedule schedule) const {
    return !states_schedules() || schedules[static_cast<std::size_t>(schedule)];
  }
  bool operator==(const PipelineFacts&) const = default;
};

// Facts on the exchange of gradients and weights between data ranks.
struct DataParallelFacts {
  // NICs of a node that one collective uses; 0: as many as its ranks reach. DeepSpeed of 2021 moved
  // about what one of eight carries at every scale (Narayanan 2021, Table 2).
  int rails_per_collective = 0;
  FsdpCopies copies;
  // Gradients are reduced, and weights gathered, in buckets of at least so many parameters, or so
  // many for each data rank, whichever is more; 0: nothing is known of buckets.
  double bucket_parameters = 0.0, bucket_parameters_per_rank = 0.0;
  // Bytes per parameter of a rank's share that clipping and the optimizer read and write. 0: one
  // fused kernel over gradients, weights and moments.
  double optimizer_bytes = 0.0;
  // The same of an optimizer on the host. 0: one pass, as DeepSpeed's CPUAdam.
  double host_optimizer_bytes = 0.0;
  bool replicates_units = false;  // replicas that nothing shards sum FSDP's units, not buckets
  bool operator==(const DataParallelFacts&) const = default;
};

// Facts on layers with experts.
struct ExpertFacts {
  // Kernels that the host launches, where they were counted (0: one an operator): so many for each
  // operator outside the experts, and beside these for the router's choice and its loss, and for
  // dispatching and combining, each direction. Experts: their operators, `launches_each` for each
  // expert of a rank (Transformer Engine's GroupedLinear: one cuBLASLt GEMM an expert).
  double launches_per_operator = 0.0;
  double router_launches = 0.0, dispatch_launches = 0.0;
  bool launches_each = false;
  // The host waits for the counts of tokens before it submits the experts' kernels: nothing is
  // queued meanwhile, so that their launches add to the device's time.
  bool waits_for_counts = false;
  // Products of one expert after the other on a few streams over the device's batched ones.
  double gemm_time_factor = 1.0;
  double kernel_time_factor = 1.0;  // factor on the time of memory-bound kernels between GEMMs
  // For each library of the flex dispatcher: the multiprocessors that it uses during an exchange
  // (0: not known), and whether it can send tokens in fp8.
  std::array<int, kMoeFlexDispatcherBackendNames.size()> dispatch_multiprocessors{};
  std::array<bool, kMoeFlexDispatcherBackendNames.size()> sends_fp8{};
  bool operator==(const ExpertFacts&) const = default;
};

struct Framework {
  std::string name;               // name of its file: "megatron-core-2026"; empty: unknown software
  std::string title;              // "Megatron Core with Transformer Engine, 2026"
  std::string versions;           // "core 0.14 to 0.16"
  std::string source;             // source of these numbers
  double gemm_time_factor = 1.0;  // factor on the time of GEMMs and fused attention
  double kernel_time_factor = 1.0;  // factor on the time of memory-bound kernels and the optimizer
  double collective_time_factor = 1.0;  // factor on the time of collectives
  Seconds host_launch;                  // host time a kernel, when larger than the device's own
  Seconds micro_batch_overhead;         // once a micro-batch and stage: schedule, data, bookkeeping
  Seconds step_overhead;                // once a step: gradient clipping, loss scaling, logging
  DataParallelFacts data_parallel;
  PipelineFacts pipeline;
  KernelFacts kernels;
  MemoryFacts memory;
  ExpertFacts experts;
  // Residual after the fit: one standard deviation, relative to the step.
  double relative_spread = 0.0;
  FrameworkDefaults defaults;
  FeatureLimits limits;
  FrameworkFit fit;
  bool operator==(const Framework&) const = default;
};

// The job as this software's recipes run it, where the job does not say.
inline Job job_under(Job job, const Framework& framework) {
  const bool recipe = framework.memory.recipes_store_remainders &&
                      job.precision == Precision::bf16 && job.gradient_precision == Precision::bf16;
  if (!job.store_param_remainders) job.store_param_remainders = recipe;
  job.replicas_keep_fp32_gradients =
      framework.memory.replicas_keep_fp32_gradients && job.master_weights;
  job.replicates_units = framework.data_parallel.replicates_units;
  return job;
}

}  // namespace meshwright
