// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/red_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/questions/red_flag_parts.h"
#include "planner/questions/what_if_parameter.h"
#include "planner/search/search_layouts.h"
#include "planner/search/space.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"
#include "sim/hardware/node_count.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

constexpr int kEnoughMicroBatches = 4;  // a stage
constexpr double kFarBelow = 0.8;
constexpr int kLargeBatch = 64;             // times the batch
constexpr double kBatchLoss = 0.1;          // share of a step
constexpr double kInputThatMatters = 0.01;  // share of a step
constexpr double kSlowLink = 0.3e-3;        // bytes per FLOP
constexpr double kLinkOfH100 = 0.455e-3;    // likewise

// A step of `times` the batch, a share of it: what today's batch would take there.
Seconds step_in_batch(const Scenario& scenario, const Layout& layout, int times) {
  Scenario larger = scenario;
  larger.job.global_batch_size *= times;
  return priced(larger, layout).step_time * (1.0 / times);
}

Seconds communication(const Evaluation& evaluation, Group group) {
  const auto kind = group == Group::tensor ? TermKind::tensor_parallel_communication
                                           : TermKind::expert_parallel_communication;
  return evaluation.terms[static_cast<std::size_t>(kind)].cost.time;
}

Cluster with_nodes_joined(Cluster cluster, int nodes) {
  cluster.gpus_per_node *= nodes;
  cluster.num_nodes /= nodes;
  cluster.nics_per_node *= nodes;
  return cluster;
}

// The best whose tensor, or expert, group fits into a node, whatever sizes the user asked for.
std::optional<Timed> best_inside(const Plan& plan, const SearchOptions& options, Group group) {
  SearchOptions inside = options;
  inside.top = 1;
  auto& sizes = inside.space[group == Group::tensor ? &Layout::tensor_parallel_size
                                                    : &Layout::expert_parallel_size];
  const int domain = plan.cluster.gpus_per_node;
  sizes.clear();
  for (int size = 1; size <= domain; ++size) {
    if (domain % size == 0) sizes.push_back(size);
  }
  const Plan found = search(plan, inside);
  for (const Estimate& e : found.ranked) {
    if (place(group, e.layout, plan.cluster).tier() == Tier::inter_node) continue;
    return Timed{e.layout, e.step_time, e.peak_memory()};
  }
  return std::nullopt;
}

// A quarter of the GPUs, or the fewest that the user asked for.
std::optional<ScalePoint> on_fewer(const Plan& plan, const SearchOptions& options,
                                   const Scaling& known) {
  const int gpus = plan.cluster.num_gpus();
  for (const ScalePoint& point : known.points) {
    if (point.layout && point.gpus * 2 <= gpus) return point;
  }
  const int quarter = gpus / 4;
  if (gpus % 4 != 0 || !node_fill(plan.cluster, quarter)) return std::nullopt;
  Scenario fewer = plan;
  fewer.cluster = scaled_to(plan.cluster, quarter);
  const Bytes usable = usable_memory(fewer, options);
  Layout smaller = plan.ranked.front().layout;
  smaller.data_parallel_size = std::max(1, smaller.data_parallel_size / 4);
  const auto same = best_of(fewer, {smaller}, options.memory_headroom);
  auto found = fastest_layout(fewer, options, usable, same ? same->step_time : kAnyTime);
  if (!found && same) found = fastest_layout(fewer, options, usable);  // the user's sizes
  if (!found) return std::nullopt;
  const Estimate estimate = std::get<Estimate>(meshwright::estimate(fewer, found->layout));
  ScalePoint point;
  point.gpus = quarter;
  point.layout = found->layout;
  point.step_time = estimate.step_time;
  point.model_flops_utilization = estimate.model_flops_utilization;
  return point;
}

// Seconds by size, then memory.
double weight_of(const RedFlag& flag) {
  const auto* time = std::get_if<Seconds>(&flag.effect);
  return time != nullptr ? std::abs(time->value()) : -1.0;
}

}  // namespace

