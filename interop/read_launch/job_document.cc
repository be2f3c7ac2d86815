// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/job_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "interop/read_launch/document.h"
#include "interop/shell/base_name.h"
#include "interop/shell/shell_cursor.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// A scheduler's keys, "*" for any name, and its variables. Of Kubernetes the containers are found
// anywhere, and replicas above them.
struct JobForm {
  std::string_view owner;     // the prefix of its commands; "": the top
  std::string_view command;   // a list of words; "": commands of a shell
  std::string_view commands;  // a shell's text, or a list of lines
  std::string_view nodes, gpus;
  std::array<std::string_view, 3> variables;  // nodes, devices of a node, all devices
};
constexpr JobForm kForms[] = {
    {"containers.*.", "command", "", "", "resources.limits.nvidia.com/gpu", {"PET_NNODES"}},
    {"containers.*.", "command", "", "", "resources.limits.amd.com/gpu", {"PET_NNODES"}},
    {"spec.trainer.",
     "command",
     "",
     "numNodes",
     "resourcesPerNode.limits.nvidia.com/gpu",
     {"PET_NNODES", "PET_NPROC_PER_NODE"}},
    {"spec.", "", "entrypoint", "", "", {}},
    {"",
     "",
     "commands",
     "nodes",
     "resources.gpu",
     {"DSTACK_NODES_NUM", "DSTACK_GPUS_PER_NODE", "DSTACK_GPUS_NUM"}},
    {"",
     "",
     "run",
     "num_nodes",
     "resources.accelerators",
     {"SKYPILOT_NUM_NODES", "SKYPILOT_NUM_GPUS_PER_NODE"}},
    {"*.", "", "command", "", "", {}},
    {"", "", "command", "", "", {}},
};

// Bounds for files that are made to be slow.
constexpr std::size_t kMostOwners = 200, kMostDocuments = 200, kLinesAhead = 200;

constexpr std::string_view kLaunchers[] = {
    "torchrun", "torch.distributed", "deepspeed", "accelerate", "mpirun", "srun", "python",
    "swift",    "llamafactory-cli",  "axolotl",   "megatron",   ".sh"};
bool starts_something(std::string_view text) {
  return std::any_of(std::begin(kLaunchers), std::end(kLaunchers),
                     [&](std::string_view name) { return contains(text, name); });
}

// A script whose parts stand in given lines.
class LinedScript {
 public:
  void put(const std::string& text, int line, bool continues) {
    while (line_ < line) {
      text_ += continues ? "\\\n" : "\n";
      ++line_;
    }
    text_ += text;
    line_ += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }
  [[nodiscard]] std::string text() const { return text_ + "\n"; }

 private:
  std::string text_;
  int line_ = 1;
};

class JobReading {
 public:
  JobReading(Values document, std::string_view text)
      : values_(std::move(document)), lines_(split_lines(text)) {}

  std::optional<JobDocument> read() {
    for (const JobForm& form : kForms) {
      if (auto job = read(form)) return job;
    }
    return std::nullopt;
  }

 private:
  std::optional<JobDocument> read(const JobForm& form) {
    for (const std::string& owner : owners(form.owner)) {
      std::vector<Value> parts;
      const std::string& key = std::string(form.command.empty() ? form.commands : form.command);
      if (const Value* value = find(owner + key)) parts.push_back(*value);
      const Value* arguments = form.command.empty() ? nullptr : find(owner + "args");
      if (arguments != nullptr) parts.push_back(*arguments);
      std::string all;
      for (const Value& part : parts) all += fmt::format(" {}", fmt::join(part.words, " "));
      if (parts.empty() || !starts_something(all)) continue;
      JobDocument job;
      count(form, job.counts);
      export_variables(form, owner, job.counts, parts.front().place.line);
      write(parts, form.command.empty());
      job.script = script_.text();
      return job;
    }
    return std::nullopt;
  }

  const Value* find(const std::string& key) { return values_.find(key); }

