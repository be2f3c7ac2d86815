// SPDX-License-Identifier: Apache-2.0
#include "interop/huggingface.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "interop/huggingface_families.h"
#include "interop/huggingface_weights.h"
#include "sim/block/parameters.h"
#include "sim/record/reader.h"

namespace meshwright::interop {
namespace {

// The language model of a multimodal one; empty where the file is one alone.
std::string nested_key(const Json& config) {
  for (const char* key : {"text_config", "llm_config", "language_config"}) {
    if (!config.contains(key) || !config[key].is_object()) continue;
    if (config[key].contains("model_type") || config[key].contains("hidden_size")) return key;
  }
  return "";
}

std::string name_from(ObjectReader& config, const std::string& file) {
  std::string given = config.optional_string("_name_or_path", "");
  if (!given.empty()) return given;
  const std::filesystem::path path(file);
  const std::string folder = path.parent_path().filename().string();
  const bool says_nothing = path.stem() == "config" && !folder.empty() && folder != ".";
  return says_nothing ? folder : path.stem().string();
}

// Keys of layers that a plain block lacks, by how they begin.
std::vector<std::string> other_layers_keys(const Json& config) {
  constexpr std::array<std::string_view, 14> kBegins{
      "linear_", "mamba_",  "ssm_",         "state_size", "index_",        "compress_", "conv_",
      "hc_",     "hybrid_", "layers_block", "kv_lora_",   "block_configs", "sparse_",   "kda_"};
  std::vector<std::string> found;
  for (const auto& [key, value] : config.items()) {
    if (value.is_null()) continue;
    const bool other = std::any_of(kBegins.begin(), kBegins.end(),
                                   [&](std::string_view begin) { return key.starts_with(begin); });
    if (other) found.push_back(key);
  }
  const auto types = config.find("layer_types");
  if (types == config.end() || !types->is_array()) return found;
  for (const Json& type : *types) {
    if (type != "full_attention" && type != "sliding_attention") {
      found.push_back(fmt::format("layer_types ({})", type.dump()));
      break;
    }
  }
  return found;
}

// Hint: the keys of a plain transformer block, and how this file differs.
std::string unknown_type_hint(const ObjectReader& config, const Json& json) {
  if (const std::vector<std::string> others = other_layers_keys(json); !others.empty()) {
    return fmt::format(
        "{} speak of layers that a plain block lacks, and a plain block would be predicted "
        "otherwise. Describe the model by hand (meshwright schema model)",
        fmt::join(others, ", "));
  }
  constexpr std::array<std::string_view, 6> kPlain{"hidden_size",         "intermediate_size",
                                                   "num_hidden_layers",   "num_attention_heads",
                                                   "num_key_value_heads", "vocab_size"};
  std::vector<std::string_view> missing;
  for (const std::string_view key : kPlain) {
    if (!config.has(key)) missing.push_back(key);
  }
  return fmt::format(
      "these keys would make it a plain block: {}{}. If it is one, write \"model_type\": "
      "\"llama\" (\"mixtral\" with experts), or describe it by hand (meshwright schema model)",
      fmt::join(kPlain, ", "),
      missing.empty() ? "" : fmt::format("; not there: {}", fmt::join(missing, ", ")));
}

// A name that is near is another family, with other layers: none is offered.
HuggingFaceFamilyReader family_of(ObjectReader& config, ObjectReader& outer, const Json& json) {
  const std::string type =
      (config.has("model_type") ? config : outer).required_string("model_type");
  if (const HuggingFaceFamilyReader family = huggingface_family(type)) return family;
  config.fail("model_type",
              fmt::format("\"{}\" is not known; must be one of {}", type,
                          fmt::join(huggingface_model_types(), ", ")),
              unknown_type_hint(config, json));
}

}  // namespace

std::string without_non_numbers(const std::string& text) {
  // Few files have any, and one of blanks alone may be long.
  if (text.find("Infinity") == std::string::npos && text.find("NaN") == std::string::npos) {
    return text;
  }
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (quoted && text[i] == '\\') {
      out += rest.substr(0, 2);
      ++i;
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    std::size_t length = 0;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (!quoted && length == 0 && rest.starts_with(word)) length = word.size();
    }
    out += length > 0 ? "null" : rest.substr(0, 1);
    if (length > 0) i += length - 1;
  }
  return out;
}

bool looks_like_huggingface(const Json& config) {
  return config.is_object() && (config.contains("model_type") || !nested_key(config).empty());
}

std::string not_modelled_layers_of_huggingface(const Json& config) {
  const std::string nested = nested_key(config);
  const bool inner = !nested.empty() && config[nested].contains("model_type");
  const Json& typed = inner ? config[nested] : config;
  if (!typed.contains("model_type") || !typed["model_type"].is_string()) return "";
  return std::string(huggingface_not_modelled(typed["model_type"].get<std::string>()));
}

std::string not_modelled_of_huggingface(const Json& config) {
  std::string said = not_modelled_layers_of_huggingface(config);
  const std::string method = stored_weights_of_huggingface(config).method;
  if (method.empty()) return said;
  return fmt::format(
      "{}{}quantization_config ({}) describes the stored checkpoint and is not "
      "modelled. Every weight is trained in the job's precision.",
      said, said.empty() ? "" : " ", method);
}

namespace {

// Positions that YaRN stretches a model to, as engines derive them (vLLM config/model.py): its
// factor times the original ones.
void stretch_positions(ObjectReader& config, Model& model) {
  const char* const key = config.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  if (model.max_position_embeddings == 0 || !config.has(key)) return;
  const Json& scaling = config.member(key);
  if (!scaling.is_object()) return;
  const auto number = [&](const char* name) {
    const auto found = scaling.find(name);
    return found != scaling.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  const bool yarn = scaling.value("rope_type", scaling.value("type", Json())) == "yarn";
  const double positions = number("factor") * number("original_max_position_embeddings");
  if (!yarn || positions > 1e9) return;
  model.max_position_embeddings =
      std::max(model.max_position_embeddings, static_cast<int>(positions));
}

// Size of the encoder of images, as SGLang looks at it (server_args.py
// adjust_mem_fraction_for_vlm).
void read_image_encoder(const Json& config, Model& model) {
  const auto encoder = config.find("vision_config");
  if (encoder == config.end() || !encoder->is_object()) return;
  const auto size = [&](const char* key, int absent) {
    const auto found = encoder->find(key);
    const bool number = found != encoder->end() && found->is_number_integer();
    return number ? std::clamp<int>(found->get<int>(), 0, 1'000'000) : absent;
  };
  model.image_encoder_hidden_size = size("hidden_size", 1024);
  model.image_encoder_num_layers = size("num_hidden_layers", 0);
}

}  // namespace

Model model_from_huggingface(const Json& config, const std::string& file) {
  ObjectReader outer(config, file);
  const std::string nested = nested_key(config);
  ObjectReader reader = nested.empty() ? outer : outer.required_object(nested);
  Model model;
  model.name = name_from(outer, file);
  family_of(reader, outer, nested.empty() ? config : config[nested])(reader, model);
  stretch_positions(reader, model);
  read_image_encoder(config, model);
  // The head belongs to the outer class.
  if (!nested.empty() && outer.has("tie_word_embeddings")) {
    model.tied_embeddings = outer.optional_bool("tie_word_embeddings", model.tied_embeddings);
  }
  if (!is_countable(model)) {
    throw InputError(file, nested.empty() ? "" : "/" + nested,
                     "describes more than 10^18 parameters",
                     "compare the sizes with the published ones");
  }
  return model;
}

}  // namespace meshwright::interop
