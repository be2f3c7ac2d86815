// SPDX-License-Identifier: Apache-2.0
// How sure the answer is, said once: of the trial where there is one, else of the plan's
// confidence, in which what all layouts have in common cancels. What it rests on, the network
// first, and what it leaves out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/questions/rank_map.h"
#include "planner/questions/what_if_parameter.h"
#include "planner/search/contenders.h"
#include "reports/json_at.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/base/text.h"

namespace meshwright::reports {
namespace {

constexpr double kTightMemory = 0.05;  // share of the capacity; a fragmented allocator loses it
constexpr double kLossThatMatters = 0.005;  // of a step, as the planner proposes runs

Json item(std::string_view id, std::string_view label, std::string text) {
  return {{"id", id}, {"label", label}, {"text", std::move(text)}};
}

std::string trial_text(const planner::Validation& v) {
  const std::size_t runs = v.layouts.size();
  std::string text =
      fmt::format("{} {} executed: predicted step times missed by {} in the median, {} at worst.",
                  runs, runs == 1 ? "layout was" : "layouts were",
                  percent_text(v.median_absolute_error), percent_text(v.worst_absolute_error));
  if (runs < 2) return text;
  text += v.regret <= 0.0
              ? " The one predicted fastest was the fastest."
              : fmt::format(" The one predicted fastest was {} slower than the fastest executed.",
                            percent_text(v.regret));
  const auto partly = std::count_if(v.layouts.begin(), v.layouts.end(),
                                    [](const auto& run) { return !run.observation.complete; });
  if (partly > 0) text += fmt::format(" {} of them ran in part only.", partly);
  return text;
}

std::string layout_text(const Json& confidence) {
  const std::size_t compared = part_at(confidence, "against").size() + 1;
  const double regret = number_at(confidence, "expected_regret");
  const std::string_view state = regret < kLossThatMatters ? "settled" : "open";
  return fmt::format(
      "{}. Expected loss against the fastest layout: {} of a step; with {} probability it is the "
      "fastest of {}.",
      state, percent_text(regret), percent_text(number_at(confidence, "probability_best")),
      compared);
}

std::string interval_percent_text(const Estimate& best) {
  return fmt::format(
      "{:+.0f} to {:+.0f} % at 90 %, mostly shared by all layouts and so no reason "
      "to choose another.",
      (best.step_time_low / best.step_time - 1.0) * 100.0,
      (best.step_time_high / best.step_time - 1.0) * 100.0);
}

std::string noise_text(const Json& noise) {
  int points = 0;
  int noisy = 0;
  for (const Json& kind : noise["kinds"]) {
    points += kind["num_points"].get<int>();
    noisy += kind["noisy"].get<int>();
  }
  if (noisy == 0) return "";
  return fmt::format("{} of {} calibrated points stayed noisy when measured again.",
                     count_text(noisy), count_text(points));
}

// The run-to-run spread of what was executed: the host's.
std::string host_noise_text(const planner::Validation& v) {
  double worst = 0.0;
  for (const planner::LayoutComparison& run : v.layouts) {
    const Observation& o = run.observation;
    if (o.step_time.value() <= 0.0 || o.step_time_p90.value() <= 0.0) continue;
    worst = std::max(worst, (o.step_time_p90 - o.step_time_p10) / o.step_time);
  }
  return worst > 0.0 ? fmt::format("Steps of one run are up to {} apart (10th to 90th percentile).",
                                   percent_text(worst))
                     : "";
}

// The input whose own spread moves the step most, of those that nobody measured.
std::string next_text(const Json& answers) {
  const Json& runs = part_at(part_at(answers, "confidence"), "proposed_runs");
  if (!runs.empty()) {
    std::string ranks;
    for (const Json& run : runs) {
      append_to_list(ranks, ", ", fmt::format("{:.0f}", number_at(run, "rank")));
    }
    return fmt::format("meshwright trial of ranks {} settles the choice.", ranks);
  }
  for (const Json& s : part_at(answers, "sensitivity")) {
    const std::string provenance = text_at(s, "provenance");
    if (provenance == "measured" || provenance == "interpolated") continue;
    return fmt::format("measure the {} ({}, \u00b1{:.0f} %): it moves the end most.",
                       text_at(s, "label"), provenance, number_at(s, "relative_spread") * 100.0);
  }
  return "";
}

void add_certainty(Json& items, Json one) {
  if (!one["text"].get_ref<const std::string&>().empty()) items.push_back(std::move(one));
}

// "inside a node", "between nodes": what the winner's groups use.
bool uses(const planner::RankMap& map, Tier tier) {
  return std::any_of(map.axes.begin(), map.axes.end(),
                     [tier](const planner::AxisPlace& axis) { return axis.tier == tier; });
}

bool counts(planner::WhatIfParameter parameter, const planner::RankMap& map,
            const planner::Plan& plan) {
  using enum planner::WhatIfParameter;
  if (parameter == inter_node_bandwidth || parameter == inter_node_latency) {
    return uses(map, Tier::inter_node);
  }
  if (parameter == intra_node_bandwidth) return uses(map, Tier::intra_node);
  if (parameter == attention_efficiency) {
    return plan.job.attention_kernel == AttentionKernel::flash &&
           !only_device(plan.cluster).attention.empty();
  }
  return true;
}

std::string source_of(planner::WhatIfParameter parameter, const Cluster& cluster) {
  using enum planner::WhatIfParameter;
  const bool network = parameter == inter_node_bandwidth || parameter == inter_node_latency ||
                       parameter == intra_node_bandwidth;
  return network ? cluster.source : only_device(cluster).source;
}

}  // namespace

Json certainty_section(const ReportContents& contents) {
  Json items = Json::array();
  const planner::Plan& plan = contents.plan;
  if (plan.ranked.empty()) return items;
  const Estimate& best = plan.ranked.front();
  const Json& answers = contents.answers;
  const bool tried = contents.validation && !contents.validation->layouts.empty();
  if (tried) add_certainty(items, item("trial", "Trial", trial_text(*contents.validation)));
  const Json& confidence = part_at(answers, "confidence");
  const bool asked = !part_at(confidence, "against").empty();
  if (asked && !tried) add_certainty(items, item("layout", "Layout", layout_text(confidence)));
  add_certainty(items, item("time", "Time", interval_percent_text(best)));
  const Json noise = noise_section(contents.profile);
  if (noise.is_object())
    add_certainty(items, item("calibration_noise", "Noise", noise_text(noise)));
  if (tried)
    add_certainty(items, item("host_noise", "Host", host_noise_text(*contents.validation)));
  const Bytes capacity = only_device(plan.cluster).memory;
  if (capacity - best.peak_memory() < capacity * kTightMemory) {
    add_certainty(items, item("memory", "Memory",
                              fmt::format("tight: {} of {} are free.",
                                          memory_text(capacity - best.peak_memory()),
                                          memory_text(capacity))));
  }
  add_certainty(items, item("next", "Next", next_text(answers)));
  return items;
}

Json rests_on_section(const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  Json json = Json::array();
  if (plan.ranked.empty()) return json;
  using enum planner::WhatIfParameter;
  static constexpr std::array kInputs{
      inter_node_bandwidth, inter_node_latency, intra_node_bandwidth, gemm_efficiency,
      attention_efficiency, memory_bandwidth,   overlap_slowdown};
  const Scenario scenario = plan;
  const planner::RankMap map = planner::rank_map(plan.ranked.front(), plan.cluster);
  for (const planner::WhatIfParameter input : kInputs) {
    if (!counts(input, map, plan)) continue;
    const planner::WhatIfParameterText& words = planner::text_of(input);
    json.push_back({{"parameter", words.name},
                    {"label", words.label},
                    {"unit", words.unit},
                    {"value", planner::value_of(input, scenario)},
                    {"provenance", name_of(planner::provenance_of(input, scenario))},
                    {"relative_spread", planner::relative_spread(input, scenario)},
                    {"source", source_of(input, plan.cluster)}});
  }
  return json;
}

Json left_out_section(const ReportContents& contents) {
  if (contents.plan.ranked.empty()) return Json::array();
  std::string unknown;
  for (const Json& what : part_at(contents.capacity, "not_included")) {
    if (what.is_string()) append_to_list(unknown, "; ", what.get<std::string>());
  }
  if (unknown.empty()) return Json::array();
  return Json::array({fmt::format("Not modelled: {}.", unknown)});
}

}  // namespace meshwright::reports