std::optional<RedFlag> group_beyond_domain(const Scenario& s, const Estimate& winner, Group group,
                                           const std::optional<Timed>& inside) {
  const Placement placement = place(group, winner.layout, s.cluster);
  if (placement.tier() != Tier::inter_node) return std::nullopt;
  const int nodes =
      s.cluster.num_nodes % placement.num_nodes == 0 ? placement.num_nodes : s.cluster.num_nodes;
  Scenario joined = s;
  joined.cluster = with_nodes_joined(s.cluster, nodes);
  const Seconds saved =
      std::max(seconds(0), communication(priced(s, winner.layout), group) -
                               communication(priced(joined, winner.layout), group));
  const std::string_view kind = group == Group::tensor ? "tensor" : "expert";
  std::string text = fmt::format(
      "Each {} group of {} ranks spans {} nodes of {} {}. Inside one node its communication would "
      "take {} s less. ",
      kind, placement.group_size, placement.num_nodes, s.cluster.gpus_per_node,
      device_noun(s.cluster, s.cluster.gpus_per_node), number_text(saved.value(), 3));
  if (inside) {
    text += fmt::format("The best layout with {} groups inside a node is {}. {}", kind,
                        brief_name(inside->layout), step_text(*inside, winner));
  } else {
    text += fmt::format("No layout with {} groups inside a node runs.", kind);
  }
  const RedFlagId id =
      group == Group::tensor ? RedFlagId::tensor_beyond_domain : RedFlagId::expert_beyond_domain;
  return RedFlag{id, text, saved};
}

std::optional<RedFlag> few_micro_batches(const Scenario& s, const Estimate& winner) {
  const Layout& l = winner.layout;
  const int stages = l.pipeline_parallel_size;
  const int micro_batches = num_micro_batches(s.job.global_batch_size, l);
  const int enough = kEnoughMicroBatches * stages;
  if (stages == 1 || micro_batches >= enough) return std::nullopt;
  const int times = (enough + micro_batches - 1) / micro_batches;
  const Seconds lost = winner.step_time - step_in_batch(s, l, times);
  return RedFlag{
      RedFlagId::few_micro_batches,
      fmt::format(
          "The batch has {} {} for {} stages. At least {} are recommended, {} per stage. With {} "
          "times the batch, as many sequences take {}.",
          micro_batches, micro_batches == 1 ? "micro-batch" : "micro-batches", stages, enough,
          kEnoughMicroBatches, times, less_or_more(lost, winner.step_time)),
      lost};
}

std::optional<RedFlag> low_utilization(const Estimate& winner, const ScalePoint& fewer,
                                       DeviceKind kind) {
  const double share = winner.model_flops_utilization / fewer.model_flops_utilization;
  if (share >= kFarBelow) return std::nullopt;
  const Seconds lost = winner.step_time * (1.0 - share);
  return RedFlag{
      RedFlagId::low_utilization,
      fmt::format("MFU is {}. With the same batch it is {} on {} {}. At that MFU the step would "
                  "take {} s less.",
                  percent_text(winner.model_flops_utilization),
                  percent_text(fewer.model_flops_utilization), fewer.gpus,
                  device_noun(kind, fewer.gpus), number_text(lost.value(), 3)),
      lost};
}

std::optional<RedFlag> small_batch(const Scenario& s, const Estimate& winner) {
  const Seconds large = step_in_batch(s, winner.layout, kLargeBatch);
  const Seconds lost = winner.step_time - large;
  if (lost <= large * kBatchLoss) return std::nullopt;
  int enough = kLargeBatch;
  for (int times = 2; times < enough; times *= 2) {
    if (step_in_batch(s, winner.layout, times) <= large * (1.0 + kBatchLoss)) enough = times;
  }
  const std::int64_t batch = s.job.global_batch_size;
  const int gpus = world_size(winner.layout);
  return RedFlag{
      RedFlagId::small_batch,
      fmt::format("A batch of {} {} is small for {} {}. In a batch of {}, as many sequences take "
                  "{} s less. The step is {} longer because of pipeline fill and drain, reductions "
                  "and the optimizer. From {} sequences on, this loss is below {}.",
                  batch, batch == 1 ? "sequence" : "sequences", gpus, device_noun(s.cluster, gpus),
                  batch * kLargeBatch, number_text(lost.value(), 3), percent_text(lost / large),
                  batch * enough, percent_text(kBatchLoss)),
      lost};
}

