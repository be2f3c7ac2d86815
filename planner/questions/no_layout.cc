// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/no_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <set>

#include "planner/search/search_layouts.h"
#include "planner/search/space.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/hardware/node_count.h"

namespace meshwright::planner {
namespace {

constexpr int kTriesOnASide = 8;
constexpr std::int64_t kMostGpusTried = 10'000'000;

bool finds_a_layout(const Scenario& scenario, const SearchOptions& search) {
  const Bytes limit = only_device(scenario.cluster).memory * (1.0 - search.memory_headroom);
  const Seconds any = seconds(std::numeric_limits<double>::infinity());
  try {
    return fastest_layout(scenario, search, limit, any).has_value();
  } catch (const InputError&) {
    return false;  // a space that is too large to search
  }
}

// The nearest candidates below and above `now` that work.
std::vector<int> nearest_that_work(const std::set<int>& candidates, int now,
                                   const std::function<bool(int)>& works) {
  std::vector<int> found;
  const auto try_side = [&](auto at, auto end) {
    for (int tries = 0; at != end && tries < kTriesOnASide; ++at, ++tries) {
      if (!works(*at)) continue;
      found.push_back(*at);
      return;
    }
  };
  const auto above = candidates.upper_bound(now);
  const auto not_below = candidates.lower_bound(now);
  try_side(std::make_reverse_iterator(not_below), candidates.rend());
  try_side(above, candidates.end());
  std::sort(found.begin(), found.end(),
            [now](int a, int b) { return std::abs(a - now) < std::abs(b - now); });
  return found;
}

// Multiples of every data-parallel size next to the batch.
std::set<int> batch_candidates(const Scenario& scenario, const SearchSpace& space) {
  const int batch = scenario.job.global_batch_size;
  std::set<int> candidates;
  for (const ParallelSizes& sizes : parallel_sizes_of(scenario, space)) {
    const int below = batch / sizes.data * sizes.data;
    if (below > 0) candidates.insert(below);
    candidates.insert(below + sizes.data);
  }
  return candidates;
}

// Whole nodes, or parts of one, of which the batch divides into data-parallel ranks.
std::set<int> gpu_candidates(const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  const int node = cluster.domain_size();
  const int batch = scenario.job.global_batch_size;
  std::vector<int> data;
  for (int d = 1; d <= batch / d; ++d) {
    if (batch % d == 0) data.insert(data.end(), {d, batch / d});
  }
  std::set<int> candidates;
  for (int t = 1; t <= node; ++t) {
    if (node % t != 0) continue;
    for (int p = 1; p <= scenario.model.num_layers; ++p) {
      for (const int d : data) {
        const std::int64_t gpus = std::int64_t{t} * p * d;
        if (gpus > kMostGpusTried) continue;
        const auto fill = node_fill(cluster, gpus);
        const bool linked = cluster.inter_node.bandwidth.value() > 0.0;
        if (fill && (fill->num_nodes == 1 || linked)) candidates.insert(static_cast<int>(gpus));
      }
    }
  }
  return candidates;
}

// The most frequent rejection whose rule is about the batch, else the most frequent one.
const Rejection& cause_in(const std::vector<Rejection>& rejections, bool is_batch) {
  const auto about_batch =
      std::find_if(rejections.begin(), rejections.end(),
                   [](const Rejection& r) { return contains(rule_text(r.rule).name, "batch"); });
  return is_batch && about_batch != rejections.end() ? *about_batch : rejections.front();
}

std::string either(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) append_to_list(text, " or ", std::to_string(value));
  return text;
}

}  // namespace

NoLayout why_no_layout(const Plan& plan, const SearchOptions& search) {
  NoLayout why;
  if (plan.statistics.legal > 0 && !plan.closest.empty()) {
    why.rule = plan.closest.front().rule;
    why.cause = plan.closest.front().sentence;
    return why;
  }
  const Scenario& asked = plan;
  why.global_batch_sizes = nearest_that_work(batch_candidates(asked, search.space),
                                             asked.job.global_batch_size, [&](int batch) {
                                               Scenario other = asked;
                                               other.job.global_batch_size = batch;
                                               return finds_a_layout(other, search);
                                             });
  why.gpus = nearest_that_work(gpu_candidates(asked), asked.cluster.num_gpus(), [&](int gpus) {
    Scenario other = asked;
    other.cluster = scaled_to(asked.cluster, gpus);
    return finds_a_layout(other, search);
  });
  if (plan.rejections.empty()) {
    why.cause =
        plan.not_expressible.empty()
            ? fmt::format("no sizes of the search space multiply to {} {}", plan.cluster.num_gpus(),
                          device_noun(plan.cluster, plan.cluster.num_gpus()))
            : plan.not_expressible.begin()->first;
    return why;
  }
  const Rejection& cause = cause_in(plan.rejections, !why.global_batch_sizes.empty());
  why.rule = cause.rule;
  why.cause = cause.sentence;
  return why;
}

std::string sentence_of(const NoLayout& why, const Scenario& scenario) {
  std::string text = why.cause;
  if (why.rule) text += fmt::format(" ({})", rule_text(*why.rule).name);
  text += ".";
  if (!why.global_batch_sizes.empty()) {
    text += fmt::format(" Nearest valid global batches: {}.", either(why.global_batch_sizes));
  }
  if (!why.gpus.empty()) {
    text += fmt::format(" Nearest valid {} counts for {} sequences: {}.",
                        device_noun(scenario.cluster, 1), scenario.job.global_batch_size,
                        either(why.gpus));
  }
  return text;
}

}  // namespace meshwright::planner
