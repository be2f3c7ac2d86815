// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "planner/search/rejection.h"
#include "planner/search/space.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/fields.h"

namespace meshwright::planner {
namespace {

// A change gives a changed layout, or nothing where it does not apply.
using Changed = std::optional<Layout>;
using LayoutStep = Changed (*)(Layout);

Changed recompute_to(Layout l, RecomputeGranularity to) {
  l.recompute_granularity = to;
  return l;
}

Changed more_recompute(Layout l) {
  if (l.recompute_granularity == RecomputeGranularity::full) return std::nullopt;
  const bool none = l.recompute_granularity == RecomputeGranularity::none;
  return recompute_to(l, none ? RecomputeGranularity::selective : RecomputeGranularity::full);
}

Changed full_recompute(Layout l) {
  if (l.recompute_granularity != RecomputeGranularity::none) return std::nullopt;
  return recompute_to(l, RecomputeGranularity::full);
}

Changed sequence_on(Layout l) {
  if (l.sequence_parallel || l.tensor_parallel_size == 1) return std::nullopt;
  l.sequence_parallel = true;
  return l;
}

Changed sequence_off(Layout l) {
  if (!l.sequence_parallel) return std::nullopt;
  l.sequence_parallel = false;
  return l;
}

Changed zero_by(Layout l, int step) {
  const int stage = l.zero_stage + step;
  if (stage < 0 || stage > 3) return std::nullopt;
  l.zero_stage = stage;
  return l;
}
Changed zero_up(Layout l) { return zero_by(l, 1); }
Changed zero_down(Layout l) { return zero_by(l, -1); }
Changed zero_to_1(Layout l) { return l.zero_stage > 2 ? zero_by(l, 1 - l.zero_stage) : Changed{}; }
Changed zero_to_0(Layout l) { return l.zero_stage > 1 ? zero_by(l, -l.zero_stage) : Changed{}; }

Changed half_micro_batch(Layout l) {
  if (l.micro_batch_size % 2 != 0) return std::nullopt;
  l.micro_batch_size /= 2;
  return l;
}

// Doubles one size at the other's cost.
Changed shift(Layout l, int Layout::*from, int Layout::*to) {
  if (l.*from % 2 != 0) return std::nullopt;
  l.*from /= 2;
  l.*to *= 2;
  return l;
}
constexpr auto kData = &Layout::data_parallel_size;
constexpr auto kTensor = &Layout::tensor_parallel_size;
constexpr auto kPipeline = &Layout::pipeline_parallel_size;
Changed data_to_tensor(Layout l) { return shift(l, kData, kTensor); }
Changed data_to_pipeline(Layout l) { return shift(l, kData, kPipeline); }
Changed tensor_to_data(Layout l) { return shift(l, kTensor, kData); }
Changed pipeline_to_data(Layout l) { return shift(l, kPipeline, kData); }
Changed tensor_to_pipeline(Layout l) { return shift(l, kTensor, kPipeline); }
Changed pipeline_to_tensor(Layout l) { return shift(l, kPipeline, kTensor); }

Changed no_interleaving(Layout l) {
  if (l.schedule == kDefaultSchedule) return std::nullopt;
  l.schedule = kDefaultSchedule;
  l.virtual_pipeline_parallel_size = 1;
  return l;
}

// The embedding and the loss take the place of a layer each, as Llama 3 405B was trained: 126
// layers over 16 stages.
Changed ends_as_layers(Layout l) {
  if (l.pipeline_parallel_size == 1) return std::nullopt;
  if (l.account_for_embedding_in_pipeline_split || l.account_for_loss_in_pipeline_split) {
    return std::nullopt;
  }
  l.account_for_embedding_in_pipeline_split = l.account_for_loss_in_pipeline_split = true;
  return l;
}

Changed half_expert(Layout l) {
  if (l.expert_parallel_size % 2 != 0) return std::nullopt;
  l.expert_parallel_size /= 2;
  return l;
}

Changed double_expert(Layout l) {
  l.expert_parallel_size *= 2;
  return l;
}

// Changes to try, the cheapest first.
constexpr std::array<LayoutStep, 19> kChanges{
    more_recompute,   sequence_on,        zero_up,           half_micro_batch,
    full_recompute,   data_to_tensor,     data_to_pipeline,  double_expert,
    ends_as_layers,   zero_down,          zero_to_1,         zero_to_0,
    sequence_off,     no_interleaving,    half_expert,       tensor_to_data,
    pipeline_to_data, tensor_to_pipeline, pipeline_to_tensor};

// The overlap switches follow the rest (set_overlaps) and are not spoken of.
std::string difference(const Layout& from, Layout to) {
  to.overlap_grad_reduce = from.overlap_grad_reduce;
  to.overlap_param_gather = from.overlap_param_gather;
  to.overlap_p2p_comm = from.overlap_p2p_comm;
  std::string text;
  for (const FieldDifference& field : differences(from, to)) {
    append_to_list(text, ", ", fmt::format("{} {} -> {}", field.name, field.a, field.b));
  }
  return text;
}

}  // namespace

std::string smallest_change(CostTable& table, const Layout& layout, Bytes limit) {
  const bool overlap = layout.overlap_grad_reduce || gradient_group_size(layout) == 1;
  const auto admitted = [&](Layout& changed) {
    set_overlaps(changed, overlap, table.cluster().framework.limits);
    return !evaluate_within(table, changed, limit).violation;
  };
  for (const LayoutStep change : kChanges) {
    Changed changed = change(layout);
    if (changed && admitted(*changed)) return difference(layout, *changed);
  }
  for (const LayoutStep first : kChanges) {
    const Changed once = first(layout);
    if (!once) continue;
    for (const LayoutStep second : kChanges) {
      Changed twice = second(*once);
      if (twice && admitted(*twice)) return difference(layout, *twice);
    }
  }
  return "";
}

std::string change_on_more_gpus(const CostTable& table, const Layout& layout, Bytes limit) {
  constexpr int kMostTimes = 64;
  for (int times = 2; times <= kMostTimes; times *= 2) {
    Scenario larger = table.scenario();
    larger.cluster.num_nodes *= times;
    CostTable larger_table(std::move(larger));
    for (const auto size : {kTensor, kPipeline, kData}) {
      Layout changed = layout;
      changed.*size *= times;
      set_overlaps(changed, true, table.cluster().framework.limits);
      if (evaluate_within(larger_table, changed, limit).violation) continue;
      const Cluster& grown = larger_table.cluster();
      return fmt::format("{} on {} {}", difference(layout, changed), grown.num_gpus(),
                         device_noun(grown, grown.num_gpus()));
    }
  }
  return "";
}

}  // namespace meshwright::planner
