// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "interop/read_launch/document.h"
#include "interop/serving/service_environment.h"
#include "interop/serving/serving_command.h"
#include "interop/serving/serving_compose.h"
#include "interop/shell/base_name.h"
#include "interop/shell/shell_cursor.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kMostDocuments = 200;

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

// One container's part of a manifest.
class ContainerReading {
 public:
  ContainerReading(Values& values, std::string prefix, const ShellInputs& inputs)
      : values_(values), prefix_(std::move(prefix)), inputs_(inputs) {}

  // Returns whether the container starts an engine.
  bool read(LaunchedPool base, ServingLaunch& launch) {
    const std::string image = word("image");
    std::vector<std::string> words = list("command");
    const int line = line_;
    const std::vector<std::string> arguments = list("args");
    words.insert(words.end(), arguments.begin(), arguments.end());
    if (words.empty()) return false;
    read_environment(base.nodes, launch);
    for (std::string& each : words) each = with_environment(each);
    base.gpus_of_container = gpus();
    const std::string version = version_in_image(image);
    if (launch.engine_version.empty() && engine_of_image(image)) launch.engine_version = version;
    if (const auto script = script_in(words)) return read_script(*script, base, launch);
    ShellCommand command;
    if (list("command").empty() && engine_of_image(image) == EngineKind::vllm) {
      command.words = {MarkedText::on_line("vllm", line), MarkedText::on_line("serve", line)};
    }
    ShellScript script;
    for (const std::string& each : words) command.words.push_back(marked(each, script));
    const auto engine = engine_command(command);
    if (!engine) return false;
    add_pool(command, *engine, base, {"", script, file_, inputs_.read}, launch);
    note_environment(launch);
    return true;
  }

 private:
  std::string word(const char* key) {
    const Value* value = values_.find(prefix_ + key);
    if (value == nullptr || value->words.size() != 1) return "";
    note_place(*value);
    return value->words.front();
  }
  std::vector<std::string> list(const char* key) {
    const Value* value = values_.find(prefix_ + key);
    if (value == nullptr) return {};
    note_place(*value);
    return value->words;
  }
  void note_place(const Value& value) {
    line_ = std::max(1, value.place.line);
    file_ = value.place.file;
  }
  int gpus() {
    for (const char* key :
         {"resources.limits.nvidia.com/gpu", "resources.requests.nvidia.com/gpu",
          "resources.limits.gpu", "resources.requests.gpu", "resources.limits.amd.com/gpu"}) {
      const Value* value = values_.find(prefix_ + key);
      if (value != nullptr && value->words.size() == 1) return integer_of(*value, {0, 100'000});
    }
    return 0;
  }
  void read_environment(int nodes, ServingLaunch& launch) {
    if (nodes > 0) environment_["LWS_GROUP_SIZE"] = std::to_string(nodes);
    for (int i = 0; i < 200; ++i) {
      const Value* name = values_.find(fmt::format("{}env.{}.name", prefix_, i));
      if (name == nullptr) break;
      if (name->words.size() != 1) continue;
      const std::string& known = name->words.front();
      environment_place_[known] = name->place;
      const Value* value = values_.find(fmt::format("{}env.{}.value", prefix_, i));
      if (value != nullptr && value->words.size() == 1) environment_[known] = value->words.front();
    }
    for (int i = 0; i < 20; ++i) {
      const std::string key = fmt::format("{}envFrom.{}.configMapRef.name", prefix_, i);
      const Value* map = values_.find(key);
      if (map == nullptr || map->words.size() != 1) continue;
      launch.assumed.push_back({"envFrom " + map->words.front(), "no variable of the engine",
                                "another object of the cluster sets them", map->place});
    }
    for (const auto& [name, value] : inputs_.variables) environment_[name] = value;
  }
  [[nodiscard]] std::string with_environment(std::string text) const {
    for (const auto& [name, value] : environment_) {
      if (name.empty() || text.size() > 1'000'000) continue;
      text = replaced(text, "$(" + name + ")", value);
    }
    return text;
  }
  // A word in which "$(NAME)" is unknown where the manifest does not set NAME.
  [[nodiscard]] MarkedText marked(const std::string& word, ShellScript& script) const {
    MarkedText text;
    std::size_t at = 0;
    while (at < word.size()) {
      const std::size_t begin = word.find("$(", at);
      const std::size_t end = begin == std::string::npos ? begin : word.find(')', begin);
      const std::size_t name_at = begin + 2;
      const bool is_variable = end != std::string::npos && end > name_at &&
                               std::all_of(word.begin() + std::ptrdiff_t(name_at),
                                           word.begin() + std::ptrdiff_t(end), is_name);
      if (!is_variable) break;
      const std::string name = word.substr(name_at, end - name_at);
      text.add(MarkedText::on_line(word.substr(at, begin - at), line_));
      text.add_unknown("${" + name + "}", line_);
      script.why_unknown[name] = "the manifest does not state it: --set " + name + "=VALUE does";
      at = end + 1;
    }
    text.add(MarkedText::on_line(word.substr(at), line_));
    return text;
  }
  // The script of "sh -c SCRIPT", which may be all of `command` and `args`.
  static std::optional<std::string> script_in(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const std::string shell = base_name(words[i]);
      const bool is_shell = shell == "sh" || shell == "bash";
      if (!is_shell) return std::nullopt;
      for (std::size_t k = i + 1; k + 1 < words.size(); ++k) {
        if (words[k].starts_with('-') && words[k].ends_with('c')) return words[k + 1];
      }
      return std::nullopt;
    }
    return std::nullopt;
  }
  bool read_script(const std::string& text, const LaunchedPool& base, ServingLaunch& launch) {
    const ShellInputs inputs{environment_, std::nullopt, inputs_.read};
    const ShellScript script = read_shell_script(text, file_, inputs);
    const bool found = read_engine_script({text, script, file_, inputs_.read}, base, launch);
    if (found) note_environment(launch);
    return found;
  }
  void note_environment(ServingLaunch& launch) const {
    for (const auto& [name, place] : environment_place_) {
      const auto value = environment_.find(name);
      note_variable(name, value == environment_.end() ? "" : value->second, place, launch);
    }
  }

  Values& values_;
  std::string prefix_, file_;
  const ShellInputs& inputs_;
  std::map<std::string, std::string> environment_;
  std::map<std::string, Place> environment_place_;
  int line_ = 1;
};

class ManifestReading {
 public:
  ManifestReading(Values values, const std::string& file, const ShellInputs& inputs,
                  ServingLaunch& launch)
      : values_(std::move(values)), file_(file), inputs_(inputs), launch_(launch) {}