std::optional<RedFlag> one_layer_chunks(const Scenario& s, const Estimate& winner) {
  const Layout& l = winner.layout;
  const int chunks = l.virtual_pipeline_parallel_size;
  if (chunks == 1 || l.pipeline_parallel_size * chunks < s.model.num_layers) return std::nullopt;
  for (int fewer = chunks / 2; fewer >= 1; --fewer) {
    if (chunks % fewer != 0) continue;
    Layout changed = l;
    changed.virtual_pipeline_parallel_size = fewer;
    if (fewer == 1) {
      changed.schedule = kDefaultSchedule;
      set_overlaps(changed, l.overlap_grad_reduce, s.cluster.framework.limits);
    }
    const Evaluation evaluation = priced(s, changed);
    if (!runs(evaluation)) continue;
    const Seconds saved = evaluation.step_time - winner.step_time;
    return RedFlag{
        RedFlagId::one_layer_chunks,
        fmt::format(
            "Each virtual-pipeline chunk holds one layer. With {} of {} layers, the step is "
            "predicted to be {}. Measure both: the difference depends on per-layer send and launch "
            "overhead.",
            fewer == 1 ? "one chunk" : fmt::format("{} chunks", fewer), chunks / fewer,
            longer_or_shorter(saved, winner.step_time)),
        saved};
  }
  return std::nullopt;
}

std::optional<RedFlag> assumed_input(const Scenario& s, const Estimate& winner,
                                     const Estimate* runner_up) {
  std::optional<RedFlag> worst;
  for (const WhatIfParameterText& words : all_parameters()) {
    const WhatIfParameter input = words.parameter;
    const double spread = relative_spread(input, s);
    if (!changes_time(input) || spread <= 0.0) continue;
    if (provenance_of(input, s) != Provenance::assumed) continue;
    const Scenario up = scaled(s, input, std::exp(spread));
    const Scenario down = scaled(s, input, std::exp(-spread));
    const Seconds high = priced(up, winner.layout).step_time;
    const Seconds low = priced(down, winner.layout).step_time;
    const Seconds effect = seconds(std::abs((high - low).value()) / 2.0);
    if (effect < winner.step_time * kInputThatMatters) continue;
    if (worst && std::get<Seconds>(worst->effect) >= effect) continue;
    const bool turns = runner_up != nullptr && (priced(up, runner_up->layout).step_time < high ||
                                                priced(down, runner_up->layout).step_time < low);
    worst = RedFlag{
        RedFlagId::assumed_input,
        fmt::format("The {} is assumed ({}{}{} ± {}), not measured. One standard deviation changes "
                    "the step by {} s.{} Measure this input with meshwright calibrate.",
                    words.label, number_text(value_of(input, s), 3), words.unit.empty() ? "" : " ",
                    words.unit, percent_text(spread), number_text(effect.value(), 3),
                    turns ? " Layout #2 may then be faster." : ""),
        effect};
  }
  return worst;
}

double link_bytes_per_flop(const Scenario& s) {
  const Device& device = only_device(s.cluster);
  FlopsPerSecond peak;
  for (const GemmModel& gemm : device.gemm) {
    if (gemm.precision == Precision::bf16) peak = gemm.peak;
  }
  return peak.value() > 0.0 ? s.cluster.intra_node.bandwidth.value() / peak.value() : 0.0;
}

