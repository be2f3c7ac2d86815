// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/bridge_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "interop/read_launch/shipped_recipes.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct PresetName {
  std::string_view word, preset;
};
constexpr PresetName kPresetNames[] = {{"bf16", "bf16_mixed"},
                                       {"fp16", "fp16_mixed"},
                                       {"fp8cs", "bf16_with_fp8_current_scaling_mixed"},
                                       {"fp8ds", "bf16_with_fp8_delayed_scaling_mixed"},
                                       {"fp8sc", "bf16_with_fp8_subchannel_scaling_mixed"},
                                       {"fp8mx", "bf16_with_mxfp8_mixed"},
                                       {"nvfp4", "bf16_with_nvfp4_mixed"}};

std::string task_of(const std::string& word) {
  if (word == "pretrain" || word == "sft" || word == "dpo") return word;
  if (word == "peft" || word == "lora") return "peft";
  return word == "finetune" ? "sft" : "";
}

// "16gpu".
int recipe_gpus(const std::string& word) {
  if (!word.ends_with("gpu")) return 0;
  int count = 0;
  const char* const end = word.data() + word.size() - 3;
  const auto [stopped, error] = std::from_chars(word.data(), end, count);
  return error == std::errc() && stopped == end && count > 0 ? count : 0;
}

bool is_chip(const std::string& word) {
  constexpr std::string_view kChips[] = {"a100",  "h100",  "h200",  "b200", "b300",
                                         "gb200", "gb300", "vr200", "r100", "h20"};
  return std::find(std::begin(kChips), std::end(kChips), word) != std::end(kChips);
}

bool seems_of_experts(const std::string& model, const LaunchHints& hints) {
  if (hints.model) return hints.model->moe.has_value();
  for (const char* part : {"moe", "mixtral", "deepseek-v", "oss", "kimi", "moonlight", "glm",
                           "ling", "-a3b", "-a22b", "-a10b", "-a17b", "-a12b", "-a55b"}) {
    if (contains(model, part)) return true;
  }
  return false;
}

// Sizes that neither table nor overrides say.
std::vector<std::string> missing_sizes(const BridgeRecipe& recipe, const BridgeRecipeName& name,
                                       const Values& overrides, const LaunchHints& hints) {
  const auto said = [&](std::string_view key) {
    return overrides.has(key) ||
           std::find(recipe.nulls.begin(), recipe.nulls.end(), key) != recipe.nulls.end();
  };
  std::vector<std::string> missing;
  const auto ask = [&](const char* key) {
    if (!said(key)) missing.emplace_back(std::string(key) + "=...");
  };
  ask("model.tensor_model_parallel_size");
  ask("model.pipeline_model_parallel_size");
  ask("model.context_parallel_size");
  if (seems_of_experts(name.model, hints)) ask("model.expert_model_parallel_size");
  ask("train.micro_batch_size");
  ask("train.global_batch_size");
  const bool says_length = said("dataset.seq_length") || said("dataset.sequence_length");
  if (!hints.seq_length && !says_length) ask("model.seq_length");
  if (name.task == "peft") {
    ask("peft.dim");
    ask("peft.target_modules");
  }
  return missing;
}

// Recipes of the same model and task, which are known.
std::string likely_recipes(const std::string& text, const std::string& task) {
  const std::string start = text.substr(0, text.find("_" + task + "_")) + "_" + task + "_";
  constexpr std::size_t kMostNamed = 4;
  std::string names;
  std::size_t count = 0;
  for (const std::string& name : bridge_recipes().names()) {
    if (!name.starts_with(start)) continue;
    if (++count <= kMostNamed) append_to_list(names, ", ", name);
  }
  if (count > kMostNamed) names += fmt::format(" and {} more", count - kMostNamed);
  return names.empty() ? "" : fmt::format("{} has {}; ", bridge_recipes().release(), names);
}

// A benchmark on other devices than its own keeps its sequences of a device
// (scripts/training/README.md).
void scale_batch(const BridgeRecipe& recipe, const Values& overrides, Values& base,
                 LaunchRecord& record) {
  const Value* own = base.find("benchmark_gpus");
  const int gpus = own == nullptr ? 0 : integer_of(*own, {0, 1'000'000});
  base.drop("benchmark_gpus");
  const Value* batch = base.find("train.global_batch_size");
  if (gpus == 0 || batch == nullptr || record.gpus == 0 || record.gpus == gpus ||
      overrides.has("train.global_batch_size")) {
    return;
  }
  const std::int64_t scaled = std::int64_t{integer_of(*batch, {1, 10'000'000})} * record.gpus;
  if (scaled % gpus != 0) {
    fail_at(recipe.said,
            fmt::format("its batch of {} GPUs is no whole number on {}", gpus, record.gpus),
            "state train.global_batch_size=...");
  }
  Value value = *batch;
  value.words = {std::to_string(scaled / gpus)};
  record.assumed.push_back({"global_batch_size",
                            value.words.front(),
                            fmt::format("the recipe's batch of {} GPUs, scaled to {}, as "
                                        "Megatron-Bridge does",
                                        gpus, record.gpus),
                            {}});
  base.put_over(std::move(value));
}

