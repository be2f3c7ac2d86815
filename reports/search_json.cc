// SPDX-License-Identifier: Apache-2.0
#include "reports/search_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/space.h"
#include "sim/json/reader.h"
#include "sim/names.h"

namespace meshwright::reports {
namespace {

template <typename Enum>
Json names_of(const std::vector<Enum>& values) {
  Json names = Json::array();
  for (const Enum value : values) names.push_back(name_of(value));
  return names;
}

std::vector<int> read_ints(ObjectReader& reader, std::string_view key) {
  if (!reader.has(key)) return {};
  std::vector<int> values;
  for (const nlohmann::json& value : reader.required_array(key)) {
    if (!value.is_number_integer()) reader.fail(key, "must be an array of integers");
    values.push_back(value.get<int>());
  }
  return values;
}

std::vector<bool> read_bools(ObjectReader& reader, std::string_view key) {
  if (!reader.has(key)) return {};
  std::vector<bool> values;
  for (const nlohmann::json& value : reader.required_array(key)) {
    if (!value.is_boolean()) reader.fail(key, "must be an array of true and false");
    values.push_back(value.get<bool>());
  }
  return values;
}

template <typename Names>
auto read_enums(ObjectReader& reader, std::string_view key, const Names& names) {
  std::vector<decltype(names[0].value)> values;
  if (!reader.has(key)) return values;
  for (const nlohmann::json& value : reader.required_array(key)) {
    const std::size_t before = values.size();
    for (const auto& entry : names) {
      if (value == entry.name) values.push_back(entry.value);
    }
    if (values.size() == before) reader.fail(key, fmt::format("unknown word {}", value.dump()));
  }
  return values;
}

// The launcher's orders by their number: 0 tp-cp-ep-dp-pp, 1 tp-cp-ep-pp-dp.
Json rank_orders_to_json(const std::vector<planner::RankOrder>& orders) {
  const std::vector<planner::RankOrder> known = planner::launcher_rank_orders();
  Json numbers = Json::array();
  for (const planner::RankOrder& order : orders) {
    numbers.push_back(std::find(known.begin(), known.end(), order) - known.begin());
  }
  return numbers;
}

std::vector<planner::RankOrder> read_rank_orders(ObjectReader& reader) {
  const std::vector<planner::RankOrder> known = planner::launcher_rank_orders();
  std::vector<planner::RankOrder> orders;
  for (const int number : read_ints(reader, "rank_orders")) {
    if (number < 0 || number >= static_cast<int>(known.size())) {
      reader.fail("rank_orders", "must be 0 (tp-cp-ep-dp-pp) or 1 (tp-cp-ep-pp-dp)");
    }
    orders.push_back(known[static_cast<std::size_t>(number)]);
  }
  return orders;
}

// Each as layers of the first and last stage, and whether embedding and loss count as layers.
Json splits_to_json(const std::vector<planner::StageSplit>& splits) {
  Json values = Json::array();
  for (const planner::StageSplit& s : splits) {
    values.push_back({s.num_layers_in_first_pipeline_stage, s.num_layers_in_last_pipeline_stage,
                      s.account_for_embedding_in_pipeline_split ? 1 : 0,
                      s.account_for_loss_in_pipeline_split ? 1 : 0});
  }
  return values;
}

std::vector<planner::StageSplit> read_splits(ObjectReader& reader) {
  std::vector<planner::StageSplit> splits;
  if (!reader.has("stage_splits")) return splits;
  for (const nlohmann::json& value : reader.required_array("stage_splits")) {
    const bool four = value.is_array() && value.size() == 4 &&
                      std::all_of(value.begin(), value.end(),
                                  [](const nlohmann::json& n) { return n.is_number_integer(); });
    if (!four) reader.fail("stage_splits", "must be arrays of four integers");
    splits.push_back({value[0].get<int>(), value[1].get<int>(), value[2].get<int>() != 0,
                      value[3].get<int>() != 0});
  }
  return splits;
}

planner::SearchSpace read_space(ObjectReader reader) {
  planner::SearchSpace space;
  space.tensor_parallel_sizes = read_ints(reader, "tensor_parallel_sizes");
  space.pipeline_parallel_sizes = read_ints(reader, "pipeline_parallel_sizes");
  space.virtual_pipeline_parallel_sizes = read_ints(reader, "virtual_pipeline_parallel_sizes");
  space.context_parallel_sizes = read_ints(reader, "context_parallel_sizes");
  space.expert_parallel_sizes = read_ints(reader, "expert_parallel_sizes");
  space.micro_batch_sizes = read_ints(reader, "micro_batch_sizes");
  space.zero_stages = read_ints(reader, "zero_stages");
  space.sequence_parallel = read_bools(reader, "sequence_parallel");
  space.recompute = read_enums(reader, "recompute_granularity", kRecomputeGranularityNames);
  space.schedules = read_enums(reader, "schedules", kPipelineScheduleNames);
  space.overlap_grad_reduce = read_bools(reader, "overlap_grad_reduce");
  space.expert_tensor_parallel_sizes = read_ints(reader, "expert_tensor_parallel_sizes");
  space.zero_shard_sizes = read_ints(reader, "zero_shard_sizes");
  space.recompute_num_layers = read_ints(reader, "recompute_num_layers");
  space.cpu_offloading_num_layers = read_ints(reader, "cpu_offloading_num_layers");
  space.overlap_param_gather = read_bools(reader, "overlap_param_gather");
  space.overlap_p2p_comm = read_bools(reader, "overlap_p2p_comm");
  space.tp_comm_overlap = read_bools(reader, "tp_comm_overlap");
  space.scatter_gather_p2p = read_bools(reader, "scatter_gather_p2p");
  space.optimizer_offload = read_bools(reader, "optimizer_offload");
  space.cp_comm_types = read_enums(reader, "cp_comm_types", kContextParallelAlgorithmNames);
  space.rank_orders = read_rank_orders(reader);
  space.stage_splits = read_splits(reader);
  reader.finish();
  return space;
}

}  // namespace

Json search_options_to_json(const planner::SearchOptions& options) {
  const planner::SearchSpace& space = options.space;
  Json json{{"top", options.top}, {"memory_headroom", options.memory_headroom}};
  json["space"] = {{"tensor_parallel_sizes", space.tensor_parallel_sizes},
                   {"pipeline_parallel_sizes", space.pipeline_parallel_sizes},
                   {"virtual_pipeline_parallel_sizes", space.virtual_pipeline_parallel_sizes},
                   {"context_parallel_sizes", space.context_parallel_sizes},
                   {"expert_parallel_sizes", space.expert_parallel_sizes},
                   {"micro_batch_sizes", space.micro_batch_sizes},
                   {"zero_stages", space.zero_stages},
                   {"sequence_parallel", space.sequence_parallel},
                   {"recompute_granularity", names_of(space.recompute)},
                   {"schedules", names_of(space.schedules)},
                   {"expert_tensor_parallel_sizes", space.expert_tensor_parallel_sizes},
                   {"zero_shard_sizes", space.zero_shard_sizes},
                   {"recompute_num_layers", space.recompute_num_layers},
                   {"cpu_offloading_num_layers", space.cpu_offloading_num_layers},
                   {"overlap_param_gather", space.overlap_param_gather},
                   {"overlap_p2p_comm", space.overlap_p2p_comm},
                   {"tp_comm_overlap", space.tp_comm_overlap},
                   {"scatter_gather_p2p", space.scatter_gather_p2p},
                   {"optimizer_offload", space.optimizer_offload},
                   {"cp_comm_types", names_of(space.cp_comm_types)},
                   {"rank_orders", rank_orders_to_json(space.rank_orders)},
                   {"stage_splits", splits_to_json(space.stage_splits)},
                   {"overlap_grad_reduce", space.overlap_grad_reduce}};
  return json;
}

planner::SearchOptions search_options_from_json(const nlohmann::json& json, const std::string& file,
                                                const std::string& pointer) {
  ObjectReader reader(json, file, pointer);
  planner::SearchOptions options;
  options.top = reader.optional_int("top", options.top);
  options.memory_headroom = reader.optional_number("memory_headroom", 0.0, {.high = 1.0});
  if (reader.has("space")) options.space = read_space(reader.required_object("space"));
  reader.finish();
  return options;
}

}  // namespace meshwright::reports
