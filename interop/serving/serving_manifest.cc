// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "interop/read_launch/document.h"
#include "interop/serving/pool_reading.h"
#include "interop/serving/serving_command.h"
#include "interop/serving/serving_compose.h"
#include "interop/serving/serving_container.h"
#include "interop/serving/serving_formats.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kMostDocuments = 200;
constexpr int kDeepestDocument = 3;

// Documents between lines "---", each with as many lines in front as it has in the file.
std::vector<std::string> documents_of(std::string_view text) {
  std::vector<std::string> documents(1);
  std::size_t lines = 0;
  for (const std::string& line : split_lines(text)) {
    ++lines;
    if (line == "---" || line.starts_with("--- ")) {
      if (documents.size() >= kMostDocuments) break;
      documents.push_back(std::string(lines, '\n'));
      continue;
    }
    documents.back() += line + "\n";
  }
  return documents;
}

bool has_below(const Values& values, std::string_view prefix) {
  const auto& all = values.all();
  return std::any_of(all.begin(), all.end(),
                     [&](const Value& value) { return value.key.starts_with(prefix); });
}

// The first of several fields that holds one word, or nullptr.
const Value* first_of(Values& values, std::string_view fields) {
  for (const std::string& field : split_words(fields)) {
    const Value* value = values.find(field);
    if (value != nullptr && value->words.size() == 1) return value;
  }
  return nullptr;
}

// "spec.services.*." -> "spec.services.Decode.", "spec.services.Prefill.": those that are there.
std::vector<std::string> matches(const Values& values, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    if (!pattern.empty() && !has_below(values, pattern)) return {};
    return {std::string(pattern)};
  }
  std::vector<std::string> found;
  std::set<std::string> members;
  const std::string_view head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  for (const Value& value : values.all()) {
    if (!value.key.starts_with(head)) continue;
    const std::string member = value.key.substr(0, value.key.find('.', star));
    if (members.size() >= kMostDocuments || !members.insert(member).second) continue;
    for (std::string& each : matches(values, member + std::string(tail))) {
      found.push_back(std::move(each));
    }
  }
  return found;
}

// Data of ConfigMaps, by the map's name.
using ConfigMaps = std::map<std::string, Values>;

class ManifestReading {
 public:
  ManifestReading(Values values, const std::string& file, const ShellInputs& inputs,
                  const ConfigMaps& maps, ServingLaunch& launch, int depth = 0)
      : values_(std::move(values)),
        file_(file),
        inputs_(inputs),
        maps_(maps),
        launch_(launch),
        depth_(depth) {}

  bool read() {
    const Value* stated = values_.find("kind");
    const std::string kind =
        stated != nullptr && stated->words.size() == 1 ? stated->words.front() : "";
    if (kind == "List") return list();
    if (kind == "HorizontalPodAutoscaler" || kind == "ScaledObject") {
      launch_.assumed.push_back(
          {"replicas", "as stated", kind + ": it may start more or fewer", stated->place});
      return false;
    }
    bool found = false;
    for (const ServingFormat& format : serving_formats()) {
      const bool claimed =
          format.claim.ends_with('.')
              ? has_below(values_, format.claim)
              : kind == format.claim && one_word(values_, "apiVersion").starts_with(format.api);
      if (claimed) found |= read(format);
    }
    if (!found && kind.empty() && has_below(values_, "services.")) {
      return read_serving_compose(values_, file_, inputs_, launch_);
    }
    return found;
  }

