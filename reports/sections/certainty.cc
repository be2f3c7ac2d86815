// SPDX-License-Identifier: Apache-2.0
// Certainty of the answer, stated once. It is that of the trial, if there is one, else the plan's
// confidence, in which errors common to all layouts cancel. Its inputs follow, the network first,
// and the effects that it does not include.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/questions/rank_map.h"
#include "planner/questions/what_if_parameter.h"
#include "planner/search/contenders.h"
#include "reports/sections/first_screen.h"
#include "reports/text/memory_fit_text.h"
#include "reports/text/text.h"
#include "sim/base/text.h"

namespace meshwright::reports {
namespace {

constexpr double kTightMemory = 0.05;  // share of the capacity; a fragmented allocator loses it

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

std::string interval_percent_text(const Estimate& best) {
  return fmt::format(
      "{:+.0f} to {:+.0f} % (90 % interval). Most of this error is common to all layouts and does "
      "not change the ranking.",
      (best.step_time_low / best.step_time - 1.0) * 100.0,
      (best.step_time_high / best.step_time - 1.0) * 100.0);
}

std::string noise_text(const NoisePart& noise) {
  std::int64_t points = 0;
  int noisy = 0;
  for (const NoiseOfKind& kind : noise.kinds) {
    points += kind.num_points;
    noisy += kind.noisy;
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

// The runs that settle the choice, else the input whose own spread moves the step most, of those
// that nobody measured.
std::string next_text(const Answers& answers) {
  if (answers.confidence && !answers.confidence->proposed_runs.empty()) {
    std::string ranks;
    for (const ProposedRunFacts& run : answers.confidence->proposed_runs) {
      append_to_list(ranks, ", ", fmt::format("{}", run.rank));
    }
    return fmt::format("run layouts {} with meshwright trial to decide between them.", ranks);
  }
  for (const SensitivityFacts& s : answers.sensitivity) {
    if (s.provenance == Provenance::measured || s.provenance == Provenance::interpolated) continue;
    return fmt::format("measure the {} ({}, \u00b1{:.0f} %): it moves the end most.",
                       planner::text_of(s.parameter).label, name_of(s.provenance),
                       s.relative_spread * 100.0);
  }
  return "";
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

const Record<CertaintyItem>& certainty_item_record() {
  return described([](Record<CertaintyItem>& r) {
    using R = CertaintyItem;
    r.about("How sure the answer is: one statement.");
    r.row<&R::id>(
        "What it is about: trial, layout, time, calibration_noise, host_noise, memory, next.");
    r.rows<&R::label, &R::text>();
    r.named("CertaintyItem").all_required();
  });
}

const Record<RestsOn>& rests_on_record() {
  return described([](Record<RestsOn>& r) {
    using R = RestsOn;
    r.about("An input that the best layout uses.");
    r.rows<&R::parameter, &R::label>();
    r.row<&R::unit>("Empty: a share.");
    r.row<&R::value>(kAnyNumber);
    r.row<&R::provenance>(kProvenanceNames);
    r.row<&R::relative_spread>("One standard deviation.");
    r.row<&R::source>();
    r.named("RestsOn").all_required();
  });
}

std::vector<CertaintyItem> certainty_of(const ReportContents& contents,
                                        const std::optional<NoisePart>& noise) {
  std::vector<CertaintyItem> items;
  const planner::Plan& plan = contents.plan;
  if (plan.ranked.empty()) return items;
  const auto add = [&items](std::string_view id, std::string_view label, std::string text) {
    if (!text.empty()) items.push_back({std::string(id), std::string(label), std::move(text)});
  };
  const Estimate& best = plan.ranked.front();
  const Answers answers = contents.answers.value_or(Answers{});
  const bool tried = contents.validation && !contents.validation->layouts.empty();
  const bool asked = answers.confidence && !answers.confidence->against.empty();
  if (tried) add("trial", "Trial", trial_text(*contents.validation));
  if (asked && !tried) add("layout", "Layout", answers.confidence->sentence);
  add("time", "Time", interval_percent_text(best));
  if (noise) add("calibration_noise", "Noise", noise_text(*noise));
  if (tried) add("host_noise", "Host", host_noise_text(*contents.validation));
  const Bytes capacity = only_device(plan.cluster).memory;
  const Bytes free = capacity - best.peak_memory();
  const std::string doubt = doubt_text(best, plan.cluster);
  if (free < capacity * kTightMemory || !doubt.empty()) {
    add("memory", "Memory",
        fmt::format("tight: {} of {} are free.{}", memory_text(free), memory_text(capacity),
                    doubt));
  }
  add("next", "Next", next_text(answers));
  return items;
}

std::vector<RestsOn> rests_on_of(const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  std::vector<RestsOn> inputs;
  if (plan.ranked.empty()) return inputs;
  using enum planner::WhatIfParameter;
  static constexpr std::array kInputs{
      inter_node_bandwidth, inter_node_latency, intra_node_bandwidth, gemm_efficiency,
      attention_efficiency, memory_bandwidth,   overlap_slowdown};
  const planner::RankMap map = planner::rank_map(plan.ranked.front(), plan.cluster);
  for (const planner::WhatIfParameter input : kInputs) {
    if (!counts(input, map, plan)) continue;
    const planner::WhatIfParameterText& words = planner::text_of(input);
    inputs.push_back({.parameter = std::string(words.name),
                      .label = std::string(words.label),
                      .unit = std::string(words.unit),
                      .value = planner::value_of(input, plan),
                      .provenance = planner::provenance_of(input, plan),
                      .relative_spread = planner::relative_spread(input, plan),
                      .source = source_of(input, plan.cluster)});
  }
  return inputs;
}

std::vector<std::string> left_out_of(const ReportContents& contents) {
  std::string unknown;
  for (const std::string& what : contents.capacity.not_included) {
    append_to_list(unknown, "; ", what);
  }
  if (contents.plan.ranked.empty() || unknown.empty()) return {};
  return {fmt::format("Not modelled: {}.", unknown)};
}

}  // namespace meshwright::reports