  // Prefixes in the document that a pattern stands for.
  std::vector<std::string> owners(std::string_view pattern) {
    std::vector<std::string> found;
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return {std::string(pattern)};
    const std::string_view name = pattern.substr(0, star);
    for (const Value& value : values_.all()) {
      if (found.size() == kMostOwners) break;
      std::size_t at = value.key.find(name);
      if (at == std::string::npos || (at > 0 && !name.empty() && value.key[at - 1] != '.'))
        continue;
      at = value.key.find('.', at + name.size());
      if (at == std::string::npos) continue;
      const std::string owner = value.key.substr(0, at + 1);
      if (std::find(found.begin(), found.end(), owner) == found.end()) found.push_back(owner);
    }
    return found;
  }

  // The count that ends a word: "8", "H100:8", "80GB:8". 0: it is no number.
  static int count_of(const Value* value) {
    if (value == nullptr || value->words.size() != 1) return 0;
    const std::string& word = value->words.front();
    const std::string digits = word.substr(word.rfind(':') + 1);
    const bool whole = !digits.empty() && digits.size() < 7 &&
                       std::all_of(digits.begin(), digits.end(),
                                   [](unsigned char c) { return std::isdigit(c) != 0; });
    return whole ? std::stoi(digits) : 0;
  }

  // Copies of a container: replicas, parallelism and their kin above it.
  int copies_of(const std::string& owner) {
    int copies = 1;
    for (std::size_t dot = owner.rfind('.'); dot != std::string::npos && dot > 0;
         dot = owner.rfind('.', dot - 1)) {
      const std::string above = owner.substr(0, dot + 1);
      for (const char* key : {"replicas", "parallelism"}) {
        if (const int count = count_of(find(above + key)); count > 0) copies *= count;
      }
    }
    return copies;
  }

  // Nodes and devices of one; of Kubernetes over all containers that have devices.
  void count(const JobForm& form, Values& counts) {
    int nodes = 0;
    const Value* gpus = nullptr;
    for (const std::string& owner : owners(form.owner)) {
      const Value* limit = form.gpus.empty() ? nullptr : find(owner + std::string(form.gpus));
      if (count_of(limit) == 0) continue;
      gpus = limit;
      const int said = form.nodes.empty() ? 0 : count_of(find(owner + std::string(form.nodes)));
      nodes += form.nodes.empty() ? copies_of(owner) : std::max(1, said);
    }
    if (gpus == nullptr) return;
    for (const auto& [key, number] :
         {std::pair{"num_nodes", nodes}, std::pair{"gpus_per_node", count_of(gpus)}}) {
      Value value = *gpus;
      value.key = key;
      value.words = {std::to_string(number)};
      counts.add(std::move(value));
    }
  }