std::optional<RedFlag> tensor_on_slow_link(const Scenario& s, const Estimate& winner) {
  const Placement placement = place(Group::tensor, winner.layout, s.cluster);
  const double rate = link_bytes_per_flop(s);
  const bool gpus = only_device(s.cluster).kind == DeviceKind::gpu;
  if (!gpus || placement.group_size == 1 || placement.tier() != Tier::intra_node) return {};
  if (rate <= 0.0 || rate >= kSlowLink) return std::nullopt;
  const Scenario faster = scaled(s, WhatIfParameter::intra_node_bandwidth, kLinkOfH100 / rate);
  const Seconds saved =
      std::max(seconds(0), communication(priced(s, winner.layout), Group::tensor) -
                               communication(priced(faster, winner.layout), Group::tensor));
  return RedFlag{
      RedFlagId::tensor_on_slow_link,
      fmt::format(
          "{} tensor ranks communicate in every layer over a link of {} GB/s. That is {} "
          "bytes per 1,000 FLOPs of the device. An H100's NVLink has {}. With that ratio the "
          "communication would take {} s less.",
          placement.group_size,
          number_text(s.cluster.intra_node.bandwidth / gigabytes_per_second(1), 3),
          number_text(1e3 * rate, 2), number_text(1e3 * kLinkOfH100, 3),
          number_text(saved.value(), 3)),
      saved};
}

std::optional<RedFlag> tensor_beyond_rule(const Estimate& winner, const RuleOfThumb& rule) {
  const int most = rule.row->tensor.high;
  if (winner.layout.tensor_parallel_size <= most || !rule.estimate) return std::nullopt;
  const Seconds longer = rule.estimate->step_time - winner.step_time;
  return RedFlag{
      RedFlagId::tensor_beyond_rule,
      fmt::format("{} tensor ranks exceed NVIDIA's rule of thumb (row \"{}\": at most {}). The "
                  "best layout with the rule's sizes is {}. Its step is predicted to be {}. "
                  "Measure both.",
                  winner.layout.tensor_parallel_size, rule.row->name, most,
                  brief_name(rule.estimate->layout), longer_or_shorter(longer, winner.step_time)),
      longer};
}

std::optional<RedFlag> batch_flag(const Scenario& s, const Estimate& winner) {
  if (auto few = few_micro_batches(s, winner)) return few;
  return small_batch(s, winner);
}

std::vector<RedFlag> red_flags(const Plan& plan, const SearchOptions& search,
                               const Scaling& scaling, const std::optional<RuleOfThumb>& rule) {
  std::vector<RedFlag> flags;
  if (plan.ranked.empty()) return flags;
  const Scenario& s = plan;
  const Estimate& winner = plan.ranked.front();
  const auto add = [&](std::optional<RedFlag> flag) {
    if (flag) flags.push_back(*std::move(flag));
  };
  for (const Group group : {Group::tensor, Group::expert}) {
    if (place(group, winner.layout, s.cluster).tier() != Tier::inter_node) continue;
    add(group_beyond_domain(s, winner, group, best_inside(plan, search, group)));
  }
  add(tensor_on_slow_link(s, winner));
  if (rule) add(tensor_beyond_rule(winner, *rule));
  add(context_for_memory(s, winner));
  add(batch_flag(s, winner));
  add(memory_half_empty(s, winner));
  add(memory_nearly_full(s, winner));
  if (const auto fewer = on_fewer(plan, search, scaling))
    add(low_utilization(winner, *fewer, only_device(plan.cluster).kind));
  add(one_layer_chunks(s, winner));
  add(assumed_input(s, winner, plan.ranked.size() > 1 ? &plan.ranked[1] : nullptr));
  std::stable_sort(flags.begin(), flags.end(),
                   [](const RedFlag& a, const RedFlag& b) { return weight_of(a) > weight_of(b); });
  return flags;
}

std::string effect_text(const RedFlag& flag) {
  if (const auto* time = std::get_if<Seconds>(&flag.effect)) {
    return fmt::format("{} s per step", number_text(time->value(), 3));
  }
  return fmt::format("{} GiB", number_text(in_gibibytes(std::get<Bytes>(flag.effect)), 3));
}

}  // namespace meshwright::planner
