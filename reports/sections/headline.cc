// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "planner/search/capacity.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/base/spread.h"
#include "sim/hardware/device.h"
#include "sim/layout/short_name.h"
#include "sim/step/step_interval.h"

namespace meshwright::reports {
namespace {

constexpr double kTightMemory =
    0.05;  // share of the capacity; a fragmented allocator loses as much

double tokens_per_step(const Job& job) {
  return static_cast<double>(job.global_batch_size) * job.seq_length;
}

// Nothing where the job does not say how many tokens.
std::optional<planner::Capacity> training(const planner::Plan& plan, const Estimate& best) {
  return planner::capacity(plan.job, plan.cluster, best.step_time);
}

// Layouts that the prediction cannot tell from the best one: what all layouts have in common does
// not count, what each of the two misses for itself does.
int contenders(const planner::Plan& plan) {
  const double own = step_spread(plan.cluster, plan.model.moe.has_value()).between_layouts;
  const Seconds limit =
      plan.ranked.front().step_time * std::exp(kIntervalDeviations * std::sqrt(2.0) * own);
  return static_cast<int>(std::count_if(plan.ranked.begin() + 1, plan.ranked.end(),
                                        [&](const Estimate& e) { return e.step_time < limit; }));
}

std::string no_layout_verdict(const planner::Plan& plan) {
  std::string text = fmt::format(
      "No layout of {} fits {} GPUs of {}: all {} layouts were rejected.", plan.model.name,
      plan.cluster.num_gpus(), plan.cluster.name, count_text(plan.statistics.enumerated));
  const bool near = !plan.closest.empty();
  if (!near && plan.rejections.empty()) return text;
  const planner::Rejection& miss = near ? plan.closest.front() : plan.rejections.front();
  text += fmt::format(" {}: {}.", near ? "The nearest miss" : "The most frequent reason",
                      miss.sentence);
  if (!miss.smallest_change.empty()) {
    text += fmt::format(" The smallest change that would admit one: {}.", miss.smallest_change);
  }
  return text;
}

std::string verdict(const planner::Plan& plan) {
  if (plan.ranked.empty()) return no_layout_verdict(plan);
  const Estimate& best = plan.ranked.front();
  std::string text = fmt::format(
      "Run {} as {} on {} x {} ({}): a step of {} tokens takes {} (90 % interval {} to {}), {} "
      "tokens/s per GPU at {} MFU, and the fullest GPU holds {} of {}.",
      plan.model.name, brief_name(best.layout), count_text(world_size(best.layout)),
      plan.cluster.device.name, plan.cluster.name, si_text(tokens_per_step(plan.job)),
      seconds_text(best.step_time), seconds_text(best.step_time_low),
      seconds_text(best.step_time_high), significant(best.tokens_per_second_per_gpu),
      percent_text(best.model_flops_utilization), memory_text(best.peak_memory()),
      memory_text(plan.cluster.device.memory));
  if (const auto t = training(plan, best)) {
    text += fmt::format(" {} tokens take {}, {} GPU-hours.", si_text(*plan.job.train_tokens),
                        duration_text(t->train_time), si_text(t->gpu_hours));
  }
  return text;
}

std::string_view provenance_sentence(Provenance provenance) {
  switch (provenance) {
    case Provenance::measured:
    case Provenance::interpolated:
      return "Every part of the step that matters was measured on this kind of machine, or lies "
             "between measurements.";
    case Provenance::fitted:
      return "Every part of the step that matters was measured on this kind of machine or fitted "
             "to its measurements.";
    case Provenance::extrapolated:
      return "Part of the step lies beyond what was measured and is extrapolated.";
    case Provenance::datasheet:
      return "Part of the step rests on datasheet numbers, not on measurements: calibrate on this "
             "machine before deciding.";
    case Provenance::assumed:
      break;
  }
  return "Part of the step rests on an assumption, not on a measurement or a datasheet: see the "
         "terms below.";
}

std::string trials_sentence(const planner::Validation* validation) {
  if (validation == nullptr || validation->layouts.empty()) return "";
  const std::size_t runs = validation->layouts.size();
  return fmt::format(" {} {} really run: predictions missed by {} in the median, {} at worst.",
                     runs, runs == 1 ? "layout was" : "layouts were",
                     percent_text(validation->median_absolute_error),
                     percent_text(validation->worst_absolute_error));
}

std::string confidence(const planner::Plan& plan, const planner::Validation* validation) {
  if (plan.ranked.empty()) return "";
  std::string text(provenance_sentence(plan.ranked.front().provenance));
  text += trials_sentence(validation);
  const Estimate& best = plan.ranked.front();
  const Bytes capacity = plan.cluster.device.memory;
  if (capacity - best.peak_memory() < capacity * kTightMemory) {
    text += fmt::format(" Memory is tight: {} of {} are free.",
                        memory_text(capacity - best.peak_memory()), memory_text(capacity));
  }
  const int close = contenders(plan);
  if (close > 0) {
    text += fmt::format(
        " {} of the {} next layouts {} too close to the winner for the model to tell them "
        "apart, so a trial must decide between them.",
        close, plan.ranked.size() - 1, close == 1 ? "is" : "are");
  }
  return text;
}

Json tile(std::string_view id, std::string_view label, std::string value, std::string detail) {
  return {{"id", id}, {"label", label}, {"value", std::move(value)}, {"detail", std::move(detail)}};
}

Json tiles(const planner::Plan& plan) {
  const Estimate& best = plan.ranked.front();
  const Bytes capacity = plan.cluster.device.memory;
  const Bytes free = capacity - best.peak_memory();
  Json json = Json::array();
  json.push_back(
      tile("layout", "Layout", brief_name(best.layout),
           fmt::format("{} GPUs in {} {}, {} micro-batches a step",
                       count_text(world_size(best.layout)), count_text(plan.cluster.num_nodes),
                       plan.cluster.num_nodes == 1 ? "node" : "nodes",
                       num_micro_batches(plan.job.global_batch_size, best.layout))));
  json.push_back(tile("step_time", "Step time", seconds_text(best.step_time),
                      fmt::format("{} to {} (90 % interval)", seconds_text(best.step_time_low),
                                  seconds_text(best.step_time_high))));
  json.push_back(
      tile("throughput", "Throughput",
           fmt::format("{} tokens/s/GPU", significant(best.tokens_per_second_per_gpu)),
           fmt::format("{} MFU, {} tokens/s in all", percent_text(best.model_flops_utilization),
                       si_text(best.tokens_per_second_per_gpu * world_size(best.layout)))));
  json.push_back(
      tile("memory", "Memory headroom", memory_text(free),
           fmt::format("{} of {} used ({})", memory_text(best.peak_memory()), memory_text(capacity),
                       percent_text(best.peak_memory() / capacity))));
  if (const auto t = training(plan, best)) {
    std::string detail = fmt::format("{} GPU-hours for {} tokens", si_text(t->gpu_hours),
                                     si_text(*plan.job.train_tokens));
    if (t->cost) {
      detail += fmt::format(", {} at {} a GPU-hour", si_text(*t->cost),
                            significant(*plan.cluster.price_per_gpu_hour, 3));
    }
    json.push_back(tile("training", "Time to train", duration_text(t->train_time), detail));
  }
  return json;
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
  const Bytes capacity = plan.cluster.device.memory;
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
            {"provenance_shares", provenance_shares(best)},
            {"layouts_within_interval", contenders(plan)}};
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

Json headline_section(const planner::Plan& plan, const planner::Validation* validation) {
  Json json{{"title", fmt::format("{} on {} GPUs: {}", plan.model.name,
                                  count_text(plan.cluster.num_gpus()), plan.cluster.name)},
            {"verdict", verdict(plan)},
            {"confidence", confidence(plan, validation)}};
  json["tiles"] = plan.ranked.empty() ? Json::array() : tiles(plan);
  json["summary"] = plan.ranked.empty() ? Json() : summary(plan);
  return json;
}

}  // namespace meshwright::reports
