// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/scaling_bend.h"

#include <algorithm>
#include <array>

#include "sim/step/terms.h"

namespace meshwright::planner {
namespace {

constexpr std::size_t kParts = kNumTerms + 1;  // the last is lost time

// GPU-seconds a token, by part, over the whole run.
std::array<double, kParts> parts_of(const CapacityRow& row) {
  std::array<double, kParts> parts{};
  double tokens = 0.0;
  for (const CapacityPhase& phase : row.phases) {
    tokens += phase.tokens;
    for (std::size_t k = 0; k < phase.estimate.terms.size(); ++k) {
      parts[k] += phase.estimate.terms[k].cost.time.value() * phase.steps;
    }
  }
  parts.back() = (row.run.time.elapsed - row.run.time.productive).value();
  for (double& part : parts) part *= row.gpus / tokens;
  return parts;
}

std::string name_of_part(std::size_t part) {
  if (part + 1 == kParts) return "lost_time";
  return std::string(name_of(static_cast<TermKind>(part)));
}

ScalingStep step_between(const std::vector<CapacityRow>& rows, std::size_t from, std::size_t to) {
  ScalingStep step{.from = from, .to = to};
  const CapacityRow& less = rows[from];
  const CapacityRow& more = rows[to];
  const double speed = less.run.time.elapsed / more.run.time.elapsed - 1.0;
  step.gain = speed / (static_cast<double>(more.gpus) / less.gpus - 1.0);
  const auto before = parts_of(less);
  const auto after = parts_of(more);
  double grown = 0.0;
  double most = 0.0;
  for (std::size_t k = 0; k < kParts; ++k) {
    const double growth = after[k] - before[k];
    grown += std::max(0.0, growth);
    if (growth <= most) continue;
    most = growth;
    step.term = name_of_part(k);
  }
  if (grown > 0.0) step.share_of_growth = most / grown;
  return step;
}

}  // namespace

std::vector<ScalingSeries> scaling_series(const std::vector<CapacityRow>& rows) {
  std::vector<ScalingSeries> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].fits() || rows[i].between) continue;
    auto mine = std::find_if(all.begin(), all.end(), [&](const ScalingSeries& series) {
      return series.cluster_case == rows[i].cluster_case && series.scheduled == rows[i].scheduled &&
             series.global_batch_size == rows[i].stated_batch_size;
    });
    if (mine == all.end()) {
      all.push_back({.cluster_case = rows[i].cluster_case,
                     .global_batch_size = rows[i].stated_batch_size,
                     .scheduled = rows[i].scheduled});
      mine = all.end() - 1;
    }
    mine->rows.push_back(i);
  }
  for (ScalingSeries& series : all) {
    std::sort(series.rows.begin(), series.rows.end(),
              [&](std::size_t a, std::size_t b) { return rows[a].gpus < rows[b].gpus; });
    for (std::size_t i = 1; i < series.rows.size(); ++i) {
      series.steps.push_back(step_between(rows, series.rows[i - 1], series.rows[i]));
      if (!series.bend && series.steps.back().gain < kBendGain) series.bend = i - 1;
    }
  }
  return all;
}

}  // namespace meshwright::planner
