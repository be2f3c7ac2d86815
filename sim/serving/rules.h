// SPDX-License-Identifier: Apache-2.0
// Which replicas an engine starts: a row each, with the engine's own reason. The first broken rule
// is the answer, as in sim/rules.
#pragma once

#include <optional>
#include <span>

#include "sim/hardware/inference_rates.h"
#include "sim/rules/rule_row.h"
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

using ServingRuleRow = RuleRowOf<ServingRuleInput>;
std::span<const ServingRuleRow> serving_rules();
// Those of memory, which follow the others. Their checks are check_replica_memory's.
std::span<const ServingRuleRow> serving_memory_rules();

struct ServingViolation {
  const ServingRuleRow* rule = nullptr;
  Missed missed{};
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
