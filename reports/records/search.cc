// SPDX-License-Identifier: Apache-2.0
#include "reports/records/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/layout/fields.h"

namespace meshwright::reports {
namespace {

// Sizes, stages and schedules are counted in the plural, switches and recompute are not.
template <typename T>
std::string list_name(const Field<T>& field) {
  const std::string name(field.name);
  const bool plural = std::is_same_v<T, bool> || name.back() == 's' || name.back() == 'y';
  return plural ? name : name + "s";
}

// Counts and switches as such, all else in words.
template <typename T>
Json listed(const Field<T>& field, const T& value) {
  return value_text(field, value);
}
Json listed(const Field<int>& /*field*/, int value) { return value; }
Json listed(const Field<bool>& /*field*/, bool value) { return value; }

template <typename T>
Json listed_schema(const Field<T>& field) {
  if constexpr (std::is_same_v<T, int>) return {{"type", "integer"}};
  if constexpr (std::is_same_v<T, bool>) return {{"type", "boolean"}};
  if constexpr (requires { field.values.names.front().value == T{}; }) {
    return choice_schema(words_of_names(field.values.names));
  }
  return {{"type", "string"}};
}

// One value of a list that is read.
struct ListedValue {
  const ObjectReader& reader;
  const std::string& list;
  const Json& value;

  [[nodiscard]] int of(const Field<int>& /*field*/) const {
    if (!value.is_number_integer()) reader.fail(list, "must be an array of integers");
    return value.get<int>();
  }
  [[nodiscard]] bool of(const Field<bool>& /*field*/) const {
    if (!value.is_boolean()) reader.fail(list, "must be an array of true and false");
    return value.get<bool>();
  }
  [[nodiscard]] PipelineLayout of(const Field<PipelineLayout>& /*field*/) const {
    if (!value.is_string()) reader.fail(list, "must be an array of strings");
    const auto layout = read_pipeline_layout(value.get<std::string>());
    if (const auto* wrong = std::get_if<std::string>(&layout)) reader.fail(list, *wrong);
    return std::get<PipelineLayout>(layout);
  }
  template <typename Module>
  [[nodiscard]] ModuleSet<Module> of(const Field<ModuleSet<Module>>& field) const {
    const auto modules =
        modules_named(field, value.is_string() ? value.get<std::string>() : std::string());
    if (!modules) reader.fail(list, fmt::format("unknown modules {}", value.dump()));
    return *modules;
  }
  template <typename T>
  [[nodiscard]] T of(const Field<T>& field) const {
    const auto names = field.values.names;
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& entry) { return value == entry.name; });
    if (found == names.end()) reader.fail(list, fmt::format("unknown word {}", value.dump()));
    return found->value;
  }
};

template <typename T>
Kind<std::vector<T>> values_of(const Field<T>& field) {
  return {{.read =
               [&field](ObjectReader& reader, const std::string& key, std::vector<T>& values) {
                 values.clear();
                 for (const Json& value : reader.required_array(key)) {
                   values.push_back(ListedValue{reader, key, value}.of(field));
                 }
               },
           .write =
               [&field](Json& json, const std::string& key, const std::vector<T>& values) {
                 Json& list = json[key] = Json::array();
                 for (const auto value : values) list.push_back(listed(field, value));
               },
           .schema =
               [&field] {
                 return Json{{"type", "array"}, {"items", listed_schema(field)}};
               }}};
}

const Record<planner::StageSplit>& stage_split_record() {
  return described([](Record<planner::StageSplit>& r) {
    using R = planner::StageSplit;
    r.about("How layers are divided over stages.");
    r.row<&R::num_layers_in_first_pipeline_stage>(IntRange{.low = 0});
    r.row<&R::num_layers_in_last_pipeline_stage>(IntRange{.low = 0});
    r.rows<&R::account_for_embedding_in_pipeline_split, &R::account_for_loss_in_pipeline_split>();
    r.named("StageSplit");
  });
}

const Record<planner::SearchSpace>& search_space_record() {
  return described([](Record<planner::SearchSpace>& r) {
    using R = planner::SearchSpace;
    r.about("Values that each axis was given; an empty list: its defaults.");
    for_each_field([&](const auto& field) {
      if (field.option.empty()) return;
      r.row_at(
          [&field](auto& space) -> auto& { return space[field.member]; }, list_name(field),
          values_of(field));
    });
    r.row<&R::stage_splits>(stage_split_record);
    r.named("SearchSpace");
  });
}

}  // namespace

const Record<planner::SearchOptions>& search_options_record() {
  return described([](Record<planner::SearchOptions>& r) {
    using R = planner::SearchOptions;
    r.about("Which layouts were looked at.");
    r.row<&R::top>("Fastest layouts that were asked for.");
    r.absent_in_older_files();
    r.row<&R::memory_headroom>(kind::fraction(true), "Share of the device's memory to leave free.");
    r.absent_in_older_files();
    r.row_at(
        [](auto& search) -> auto& { return search.target.name; }, "target",
        "The launcher that all layouts can be said to.");
    r.omitted_at_default();
    r.row<&R::space>(search_space_record);
    r.absent_in_older_files();
    r.named("Search");
  });
}

}  // namespace meshwright::reports
