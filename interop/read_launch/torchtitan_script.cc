// SPDX-License-Identifier: Apache-2.0
// A script or command line that starts torchtitan: run_train.sh with CONFIG_FILE (TOML, up to
// v0.2.2) or MODULE and CONFIG (the registry, since 2026-02), or torchrun -m torchtitan.train. Its
// options "--section.key value" overrule the configuration.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/document.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/torchtitan.h"
#include "interop/shell/shell_script.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::string_view kTitanRunner = "run_train.sh";
constexpr IntRange kTitanNodes{1, 20'000};
constexpr std::array<std::string_view, 5> kEndedBefore03{
    "activation_checkpoint.mode", "activation_checkpoint.selective_ac_option",
    "parallelism.expert_tensor_parallel_degree", "parallelism.context_parallel_rotate_method",
    "parallelism.disable_loss_parallel"};

bool starts_titan(const ShellCommand& command) {
  return std::any_of(command.words.begin(), command.words.end(), [](const MarkedText& word) {
    const std::string& text = word.text();
    return text.ends_with(kTitanRunner) || text == "torchtitan.train" ||
           text.ends_with("torchtitan/train.py") || text.starts_with("--job.config_file") ||
           text.starts_with("--job.config-file");
  });
}

bool is_titan_script(const LaunchText& text) {
  if (!is_script(text)) return false;
  if (contains(text.text, "torchtitan.train") || contains(text.text, "--job.config_file") ||
      contains(text.text, "--job.config-file") || contains(text.text, "torchtitan/train.py")) {
    return true;
  }
  for (const std::string_view name : {"llama3_", "llama4_", "deepseek_v3_", "qwen3_", "gpt_oss_"}) {
    if (contains(text.text, fmt::format("CONFIG={}", name))) return true;
  }
  if (!contains(text.text, kTitanRunner)) return false;
  return contains(text.text, "CONFIG_FILE=") || contains(text.text, "CONFIG=") ||
         contains(text.text, "--training.") || contains(text.text, "--parallelism.") ||
         contains(text.text, "--model.");
}

// "--section.no-key", "--section.no_key" and "--no-section.key" switch off.
Value titan_setting(Value option) {
  std::string key = option.key.substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  const std::size_t dot = key.find('.');
  if (option.words.empty()) {
    bool on = true;
    if (dot != std::string::npos && key.compare(dot + 1, 3, "no_") == 0) {
      key.erase(dot + 1, 3);
      on = false;
    } else if (key.starts_with("no_")) {
      key.erase(0, 3);
      on = false;
    }
    option.words = {on ? "true" : "false"};
  }
  option.key = key;
  return option;
}

// "activation-checkpoint:full" is a subcommand of tyro, which stands behind all options.
bool is_titan_subcommand(const std::string& word) {
  return word.starts_with("activation-checkpoint:") || word.starts_with("activation_checkpoint:");
}

Value titan_subcommand(const MarkedText& word, const std::string& file) {
  const std::string name = word.text().substr(word.text().find(':') + 1);
  Value value;
  value.key = "activation_checkpoint.mode";
  value.words = {name.starts_with("full")        ? "full"
                 : name.starts_with("selective") ? "selective"
                 : name.starts_with("memory")    ? "memory_budget"
                 : name.starts_with("no")        ? "none"
                                                 : name};
  value.said = word.text();
  value.place = {file, word.line()};
  return value;
}

// Environment variables, as typed, and options of the command.
struct TitanCommand {
  const ShellScript& script;
  const ShellCommand& command;
  std::string file;
  Values settings;
  Values named;  // "config_file", "module", "config", "NGPU"

  TitanCommand(const ShellScript& s, const ShellCommand& c, std::string f)
      : script(s), command(c), file(std::move(f)) {}
};

std::size_t first_titan_option(const ShellCommand& command) {
  std::size_t first = first_program_word(command);
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    if (command.words[i].text().ends_with(".sh")) first = std::max(first, i + 1);
  }
  return first;
}

