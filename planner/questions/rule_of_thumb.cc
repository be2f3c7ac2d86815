// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/rule_of_thumb.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/number_text.h"
#include "sim/block/parameters.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

constexpr std::array kDense{
    RuleOfThumbRow{.name = "dense below 1B", .parameters = 1e9},
    RuleOfThumbRow{.name = "dense 1-10B", .parameters = 10e9, .tensor = {2, 4}},
    RuleOfThumbRow{
        .name = "dense 10-70B", .parameters = 70e9, .tensor = {4, 8}, .pipeline = {2, 4}},
    RuleOfThumbRow{
        .name = "dense 70-175B", .parameters = 175e9, .tensor = {8, 8}, .pipeline = {4, 8}},
    RuleOfThumbRow{.name = "dense 175-500B",
                   .parameters = 500e9,
                   .tensor = {8, 8},
                   .pipeline = {8, 16},
                   .context = 2}};

constexpr RuleOfThumbRow experts(std::string_view name, double parameters, double active,
                                 int tensor, int pipeline, int expert, int context = 1) {
  return {name, parameters, active, {tensor, tensor}, {pipeline, pipeline}, context, expert};
}
constexpr std::array kExperts{experts("OLMoE 7B", 7e9, 1e9, 1, 1, 8),
                              experts("Moonlight 16B", 16e9, 3e9, 2, 1, 8),
                              experts("DeepSeek-V2 236B", 236e9, 21e9, 1, 4, 32),
                              experts("GLM-4.5 Air 106B", 106e9, 12e9, 1, 4, 8),
                              experts("Qwen3 30B-A3B", 30e9, 3e9, 4, 2, 4),
                              experts("GLM-4.5 355B", 355e9, 32e9, 2, 8, 16),
                              experts("Qwen3 235B-A22B", 235e9, 22e9, 4, 16, 8, 2),
                              experts("DeepSeek-V3 671B", 671e9, 37e9, 2, 16, 64),
                              experts("Kimi-K2 1T", 1e12, 32e9, 2, 16, 32)};

constexpr auto kRows = [] {
  std::array<RuleOfThumbRow, kDense.size() + kExperts.size()> rows{};
  std::copy(kDense.begin(), kDense.end(), rows.begin());
  std::copy(kExperts.begin(), kExperts.end(), rows.begin() + kDense.size());
  return rows;
}();
constexpr std::span<const RuleOfThumbRow> kDenseRows(kRows.data(), kDense.size());
constexpr std::span<const RuleOfThumbRow> kExpertRows(kRows.data() + kDense.size(),
                                                      kExperts.size());

std::vector<int> powers_of_two_in(SizeRange range) {
  std::vector<int> sizes;
  for (int size = 1; size <= range.high; size *= 2) {
    if (size >= range.low) sizes.push_back(size);
  }
  return sizes;
}

std::string text_of(SizeRange range) {
  return range.low == range.high ? std::to_string(range.low)
                                 : fmt::format("{} to {}", range.low, range.high);
}

std::string why_no_layout(const Plan& plan, const std::string& sizes) {
  if (plan.statistics.enumerated == 0) {
    return fmt::format("{} do not divide {} {}", sizes, plan.cluster.num_gpus(),
                       device_noun(plan.cluster, plan.cluster.num_gpus()));
  }
  if (!plan.closest.empty()) return plan.closest.front().sentence;
  return plan.rejections.empty() ? "no layout runs" : plan.rejections.front().sentence;
}

}  // namespace

const RuleOfThumbRow& rule_of_thumb_row(const Model& model) {
  const auto parameters = static_cast<double>(total_parameters(model));
  if (!model.moe) {
    const auto row =
        std::find_if(kDenseRows.begin(), kDenseRows.end(),
                     [&](const RuleOfThumbRow& r) { return parameters <= r.parameters; });
    return row == kDenseRows.end() ? kDenseRows.back() : *row;
  }
  const auto active = static_cast<double>(active_parameters(model));
  const auto distance = [&](const RuleOfThumbRow& row) {
    return std::abs(std::log(parameters / row.parameters)) +
           std::abs(std::log(active / row.active_parameters));
  };
  return *std::min_element(
      kExpertRows.begin(), kExpertRows.end(),
      [&](const RuleOfThumbRow& a, const RuleOfThumbRow& b) { return distance(a) < distance(b); });
}

SizeRange rule_of_thumb_context(int seq_length) {
  constexpr int kKi = 1024;
  if (seq_length <= 8 * kKi) return {1, 1};
  if (seq_length <= 32 * kKi) return {2, 2};
  return {4, 8};
}

RuleOfThumb rule_of_thumb(const Scenario& scenario, const SearchOptions& search_options) {
  RuleOfThumb rule;
  rule.row = &rule_of_thumb_row(scenario.model);
  SizeRange context = rule_of_thumb_context(scenario.job.seq_length);
  context = {std::max(context.low, rule.row->context), std::max(context.high, rule.row->context)};
  rule.sizes = fmt::format("tp {}, pp {}", text_of(rule.row->tensor), text_of(rule.row->pipeline));
  if (context.high > 1) rule.sizes += ", cp " + text_of(context);
  if (scenario.model.moe) rule.sizes += fmt::format(", ep {}", rule.row->expert);
  SearchOptions options = search_options;
  options.top = 1;
  options.space[&Layout::tensor_parallel_size] = powers_of_two_in(rule.row->tensor);
  options.space[&Layout::pipeline_parallel_size] = powers_of_two_in(rule.row->pipeline);
  options.space[&Layout::context_parallel_size] = powers_of_two_in(context);
  options.space[&Layout::expert_parallel_size] = {rule.row->expert};
  Plan plan = search(scenario, options);
  if (plan.ranked.empty()) {
    rule.reason = why_no_layout(plan, rule.sizes);
  } else {
    rule.estimate = std::move(plan.ranked.front());
  }
  return rule;
}

std::string sentence_of(const RuleOfThumb& rule, const Estimate& winner) {
  const std::string who =
      fmt::format("NVIDIA's rule of thumb (row \"{}\") is {}", rule.row->name, rule.sizes);
  if (!rule.estimate) return fmt::format("{}. It cannot run here: {}.", who, rule.reason);
  const Estimate& e = *rule.estimate;
  const double difference = e.step_time / winner.step_time - 1.0;
  const std::string beside =
      e.layout == winner.layout
          ? "it is layout #1"
          : fmt::format("{} % {} than layout #1", number_text(100.0 * std::abs(difference), 2),
                        difference >= 0.0 ? "longer" : "shorter");
  return fmt::format("{}. The best layout with these sizes is {}: {} s per step ({}) and {} GiB.",
                     who, brief_name(e.layout), number_text(e.step_time.value()), beside,
                     number_text(in_gibibytes(e.peak_memory()), 3));
}

}  // namespace meshwright::planner
