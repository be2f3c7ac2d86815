// SPDX-License-Identifier: Apache-2.0
#include "app/commands/review_gate.h"

#include <fmt/format.h>

#include "sim/base/error.h"

namespace meshwright::app {
namespace {

using planner::PlanQuantities;
using planner::PlanQuantity;

PlanQuantities quantities_of(const Estimate& estimate, int devices) {
  PlanQuantities all{};
  const auto set = [&all](PlanQuantity quantity, double value) {
    all[static_cast<std::size_t>(quantity)] = value;
  };
  set(PlanQuantity::step_time, estimate.step_time.value());
  set(PlanQuantity::tokens_per_second, estimate.tokens_per_second_per_gpu * devices);
  set(PlanQuantity::mfu, estimate.model_flops_utilization);
  set(PlanQuantity::peak_memory, in_gibibytes(estimate.peak_memory()));
  return all;
}

}  // namespace

ReviewGate review_gate_from_text(const std::string& text) {
  if (text == "uncertain") return {std::nullopt, text};
  const planner::Gate gate = planner::gate_from_text(text);
  if (gate.quantity == PlanQuantity::days || gate.quantity == PlanQuantity::cost) {
    throw InputError("--fail-if", "",
                     fmt::format("a review has no {} (got \"{}\")", name_of(*gate.quantity), text),
                     "step_time, tokens_per_second, mfu and peak_memory can be judged");
  }
  return {gate, text};
}

std::string failure(const ReviewGate& gate, const planner::Review& review, int devices) {
  if (!review.estimate || review.violation) return "";
  if (!gate.gate) {
    const bool sure = review.estimate->memory_fit != MemoryFit::uncertain;
    return sure ? "" : "it is uncertain whether the launch fits";
  }
  planner::PlanDiff diff;
  diff.after = quantities_of(*review.estimate, devices);
  if (!review.better.empty()) {
    diff.before = quantities_of(review.better.front().estimate, devices);
    diff.winner_changes = true;
    if (!gate.gate->quantity) return "a faster layout was found";
  }
  return planner::failure(*gate.gate, diff);
}

}  // namespace meshwright::app
