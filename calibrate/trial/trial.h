// SPDX-License-Identifier: Apache-2.0
// A real transformer training step under a layout, on real ranks: tensor-, pipeline- and
// data-parallel, with the collectives where Megatron-LM has them. Or the forward passes of
// tensor-parallel inference: a prompt, or one position at a time behind a key-value cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/trial/speed_reference.h"
#include "sim/step/observation.h"

namespace meshwright::calibrate {

struct TrialOptions {
  int warmup_steps = 2;  // steps before the timed ones
  int steps = 5;         // timed steps
  int most_repeats = 2;  // of the timed steps, on a noisy host; the observation has all of them
  double learning_rate = 1e-3;
  std::uint64_t seed = 1234;  // of weights and tokens; the same weights for every layout
  double time_limit_seconds =
      60.0;  // stop early (all ranks together) once steps have taken this long
  TrialMode mode = TrialMode::training;
  int decode_tokens = 32;       // the last positions of job.seq_length, which a step of decode adds
  bool keep_intervals = false;  // of the last step, on every rank
  // Numbers of products, activations and messages: fp32, bf16 or fp16. None: the job's on GPUs,
  // fp32 on cores. Weights are kept in both; inputs of products have 16 bits, other arrays 32
  // (message_format.h).
  std::optional<Precision> precision{};
  // Megatron-LM --moe-router-force-load-balancing: as what is predicted; else as the router says.
  bool moe_router_force_load_balancing = true;
  // Device memory that this rank takes at most; none: what the device has. A layout that needs more
  // on some rank is recorded as out of memory.
  std::optional<Bytes> memory_limit{};
  // Run before the first timed step and after each one; empty: the host's speed is not looked at.
  MakeSpeedReference speed_reference{};
};

// Properties of the ranks' communicator.
struct NetworkTraits {
  bool sends_alone = true;  // only then are sends beside computing
  // Only then are gradients reduced and weights gathered between the layers of a pass: calls that
  // return at once would have to run on a queue of their own.
  bool calls_block = true;
};

// Part of a layout that the ranks at hand can run. It is the layout itself if it needs no more
// ranks than there are. Otherwise it has the same tensor size (or the largest that fits), smaller
// pipeline and data sizes, and as many layers as a stage holds. `not_run` names in words what was
// omitted.
struct RunnableLayout {
  Layout layout;
  int num_layers = 0;
  int num_moe_experts = 0;  // of models with experts
  int global_batch_size = 0;
  std::vector<std::string> not_run;  // empty: everything is run
};
RunnableLayout runnable_layout(const Model& model, const Job& job, const Layout& layout, int ranks,
                               const NetworkTraits& network = {});

// Part of a layout that inference uses: its tensor ranks, and micro_batch_size sequences at once.
RunnableLayout runnable_inference_layout(const Model& model, const Job& job, const Layout& layout,
                                         int ranks);

// Bytes at the peak of one rank of the stage with the highest use when this is run. It counts
// numbers of 4 bytes, attention scores in memory and Adam's two moments. A job of 16 bits adds the
// weights once more as products read them, and the copies of the largest GEMM's operands or of the
// largest message.
Bytes trial_memory(const Model& model, const Job& job, const Layout& layout);

// Why a run of `needed` bytes does not fit on the rank with the least free memory; empty: it does,
// or the device is a core. Collective.
std::string lacks_memory(Bytes needed, const Compute& compute, HostRanks& ranks);

// Why the trial cannot run this model or layout at all; empty when it can.
std::string trial_unsupported(const Model& model, const Job& job, const Layout& layout);
std::string inference_unsupported(const Model& model, const Job& job, const Layout& layout,
                                  int decode_tokens);

// Collective over `world`: every rank calls it. Rank 0's return value is complete.
Observation run_trial(const Model& model, const Job& asked, const Layout& layout, Compute& compute,
                      Communicator& world, const TrialOptions& options);

}  // namespace meshwright::calibrate
