// SPDX-License-Identifier: Apache-2.0
// One replica at a batch and contexts: the one entry for everybody who wants a whole answer. The
// search of planner/serving uses replica_cost, step_time and replica_memory themselves.
#pragma once

#include <variant>
#include <vector>

#include "sim/serving/memory.h"
#include "sim/serving/rules.h"
#include "sim/serving/step_volume.h"

namespace meshwright {

// What a question about serving is asked of.
struct ServingScenario {
  Model model{};
  ServingCluster cluster{};
  Engine engine{};
  ReplicaOptions options{};
};

// Sequences that decode together in one attention group, and the lengths of requests.
struct ServingBatch {
  double sequences = 1;        // of each data rank
  double input = 1024;         // tokens of a prompt
  double output = 1024;        // tokens of an answer
  double tokens_per_step = 1;  // of each sequence: accepted_length with speculation
};

struct StepEstimate {
  EngineStep step{};
  StepTime time{};
  Seconds low{}, high{};  // 90 % interval
  double relative_spread = 0.0;
  Provenance provenance = Provenance::measured;
  std::array<double, kNumStepTerms> term_spread{};
  std::array<Provenance, kNumStepTerms> term_provenance{};
  std::vector<ServingTransfer> transfers{};
};

struct ServingEstimate {
  ReplicaOptions options{};  // with defaults
  ReplicaMemory memory{};
  double largest_batch = 0;  // requests of input + output tokens that are admitted, all data ranks
  bool fits = true;          // the cache holds one request of input + output tokens
  StepEstimate prefill{};    // one prompt alone, in one pass or the first chunk of it
  double prefill_chunks = 1;
  Seconds prefill_time{};  // all chunks of one prompt
  StepEstimate decode{};   // the batch at its mean context, input + output / 2
  double tokens_per_second_per_user = 0, tokens_per_second_per_gpu = 0;  // decode alone
};

// Throws nothing: a layout that the engine refuses is a ServingViolation.
std::variant<ServingEstimate, ServingViolation> serving_estimate(const ServingScenario& scenario,
                                                                 const ServingBatch& batch);

}  // namespace meshwright