std::string recipe_text(const Values& values) {
  std::string text;
  for (const Value& value : values.all()) {
    append_to_list(text, ", ", fmt::format("{}={}", value.key, fmt::join(value.words, "+")));
  }
  return text;
}

// Adds values that the recipe's name states, where neither table nor overrides do.
void add_named(const BridgeRecipeName& name, const BridgeRecipe& recipe, Values& values) {
  if (name.precision.empty() || values.has("mixed_precision")) return;
  Value precision = recipe.said;
  precision.key = "mixed_precision";
  precision.words = {name.precision};
  values.add(std::move(precision));
}

void name_recipes_model(const std::string& model, const BridgeRecipe& recipe,
                        const LaunchHints& hints, LaunchRecord& record) {
  if (!hints.needs_model() || !record.model_name.empty() || model.empty()) return;
  record.model_name = model;
  record.read.push_back({"model", model, recipe.said.said, recipe.said.place});
}

}  // namespace

std::optional<BridgeRecipeName> bridge_recipe_name(std::string_view text) {
  constexpr std::string_view kEnd = "_config";
  if (!text.ends_with(kEnd)) return std::nullopt;
  BridgeRecipeName name;
  bool in_model = true;
  for (const std::string& word : split(text.substr(0, text.size() - kEnd.size()), '_')) {
    const std::string task = task_of(word);
    const int gpus = recipe_gpus(word);
    if (!task.empty()) name.task = task;
    if (gpus > 0) name.gpus = gpus;
    if (is_chip(word)) name.chip = word;
    for (const PresetName& preset : kPresetNames) {
      if (preset.word == word) name.precision = preset.preset;
    }
    in_model = in_model && task.empty() && gpus == 0;
    if (in_model) append_to_list(name.model, "-", word);
  }
  if (name.model.empty() || name.task.empty()) return std::nullopt;
  return name;
}

Values over_recipe(const BridgeRecipe& recipe, const Values& overrides, const LaunchHints& hints,
                   LaunchRecord& record) {
  const std::string text = word_of(recipe.said);
  auto name = bridge_recipe_name(text);
  if (!name) name = BridgeRecipeName{.task = "pretrain"};  // of its user's own
  if (name->task == "dpo") {
    fail_at(recipe.said, "preferences are trained (DPO), which is not modelled");
  }
  if (record.gpus == 0) record.gpus = name->gpus;
  const bool known = bridge_recipes().has(text);
  Values values = known ? bridge_recipes().values(text) : bridge_recipes().common(name->task);
  scale_batch(recipe, overrides, values, record);
  const auto taken_out = [&](const char* key) {
    const Value* value = values.find(key);
    const std::string word = value == nullptr ? "" : value->words.front();
    values.drop(key);
    return word;
  };
  const std::string of = taken_out("of");
  const std::string model = of.empty() ? name->model : of;
  const std::string also = taken_out("also");
  if (!also.empty()) {
    record.assumed.push_back({"recipe",
                              text,
                              "the benchmark's of two that have the name, as Megatron-Bridge "
                              "takes it; the library's is " +
                                  also,
                              {}});
  }
  for (const std::string& null : recipe.nulls) values.drop(null);
  if (overrides.has("dataset.seq_length")) values.drop("model.seq_length");
  if (!known) {
    const std::vector<std::string> missing = missing_sizes(recipe, *name, overrides, hints);
    if (!missing.empty()) {
      fail_at(recipe.said, "the recipe's sizes are in Python, and this recipe's are not known here",
              fmt::format("{}state what it sets as overrides of the command: {}",
                          likely_recipes(text, name->task), fmt::join(missing, " ")));
    }
  }
  record.assumed.push_back(
      {"recipe",
       text,
       known ? fmt::format("as {} has it: {}", bridge_recipes().release(), recipe_text(values))
             : fmt::format("as recipes in common: {}", recipe_text(values)),
       {}});
  name_recipes_model(model, recipe, hints, record);
  Values all = without_places(std::move(values));  // they are among the assumptions
  for (const Value& value : overrides.all()) all.put_over(value);
  add_named(*name, recipe, all);
  return all;
}

}  // namespace meshwright::interop