void add_titan_option(TitanCommand& t, Value option, LaunchRecord& record) {
  if (option.key.starts_with('$')) {
    record.not_understood.push_back({option.said, "it may hold options: " + option.unknown,
                                     option.place, OptionEffect::unknown});
    return;
  }
  std::erase_if(option.words, is_titan_subcommand);
  if (!option.key.starts_with("--")) return;
  Value setting = titan_setting(std::move(option));
  if (setting.key == "job.config_file") setting.key = "config_file";
  if (setting.key == "module" || setting.key == "config" || setting.key == "config_file") {
    t.named.add(std::move(setting));
  } else {
    t.settings.add(std::move(setting));
  }
}

// CONFIG=llama3_8b before the command, or exported.
void add_titan_variable(TitanCommand& t, const char* name, const char* key) {
  const MarkedText* found = nullptr;
  std::string text;
  for (const MarkedText& word : t.command.words) {
    if (!word.text().starts_with(std::string(name) + "=")) continue;
    found = &word;
    text = word.text().substr(word.text().find('=') + 1);
  }
  const auto exported = t.script.exported.find(name);
  if (found == nullptr && exported != t.script.exported.end()) {
    found = &exported->second;
    text = exported->second.text();
  }
  if (found == nullptr || text.empty() || t.named.has(key)) return;
  Value value;
  value.key = key;
  value.words = {text};
  value.said = fmt::format("{}={}", name, text);
  value.place = {t.file, found->line()};
  value.unknown = why_unknown(*found, t.script);
  t.named.add(std::move(value));
}

void read_titan_words(TitanCommand& t, LaunchRecord& record) {
  for (Value& option : options_of(t.command, first_titan_option(t.command), t.script, t.file)) {
    add_titan_option(t, std::move(option), record);
  }
  for (const MarkedText& word : t.command.words) {
    if (is_titan_subcommand(word.text())) t.settings.add(titan_subcommand(word, t.file));
  }
  add_titan_variable(t, "CONFIG_FILE", "config_file");
  add_titan_variable(t, "MODULE", "module");
  add_titan_variable(t, "CONFIG", "config");
  add_titan_variable(t, "NGPU", "NGPU");
}

// run_train.sh starts NGPU processes on one node.
void read_titan_devices(TitanCommand& t, LaunchRecord& record) {
  read_start(t.command, t.script, t.file, record);
  if (record.gpus > 0) return;
  const bool runner =
      std::any_of(t.command.words.begin(), t.command.words.end(),
                  [](const MarkedText& word) { return word.text().ends_with(kTitanRunner); });
  const Value* count = t.named.find("NGPU");
  if (!runner && count == nullptr) return;
  const auto nodes = t.script.slurm.find("--nodes");
  int nodes_said = 1;
  if (nodes != t.script.slurm.end()) {
    nodes_said = integer_of({.key = "--nodes",
                             .words = {nodes->second},
                             .said = "#SBATCH --nodes=" + nodes->second,
                             .place = {t.file, 0}},
                            kTitanNodes);
  }
  record.gpus_per_node = count == nullptr ? 8 : integer_of(*count, kTitanNodes);
  record.gpus = record.gpus_per_node * nodes_said;
  if (count != nullptr) {
    record.read.push_back(
        {"gpus_per_node", std::to_string(record.gpus_per_node), count->said, count->place});
  } else {
    record.assumed.push_back({"gpus_per_node", "8", "run_train.sh starts 8 unless NGPU says", {}});
  }
}

std::optional<std::string> titan_file(const TitanCommand& t, const std::string& name,
                                      const ReadNamedFile& read) {
  for (const HereDocument& document : t.script.here_documents) {
    if (document.file.text() == name) return document.text.text();
  }
  if (!read) return std::nullopt;
  if (auto found = read(name)) return found;
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::nullopt : read(name.substr(slash + 1));
}

[[noreturn]] void refuse_titan_configuration(const Value& named, const std::string& what) {
  throw InputError(named.place.exact_text(), "", named.said + ": " + what,
                   "write its values as TOML ([model] name and flavor, [training] "
                   "local_batch_size and seq_len, [parallelism], [activation_checkpoint] mode) and "
                   "give that with --from; known by name are " +
                       titan_configuration_names());
}

Values of_shipped(const std::string& shipped, const Value& named, const std::string& why,
                  LaunchRecord& record) {
  record.read.push_back({"configuration", shipped, named.said, named.place});
  record.assumed.push_back({"configuration", shipped, why, {}});
  return titan_values(shipped, named.said, named.place);
}

