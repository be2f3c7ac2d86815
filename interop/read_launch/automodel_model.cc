// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "interop/read_launch/automodel_parts.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/json.h"

namespace meshwright::interop {
namespace {

constexpr std::string_view kModelConfig = "model.config.";

// transformers.Qwen3MoeConfig is of the model type qwen3_moe; "": the class is none of a model.
std::string model_type_of(const std::string& target) {
  std::string name = target.substr(target.rfind('.') + 1);
  if (!target.starts_with("transformers.") || !name.ends_with("Config")) return "";
  name.resize(name.size() - std::string_view("Config").size());
  if (name == "Auto") return "";
  std::string type;
  for (const char c : name) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper && !type.empty()) type += '_';
    type += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return type;
}

// A word as JSON has it: a number, true, false, or a text.
Json json_of(const std::string& word) {
  if (same_letters(word, "true")) return true;
  if (same_letters(word, "false")) return false;
  const Json number = Json::parse(word, nullptr, false);
  return number.is_number() ? number : Json(word);
}

Json config_json_of(const Values& values, const std::string& type) {
  Json config = Json::object();
  for (const Value& value : values.all()) {
    if (!value.key.starts_with(kModelConfig) || value.words.size() != 1) continue;
    const std::string key = value.key.substr(kModelConfig.size());
    if (!contains(key, ".") && key != "_target_") config[key] = json_of(value.words.front());
  }
  config["model_type"] = type;
  return config;
}

}  // namespace

void read_automodel_model(LaunchReading& r, const LaunchHints& hints) {
  const Value* name = automodel_value(
      r, {"model.pretrained_model_name_or_path", "model.config.pretrained_model_name_or_path",
          "model.config.name_or_path", "model.config"});
  const Value* target = automodel_value(r, {"model.config._target_"});
  if (!hints.needs_model()) return;
  LaunchRecord& record = r.record();
  if (name != nullptr) {
    record.model_name = word_of(*name);
    return r.note("model", record.model_name, *name);
  }
  const std::string type = target == nullptr ? "" : model_type_of(word_of(*target));
  if (type.empty()) return;
  record.model_config =
      config_json_of(r.values(), type).dump(-1, ' ', false, Json::error_handler_t::replace);
  r.note("model", type, *target);
}

}  // namespace meshwright::interop
