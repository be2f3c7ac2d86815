// SPDX-License-Identifier: Apache-2.0
// What a capacity review decides on: the verdict over the rows of the capacity answer, and how the
// recommended layout runs.
#include <fmt/format.h>

#include <cmath>

#include "reports/sections/first_screen.h"
#include "reports/text/memory_fit_text.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

// Names a row that the search found, and never one that only a rule would allow.
std::string found_elsewhere(const Capacity& capacity, const Cluster& cluster) {
  for (const CapacityRow& row : capacity.rows) {
    if (!row.fits) continue;
    return fmt::format(
        " The smallest count with a layout that fits is {} {}: {}. A step takes {}, and {} tokens "
        "take {} days. It fits, but it is no plan.",
        count_text(row.gpus), device_noun(cluster, row.gpus), row.layout,
        seconds_text(row.step.mid), si_text(capacity.train_tokens),
        count_text(std::llround(row.days.p50)));
  }
  if (capacity.rows.empty()) return "";
  const int most = capacity.rows.back().gpus;
  return fmt::format(" No layout fits up to {} {} either.", count_text(most),
                     device_noun(cluster, most));
}

std::string no_layout_verdict(const planner::Plan& plan, const Capacity& capacity) {
  std::string text = fmt::format("No layout of {} fits {} {} of {}: all {} layouts were rejected.",
                                 plan.model.name, count_text(plan.cluster.num_gpus()),
                                 device_noun(plan.cluster, plan.cluster.num_gpus()),
                                 plan.cluster.name, count_text(plan.statistics.enumerated));
  const bool near = !plan.closest.empty();
  if (near || !plan.rejections.empty()) {
    const planner::Rejection& miss = near ? plan.closest.front() : plan.rejections.front();
    text += fmt::format(" {}: {}.", near ? "The nearest miss" : "The most frequent reason",
                        miss.sentence);
  }
  return text + found_elsewhere(capacity, plan.cluster);
}

// Describes the run of the recommended row.
std::string recommendation(const planner::Plan& plan) {
  const Estimate& best = plan.ranked.front();
  const double tokens = static_cast<double>(plan.job.global_batch_size) * plan.job.seq_length;
  return fmt::format(
      "The sections below describe {} as {} on {} x {}. A step of {} tokens takes {} (90 % "
      "interval: {} to {}) at {} MFU. The {} with the highest memory use holds {} of {}.{}",
      plan.model.name, brief_name(best.layout), count_text(world_size(best.layout)),
      only_device(plan.cluster).name, si_text(tokens), seconds_text(best.step_time),
      seconds_text(best.step_time_low), seconds_text(best.step_time_high),
      percent_text(best.model_flops_utilization), device_noun(plan.cluster),
      memory_text(best.peak_memory()), memory_text(only_device(plan.cluster).memory),
      doubt_text(best, plan.cluster));
}

std::string subject(const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  std::string text = plan.model.name;
  if (plan.job.train_tokens) text += fmt::format(" · {} tokens", si_text(*plan.job.train_tokens));
  text += " · " + plan.cluster.name;
  if (contents.capacity.start) text += " · from " + *contents.capacity.start;
  if (plan.cluster.price_per_gpu_hour) {
    text += fmt::format(" · {} per {}-hour", significant(*plan.cluster.price_per_gpu_hour, 3),
                        device_noun(plan.cluster));
  }
  return text;
}

}  // namespace

const Record<Decision>& decision_record() {
  return described([](Record<Decision>& r) {
    using R = Decision;
    r.about("What the review decides on; the rows of its table are those of \"capacity\".");
    r.row<&R::subject>("Model, tokens, cluster, price.");
    r.row<&R::train_tokens>();
    r.row<&R::tokens_are_the_jobs>(
        "False: the job says no train_tokens, and a round number stands for them.");
    r.row<&R::price_per_gpu_hour>(nullable());
    r.row<&R::currency>("Of the prices; empty: not stated.");
    r.row<&R::range>("What the low and high ends of time and cost mean.");
    r.row<&R::verdict>();
    r.row<&R::recommendation>("How the best layout runs.");
    r.named("Decision").all_required();
  });
}

Decision decision_of(const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  const Capacity& capacity = contents.capacity;
  const bool fits = !plan.ranked.empty();
  return {.subject = subject(contents),
          .train_tokens = capacity.train_tokens,
          .tokens_are_the_jobs = plan.job.train_tokens.has_value(),
          .price_per_gpu_hour = plan.cluster.price_per_gpu_hour,
          .currency = capacity.currency(),
          .range = "P10-P90",
          .verdict = fits ? capacity.headline : no_layout_verdict(plan, capacity),
          .recommendation = fits ? recommendation(plan) : ""};
}

}  // namespace meshwright::reports
