// SPDX-License-Identifier: Apache-2.0
#include "reports/search_json.h"

#include <fmt/format.h>

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
