// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "planner/search/training_cost.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/base/spread.h"
#include "sim/hardware/device.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"
#include "sim/step/step_interval.h"

namespace meshwright::reports {
namespace {

double tokens_per_step(const Job& job) {
  return static_cast<double>(job.global_batch_size) * job.seq_length;
}

// Nothing where the job does not say how many tokens.
std::optional<planner::TrainingCost> training(const planner::Plan& plan, const Estimate& best) {
  return planner::training_cost(plan.job, plan.cluster, best.step_time);
}

// Share of the step by where its numbers came from.
Json provenance_shares(const Estimate& best) {
  Json json = Json::object();
  for (const auto& entry : kProvenanceNames) {
    Seconds time;
    for (const Term& term : best.terms) {
      if (term.cost.provenance == entry.value) time += term.cost.time;
    }
    json[std::string(entry.name)] = best.step_time.value() > 0.0 ? time / best.step_time : 0.0;
  }
  return json;
}

Json summary(const planner::Plan& plan) {
  const Estimate& best = plan.ranked.front();
  const Bytes capacity = only_device(plan.cluster).memory;
  Json json{{"layout", to_json(best.layout)},
            {"short_name", short_name(best.layout)},
            {"gpus", world_size(best.layout)},
            {"tokens_per_step", tokens_per_step(plan.job)},
            {"step_time_seconds", best.step_time.value()},
            {"step_time_low_seconds", best.step_time_low.value()},
            {"step_time_high_seconds", best.step_time_high.value()},
            {"interval_regime", name_of(best.interval_regime)},
            {"interval_narrowed_by", best.narrowed_by},
            {"tokens_per_second_per_gpu", best.tokens_per_second_per_gpu},
            {"model_flops_utilization", best.model_flops_utilization},
            {"peak_memory_bytes", best.peak_memory().value()},
            {"memory_capacity_bytes", capacity.value()},
            {"memory_headroom", 1.0 - best.peak_memory() / capacity},
            {"provenance", name_of(best.provenance)},
            {"provenance_shares", provenance_shares(best)}};
  if (const auto t = training(plan, best)) {
    json["train_tokens"] = *plan.job.train_tokens;
    json["train_seconds"] = t->train_time.value();
    json["gpu_hours"] = t->gpu_hours;
    if (t->cost) json["cost"] = *t->cost;
  }
  return json;
}

}  // namespace

std::string spoken(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string title_text(const planner::Plan& plan) {
  return fmt::format("{} on {} {}: {}", plan.model.name, count_text(plan.cluster.num_gpus()),
                     device_noun(plan.cluster, plan.cluster.num_gpus()), plan.cluster.name);
}

Json summary_section(const ReportContents& contents) {
  return contents.plan.ranked.empty() ? Json() : summary(contents.plan);
}

}  // namespace meshwright::reports
