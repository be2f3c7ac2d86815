// SPDX-License-Identifier: Apache-2.0
// Options of a pool whose value is JSON: drafts, transfer of the cache, compilation, and what is
// put over the model's configuration.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "interop/read_launch/document.h"
#include "interop/serving/pool_reading.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::string_view kCompiled =
    "choice of kernels: step times are fitted over launch commands that choose them; bytes stay";

// Keys of a model's configuration that change how many positions it has, and no size.
bool is_length_override(const std::string& key) {
  constexpr std::array kLengths{"rope_scaling",
                                "rope_parameters",
                                "rope_theta",
                                "max_position_embeddings",
                                "max_model_len",
                                "model_max_length",
                                "original_max_position_embeddings"};
  const std::string first = key.substr(0, key.find('.'));
  return std::find(kLengths.begin(), kLengths.end(), first) != kLengths.end();
}
// Keys that change no size and no cost.
bool is_harmless_override(const std::string& key) {
  constexpr std::array kNames{"architectures", "eos_token_id", "bos_token_id", "pad_token_id"};
  const std::string first = key.substr(0, key.find('.'));
  return is_length_override(key) || std::find(kNames.begin(), kNames.end(), first) != kNames.end();
}

// "--compilation-config.cudagraph-mode" -> "cudagraph_mode"; "" without a dot.
std::string key_below(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? "" : replaced(key.substr(dot + 1), "-", "_");
}

}  // namespace

std::vector<Value> grouped_options(const std::vector<Value>& values, const IsMember& is_member) {
  std::vector<Value> options;
  std::map<std::string, Json> groups;
  for (const Value& value : values) {
    const std::size_t dot = value.key.find('.');
    const bool typed = value.key.starts_with('-');
    const std::string head = value.key.substr(0, dot);
    const std::string name = typed ? replaced(head, "_", "-") : head;
    if (dot == std::string::npos || !is_member(value.key)) {
      options.push_back(value);
      continue;
    }
    if (!groups.contains(name)) {
      options.push_back(value);
      options.back().key = name;
    }
    Json& group = groups[name];
    const std::string inner = typed ? key_below(value.key) : value.key.substr(dot + 1);
    group[inner] = value.words.size() == 1 ? Json(value.words.front()) : Json(value.words);
    const auto whole = std::find_if(options.begin(), options.end(),
                                    [&](const Value& option) { return option.key == name; });
    if (whole->unknown.empty()) whole->unknown = value.unknown;
  }
  for (Value& option : options) {
    const auto group = groups.find(option.key);
    if (group == groups.end()) continue;
    option.words = {group->second.dump()};
    const bool typed = option.key.starts_with('-');
    option.said = option.key + (typed ? " " : " = ") + option.words.front();
  }
  return options;
}

void PoolReading::speculation(const Value& value) {
  Values json = values_of_json(word_of(value), value.place.file);
  int count = 0;
  for (const Value& part : json.all()) {
    if (part.key == "num_speculative_tokens") {
      count = integer_of(part, {1, 1000});
    } else if (part.key == "method" && !part.words.empty() && part.words[0] == "ngram") {
      return refuse(value, "drafts without a model");
    } else if (part.key == "draft_tensor_parallel_size" || part.key == "method" ||
               part.key == "model" || part.key == "attention_backend" ||
               part.key == "quantization" || part.key == "use_local_argmax_reduction") {
      continue;
    } else {
      return refuse(value, fmt::format("has \"{}\", which is not known", part.key));
    }
  }
  if (count == 0) return refuse(value, "does not say num_speculative_tokens");
  pool_.options.num_speculative_tokens = count;
  note("num_speculative_tokens", std::to_string(count), value);
}

// kv_both does not tell the pools apart: the manifest's or the command's role stays.
void PoolReading::transfer(const Value& value) {
  Values json = values_of_json(word_of(value), value.place.file);
  std::string role, connector;
  if (const Value* found = json.find("kv_role")) role = word_of(*found);
  if (const Value* found = json.find("kv_connector")) connector = word_of(*found);
  if (connector.starts_with("Offloading") || connector.starts_with("LMCache") ||
      connector.starts_with("Multi")) {
    refuse(value, "the cache lies in memory of the host, too", OptionEffect::time);
    if (role == "kv_both") return;
  }
  if (role == "kv_producer") pool_.role = PoolRole::prefill;
  if (role == "kv_consumer") pool_.role = PoolRole::decode;
  if (role.empty()) return refuse(value, "does not say kv_role");
  note("role", std::string(name_of(pool_.role)), value);
}

// Graphs and the level of compilation; other keys choose kernels.
void PoolReading::compilation(const Value& value) {
  const std::string below = key_below(spelled(value.key));
  if (!below.empty()) return compilation_part(below, value, value);
  const std::string word = word_of(value);
  if (!word.starts_with('{')) return compilation_part("level", value, value);
  const Values json = values_of_json(word, value.place.file);
  for (const Value& part : json.all()) compilation_part(part.key, part, value);
}

void PoolReading::compilation_part(const std::string& key, const Value& part, const Value& whole) {
  const std::string word = part.words.size() == 1 ? lower_case(part.words.front()) : "";
  const bool no_graphs = (key == "cudagraph_mode" && (word == "none" || word == "0")) ||
                         (key == "cudagraph_capture_sizes" && part.words.empty()) ||
                         (key == "use_cudagraph" && !flag_of(part));
  if (no_graphs) {
    pool_.options.enforce_eager = true;
    return note("enforce_eager", "true", whole);
  }
  if (key == "cudagraph_capture_sizes" || key == "max_capture_size" ||
      key == "max_cudagraph_capture_size") {
    Value sizes = part;
    sizes.said = whole.said;
    sizes.place = whole.place;
    return limits(OptionUse::graph_sizes, sizes);
  }
  const bool is_level = key == "level" || key == "mode";
  const bool less =
      is_level && (word == "0" || word == "1" || word == "none" || word == "stock_torch_compile");
  if (less || (key == "backend" && word == "eager")) {
    return refuse(whole, fmt::format("\"{}\": less is compiled than by the engine's default", key));
  }
  pass(whole, kCompiled);
}

void PoolReading::model_overrides(const Value& value) {
  const std::string below = key_below(spelled(value.key));
  std::vector<std::string> keys{below};
  if (below.empty()) {
    const Values json = values_of_json(word_of(value), value.place.file);
    keys.clear();
    for (const Value& part : json.all()) keys.push_back(part.key);
  }
  std::string changed;
  for (const std::string& key : keys) {
    if (!is_harmless_override(key)) changed = key;
    launch_.longer_positions = launch_.longer_positions || is_length_override(key);
  }
  if (changed.empty()) return pass(value, "length and names of the model; its shape stays");
  refuse(
      value,
      fmt::format("changes \"{}\" of the model: give the changed config.json by --model", changed),
      OptionEffect::sizes);
}

}  // namespace meshwright::interop