  // In the line of the command: what the scheduler and the job set.
  void export_variables(const JobForm& form, const std::string& owner, Values& counts, int line) {
    std::map<std::string, std::string> set;
    const int nodes = count_of(counts.find("num_nodes"));
    const int each = count_of(counts.find("gpus_per_node"));
    const int numbers[] = {nodes, each, nodes * each};
    for (std::size_t i = 0; i < form.variables.size(); ++i) {
      const bool says = !form.variables[i].empty() && numbers[i] > 0;
      if (says) set[std::string(form.variables[i])] = std::to_string(numbers[i]);
    }
    for (int i = 0; i < 200; ++i) {
      const Value* name = find(fmt::format("{}env.{}.name", owner, i));
      const Value* value = find(fmt::format("{}env.{}.value", owner, i));
      if (name == nullptr) break;
      if (value != nullptr && value->words.size() == 1) set[word_of(*name)] = value->words.front();
    }
    for (const Value& value : values_.all()) {
      const std::size_t dot = value.key.rfind('.');
      const std::string section = dot == std::string::npos ? "" : value.key.substr(0, dot);
      const bool is_map = section == "envs" || section == "env" || section.ends_with("environment");
      if (is_map && value.words.size() == 1) set[value.key.substr(dot + 1)] = value.words.front();
      if (value.key != "env" && !value.key.ends_with("environment")) continue;
      for (const std::string& word : value.words) {
        const std::size_t equals = word.find('=');
        if (equals != std::string::npos) set[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
    for (const auto& [name, value] : set) {
      if (name.empty() || !std::all_of(name.begin(), name.end(), is_name)) continue;
      script_.put(fmt::format("export {}={}; ", name, quoted(value)), line, false);
    }
    set_ = std::move(set);
  }

  // Kubernetes' $(NAME) is a shell's ${NAME}; its words are not parted.
  static std::string quoted(const std::string& word) {
    const bool plain = std::all_of(word.begin(), word.end(), [](char c) {
      return is_name(c) || c == '-' || c == '/' || c == '.' || c == '=' || c == ':' || c == ',';
    });
    if (plain && !word.empty()) return word;
    std::string text;
    for (const char c : word) {
      if (c == '"' || c == '\\' || c == '`') text += '\\';
      text += c;
    }
    return "\"" + text + "\"";
  }
  [[nodiscard]] std::string with_names(std::string text) const {
    for (const auto& [name, value] : set_) {
      text = replaced(text, "$(" + name + ")", "${" + name + "}");
    }
    return text;
  }

  // The first line from `from` on that has the beginning of a text; else `from`.
  [[nodiscard]] int line_of(const std::string& text, int from) const {
    const std::string begin = text.substr(0, std::min(text.find('\n'), std::size_t{24}));
    const auto first = static_cast<std::size_t>(std::max(1, from)) - 1;
    for (std::size_t i = first; i < std::min(lines_.size(), first + kLinesAhead); ++i) {
      if (!begin.empty() && contains(lines_[i], begin)) return static_cast<int>(i) + 1;
    }
    return from;
  }

  void write(const std::vector<Value>& parts, bool shell) {
    bool is_script = shell;
    bool first = true;
    for (const Value& part : parts) {
      int line = part.place.line;
      for (const std::string& word : part.words) {
        line = line_of(word, line);
        const std::string name = base_name(word);
        const bool starts_shell = first && (name == "sh" || name == "bash");
        const bool is_option = word.starts_with('-') && word.ends_with('c');
        if (is_script) script_.put(with_names(word) + "\n", line, false);
        if (is_script && !shell) return;  // its own arguments follow
        if (!is_script && !starts_shell && !(in_shell_ && is_option)) {
          script_.put(quoted(with_names(word)) + " ", line, !first);
        }
        is_script = is_script || (in_shell_ && is_option);
        in_shell_ = in_shell_ || starts_shell;
        first = first && starts_shell;
      }
    }
  }

  Values values_;
  std::vector<std::string> lines_;
  std::map<std::string, std::string> set_;
  bool in_shell_ = false;
  LinedScript script_;
};

}  // namespace

std::optional<JobDocument> job_document(const LaunchText& text) {
  if (text.kind != LaunchTextKind::yaml) return std::nullopt;
  int line = 0;
  std::size_t documents = 0;
  std::string lines;
  // The first document was read before.
  const auto read = [&] {
    Values document = documents == 0 ? text.document : values_of_yaml(lines, text.file);
    return JobReading(std::move(document), lines).read();
  };
  // Each document of the file, in its lines.
  for (const std::string& each : split_lines(text.text)) {
    ++line;
    const bool begins = each == "---" || each.starts_with("--- ");
    const bool only_blank = begins && lines.find_first_not_of("\n") == std::string::npos;
    if (begins && !only_blank) {
      if (auto job = read()) return job;
      if (++documents == kMostDocuments) return std::nullopt;
    }
    if (begins) {
      lines = std::string(static_cast<std::size_t>(line), '\n');
    } else {
      lines += each + "\n";
    }
  }
  return read();
}

}  // namespace meshwright::interop
