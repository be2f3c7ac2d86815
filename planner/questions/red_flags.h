// SPDX-License-Identifier: Apache-2.0
// Questions of an expert about the best layout, each with its effect in seconds of the step, or
// GiB: the model's price of the layout with that one thing changed.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/questions/rule_of_thumb.h"
#include "planner/questions/scaling.h"
#include "planner/search/contenders.h"
#include "planner/search/plan.h"
#include "planner/search/search.h"
#include "sim/hardware/placement.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

enum class RedFlagId {
  tensor_beyond_domain,
  expert_beyond_domain,
  few_micro_batches,
  memory_half_empty,
  low_utilization,
  small_batch,
  one_layer_chunks,
  assumed_input,
  tensor_on_slow_link,
  tensor_beyond_rule,
  context_for_memory,
  memory_nearly_full,
};
inline constexpr std::array kRedFlagNames{
    EnumName{RedFlagId::tensor_beyond_domain, "tensor_beyond_domain"},
    EnumName{RedFlagId::expert_beyond_domain, "expert_beyond_domain"},
    EnumName{RedFlagId::few_micro_batches, "few_micro_batches"},
    EnumName{RedFlagId::memory_half_empty, "memory_half_empty"},
    EnumName{RedFlagId::low_utilization, "low_utilization"},
    EnumName{RedFlagId::small_batch, "small_batch"},
    EnumName{RedFlagId::one_layer_chunks, "one_layer_chunks"},
    EnumName{RedFlagId::assumed_input, "assumed_input"},
    EnumName{RedFlagId::tensor_on_slow_link, "tensor_on_slow_link"},
    EnumName{RedFlagId::tensor_beyond_rule, "tensor_beyond_rule"},
    EnumName{RedFlagId::context_for_memory, "context_for_memory"},
    EnumName{RedFlagId::memory_nearly_full, "memory_nearly_full"}};
constexpr std::string_view name_of(RedFlagId v) { return name_in(kRedFlagNames, v); }

struct RedFlag {
  RedFlagId id = RedFlagId::few_micro_batches;
  std::string sentence;
  std::variant<Seconds, Bytes> effect;
};

// Each answers nothing where there is nothing to say.

// Tensor or expert ranks on several nodes. Effect: seconds that the group's communication would
// save in one node, on a cluster whose nodes are as many times larger. `inside`: the best layout
// that keeps the group in a node.
std::optional<RedFlag> group_beyond_domain(const Scenario& scenario, const Estimate& winner,
                                           Group group, const std::optional<Timed>& inside);
// Fewer than 4 micro-batches a stage: m < 4 p. Effect: step - step(k batch) / k, with the smallest
// k that gives 4 p of them: what a sequence takes longer.
std::optional<RedFlag> few_micro_batches(const Scenario& scenario, const Estimate& winner);
// More than half of the memory is empty. Effect: how much.
std::optional<RedFlag> memory_half_empty(const Scenario& scenario, const Estimate& winner);
// MFU below 4/5 of what `fewer` GPUs reach with the same batch. Effect: step x (1 - MFU / theirs).
std::optional<RedFlag> low_utilization(const Estimate& winner, const ScalePoint& fewer,
                                       DeviceKind kind);
// A sequence takes more than 10 % longer than in 64 times the batch under the same layout. Effect:
// step - step(64 batch) / 64. The sentence names the smallest batch, by doubling, that does not.
std::optional<RedFlag> small_batch(const Scenario& scenario, const Estimate& winner);
// The one of these two that is named: a batch too small for its pipeline is too small, too, and a
// review is told once.
std::optional<RedFlag> batch_flag(const Scenario& scenario, const Estimate& winner);
// Chunks of one layer. Effect: what they save over chunks of twice (or thrice) as many: that much
// rests on how well messages and launches of single layers go.
std::optional<RedFlag> one_layer_chunks(const Scenario& scenario, const Estimate& winner);
// An input that nobody measured or published moves the step by more than 1 % within its spread.
// Effect: half the difference between one standard deviation up and down.
std::optional<RedFlag> assumed_input(const Scenario& scenario, const Estimate& winner,
                                     const Estimate* runner_up);

// Bytes that a GPU's link inside a node carries for each FLOP of its dense bf16 peak. A100 has
// 300e9 / 312e12 = 0.96e-3, H100 450e9 / 989e12 = 0.455e-3, MI300X 448e9 / 1307e12 = 0.34e-3, H800
// 200e9 / 989e12 = 0.20e-3 (datasheets).
double link_bytes_per_flop(const Scenario& scenario);
// Tensor ranks in a node of GPUs whose link has less than 0.3e-3 bytes per FLOP. Effect: seconds
// that tensor communication would save on a link with an H100's 0.455e-3.
std::optional<RedFlag> tensor_on_slow_link(const Scenario& scenario, const Estimate& winner);
// More tensor ranks than NVIDIA's rule of thumb has for the model. Effect: what the best layout of
// the rule's sizes takes more; nothing where none of them runs.
std::optional<RedFlag> tensor_beyond_rule(const Estimate& winner, const RuleOfThumb& rule);
// Context ranks for sequences that the rule of thumb does not split. Effect: what the layout
// without them takes more, or the bytes that it lacks.
std::optional<RedFlag> context_for_memory(const Scenario& scenario, const Estimate& winner);
// More than 90 % of the memory is used. Effect: the bytes above.
std::optional<RedFlag> memory_nearly_full(const Scenario& scenario, const Estimate& winner);

// All of the winner's, the largest effect first. `scaling`: counts that were compared anyway.
// `rule`: of GPUs.
std::vector<RedFlag> red_flags(const Plan& plan, const SearchOptions& search,
                               const Scaling& scaling,
                               const std::optional<RuleOfThumb>& rule = std::nullopt);

// "0.41 s per step" or "48.2 GiB".
std::string effect_text(const RedFlag& flag);

}  // namespace meshwright::planner
