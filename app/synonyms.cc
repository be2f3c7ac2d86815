// SPDX-License-Identifier: Apache-2.0
#include "app/synonyms.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "app/config_names.h"
#include "app/terminal.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/layout/fields.h"

namespace meshwright::app {
namespace {

// Letters and digits alone, in lower case: "Llama-3.1-70B" and "llama31_70b" are one key.
std::string key_of(std::string_view name) {
  std::string key;
  for (const char c : lower_case(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) key += c;
  }
  return key;
}

struct Synonym {
  std::string_view typed, means;
};

// Checkpoints with the shape of a shipped model, by key_of() without organisation and variant.
constexpr std::array kModels{Synonym{"llama318b", "llama-3-8b"},
                             Synonym{"llama3170b", "llama-3-70b"},
                             Synonym{"llama3370b", "llama-3-70b"},
                             Synonym{"llama31405b", "llama-3-405b"},
                             Synonym{"llama4maverick17b128e", "llama-4-maverick"},
                             Synonym{"deepseekr1", "deepseek-v3"},
                             Synonym{"deepseekr10528", "deepseek-v3"},
                             Synonym{"deepseekv30324", "deepseek-v3"},
                             Synonym{"deepseekv31", "deepseek-v3"},
                             Synonym{"bloom", "bloom-176b"},
                             Synonym{"gpt3", "gpt3-175b"},
                             Synonym{"phi3mini4k", "phi-3-mini"},
                             Synonym{"phi3mini128k", "phi-3-mini"},
                             Synonym{"kimik2instruct0905", "kimi-k2"},
                             Synonym{"qwen330ba3binstruct2507", "qwen3-30b-a3b"},
                             Synonym{"qwen3235ba22binstruct2507", "qwen3-235b-a22b"}};

// Ends of names that do not change a model's shape.
constexpr std::array<std::string_view, 10> kVariants{
    "-hf", "-base", "-instruct", "-chat", "-it", "-v0.1", "-v0.2", "-v0.3", "-fp8", "-original"};

// Families whose name is not the beginning of their files' names.
constexpr std::array kFamilies{Synonym{"megatron", "megatron-core"},
                               Synonym{"megatronlm", "megatron-core"},
                               Synonym{"mcore", "megatron-core"},
                               Synonym{"nemo", "megatron-core"},
                               Synonym{"megatronbridge", "megatron-core"},
                               Synonym{"fsdp", "pytorch-fsdp"},
                               Synonym{"fsdp2", "pytorch-fsdp"},
                               Synonym{"pytorch", "pytorch-fsdp"},
                               Synonym{"titan", "torchtitan"},
                               Synonym{"nemoautomodel", "automodel"},
                               Synonym{"neox", "gpt-neox"},
                               Synonym{"haillm", "hai-llm"}};

std::string model_meant(const std::string& typed) {
  std::string name = lower_case(typed.substr(typed.find_last_of('/') + 1));
  if (name.starts_with("meta-")) name.erase(0, 5);
  const std::vector<std::string> shipped = config_names("models");
  while (true) {
    const std::string key = key_of(name);
    for (const std::string& model : shipped) {
      if (key == key_of(model)) return model;
    }
    for (const Synonym& synonym : kModels) {
      if (key == synonym.typed) return std::string(synonym.means);
    }
    const auto* const variant = std::find_if(
        kVariants.begin(), kVariants.end(),
        [&](std::string_view end) { return name.size() > end.size() && name.ends_with(end); });
    if (variant == kVariants.end()) return "";
    name.resize(name.size() - variant->size());
  }
}

// "megatron-core" of "megatron-core-2026".
std::string family_of(const std::string& framework) {
  return framework.substr(0, framework.find_last_of('-'));
}

std::string framework_meant(const std::string& typed) {
  std::string key = key_of(typed);
  for (const Synonym& synonym : kFamilies) {
    if (key == synonym.typed) key = key_of(synonym.means);
  }
  std::string newest;  // names are sorted, and end in their year
  for (const std::string& name : config_names("frameworks")) {
    if (key == key_of(name) || key == key_of(family_of(name))) newest = name;
  }
  return newest;
}

// A path is meant as it is; "organisation/name" is a name of Hugging Face.
bool may_be_name(const std::string& typed) {
  const bool is_path = typed.starts_with('.') || typed.starts_with('/') || typed.starts_with('~') ||
                       typed.ends_with(".json");
  return !is_path && std::count(typed.begin(), typed.end(), '/') <= 1;
}

struct OptionSynonym {
  std::string_view typed;  // without dashes; words are joined by dashes
  std::string_view option;
  std::string_view value{};  // of a flag without one
};
constexpr std::array kOptions{OptionSynonym{"tensor-parallel", "--tp"},
                              OptionSynonym{"tensor-parallel-size", "--tp"},
                              OptionSynonym{"tensor-parallel-degree", "--tp"},
                              OptionSynonym{"tensor-parallelism", "--tp"},
                              OptionSynonym{"tensor-model-parallel-size", "--tp"},
                              OptionSynonym{"tp-size", "--tp"},
                              OptionSynonym{"tp-degree", "--tp"},
                              OptionSynonym{"pipeline-parallel", "--pp"},
                              OptionSynonym{"pipeline-parallel-size", "--pp"},
                              OptionSynonym{"pipeline-parallel-degree", "--pp"},
                              OptionSynonym{"pipeline-parallelism", "--pp"},
                              OptionSynonym{"pipeline-model-parallel-size", "--pp"},
                              OptionSynonym{"pp-size", "--pp"},
                              OptionSynonym{"pp-degree", "--pp"},
                              OptionSynonym{"context-parallel", "--cp"},
                              OptionSynonym{"context-parallel-size", "--cp"},
                              OptionSynonym{"context-parallel-degree", "--cp"},
                              OptionSynonym{"cp-size", "--cp"},
                              OptionSynonym{"cp-comm-type", "--cp-comm"},
                              OptionSynonym{"expert-parallel", "--ep"},
                              OptionSynonym{"expert-parallel-size", "--ep"},
                              OptionSynonym{"expert-parallel-degree", "--ep"},
                              OptionSynonym{"expert-model-parallel-size", "--ep"},
                              OptionSynonym{"ep-size", "--ep"},
                              OptionSynonym{"expert-tensor-parallel-size", "--etp"},
                              OptionSynonym{"expert-tensor-parallel-degree", "--etp"},
                              OptionSynonym{"virtual-pipeline-model-parallel-size", "--vpp"},
                              OptionSynonym{"virtual-pipeline-parallel-size", "--vpp"},
                              OptionSynonym{"pipeline-model-parallel-layout", "--pipeline-layout"},
                              OptionSynonym{"pipeline-parallel-schedule", "--schedule"},
                              OptionSynonym{"pp-schedule", "--schedule"},
                              OptionSynonym{"micro-batch-size", "--mbs"},
                              OptionSynonym{"micro-batch", "--mbs"},
                              OptionSynonym{"microbatch-size", "--mbs"},
                              OptionSynonym{"train-micro-batch-size-per-gpu", "--mbs"},
                              OptionSynonym{"local-batch-size", "--mbs"},
                              OptionSynonym{"sequence-parallel", "--sp", "true"},
                              OptionSynonym{"enable-sequence-parallel", "--sp", "true"},
                              OptionSynonym{"tp-comm-overlap", "--tp-overlap", "true"},
                              OptionSynonym{"zero-stage", "--zero"},
                              OptionSynonym{"use-distributed-optimizer", "--zero", "1"},
                              OptionSynonym{"recompute-granularity", "--recompute"},
                              OptionSynonym{"recompute-activations", "--recompute", "selective"},
                              OptionSynonym{"activation-checkpointing", "--recompute", "full"},
                              OptionSynonym{"gradient-checkpointing", "--recompute", "full"},
                              OptionSynonym{"recompute-num-layers", "--recompute-layers"},
                              OptionSynonym{"cuda-graph-impl", "--cuda-graphs"},
                              OptionSynonym{"moe-token-dispatcher-type", "--moe-dispatcher"},
                              OptionSynonym{"num-gpus", "--gpus"},
                              OptionSynonym{"ngpus", "--gpus"},
                              OptionSynonym{"ngpu", "--gpus"},
                              OptionSynonym{"n-gpus", "--gpus"},
                              OptionSynonym{"gpu", "--gpus"},
                              OptionSynonym{"gpu-count", "--gpus"},
                              OptionSynonym{"world-size", "--gpus"},
                              OptionSynonym{"num-devices", "--gpus"},
                              OptionSynonym{"devices", "--gpus"},
                              OptionSynonym{"global-batch", "--global-batch-size"},
                              OptionSynonym{"gbs", "--global-batch-size"},
                              OptionSynonym{"batch-size", "--global-batch-size"},
                              OptionSynonym{"train-batch-size", "--global-batch-size"},
                              OptionSynonym{"seq-len", "--seq-length"},
                              OptionSynonym{"seqlen", "--seq-length"},
                              OptionSynonym{"seq", "--seq-length"},
                              OptionSynonym{"sequence-length", "--seq-length"},
                              OptionSynonym{"max-seq-len", "--seq-length"},
                              OptionSynonym{"max-model-len", "--seq-length"},
                              OptionSynonym{"context-length", "--seq-length"},
                              OptionSynonym{"dtype", "--precision"},
                              OptionSynonym{"mixed-precision", "--precision"},
                              OptionSynonym{"bf16", "--precision", "bf16"},
                              OptionSynonym{"fp16", "--precision", "fp16"},
                              OptionSynonym{"fp8", "--precision", "fp8"},
                              OptionSynonym{"tokens", "--train-tokens"},
                              OptionSynonym{"num-tokens", "--train-tokens"},
                              OptionSynonym{"training-tokens", "--train-tokens"},
                              OptionSynonym{"model-name", "--model"},
                              OptionSynonym{"model-name-or-path", "--model"},
                              OptionSynonym{"hf-model", "--model"},
                              OptionSynonym{"hardware", "--cluster"},
                              OptionSynonym{"machine", "--cluster"},
                              OptionSynonym{"system", "--cluster"},
                              OptionSynonym{"software", "--framework"},
                              OptionSynonym{"launcher", "--target"},
                              OptionSynonym{"output", "--out"},
                              OptionSynonym{"output-file", "--out"},
                              OptionSynonym{"json", "--format", "json"},
                              OptionSynonym{"csv", "--format", "csv"}};

// What has no option of its own, and how it is said.
struct Advice {
  std::string_view typed, means;
};
constexpr std::array kAdvice{
    Advice{"nodes", "use --gpus with the number of devices: nodes x devices per node"},
    Advice{"num-nodes", "use --gpus with the number of devices: nodes x devices per node"},
    Advice{"nnodes", "use --gpus with the number of devices: nodes x devices per node"},
    Advice{"gpus-per-node", "the cluster says it: \"gpus_per_node\" of a cluster file"},
    Advice{"nproc-per-node", "the cluster says it: \"gpus_per_node\" of a cluster file"},
    Advice{"dp", "it follows from --gpus: devices / (tp x pp x cp)"},
    Advice{"data-parallel", "it follows from --gpus: devices / (tp x pp x cp)"},
    Advice{"data-parallel-size", "it follows from --gpus: devices / (tp x pp x cp)"},
    Advice{"data-parallel-replicate-degree", "it follows from --gpus: devices / (tp x pp x cp)"},
    Advice{"data-parallel-shard-degree", "use --zero and --zero-shard"},
    Advice{"gradient-accumulation-steps", "it follows from --global-batch-size and --mbs"}};

// "--parallelism.tensor_parallel_degree" is tensor-parallel-degree.
std::string plain_name(const std::string& option) {
  const std::string name = lower_case(option.substr(2));
  return replaced(name.substr(name.find_last_of('.') + 1), "_", "-");
}

bool has(const CLI::App& command, std::string_view option) {
  return command.get_option_no_throw(std::string(option)) != nullptr;
}

// The layout field that an option of the search space sets; empty: none.
std::string layout_word(std::string_view option) {
  std::string word;
  for_each_field([&](const auto& field) {
    if (!field.option.empty() && field.option == option) word = field.short_name;
  });
  return word;
}

[[noreturn]] void refuse_for_layout(const CLI::App& command, const std::string& option,
                                    const std::string& word, const std::string& value) {
  throw InputError(
      fmt::format("{} is no option of meshwright {}", option, command.get_name()),
      fmt::format("the layout says it: --layout {}={}", word, value.empty() ? "..." : value));
}

}  // namespace

std::string config_synonym(const std::string& typed, const std::string& folder) {
  if (!may_be_name(typed)) return "";
  if (folder == "models") return model_meant(typed);
  if (folder == "frameworks") return framework_meant(typed);
  return "";
}

std::vector<std::string> with_own_options(const CLI::App& command,
                                          const std::vector<std::string>& words) {
  std::vector<std::string> own;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t equals = word.find('=');
    const std::string option = word.substr(0, equals);
    if (!word.starts_with("--") || word.size() == 2 || has(command, option)) {
      own.push_back(word);
      continue;
    }
    const bool has_next = i + 1 < words.size() && !words[i + 1].starts_with("--");
    const std::string next = has_next ? words[i + 1] : "";
    const std::string value = equals == std::string::npos ? next : word.substr(equals + 1);
    const std::string name = plain_name(option);
    const auto* const known =
        std::find_if(kOptions.begin(), kOptions.end(), [&](const OptionSynonym& synonym) {
          return name == synonym.typed || "--" + name == synonym.option;
        });
    if (known != kOptions.end() && has(command, known->option)) {
      say("{} is read as {}\n", option, known->option);
      own.emplace_back(known->option);
      if (equals != std::string::npos) {
        own.push_back(value);
      } else if (!has_next && !known->value.empty()) {
        own.emplace_back(known->value);
      }
      continue;
    }
    const std::string in_layout =
        layout_word(known != kOptions.end() ? known->option : "--" + name);
    if (!in_layout.empty() && has(command, "--layout")) {
      refuse_for_layout(command, option, in_layout, value);
    }
    for (const Advice& advice : kAdvice) {
      if (name != advice.typed) continue;
      throw InputError(fmt::format("{} is no option of meshwright {}", option, command.get_name()),
                       std::string(advice.means));
    }
    own.push_back(word);
  }
  return own;
}

}  // namespace meshwright::app