struct TitanBase {
  Values values;
  TitanForm form = TitanForm::toml;
};

// Options of the registry's first months, which 0.3.0 lacks (config/configs.py): recompute is a
// subcommand since 2026-06 (pull request 3674).
TitanForm form_of_registry(const Values& settings) {
  const auto ended = [](const Value& option) {
    return option.said.starts_with("--") && std::find(kEndedBefore03.begin(), kEndedBefore03.end(),
                                                      option.key) != kEndedBefore03.end();
  };
  const bool early = std::any_of(settings.all().begin(), settings.all().end(), ended);
  return early ? TitanForm::early_registry : TitanForm::registry;
}

TitanBase titan_base(TitanCommand& t, const ReadNamedFile& read, LaunchRecord& record) {
  if (const Value* file = t.named.find("config_file")) {
    const std::string name = word_of(*file);
    if (const auto text = titan_file(t, name, read)) return {values_of_toml(*text, name)};
    const std::string shipped = titan_configuration(name);
    if (shipped.empty()) {
      refuse_titan_configuration(*file, "the file does not stand beside the script");
    }
    return {of_shipped(shipped, *file,
                       "the file does not stand beside the script: torchtitan's own of that name "
                       "is taken, and releases differ",
                       record)};
  }
  const Value* config = t.named.find("config");
  t.named.find("module");
  if (config != nullptr) {
    const std::string shipped = titan_configuration(word_of(*config));
    if (shipped.empty()) {
      refuse_titan_configuration(*config,
                                 "torchtitan since 2026-02 has its configurations in Python, and "
                                 "this one is not known here");
    }
    return {of_shipped(shipped, *config,
                       "its values in torchtitan's config_registry.py of 2026; releases differ",
                       record),
            form_of_registry(t.settings)};
  }
  if (t.settings.has("model.flavor")) return {};
  throw InputError(t.file, "", "starts torchtitan and names no configuration",
                   "state CONFIG_FILE=FILE.toml, or CONFIG=NAME of the registry; known by name "
                   "are " +
                       titan_configuration_names());
}

const ShellCommand* titan_command(const ShellScript& script, const std::string& file,
                                  LaunchRecord& record) {
  const ShellCommand* best = nullptr;
  for (const ShellCommand& command : script.commands) {
    const std::string& name = command.words.front().text();
    if (name == "echo" || name == "printf" || !starts_titan(command)) continue;
    if (best == nullptr) {
      best = &command;
      continue;
    }
    record.not_understood.push_back(
        {fmt::format("the command {} ...", name),
         fmt::format("a second launch; the one of line {} is read", best->words.front().line()),
         {file, command.words.front().line()},
         OptionEffect::none});
  }
  // MODULE and CONFIG before another script's name are for torchtitan inside it.
  const bool named = script.exported.contains("MODULE") && script.exported.contains("CONFIG");
  if (best == nullptr && named && !script.commands.empty()) return &script.commands.back();
  return best;
}

LaunchRecord read_titan_script(std::string_view text, const std::string& file,
                               const LaunchHints& hints, const ReadNamedFile& read) {
  const ShellScript script = read_shell_script(text, file, shell_inputs(hints, read));
  LaunchRecord record;
  const ShellCommand* command = titan_command(script, file, record);
  if (command == nullptr) {
    throw InputError(file, "", "has no command that starts torchtitan",
                     "give run_train.sh with its variables, or torchrun -m torchtitan.train");
  }
  TitanCommand t(script, *command, file);
  read_titan_words(t, record);
  read_titan_devices(t, record);
  TitanBase base = titan_base(t, read, record);
  for (const Value& setting : t.settings.all()) base.values.add(setting);
  for (const TakenDefault& taken : script.taken_defaults) {
    record.assumed.push_back({taken.name,
                              taken.value,
                              fmt::format("line {}: the environment may say otherwise", taken.line),
                              {}});
  }
  read_torchtitan_values(std::move(base.values), hints, base.form, record);
  return record;
}

}  // namespace

extern const LaunchFormat kTorchtitanScriptFormat;
constexpr LaunchFormat kTorchtitanScriptFormat{
    is_titan_script, [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
      return read_titan_script(t.text, t.file, hints, read);
    }};

}  // namespace meshwright::interop
