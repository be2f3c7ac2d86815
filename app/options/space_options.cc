// SPDX-License-Identifier: Apache-2.0
#include "app/options/space_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>

#include "planner/search/space_limit.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

// More sizes than any axis has, and a size beyond all of them.
constexpr std::size_t kMostSizes = 1'000;
constexpr int kLargestSize = 100'000'000;

int whole_number(const std::string& flag, const std::string& text, int lowest) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest ||
      value > kLargestSize) {
    throw InputError(
        flag, "",
        fmt::format("must be whole numbers from {} to {}, such as 1,2,4 or 1..16 (got \"{}\")",
                    lowest, kLargestSize, text));
  }
  return value;
}

template <typename T>
std::vector<std::string> names_of(const Field<T>& field) {
  std::vector<std::string> names;
  for (const auto& entry : field.values.names) names.emplace_back(entry.name);
  return names;
}

template <typename T>
std::vector<T> values_from(const Field<T>& field, const std::string& text) {
  const std::string flag(field.option);
  std::vector<T> values;
  if (text.empty()) return values;
  for (const std::string& word : split(text, ',')) {
    const std::vector<std::string> allowed = names_of(field);
    const std::size_t before = values.size();
    for (const auto& entry : field.values.names) {
      if (entry.name == word) values.push_back(entry.value);
    }
    if (values.size() > before) continue;
    throw InputError(flag, "",
                     fmt::format("must be one of {} (got \"{}\")", fmt::join(allowed, ", "), word),
                     did_you_mean(word, allowed));
  }
  return values;
}

std::vector<bool> bool_list(const std::string& flag, const std::string& text) {
  std::vector<bool> values;
  if (text.empty()) return values;
  for (const std::string& word : split(text, ',')) {
    const bool on = word == "true" || word == "on";
    if (!on && word != "false" && word != "off") {
      throw InputError(flag, "", fmt::format("must be true, false or both (got \"{}\")", word));
    }
    values.push_back(on);
  }
  return values;
}

template <typename Module>
std::vector<ModuleSet<Module>> values_from(const Field<ModuleSet<Module>>& field,
                                           const std::string& text) {
  std::vector<ModuleSet<Module>> values;
  if (text.empty()) return values;
  for (const std::string& word : split(text, ',')) {
    const auto modules = modules_named(field, word);
    if (!modules) {
      throw InputError(std::string(field.option), "",
                       fmt::format("must be modules joined by + (got \"{}\")", word),
                       fmt::format("modules are {}", fmt::join(names_of(field), ", ")));
    }
    values.push_back(*modules);
  }
  return values;
}
std::vector<int> values_from(const Field<int>& field, const std::string& text) {
  return int_list(std::string(field.option), text, field.values.low);
}
std::vector<bool> values_from(const Field<bool>& field, const std::string& text) {
  return bool_list(std::string(field.option), text);
}

// Blanks stand between lists: Megatron-LM's letters may hold commas.
std::vector<PipelineLayout> values_from(const Field<PipelineLayout>& field,
                                        const std::string& text) {
  std::vector<PipelineLayout> values;
  for (const std::string& word : split_words(text)) {
    const auto read = read_pipeline_layout(word);
    if (const auto* wrong = std::get_if<std::string>(&read)) {
      throw InputError(std::string(field.option), "", *wrong);
    }
    values.push_back(std::get<PipelineLayout>(read));
  }
  return values;
}

std::vector<planner::StageSplit> stage_splits(const SpaceOptions& options) {
  const auto or_zero = [](std::vector<int> values) {
    if (values.empty()) values.push_back(0);
    return values;
  };
  const std::vector<int> first =
      or_zero(int_list("--first-stage-layers", options.first_stage_layers, 0));
  const std::vector<int> last =
      or_zero(int_list("--last-stage-layers", options.last_stage_layers, 0));
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

std::vector<int> int_list(const std::string& flag, const std::string& text, int lowest) {
  std::vector<int> values;
  if (text.empty()) return values;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    const int first = whole_number(flag, part.substr(0, dots), lowest);
    const int last =
        dots == std::string::npos ? first : whole_number(flag, part.substr(dots + 2), lowest);
    if (last < first)
      throw InputError(flag, "", fmt::format("must be a range of sizes (got \"{}\")", part));
    if (values.size() + static_cast<std::size_t>(last - first) >= kMostSizes) {
      throw InputError(flag, "", fmt::format("must be at most {} sizes", kMostSizes));
    }
    for (int value = first; value <= last; ++value) values.push_back(value);
  }
  return values;
}

namespace {

// The field's help, followed by the names of its values.
template <typename T>
std::string help_of(const Field<T>& field) {
  std::string text(field.help);
  if constexpr (requires { field.values.names; }) {
    text += fmt::format(". Values: {}", fmt::join(names_of(field), ", "));
  }
  return text;
}

}  // namespace

void add_space_options(CLI::App& command, SpaceOptions& options) {
  constexpr const char* kGroup = "Search space (each option takes a list: 1,2,4 or 1..16)";
  const auto add = [&](std::string_view name, std::string& value, const std::string& help) {
    command.add_option(std::string(name), value, help)->group(kGroup);
  };
  auto* text = options.axes.begin();
  for_each_field([&](const auto& field) {
    if (!field.option.empty()) add(field.option, *text, help_of(field));
    ++text;
  });
  add("--first-stage-layers", options.first_stage_layers,
      "Layers of the first stage; 0: as the other stages. Default: 0");
  add("--last-stage-layers", options.last_stage_layers,
      "Layers of the last stage; 0: as the other stages. Default: 0");
  add("--count-embedding-and-loss", options.account_embedding_loss,
      "Count embedding and loss as layers in the split. Default: true "
      "if the layers do not divide");
  command
      .add_flag("--no-overlap-grad-reduce", options.no_overlap,
                "Do not overlap the gradient reduction with the backward pass")
      ->excludes(command.get_option("--overlap-grad-reduce"))
      ->group(kGroup);
}

planner::SearchSpace space_of(const SpaceOptions& options) {
  planner::SearchSpace space;
  const auto* text = options.axes.begin();
  for_each_field([&](const auto& field) { space[field.member] = values_from(field, *text++); });
  space.stage_splits = stage_splits(options);
  if (options.no_overlap) space[&Layout::overlap_grad_reduce] = {false};
  planner::check_lists(space);
  return space;
}

}  // namespace meshwright::app
