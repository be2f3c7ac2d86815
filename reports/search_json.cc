// SPDX-License-Identifier: Apache-2.0
#include "reports/search_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/layout/fields.h"
#include "sim/record/reader.h"

namespace meshwright::reports {
namespace {

// Sizes, stages and schedules are counted in the plural, switches and recompute are not.
template <typename T>
std::string list_name(const Field<T>& field) {
  const std::string name(field.name);
  const bool plural = std::is_same_v<T, bool> || name.back() == 's' || name.back() == 'y';
  return plural ? name : name + "s";
}

template <typename T>
Json to_json(const Field<T>& field, const T& value) {
  return value_text(field, value);
}
Json to_json(const Field<int>& /*field*/, int value) { return value; }
Json to_json(const Field<bool>& /*field*/, bool value) { return value; }

Json to_json(const planner::StageSplit& s) {
  return {{"num_layers_in_first_pipeline_stage", s.num_layers_in_first_pipeline_stage},
          {"num_layers_in_last_pipeline_stage", s.num_layers_in_last_pipeline_stage},
          {"account_for_embedding_in_pipeline_split", s.account_for_embedding_in_pipeline_split},
          {"account_for_loss_in_pipeline_split", s.account_for_loss_in_pipeline_split}};
}

planner::StageSplit split_from(ObjectReader reader) {
  const planner::StageSplit defaults;
  const planner::StageSplit split{
      reader.optional_int("num_layers_in_first_pipeline_stage",
                          defaults.num_layers_in_first_pipeline_stage),
      reader.optional_int("num_layers_in_last_pipeline_stage",
                          defaults.num_layers_in_last_pipeline_stage),
      reader.optional_bool("account_for_embedding_in_pipeline_split",
                           defaults.account_for_embedding_in_pipeline_split),
      reader.optional_bool("account_for_loss_in_pipeline_split",
                           defaults.account_for_loss_in_pipeline_split)};
  reader.finish();
  return split;
}

// One value of a list.
struct Item {
  const ObjectReader& reader;
  const std::string& list;
  const Json& value;

  void read(const Field<int>& /*field*/, std::vector<int>& to) const {
    if (!value.is_number_integer()) reader.fail(list, "must be an array of integers");
    to.push_back(value.get<int>());
  }
  void read(const Field<bool>& /*field*/, std::vector<bool>& to) const {
    if (!value.is_boolean()) reader.fail(list, "must be an array of true and false");
    to.push_back(value.get<bool>());
  }
  void read(const Field<PipelineLayout>& /*field*/, std::vector<PipelineLayout>& to) const {
    if (!value.is_string()) reader.fail(list, "must be an array of strings");
    const auto layout = read_pipeline_layout(value.get<std::string>());
    if (const auto* wrong = std::get_if<std::string>(&layout)) reader.fail(list, *wrong);
    to.push_back(std::get<PipelineLayout>(layout));
  }
  template <typename Module>
  void read(const Field<ModuleSet<Module>>& field, std::vector<ModuleSet<Module>>& to) const {
    const auto modules =
        modules_named(field, value.is_string() ? value.get<std::string>() : std::string());
    if (!modules) reader.fail(list, fmt::format("unknown modules {}", value.dump()));
    to.push_back(*modules);
  }
  template <typename T>
  void read(const Field<T>& field, std::vector<T>& to) const {
    const auto names = field.values.names;
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& entry) { return value == entry.name; });
    if (found == names.end()) reader.fail(list, fmt::format("unknown word {}", value.dump()));
    to.push_back(found->value);
  }
};

Json to_json(const planner::SearchSpace& space) {
  Json json;
  for_each_field([&](const auto& field) {
    if (field.option.empty()) return;
    Json& list = json[list_name(field)] = Json::array();
    for (const auto value : space[field.member]) list.push_back(to_json(field, value));
  });
  Json& splits = json["stage_splits"] = Json::array();
  for (const planner::StageSplit& split : space.stage_splits) splits.push_back(to_json(split));
  return json;
}

planner::SearchSpace space_from(ObjectReader reader) {
  planner::SearchSpace space;
  for_each_field([&](const auto& field) {
    const std::string list = list_name(field);
    if (field.option.empty() || !reader.has(list)) return;
    for (const Json& value : reader.required_array(list)) {
      Item{reader, list, value}.read(field, space[field.member]);
    }
  });
  if (!reader.has("stage_splits")) {
    reader.finish();
    return space;
  }
  for (const Json& split : reader.required_array("stage_splits")) {
    space.stage_splits.push_back(split_from(
        {split, reader.file(),
         fmt::format("{}/{}", reader.pointer_to("stage_splits"), space.stage_splits.size())}));
  }
  reader.finish();
  return space;
}

}  // namespace

Json search_options_to_json(const planner::SearchOptions& options) {
  Json json{{"top", options.top}, {"memory_headroom", options.memory_headroom}};
  if (!options.target.name.empty()) json["target"] = options.target.name;
  json["space"] = to_json(options.space);
  return json;
}

planner::SearchOptions search_options_from_json(const Json& json, const std::string& file,
                                                const std::string& pointer) {
  ObjectReader reader(json, file, pointer);
  planner::SearchOptions options;
  options.top = reader.optional_int("top", options.top);
  options.memory_headroom = reader.optional_number("memory_headroom", 0.0, {.high = 1.0});
  options.target.name = reader.optional_string("target", "");
  if (reader.has("space")) options.space = space_from(reader.required_object("space"));
  reader.finish();
  return options;
}

}  // namespace meshwright::reports