 private:
  bool list() {
    bool found = false;
    for (const std::string& item : matches(values_, "items.*.")) {
      found |= document(below(values_, item));
    }
    return found;
  }
  bool document(Values values) {
    if (depth_ >= kDeepestDocument) return false;
    return ManifestReading(std::move(values), file_, inputs_, maps_, launch_, depth_ + 1).read();
  }
  // A text with a document, or names of files that hold one each.
  bool inner(const Value& value) {
    bool found = false;
    for (const std::string& word : value.words) {
      const bool is_text = contains(word, "\n");
      const auto text = is_text        ? std::optional(word)
                        : inputs_.read ? inputs_.read(word)
                                       : std::nullopt;
      if (!text) continue;
      const std::string lines(is_text ? std::size_t(std::max(0, value.place.line)) : 0, '\n');
      found |= document(values_of_yaml(lines + *text, is_text ? file_ : word));
    }
    return found;
  }
  bool read(const ServingFormat& format) {
    bool found = false;
    if (!format.text.empty()) {
      const Values all = values_;
      for (const std::string& field : matches(all, format.text)) {
        if (const Value* text = values_.find(field)) found |= inner(*text);
      }
      return found;
    }
    const std::vector<std::string> patterns = split_words(format.parts);
    if (patterns.empty()) found |= deployment(format, "");
    for (const std::string& pattern : patterns) {
      for (const std::string& part : matches(values_, pattern)) found |= deployment(format, part);
    }
    if (found) launch_.form = format.name;
    // Decode alone serves prompts, too.
    if (found && format.claim == "modelArtifacts." && launch_.pools.size() == 1) {
      launch_.pools.front().role = PoolRole::aggregated;
    }
    return found;
  }
  int count(const Value* value, IntRange range) {
    if (value == nullptr) return 1;
    int number = integer_of(*value, range);
    // An autoscaler may stop all copies while no request is there.
    if (number == 0 && contains_any_case(value->key, "min")) number = 1;
    launch_.read.push_back({"replicas", std::to_string(number), value->said, value->place});
    return number;
  }
  // A field of the deployment, or one that counts from the document.
  const Value* fact(Values& part, std::string_view fields) {
    const Value* value = first_of(part, fields);
    return value != nullptr ? value : first_of(values_, fields);
  }
  PoolRole role_of(const ServingFormat& format, const std::string& prefix, Values& part) {
    const bool many = contains(format.parts, "*");
    const Value* stated = first_of(part, format.role);
    const std::string member = prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1);
    for (const std::string& name :
         {stated != nullptr ? stated->words.front() : "", member.substr(member.rfind('.') + 1),
          many ? one_word(part, "name") : one_word(values_, "metadata.name"),
          many ? "" : one_word(values_, "metadata.labels.llm-d.ai/role")}) {
      const PoolRole role = role_in(lower_case(name));
      if (role != PoolRole::aggregated) return role;
    }
    return PoolRole::aggregated;
  }
  bool deployment(const ServingFormat& format, const std::string& prefix) {
    Values part = below(values_, prefix);
    if (!serves(format, part)) return false;
    LaunchedPool pool;
    pool.replicas = count(fact(part, format.replicas), {0, 1'000'000});
    if (pool.replicas == 0) return false;
    pool.role = role_of(format, prefix, part);
    if (const Value* nodes = first_of(part, format.nodes)) {
      pool.nodes = integer_of(*nodes, {1, 10'000});
    }
    const OperatedContainer by = operated(format, part, pool);
    bool found = false, has_container = false;
    for (const std::string& pattern : split_words(format.containers)) {
      for (const std::string& container : matches(part, pattern)) {
        has_container = true;
        found |= ContainerReading(part, container, inputs_).read(pool, by, launch_);
      }
      if (found) break;
    }
    // The operator's own container, whose fields are the deployment's.
    const bool is_operated = format.containers.empty() || !by.model.empty();
    if (has_container || !is_operated) return found;
    return ContainerReading(part, "", inputs_).read(pool, by, launch_);
  }
  // KServe serves other software, too; llm-d's parts may be off; KAITO also trains.
  bool serves(const ServingFormat& format, Values& part) {
    const Value* create = part.find("create");
    if (create != nullptr && create->words.size() == 1 && !flag_of(*create)) return false;
    const std::string kind = lower_case(one_word(part, "model.modelFormat.name"));
    if (!kind.empty() && kind != "huggingface" && kind != "vllm") return false;
    return format.claim != "Workspace" || has_below(part, "inference.");
  }
  OperatedContainer operated(const ServingFormat& format, Values& part, LaunchedPool& pool) {
    OperatedContainer by;
    by.program = format.program;
    if (const Value* gpus = first_of(part, format.gpus)) by.gpus = integer_of(*gpus, {0, 100'000});
    pool.spans_nodes = has_below(part, "raySpec.");  // production-stack: a Ray cluster of pods
    if (format.api == "kaito.sh/") operate_kaito(part, pool, by);
    if (format.name == "LLMInferenceService") operate_llm_service(part, pool);
    if (const Value* model = model_of(format, part)) {
      by.model = model->words.front();
      if (by.model.starts_with("hf://")) by.model.erase(0, 5);
      by.options.push_back({"--model", {by.model}, model->said, model->place});
    }
    for (const FormatOption& option : format.options) add_option(option, part, by);
    return by;
  }
  // A name of Hugging Face before a path.
  const Value* model_of(const ServingFormat& format, Values& part) {
    for (const std::string& field : split_words(format.model)) {
      const Value* value = fact(part, field);
      if (value != nullptr && value->words.front().starts_with("hf://") &&
          !contains(value->words.front(), "{{")) {
        return value;
      }
    }
    return fact(part, format.model);
  }
  void add_option(const FormatOption& option, Values& part, OperatedContainer& by) {
    if (option.field.ends_with('*')) {
      Values group = below(part, option.field.substr(0, option.field.size() - 1));
      for (Value& value : grouped_options(group.all())) {
        value.key = "--" + value.key;
        by.options.push_back(std::move(value));
      }
      return;
    }
    const Value* value = part.find(option.field);
    if (value != nullptr && option.option.empty()) {
      by.words.insert(by.words.end(), value->words.begin(), value->words.end());
    } else if (value != nullptr && !value->words.empty()) {
      by.options.push_back({std::string(option.option), value->words, value->said, value->place});
    } else if (!option.if_not.empty()) {
      const std::string group(option.field.substr(0, option.field.rfind('.') + 1));
      if (!has_below(part, group)) return;
      by.options.push_back({std::string(option.if_not), {}, "no " + std::string(option.field), {}});
    }
  }
  // The template for one node passes the tensor size alone.
  void operate_llm_service(Values& part, LaunchedPool& pool) {
    pool.spans_nodes = has_below(part, "worker.");
    if (pool.spans_nodes) return;
    for (const char* field : {"pipeline", "data", "dataLocal", "expert"}) {
      const std::string key = fmt::format("parallelism.{}", field);
      const Value* value = part.find(key);
      if (value == nullptr) continue;
      launch_.passed_over.push_back(
          {value->said, "takes effect with spec.worker alone", value->place});
      part.drop(key);
    }
  }
  // KAITO's share of memory, the ConfigMap's keys over it, and GPUs of the machine, which KAITO
  // shares out where the ConfigMap does not.
  void operate_kaito(Values& part, LaunchedPool& pool, OperatedContainer& by) {
    const std::string machine = one_word(part, "resource.instanceType");
    const std::string share = contains(machine, "A10_v5") ? "0.82" : "0.84";
    part.add({"gpu_memory_utilization", {share}, "KAITO's gpu-memory-utilization " + share, {}});
    const auto map = maps_.find(one_word(part, "inference.config"));
    if (map != maps_.end()) {
      for (const Value& value : map->second.all()) {
        if (value.key.starts_with("vllm.")) part.add(value);
      }
    }
    by.gpus = gpus_of_machine(machine);
    pool.operator_gpus = by.gpus;
    pool.tensor_by_operator = !part.has("vllm.tensor-parallel-size");
    pool.data_by_operator = !part.has("vllm.data-parallel-size");
    const bool shared = pool.tensor_by_operator || pool.data_by_operator;
    if (by.gpus > 0 || !shared) return;
    if (machine.empty()) {
      launch_.not_understood.push_back(
          {.said = "no resource.instanceType",
           .why = "KAITO shares out the GPUs of a node, which the file does not state; "
                  "tensor-parallel-size and data-parallel-size of the ConfigMap do",
           .place = {file_, 0},
           .effect = OptionEffect::sizes});
      return;
    }
    launch_.not_understood.push_back({.said = machine,
                                      .why = "is no machine whose GPUs are known",
                                      .place = part.find("resource.instanceType")->place,
                                      .effect = OptionEffect::sizes});
  }

  Values values_;
  const std::string& file_;
  const ShellInputs& inputs_;
  const ConfigMaps& maps_;
  ServingLaunch& launch_;
  int depth_;
};

// Files of a ConfigMap as values, all under the map's name.
void add_config_map(Values& document, const std::string& file, ConfigMaps& maps) {
  if (one_word(document, "kind") != "ConfigMap") return;
  Values& map = maps[one_word(document, "metadata.name")];
  for (const Value& value : Values(document).all()) {
    if (!value.key.starts_with("data.") || value.words.size() != 1) continue;
    const std::string lines(std::size_t(std::max(0, value.place.line)), '\n');
    if (!contains(value.words.front(), "\n")) continue;
    try {
      for (Value& inner : values_of_yaml(lines + value.words.front(), file).all()) {
        map.add(std::move(inner));
      }
    } catch (const InputError&) {
      continue;  // a script or another format
    }
  }
}

}  // namespace

bool read_serving_manifest(std::string_view text, const std::string& file,
                           const ShellInputs& inputs, ServingLaunch& launch) {
  std::vector<Values> documents;
  ConfigMaps maps;
  for (const std::string& document : documents_of(text)) {
    if (document.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    documents.push_back(values_of_yaml(document, file));
    add_config_map(documents.back(), file, maps);
  }
  bool found = false;
  for (Values& document : documents) {
    found |= ManifestReading(std::move(document), file, inputs, maps, launch).read();
  }
  return found;
}

}  // namespace meshwright::interop
