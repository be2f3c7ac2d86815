// SPDX-License-Identifier: Apache-2.0
#include "app/files/config_synonym.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "app/files/checkpoint_names.h"
#include "app/files/config_names.h"
#include "app/files/serving_files.h"
#include "interop/shell/base_name.h"
#include "sim/base/text.h"

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
constexpr std::array kModels{
    Synonym{"llama3170b", "llama-3-70b"},     Synonym{"llama3370b", "llama-3-70b"},
    Synonym{"llama31405b", "llama-3-405b"},   Synonym{"llama4maverick17b128e", "llama-4-maverick"},
    Synonym{"deepseekr1", "deepseek-v3"},     Synonym{"deepseekr10528", "deepseek-v3"},
    Synonym{"deepseekv30324", "deepseek-v3"}, Synonym{"deepseekv31", "deepseek-v3"},
    Synonym{"bloom", "bloom-176b"},           Synonym{"gpt3", "gpt3-175b"},
    Synonym{"phi3mini4k", "phi-3-mini"},      Synonym{"phi3mini128k", "phi-3-mini"}};

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
                               Synonym{"haillm", "hai-llm"},
                               Synonym{"trt", "tensorrt-llm"},
                               Synonym{"trtllm", "tensorrt-llm"},
                               Synonym{"tensorrt", "tensorrt-llm"}};

std::string model_meant(const std::string& typed) {
  std::string name = lower_case(base_name(typed));
  if (name.starts_with("meta-")) name.erase(0, 5);
  const std::vector<std::string> shipped = config_names("models");
  for (const std::string& tried : {name, without_variants(name)}) {
    const std::string key = key_of(tried);
    for (const std::string& model : shipped) {
      if (key == key_of(model)) return model;
    }
    for (const Synonym& synonym : kModels) {
      if (key == synonym.typed) return std::string(synonym.means);
    }
  }
  return "";
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

std::string engine_meant(const std::string& typed) {
  for (const Synonym& synonym : kFamilies) {
    if (key_of(typed) == synonym.typed) return nearest_engine(std::string(synonym.means), "");
  }
  return nearest_engine(lower_case(typed), "");
}

// A path is meant as it is; "organisation/name" is a name of Hugging Face.
bool may_be_name(const std::string& typed) {
  const bool is_path = typed.starts_with('.') || typed.starts_with('/') || typed.starts_with('~') ||
                       typed.ends_with(".json");
  return !is_path && std::count(typed.begin(), typed.end(), '/') <= 1;
}

}  // namespace

std::string config_synonym(const std::string& typed, const std::string& folder) {
  if (!may_be_name(typed)) return "";
  if (folder == "models") {
    const std::string published = model_of_checkpoint(typed);
    return published.empty() ? model_meant(typed) : published;
  }
  if (folder == "frameworks") return framework_meant(typed);
  if (folder == "engines") return engine_meant(typed);
  return "";
}

}  // namespace meshwright::app