  bool read() {
    const Value* kind = values_.find("kind");
    const std::string name = kind != nullptr && kind->words.size() == 1 ? kind->words.front() : "";
    if (name == "List") return list();
    if (name == "HorizontalPodAutoscaler" || name == "ScaledObject") return scaled(*kind);
    if (name == "Deployment" || name == "StatefulSet" || name == "ReplicaSet" || name == "Job") {
      return pods("spec.template.spec.", base(count("spec.replicas", 1)), name);
    }
    if (name == "Pod") return pods("spec.", base(1), name);
    if (name == "LeaderWorkerSet") return leader_worker_set(name);
    if (name == "DynamoGraphDeployment") return dynamo(name);
    if (has_below("modelArtifacts.")) return llm_d();
    if (name.empty() && has_below("services.")) {
      return read_serving_compose(values_, file_, inputs_, launch_);
    }
    return false;
  }

 private:
  static LaunchedPool base(int replicas) {
    LaunchedPool pool;
    pool.replicas = replicas;
    return pool;
  }
  int count(const std::string& key, int otherwise) {
    const Value* value = values_.find(key);
    if (value == nullptr) return otherwise;
    const int number = integer_of(*value, {0, 1'000'000});
    launch_.read.push_back({"replicas", std::to_string(number), value->said, value->place});
    return number;
  }
  [[nodiscard]] bool has_below(const std::string& prefix) const {
    const auto& all = values_.all();
    return std::any_of(all.begin(), all.end(),
                       [&](const Value& value) { return value.key.starts_with(prefix); });
  }
  bool list() {
    bool found = false;
    for (int i = 0; has_below(fmt::format("items.{}.", i)); ++i) {
      Values item = below(values_, fmt::format("items.{}.", i));
      found |= ManifestReading(std::move(item), file_, inputs_, launch_).read();
    }
    return found;
  }
  bool scaled(const Value& kind) {
    launch_.assumed.push_back(
        {"replicas", "as stated", kind.words.front() + ": it may start more or fewer", kind.place});
    return false;
  }
  // Containers of a pod that start an engine.
  bool pods(const std::string& prefix, LaunchedPool pool, const std::string& form) {
    if (pool.replicas == 0) return false;
    const Value* name = values_.find("metadata.name");
    const bool is_named = name != nullptr && name->words.size() == 1;
    const PoolRole named = is_named ? role_in(name->words.front()) : PoolRole::aggregated;
    if (pool.role == PoolRole::aggregated) pool.role = named;
    bool found = false;
    for (int i = 0; i < 20; ++i) {
      const std::string container = fmt::format("{}containers.{}.", prefix, i);
      if (!has_below(container)) break;
      found |= ContainerReading(values_, container, inputs_).read(pool, launch_);
    }
    if (found) launch_.form = form;
    return found;
  }
  bool leader_worker_set(const std::string& form) {
    LaunchedPool pool = base(count("spec.replicas", 1));
    const std::string group = "spec.leaderWorkerTemplate.";
    if (const Value* size = values_.find(group + "size"))
      pool.nodes = integer_of(*size, {1, 10'000});
    return pods(group + "leaderTemplate.spec.", pool, form) ||
           pods(group + "workerTemplate.spec.", pool, form);
  }
  bool dynamo(const std::string& form) {
    std::set<std::string> services;
    for (const Value& value : values_.all()) {
      constexpr std::string_view kServices = "spec.services.";
      if (!value.key.starts_with(kServices)) continue;
      const std::string rest = value.key.substr(kServices.size());
      services.insert(rest.substr(0, rest.find('.')));
    }
    bool found = false;
    for (const std::string& service : services) {
      const std::string prefix = "spec.services." + service + ".";
      const std::string container = prefix + "extraPodSpec.mainContainer.";
      if (!has_below(container)) continue;
      LaunchedPool pool = base(count(prefix + "replicas", 1));
      if (pool.replicas == 0) continue;
      const Value* part = values_.find(prefix + "subComponentType");
      pool.role = role_in(part != nullptr && part->words.size() == 1 ? part->words.front()
                                                                     : lower_case(service));
      if (const Value* nodes = values_.find(prefix + "multinode.nodeCount")) {
        pool.nodes = integer_of(*nodes, {1, 10'000});
      }
      move_resources(prefix, container);
      found |= ContainerReading(values_, container, inputs_).read(pool, launch_);
    }
    if (found) launch_.form = form;
    return found;
  }
  // Dynamo states GPUs of a service beside its container.
  void move_resources(const std::string& prefix, const std::string& container) {
    const Value* gpus = values_.find(prefix + "resources.limits.gpu");
    if (gpus == nullptr) return;
    Value moved = *gpus;
    moved.key = container + "resources.limits.gpu";
    values_.put_over(std::move(moved));
  }
  // Values of llm-d's model service chart.
  bool llm_d() {
    bool found = false;
    const Value* name = values_.find("modelArtifacts.name");
    for (const auto& [part, role] : {std::pair{std::string("prefill."), PoolRole::prefill},
                                     std::pair{std::string("decode."), PoolRole::decode}}) {
      if (!has_below(part)) continue;
      const Value* create = values_.find(part + "create");
      if (create != nullptr && create->words.size() == 1 && !flag_of(*create)) continue;
      LaunchedPool pool = base(count(part + "replicas", 1));
      pool.role = role;
      if (pool.replicas == 0) continue;
      add_parallelism(part);
      found |= pods(part, pool, "llm-d values");
    }
    if (!found) return false;
    if (launch_.model.empty() && name != nullptr && name->words.size() == 1) {
      launch_.model = name->words.front();
      launch_.read.push_back({"model", launch_.model, name->said, name->place});
    }
    // Decode alone serves prompts, too.
    if (launch_.pools.size() == 1) launch_.pools.front().role = PoolRole::aggregated;
    return true;
  }
  // The chart makes options of these.
  void add_parallelism(const std::string& part) {
    const std::string arguments = part + "containers.0.args";
    const Value* stated = values_.find(arguments);
    Value options = stated != nullptr ? *stated : Value{};
    options.key = arguments;
    for (const auto& [key, option] : {std::pair{"parallelism.tensor", "--tensor-parallel-size"},
                                      std::pair{"parallelism.data", "--data-parallel-size"}}) {
      const Value* value = values_.find(part + key);
      if (value == nullptr || value->words.size() != 1) continue;
      options.words.emplace_back(option);
      options.words.push_back(value->words.front());
      options.place = value->place;
    }
    if (!options.words.empty()) values_.put_over(std::move(options));
    const Value* command = values_.find(part + "containers.0.modelCommand");
    if (command != nullptr && command->words == std::vector<std::string>{"vllmServe"}) {
      Value words = *command;
      words.key = part + "containers.0.command";
      const Value* name = values_.find("modelArtifacts.name");
      words.words = {"vllm", "serve"};
      if (name != nullptr && name->words.size() == 1) words.words.push_back(name->words.front());
      values_.put_over(std::move(words));
    }
  }

  Values values_;
  const std::string& file_;
  const ShellInputs& inputs_;
  ServingLaunch& launch_;
};

}  // namespace

bool read_serving_manifest(std::string_view text, const std::string& file,
                           const ShellInputs& inputs, ServingLaunch& launch) {
  bool found = false;
  for (const std::string& document : documents_of(text)) {
    if (document.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    found |= ManifestReading(values_of_yaml(document, file), file, inputs, launch).read();
  }
  return found;
}

}  // namespace meshwright::interop
