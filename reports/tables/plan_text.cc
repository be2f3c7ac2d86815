// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/plan_text.h"

#include <fmt/format.h>

#include "reports/text/capacity_text.h"
#include "reports/text/memory_fit_text.h"
#include "reports/text/text.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

bool is_compute(TermKind kind) {
  return kind == TermKind::forward_compute || kind == TermKind::backward_compute;
}

// "Compute takes 90.6 % of the step. The largest other part is recompute (2.8 %)."
std::string limit_text(const Estimate& estimate) {
  Seconds compute;
  const Term* largest = nullptr;
  for (const Term& term : estimate.terms) {
    if (is_compute(term.kind)) {
      compute += term.cost.time;
    } else if (largest == nullptr || term.cost.time > largest->cost.time) {
      largest = &term;
    }
  }
  std::string text =
      fmt::format("Compute takes {} of the step.", percent_text(compute / estimate.step_time));
  if (largest == nullptr || largest->cost.time.value() == 0.0) return text;
  return text + fmt::format(" The next largest part is {} ({}).", spoken(name_of(largest->kind)),
                            percent_text(largest->cost.time / estimate.step_time));
}

}  // namespace

std::string winner_text(const planner::Plan& plan) {
  const Estimate& best = plan.ranked.front();
  return fmt::format("The best layout is {}: {} s per step (90 % interval: {} to {} s).{}",
                     brief_name(best.layout), number_text(best.step_time.value()),
                     number_text(best.step_time_low.value()),
                     number_text(best.step_time_high.value()), doubt_text(best, plan.cluster));
}

std::string winner_limits_text(const planner::Plan& plan) {
  const Estimate& best = plan.ranked.front();
  const Bytes memory = only_device(plan.cluster).memory;
  return fmt::format("MFU is {}, throughput {} tokens/s per {}. Memory use is {} of {} ({}).\n{}",
                     percent_text(best.model_flops_utilization),
                     number_text(best.tokens_per_second_per_gpu), device_noun(plan.cluster),
                     memory_text(best.peak_memory()), memory_text(memory),
                     percent_text(best.peak_memory() / memory), limit_text(best));
}

std::string rejection_text(const planner::Rejection& rejection) {
  std::string text =
      fmt::format("{} ({} {}): {}.", rule_text(rejection.rule).name, count_text(rejection.count),
                  rejection.count == 1 ? "layout" : "layouts", rejection.sentence);
  if (rejection.smallest_change.empty()) return text;
  return text + fmt::format(" It becomes valid with {}.", rejection.smallest_change);
}

}  // namespace meshwright::reports
