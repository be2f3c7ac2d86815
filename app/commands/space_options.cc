// SPDX-License-Identifier: Apache-2.0
#include "app/commands/space_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>

#include "planner/search/space.h"
#include "sim/base/error.h"
#include "sim/json/reader.h"
#include "sim/layout/layout.h"
#include "sim/schedule/traits.h"

namespace meshwright::app {
namespace {

constexpr int kLongestRange = 100'000;

std::vector<std::string> comma_separated(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

int whole_number(const std::string& flag, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw InputError(flag, "",
                     fmt::format("needs whole numbers such as 1,2,4 or 1..16, has \"{}\"", text));
  }
  return value;
}

template <typename Names>
auto word_list(const std::string& flag, const std::string& text, const Names& names) {
  std::vector<decltype(names[0].value)> values;
  if (text.empty()) return values;
  for (const std::string& word : comma_separated(text)) {
    std::vector<std::string> allowed;
    const std::size_t before = values.size();
    for (const auto& entry : names) {
      allowed.emplace_back(entry.name);
      if (entry.name == word) values.push_back(entry.value);
    }
    if (values.size() > before) continue;
    throw InputError(flag, "",
                     fmt::format("must be of {}, is \"{}\"", fmt::join(allowed, ", "), word),
                     nearest(word, allowed));
  }
  return values;
}

std::vector<bool> bool_list(const std::string& flag, const std::string& text) {
  std::vector<bool> values;
  if (text.empty()) return values;
  for (const std::string& word : comma_separated(text)) {
    const bool on = word == "true" || word == "on";
    if (!on && word != "false" && word != "off") {
      throw InputError(flag, "", fmt::format("must be true, false or both, is \"{}\"", word));
    }
    values.push_back(on);
  }
  return values;
}

std::vector<planner::StageSplit> stage_splits(const SpaceOptions& options) {
  const auto or_zero = [](std::vector<int> values) {
    if (values.empty()) values.push_back(0);
    return values;
  };
  const std::vector<int> first =
      or_zero(int_list("--first-stage-layers", options.first_stage_layers));
  const std::vector<int> last = or_zero(int_list("--last-stage-layers", options.last_stage_layers));
  const std::vector<bool> counted =
      bool_list("--count-embedding-and-loss", options.account_embedding_loss);
  const bool asked = !options.first_stage_layers.empty() || !options.last_stage_layers.empty();
  std::vector<planner::StageSplit> splits;
  if (!asked && counted.empty()) return splits;
  for (const int f : first) {
    for (const int l : last) {
      for (const bool c : counted.empty() ? std::vector{false} : counted) {
        splits.push_back({f, l, c, c});
      }
    }
  }
  return splits;
}

}  // namespace

std::vector<int> int_list(const std::string& flag, const std::string& text) {
  std::vector<int> values;
  if (text.empty()) return values;
  for (const std::string& part : comma_separated(text)) {
    const std::size_t dots = part.find("..");
    const int first = whole_number(flag, part.substr(0, dots));
    const int last = dots == std::string::npos ? first : whole_number(flag, part.substr(dots + 2));
    if (last < first || last - first > kLongestRange) {
      throw InputError(flag, "", fmt::format("\"{}\" is no range of sizes", part));
    }
    for (int value = first; value <= last; ++value) values.push_back(value);
  }
  return values;
}

namespace {

std::string schedule_names(bool searched_by_default) {
  std::string names;
  for (const ScheduleTraits* t : kSchedules) {
    if (searched_by_default && !t->searched_by_default) continue;
    names += names.empty() ? "" : ", ";
    names += name_of(t->schedule);
  }
  return names;
}

}  // namespace

void add_space_options(CLI::App& command, SpaceOptions& options) {
  const auto add = [&](const char* name, std::string& value, const std::string& help) {
    command.add_option(name, value, help)->group("Search space (lists: 1,2,4 or 1..16)");
  };
  add("--tp", options.tp, "Tensor-parallel sizes; default: powers of two and divisors of a node");
  add("--pp", options.pp, "Pipeline-parallel sizes; default: divisors of the GPU count");
  add("--vpp", options.vpp, "Model chunks a stage; default: divisors of a stage's layers");
  add("--cp", options.cp, "Context-parallel sizes; default: 1");
  add("--ep", options.ep, "Expert-parallel sizes; default: divisors of the experts");
  add("--mbs", options.mbs, "Micro-batch sizes; default: powers of two");
  add("--zero", options.zero, "ZeRO stages, 0 to 3; default: all");
  add("--sp", options.sp, "Sequence parallel: true, false; default: both");
  add("--recompute", options.recompute, "none, selective, full; default: all");
  add("--schedule", options.schedule,
      fmt::format("{}; default: {}", schedule_names(false), schedule_names(true)));
  add("--etp", options.etp, "Expert-tensor-parallel sizes; default: as tensor");
  add("--zero-shard", options.zero_shard,
      "Ranks that share one copy of sharded state; 0: all data ranks, the default");
  add("--recompute-layers", options.recompute_layers,
      "Layers of a stage that full recompute covers; 0: all, the default");
  add("--cp-comm", options.cp_comm, "p2p, all_gather, a2a; default: p2p");
  add("--rank-order", options.rank_order,
      "tp-cp-ep-dp-pp, tp-cp-ep-pp-dp (--use-tp-pp-dp-mapping); default: the first");
  add("--first-stage-layers", options.first_stage_layers,
      "Layers of the first stage; 0: as the others, the default");
  add("--last-stage-layers", options.last_stage_layers,
      "Layers of the last stage; 0: as the others, the default");
  add("--count-embedding-and-loss", options.account_embedding_loss,
      "Embedding and loss count as layers in the split: true, false; default: where layers do not "
      "divide");
  add("--overlap-grad-reduce", options.overlap_grad_reduce, "true, false; default: true");
  add("--overlap-param-gather", options.overlap_param_gather,
      "true, false; default: true where gradients overlap and the optimizer is sharded");
  add("--overlap-p2p", options.overlap_p2p, "true, false; default: true when interleaved");
  add("--tp-overlap", options.tp_overlap, "Tensor-parallel overlap: true, false; default: false");
  add("--scatter-gather", options.scatter_gather,
      "Scatter-gather messages between stages: true, false; default: false");
  add("--optimizer-offload", options.optimizer_offload, "true, false; default: false");
  add("--offload-layers", options.offload_layers,
      "Layers of a stage whose activations go to the host; default: 0");
  command
      .add_flag("--no-overlap-grad-reduce", options.no_overlap,
                "Data-parallel communication waits for the compute")
      ->group("Search space (lists: 1,2,4 or 1..16)");
}

planner::SearchSpace space_of(const SpaceOptions& options) {
  planner::SearchSpace space;
  space.tensor_parallel_sizes = int_list("--tp", options.tp);
  space.pipeline_parallel_sizes = int_list("--pp", options.pp);
  space.virtual_pipeline_parallel_sizes = int_list("--vpp", options.vpp);
  space.context_parallel_sizes = int_list("--cp", options.cp);
  space.expert_parallel_sizes = int_list("--ep", options.ep);
  space.micro_batch_sizes = int_list("--mbs", options.mbs);
  space.zero_stages = int_list("--zero", options.zero);
  space.sequence_parallel = bool_list("--sp", options.sp);
  space.recompute = word_list("--recompute", options.recompute, kRecomputeGranularityNames);
  space.schedules = word_list("--schedule", options.schedule, kPipelineScheduleNames);
  space.expert_tensor_parallel_sizes = int_list("--etp", options.etp);
  space.zero_shard_sizes = int_list("--zero-shard", options.zero_shard);
  space.recompute_num_layers = int_list("--recompute-layers", options.recompute_layers);
  space.cp_comm_types = word_list("--cp-comm", options.cp_comm, kContextParallelAlgorithmNames);
  space.rank_orders =
      word_list("--rank-order", options.rank_order, planner::kLauncherRankOrderNames);
  space.stage_splits = stage_splits(options);
  space.overlap_grad_reduce = bool_list("--overlap-grad-reduce", options.overlap_grad_reduce);
  space.overlap_param_gather = bool_list("--overlap-param-gather", options.overlap_param_gather);
  space.overlap_p2p_comm = bool_list("--overlap-p2p", options.overlap_p2p);
  space.tp_comm_overlap = bool_list("--tp-overlap", options.tp_overlap);
  space.scatter_gather_p2p = bool_list("--scatter-gather", options.scatter_gather);
  space.optimizer_offload = bool_list("--optimizer-offload", options.optimizer_offload);
  space.cpu_offloading_num_layers = int_list("--offload-layers", options.offload_layers);
  if (options.no_overlap) space.overlap_grad_reduce = {false};
  return space;
}

}  // namespace meshwright::app
