// SPDX-License-Identifier: Apache-2.0
#include "interop/huggingface.h"

#include <fmt/format.h>

#include <filesystem>

#include "interop/huggingface_families.h"
#include "sim/model/parameters.h"
#include "sim/record/reader.h"

namespace meshwright::interop {
namespace {

constexpr const char* kNested = "text_config";  // the language model of a multimodal one

bool has_nested(const Json& config) {
  return config.contains(kNested) && config[kNested].is_object() &&
         config[kNested].contains("model_type");
}

std::string name_from(ObjectReader& config, const std::string& file) {
  std::string given = config.optional_string("_name_or_path", "");
  if (!given.empty()) return given;
  const std::filesystem::path path(file);
  const std::string folder = path.parent_path().filename().string();
  const bool says_nothing = path.stem() == "config" && !folder.empty() && folder != ".";
  return says_nothing ? folder : path.stem().string();
}

HuggingFaceFamilyReader family_of(ObjectReader& config) {
  const std::string type = config.required_string("model_type");
  if (const HuggingFaceFamilyReader family = huggingface_family(type)) return family;
  const std::vector<std::string> types = huggingface_model_types();
  const std::string hint = did_you_mean(type, types, "\"");
  config.fail(
      "model_type",
      fmt::format("\"{}\" is not known; must be one of {}", type, fmt::join(types, ", ")),
      fmt::format("{}describe the model by hand: schema meshwright.model/1 needs num_layers, "
                  "hidden_size, ffn_hidden_size, num_attention_heads, num_query_groups, "
                  "kv_channels, vocab_size",
                  hint.empty() ? "" : hint + " otherwise "));
}

}  // namespace

bool looks_like_huggingface(const Json& config) {
  return config.is_object() && (config.contains("model_type") || has_nested(config));
}

std::string not_modelled_of_huggingface(const Json& config) {
  const Json& inner = has_nested(config) ? config[kNested] : config;
  if (!inner.contains("model_type") || !inner["model_type"].is_string()) return "";
  return std::string(huggingface_not_modelled(inner["model_type"].get<std::string>()));
}

Model model_from_huggingface(const Json& config, const std::string& file) {
  ObjectReader outer(config, file);
  const bool nested = has_nested(config);
  ObjectReader reader = nested ? outer.required_object(kNested) : outer;
  Model model;
  model.name = name_from(outer, file);
  family_of(reader)(reader, model);
  if (nested && !reader.has("tie_word_embeddings")) {
    model.tied_embeddings = outer.optional_bool("tie_word_embeddings", model.tied_embeddings);
  }
  if (!is_countable(model)) {
    throw InputError(file, nested ? "/text_config" : "", "describes more than 10^18 parameters",
                     "compare the sizes with the published ones");
  }
  return model;
}

}  // namespace meshwright::interop
