// SPDX-License-Identifier: Apache-2.0
// Which replicas an engine starts: a row each, with the engine's own reason. The first broken rule
// is the answer, as in sim/rules.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/hardware/inference_rates.h"
#include "sim/serving/engine.h"
#include "sim/serving/memory.h"

namespace meshwright {

struct ServingRuleInput {
  const Model& model;
  const ServingCluster& cluster;
  const Engine& engine;
  const ReplicaOptions& options;  // with defaults
  bool one_of_two_pools = false;  // a prefill or a decode pool
};

// What a broken rule asked for and what it found.
struct ServingMissed {
  double needed = 0, available = 0;
};

struct ServingRuleRow {
  std::string_view name{};  // stable, snake_case, as in JSON
  std::optional<ServingMissed> (*check)(const ServingRuleInput&);
  std::string_view requirement{};  // one sentence: what must hold
  std::string_view reason{};       // why, with its source
  std::string_view remedy{};       // what to change
  std::string (*sentence)(const ServingRuleInput&, const ServingMissed&);
};
std::span<const ServingRuleRow> serving_rules();
// Those of memory, which follow the others. Their checks are check_replica_memory's.
std::span<const ServingRuleRow> serving_memory_rules();

struct ServingViolation {
  const ServingRuleRow* rule = nullptr;
  ServingMissed missed{};
};
// Sizes and formats; costs a few dozen comparisons.
std::optional<ServingViolation> check_replica(const ServingRuleInput& in);
// Memory: room beside the weights; for one request of so many tokens, if any; and, where
// max_model_len is stated or the engine's default, for as much as the engine wants before it
// starts.
std::optional<ServingViolation> check_replica_memory(const ServingRuleInput& in,
                                                     const ReplicaMemory& memory,
                                                     double request = 0,
                                                     bool length_is_given = true);

}  // namespace meshwright
