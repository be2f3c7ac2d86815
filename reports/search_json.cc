// SPDX-License-Identifier: Apache-2.0
#include "reports/search_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/search/space.h"
#include "sim/json/reader.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

// Every axis of a space with its name in JSON; `visit` gets a table of words for those that have
// one.
template <typename Space, typename Visit>
void for_each_axis(Space& space, Visit visit) {
  visit("tensor_parallel_sizes", space.tensor_parallel_sizes);
  visit("pipeline_parallel_sizes", space.pipeline_parallel_sizes);
  visit("virtual_pipeline_parallel_sizes", space.virtual_pipeline_parallel_sizes);
  visit("context_parallel_sizes", space.context_parallel_sizes);
  visit("expert_parallel_sizes", space.expert_parallel_sizes);
  visit("expert_tensor_parallel_sizes", space.expert_tensor_parallel_sizes);
  visit("micro_batch_sizes", space.micro_batch_sizes);
  visit("zero_stages", space.zero_stages);
  visit("zero_shard_sizes", space.zero_shard_sizes);
  visit("sequence_parallel", space.sequence_parallel);
  visit("recompute_granularity", space.recompute, kRecomputeGranularityNames);
  visit("recompute_num_layers", space.recompute_num_layers);
  visit("schedules", space.schedules, kPipelineScheduleNames);
  visit("stage_splits", space.stage_splits);
  visit("cp_comm_types", space.cp_comm_types, kContextParallelAlgorithmNames);
  visit("rank_orders", space.rank_orders, planner::kLauncherRankOrderNames);
  visit("overlap_grad_reduce", space.overlap_grad_reduce);
  visit("overlap_param_gather", space.overlap_param_gather);
  visit("overlap_p2p_comm", space.overlap_p2p_comm);
  visit("tp_comm_overlap", space.tp_comm_overlap);
  visit("scatter_gather_p2p", space.scatter_gather_p2p);
  visit("optimizer_offload", space.optimizer_offload);
  visit("cpu_offloading_num_layers", space.cpu_offloading_num_layers);
}

struct Writer {
  Json& json;

  template <typename Value>
  void operator()(const char* name, const std::vector<Value>& values) const {
    json[name] = values;
  }
  template <typename Value, typename Names>
  void operator()(const char* name, const std::vector<Value>& values, const Names&) const {
    json[name] = Json::array();
    for (const Value& value : values) json[name].push_back(name_of(value));
  }
  void operator()(const char* name, const std::vector<planner::StageSplit>& splits) const {
    json[name] = Json::array();
    for (const planner::StageSplit& s : splits) {
      json[name].push_back(
          {{"num_layers_in_first_pipeline_stage", s.num_layers_in_first_pipeline_stage},
           {"num_layers_in_last_pipeline_stage", s.num_layers_in_last_pipeline_stage},
           {"account_for_embedding_in_pipeline_split", s.account_for_embedding_in_pipeline_split},
           {"account_for_loss_in_pipeline_split", s.account_for_loss_in_pipeline_split}});
    }
  }
};

struct Reader {
  ObjectReader& reader;

  template <typename Read>
  void each(const char* name, Read read) const {
    if (!reader.has(name)) return;
    for (const nlohmann::json& value : reader.required_array(name)) read(value);
  }
  void operator()(const char* name, std::vector<int>& values) const {
    each(name, [&](const nlohmann::json& value) {
      if (!value.is_number_integer()) reader.fail(name, "must be an array of integers");
      values.push_back(value.get<int>());
    });
  }
  void operator()(const char* name, std::vector<bool>& values) const {
    each(name, [&](const nlohmann::json& value) {
      if (!value.is_boolean()) reader.fail(name, "must be an array of true and false");
      values.push_back(value.get<bool>());
    });
  }
  template <typename Value, typename Names>
  void operator()(const char* name, std::vector<Value>& values, const Names& names) const {
    each(name, [&](const nlohmann::json& word) {
      const auto* found = std::find_if(names.begin(), names.end(),
                                       [&](const auto& entry) { return word == entry.name; });
      if (found == names.end()) reader.fail(name, fmt::format("unknown word {}", word.dump()));
      values.push_back(found->value);
    });
  }
  void operator()(const char* name, std::vector<planner::StageSplit>& splits) const {
    each(name, [&](const nlohmann::json& value) {
      ObjectReader split(value, reader.file(),
                         fmt::format("{}/{}", reader.pointer_to(name), splits.size()));
      const planner::StageSplit otherwise;
      splits.push_back({split.optional_int("num_layers_in_first_pipeline_stage",
                                           otherwise.num_layers_in_first_pipeline_stage),
                        split.optional_int("num_layers_in_last_pipeline_stage",
                                           otherwise.num_layers_in_last_pipeline_stage),
                        split.optional_bool("account_for_embedding_in_pipeline_split",
                                            otherwise.account_for_embedding_in_pipeline_split),
                        split.optional_bool("account_for_loss_in_pipeline_split",
                                            otherwise.account_for_loss_in_pipeline_split)});
      split.finish();
    });
  }
};

}  // namespace

Json search_options_to_json(const planner::SearchOptions& options) {
  Json json{{"top", options.top}, {"memory_headroom", options.memory_headroom}};
  for_each_axis(options.space, Writer{json["space"]});
  return json;
}

planner::SearchOptions search_options_from_json(const nlohmann::json& json, const std::string& file,
                                                const std::string& pointer) {
  ObjectReader reader(json, file, pointer);
  planner::SearchOptions options;
  options.top = reader.optional_int("top", options.top);
  options.memory_headroom = reader.optional_number("memory_headroom", 0.0, {.high = 1.0});
  if (reader.has("space")) {
    ObjectReader space = reader.required_object("space");
    for_each_axis(options.space, Reader{space});
    space.finish();
  }
  reader.finish();
  return options;
}

}  // namespace meshwright::reports
