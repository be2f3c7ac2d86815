// SPDX-License-Identifier: Apache-2.0
// The best layout's numbers, and what the report is called.
#include <fmt/format.h>

#include "planner/search/training_cost.h"
#include "reports/sections/first_screen.h"
#include "reports/sections/ranking.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/json/input_records.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {

const Record<Summary>& summary_record() {
  return described([](Record<Summary>& r) {
    using R = Summary;
    r.about("The best layout's numbers.");
    r.row<&R::layout>(layout_record);
    r.derived<std::string>("short_name", kind::text(), "",
                           [](const R& summary) { return short_name(summary.layout); });
    r.rows<&R::gpus, &R::tokens_per_step, &R::step_time, &R::step_time_low, &R::step_time_high>();
    r.row<&R::interval_regime>(kIntervalRegimeNames);
    r.rows<&R::interval_narrowed_by, &R::tokens_per_second_per_gpu>();
    r.row<&R::model_flops_utilization>(kMfuConvention);
    r.rows<&R::peak_memory, &R::memory_capacity>();
    r.row<&R::memory_headroom>(kAnyNumber);
    r.row<&R::memory_fit>(kMemoryFitNames, "Whether it fits, with what the allocator reserves.");
    r.row<&R::provenance>(kProvenanceNames);
    r.row<&R::provenance_shares>(kind::numbers_by_name(kNotNegative), "Of the step.");
    const auto stated = [&r](auto member, std::string_view key, const auto& value,
                             std::string_view about) {
      r.row(member, key, kind::optional(value), about);
      r.written_if([member](const R& summary) { return (summary.*member).has_value(); });
    };
    stated(&R::train_tokens, "train_tokens", kind::number(), "");
    stated(&R::train_time, "train_seconds", kind::base_amount<Seconds>(), "");
    stated(&R::gpu_hours, "gpu_hours", kind::number(), "");
    stated(
        &R::cost, "cost", kind::number(),
        "Steps x step time x GPUs x price; failures, checkpoints and spare nodes are not in it.");
    r.named("Summary").all_required();
  });
}

std::string title_of(const ReportContents& contents) {
  const Cluster& cluster = contents.plan.cluster;
  return fmt::format("{} on {} {}: {}", contents.plan.model.name, count_text(cluster.num_gpus()),
                     device_noun(cluster, cluster.num_gpus()), cluster.name);
}

std::optional<Summary> summary_of(const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  if (plan.ranked.empty()) return std::nullopt;
  const Estimate& best = plan.ranked.front();
  const Bytes capacity = only_device(plan.cluster).memory;
  Summary summary{
      .layout = best.layout,
      .gpus = world_size(best.layout),
      .tokens_per_step = static_cast<double>(plan.job.global_batch_size) * plan.job.seq_length,
      .step_time = best.step_time,
      .step_time_low = best.step_time_low,
      .step_time_high = best.step_time_high,
      .interval_regime = best.interval_regime,
      .interval_narrowed_by = best.narrowed_by,
      .tokens_per_second_per_gpu = best.tokens_per_second_per_gpu,
      .model_flops_utilization = best.model_flops_utilization,
      .peak_memory = best.peak_memory(),
      .memory_capacity = capacity,
      .memory_headroom = 1.0 - best.peak_memory() / capacity,
      .memory_fit = best.memory_fit,
      .provenance = best.provenance};
  for (const auto& [provenance, name] : kProvenanceNames) {
    summary.provenance_shares.emplace_back(name, share_of_step(best, provenance));
  }
  // Nothing where the job does not say how many tokens.
  if (const auto cost = planner::training_cost(plan.job, plan.cluster, best.step_time)) {
    summary.train_tokens = plan.job.train_tokens;
    summary.train_time = cost->train_time;
    summary.gpu_hours = cost->gpu_hours;
    summary.cost = cost->cost;
  }
  return summary;
}

}  // namespace meshwright::reports
