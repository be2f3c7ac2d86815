// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/bridge_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/shipped_recipes.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// argument_parser.py of Megatron-Bridge (0011064), its short and its long names.
struct OptionKey {
  std::string_view names;  // without dashes
  const char* key;         // of the override
};
constexpr OptionKey kKeys[] = {
    {"tp tensor_model_parallel_size", "model.tensor_model_parallel_size"},
    {"pp pipeline_model_parallel_size", "model.pipeline_model_parallel_size"},
    {"cp context_parallel_size", "model.context_parallel_size"},
    {"vp virtual_pipeline_model_parallel_size", "model.virtual_pipeline_model_parallel_size"},
    {"ep expert_model_parallel_size", "model.expert_model_parallel_size"},
    {"et expert_tensor_parallel_size", "model.expert_tensor_parallel_size"},
    {"mb micro_batch_size", "train.micro_batch_size"},
    {"gb global_batch_size", "train.global_batch_size"},
    {"sl seq_length", "model.seq_length"},
    {"pipeline_model_parallel_layout", "model.pipeline_model_parallel_layout"},
    {"recompute_modules", "model.recompute_modules"},
    {"rl recompute_num_layers", "model.recompute_num_layers"},
    {"ol activation_offload_layers", "model.cpu_offloading_num_layers"},
    {"cuda_graph_impl", "model.cuda_graph_impl"},
    {"cuda_graph_scope", "model.cuda_graph_scope"},
    {"moe_flex_dispatcher_backend", "model.moe_flex_dispatcher_backend"},
    {"moe_a2a_overlap", "comm_overlap.overlap_moe_expert_parallel_comm"},
    {"use_megatron_fsdp", "ddp.use_megatron_fsdp"},
    {"hidden_size", "model.hidden_size"},
    {"num_layers", "model.num_layers"},
    {"peft peft_scheme", "peft.scheme"}};

bool is_among(std::string_view names, const std::string& name) {
  const std::vector<std::string> all = split_words(names);
  return std::find(all.begin(), all.end(), name) != all.end();
}

std::string plain_option(std::string_view option) {
  std::string name(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// "fp8_cs" and "FP8_CS" of --compute_dtype in the recipe's name.
std::string dtype_of_recipe(const std::string& typed) {
  std::string word = lower_case(typed);
  std::erase(word, '_');
  return word.empty() ? "bf16" : word;
}

struct NamedParts {
  std::string model, task = "pretrain", gpu, precision = "bf16", variant;
  bool library = false;  // "--model NAME --mode TASK"
  int gpus = 0;
};

std::string name_of_parts(const NamedParts& parts) {
  if (parts.library && parts.gpus == 0) return fmt::format("{}_{}_config", parts.model, parts.task);
  const std::string name = fmt::format("{}_{}_{}gpu_{}_{}", parts.model, parts.task, parts.gpus,
                                       parts.gpu.empty() ? "h100" : parts.gpu, parts.precision);
  const std::string variant = fmt::format("{}_{}_config", name, parts.variant);
  return bridge_recipes().has(variant) ? variant : name + "_config";
}

void read_parts(const Value& option, const std::string& name, NamedParts& parts,
                LaunchRecord& record) {
  if (option.words.empty()) return;
  const std::string& word = option.words.front();
  if (name == "mr" || name == "model_recipe_name") parts.model = word;
  if (name == "model" && parts.library) parts.model = word;
  if (name == "cv" || name == "config_variant") parts.variant = lower_case(word);
  if (name == "mode" || name == "task") parts.task = word == "lora" ? "peft" : word;
  if (name == "g" || name == "gpu" || name == "gpu_type") parts.gpu = lower_case(word);
  if (name == "c" || name == "compute_dtype") parts.precision = dtype_of_recipe(word);
  if (name == "ng" || name == "num_gpus") {
    parts.gpus = integer_of(option, kParallelSizes);
    record.gpus = parts.gpus;
    record.read.push_back({"gpus", word, option.said, option.place});
  }
  if (name == "gn" || name == "gpus_per_node") {
    record.gpus_per_node = integer_of(option, {1, 1024});
  }
}

// A list of one option is one word with commas.
std::vector<std::string> option_words(const Value& option, std::string_view key) {
  if (option.words.empty()) return {"true"};
  const bool list = key == "model.recompute_modules" || key == "model.cuda_graph_scope";
  return list ? split(option.words.front(), ',') : std::vector{option.words.front()};
}

// Options set more than one field (recipe_runner.py, performance/utils/overrides.py).
void add_with_what_follows(const Value& option, Values& overrides) {
  const std::string word = option.words.size() == 1 ? option.words.front() : "";
  const bool none = word == "None";
  const auto add = [&](const char* key, const char* value) {
    Value follows = option;
    follows.key = key;
    follows.words = {value};
    overrides.add(std::move(follows));
  };
  if (!none) overrides.add(option);
  if (option.key == "model.tensor_model_parallel_size" && !none) {
    add("model.sequence_parallel", word == "1" ? "false" : "true");
  }
  if (option.key == "model.moe_flex_dispatcher_backend") {
    add("model.moe_token_dispatcher_type", none ? "alltoall" : "flex");
  }
  if (option.key == "comm_overlap.overlap_moe_expert_parallel_comm") {
    add("comm_overlap.delay_wgrad_compute", word.c_str());
  }
}

}  // namespace

bool is_bridge_recipe_option(std::string_view word) {
  return word == "--recipe" || word == "--model_recipe_name" || word == "-mr" || word == "--model";
}

bool names_bridge_recipe(std::string_view text) {
  const std::vector<std::string> words = split_words(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string option = words[i].substr(0, equals);
    if (!is_bridge_recipe_option(option)) continue;
    if (option == "--model" && !contains(text, "training/train.sh")) continue;
    if (option != "--recipe") return true;
    const bool behind = equals == std::string::npos;
    if (behind && i + 1 == words.size()) continue;
    std::string name = behind ? words[i + 1] : words[i].substr(equals + 1);
    std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
    if (bridge_recipe_name(name) || contains(text, "run_recipe.py") ||
        contains(text, "training/train.sh")) {
      return true;
    }
  }
  return false;
}

BridgeOptions bridge_options(const std::vector<Value>& options, bool selects,
                             LaunchRecord& record) {
  BridgeOptions found;
  NamedParts parts;
  parts.library = selects;
  for (const Value& option : options) {
    const std::string name = plain_option(option.key);
    read_parts(option, name, parts, record);
    if (is_bridge_recipe_option(option.key) && (selects || option.key != "--model")) {
      found.said = option;
      if (option.key == "--recipe" && option.words.size() == 1) found.recipe = word_of(option);
    }
    const OptionKey* known = nullptr;
    for (const OptionKey& key : kKeys) {
      if (is_among(key.names, name)) known = &key;
    }
    if (known != nullptr) {
      Value value = option;
      value.key = known->key;
      value.words = option_words(option, known->key);
      add_with_what_follows(value, found.overrides);
    } else {
      Value other = option;
      other.key = name;
      found.others.add(std::move(other));
    }
  }
  if (found.recipe.empty() && !parts.model.empty()) {
    found.recipe = name_of_parts(parts);
  }
  found.said.words = {found.recipe};
  return found;
}

}  // namespace meshwright::interop
