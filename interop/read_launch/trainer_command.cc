// SPDX-License-Identifier: Apache-2.0
// The words of a command that fine-tunes: accelerate's, the program's, the YAML that it names, and
// the devices that it sees.
#include "interop/read_launch/trainer_command.h"

#include <algorithm>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/document.h"
#include "interop/read_launch/trainer.h"
#include "interop/shell/base_name.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// A text that the script writes to a file of that name, or to any, where it says the sharding.
std::optional<std::string> written_by_script(const ShellScript& script, const std::string& name) {
  std::optional<std::string> found;
  for (const HereDocument& document : script.here_documents) {
    const std::string& text = document.text.text();
    const bool says_sharding =
        contains(text, "zero_optimization") || contains(text, "distributed_type:");
    const bool named = !name.empty() && document.file.text() == name;
    if (named || (says_sharding && !found)) found = text;
    if (named) break;
  }
  return found;
}

bool is_of_accelerate(const std::string& key) {
  return key.starts_with("--fsdp_") || key.starts_with("--parallelism_config_") ||
         key.starts_with("--offload_") || key.starts_with("--use_") || key.starts_with("--zero") ||
         key.starts_with("--megatron_lm_") || key == "--mixed_precision" || key == "--multi_gpu" ||
         key == "--dynamo_backend" || key == "--deepspeed_config_file" ||
         key == "--gradient_accumulation_steps" || key == "--gradient_clipping";
}

// accelerate's options in the words of its YAML.
Value in_yaml_words(Value option) {
  const std::string key = option.key.substr(2);
  option.key = key;
  if (key.starts_with("fsdp_")) option.key = "fsdp_config." + key;
  if (key.starts_with("parallelism_config_")) option.key = "parallelism_config." + key;
  if (key.starts_with("offload_") || key.starts_with("zero") || key.starts_with("gradient_") ||
      key == "deepspeed_config_file") {
    option.key = "deepspeed_config." + key;
  }
  if (key == "dynamo_backend") option.key = "dynamo_config.dynamo_backend";
  for (const auto& [name, type] : {std::pair{"use_fsdp", "FSDP"},
                                   {"multi_gpu", "MULTI_GPU"},
                                   {"use_deepspeed", "DEEPSPEED"},
                                   {"use_megatron_lm", "MEGATRON_LM"}}) {
    if (key != name) continue;
    option.key = option.words.empty() || says_yes(option) ? "distributed_type" : "tpu_";
    option.words = {type};
  }
  return option;
}

struct AccelerateWords {
  Values values;
  Values others;              // of its launcher
  std::optional<Value> file;  // --config_file
};

AccelerateWords accelerate_words(const ShellCommand& command, const ShellScript& script,
                                 const std::string& file) {
  AccelerateWords words;
  const std::size_t program = first_program_word(command);
  if (program == 0 && !names_a_program(command, {"trl"})) return words;
  for (Value& option : options_of(command, 0, script, file)) {
    const bool names = option.key == "--config_file" || option.key == "--config-file" ||
                       option.key == "--accelerate_config";
    if (names && !option.words.empty()) {
      option.words.resize(1);
      words.file = option;
      continue;
    }
    if (program == 0 || !names_a_program(command, {"accelerate"})) continue;
    const bool before = std::any_of(
        command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(program),
        [&](const MarkedText& word) { return word.text().starts_with(option.key); });
    if (!before || !option.key.starts_with("--")) continue;
    std::replace(option.key.begin() + 2, option.key.end(), '-', '_');
    if (option.words.size() > 1) option.words.resize(1);
    const bool swallowed = option.words.size() == 1 && option.words.front().ends_with(".py");
    if (swallowed) option.words.clear();
    option.said = option.key + (option.words.empty() ? "" : " " + option.words.front());
    if (is_of_accelerate(option.key)) {
      words.values.add(in_yaml_words(std::move(option)));
    } else if (option.key != "--num_processes" && option.key != "--num_machines" &&
               option.key != "--module") {
      option.key.erase(0, 2);
      words.others.add(std::move(option));
    }
  }
  return words;
}

}  // namespace

bool names_a_program(const ShellCommand& command, std::initializer_list<std::string_view> names) {
  return std::any_of(command.words.begin(), command.words.end(), [&](const MarkedText& word) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return word.text() == name || word.text().ends_with("/" + std::string(name));
    });
  });
}

void read_accelerate_part(const ShellCommand& command, const ShellScript& script,
                          const FineTuningInputs& inputs, LaunchRecord& record) {
  AccelerateWords words = accelerate_words(command, script, inputs.file);
  const LauncherWords& known = launcher_words("accelerate");
  LaunchReading others(words.others, record);
  others.list_words(known);
  others.list_unknown(known.launcher + " launch " + known.version, names_of(known));
  Values all;
  std::optional<std::string> text;
  if (words.file) {
    const std::string name = word_of(*words.file);
    text = file_beside(name, inputs);
    if (!text) text = written_by_script(script, name);
    if (text) all = values_of_yaml(*text, base_name(name));
  }
  for (const Value& value : words.values.all()) all.put_over(value);
  const Value* deepspeed = all.find("deepspeed_config.deepspeed_config_file");
  if (deepspeed != nullptr && all.has("distributed_type")) {
    const Value named = *deepspeed;
    read_sharding_file(word_of(named), named, {}, inputs, record);
    LaunchReading reading(all, record);
    read_accelerate_beside_deepspeed(reading);
  } else if (words.file && text && !file_beside(word_of(*words.file), inputs)) {
    read_sharding_text(*text, inputs.file, words.values, record);
  } else if (words.file) {
    read_sharding_file(word_of(*words.file), *words.file, words.values, inputs, record);
  } else if (!words.values.all().empty()) {
    LaunchReading reading(words.values, record);
    read_accelerate_yaml(reading);
    reading.list_unused("no key of accelerate that is known here");
  }
}

namespace {

bool is_named_by(const std::string& option) {
  return option == "--config" || option == "-c" || option == "--yaml" ||
         option == "--config-file" || option == "--config_yaml" || option == "--recipe";
}

// The YAML or JSON that says the program's options.
const MarkedText* configuration_word(const ShellCommand& command) {
  const std::size_t program = first_program_word(command);
  for (std::size_t i = std::max<std::size_t>(program, 1); i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text();
    const std::string& before = command.words[i - 1].text();
    const bool is_value = before.starts_with("-") && before.find('=') == std::string::npos;
    if (names_configuration(word) && !word.starts_with("-") &&
        word.find('=') == std::string::npos && (!is_value || is_named_by(before))) {
      return &command.words[i];
    }
  }
  return nullptr;
}

void add_configuration(const MarkedText& word, const ShellScript& script,
                       const FineTuningInputs& inputs, Values& options) {
  const std::string& name = word.text();
  std::optional<std::string> text = file_beside(name, inputs);
  for (const HereDocument& document : script.here_documents) {
    if (!text && document.file.text() == name) text = document.text.text();
  }
  if (!text) {
    throw InputError(Place{inputs.file, word.line(), 0}.text(), "",
                     name + " is not there to be read",
                     "keep it beside the script, by the name that the script has, or give it with "
                     "--from");
  }
  const LaunchText inner = launch_text(*text, base_name(name));
  for (const Value& value : inner.document.all()) options.add(value);
}

// "learning_rate=1e-5", as OmegaConf has it.
void add_assignments(const ShellCommand& command, const ShellScript& script,
                     const std::string& file, Values& options) {
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text();
    const std::size_t equals = word.find('=');
    const bool is_name = equals != std::string::npos && equals > 0 &&
                         std::islower(static_cast<unsigned char>(word.front())) != 0 &&
                         word.find_first_of("/ {") > equals;
    if (!is_name) continue;
    Value value{.key = word.substr(0, equals),
                .words = {word.substr(equals + 1)},
                .said = word,
                .place = {file, command.words[i].line()}};
    value.unknown = why_unknown(command.words[i], script);
    options.add(std::move(value));
  }
}

bool says_devices(const std::string& key) {
  for (const char* name :
       {"--num_processes", "--num_machines", "--nproc_per_node", "--nnodes", "--nproc-per-node",
        "--num_gpus", "--main_process_port", "--config", "--launcher", "--config_file",
        "--accelerate_config", "--master_port", "--node_rank", "--master_addr", "--rdzv_backend",
        "--rdzv_endpoint", "--rdzv_id", "--main-process-port", "--num-processes"}) {
    if (key == name) return true;
  }
  return false;
}

}  // namespace

Values options_of_program(const ShellCommand& command, const ShellScript& script, FineTuner tuner,
                          const FineTuningInputs& inputs) {
  Values options;
  const MarkedText* configuration = configuration_word(command);
  if (configuration != nullptr) add_configuration(*configuration, script, inputs, options);
  if (tuner == FineTuner::llama_factory && configuration != nullptr) {
    add_assignments(command, script, inputs.file, options);
  }
  const std::size_t program = first_program_word(command);
  for (Value& option : options_of(command, program, script, inputs.file)) {
    if (says_devices(option.key)) continue;
    if (option.key == "-m" || option.key == "-c") continue;
    std::erase_if(option.words, [&](const std::string& word) {
      return configuration != nullptr && word == configuration->text();
    });
    options.add(std::move(option));
  }
  return in_trainer_words(options, tuner);
}

namespace {

// "0,1,2,3" is four devices; deepspeed's "node1:0,1@node2:0,1" as well.
int devices_listed(const std::string& text) {
  int count = 0;
  for (const std::string& node : split(text, '@')) {
    const std::string list = node.substr(node.find(':') + 1);
    for (const std::string& device : split(list, ',')) {
      if (!device.empty() && std::isdigit(static_cast<unsigned char>(device.front())) != 0) ++count;
    }
  }
  return count;
}

}  // namespace

void read_visible_devices(const ShellCommand& command, const ShellScript& script,
                          const std::string& file, LaunchRecord& record) {
  if (record.gpus > 0) return;
  const auto set = [&](int count, const std::string& said, int line) {
    if (count == 0) return;
    record.gpus = record.gpus_per_node = count;
    record.read.push_back({"gpus", std::to_string(count), said, {file, line}});
  };
  for (const Value& option : options_of(command, 0, script, file)) {
    const bool includes = option.key == "--include" || option.key == "-i";
    if (!includes || option.words.empty() || !option.unknown.empty()) continue;
    set(devices_listed(option.words.front()), option.key + " " + option.words.front(),
        option.place.line);
  }
  const std::string name = "CUDA_VISIBLE_DEVICES";
  if (record.gpus > 0) return;
  for (const MarkedText& word : command.words) {
    if (word.unknown() || !word.text().starts_with(name + "=")) continue;
    set(devices_listed(word.text().substr(name.size() + 1)), word.text(), word.line());
  }
  const auto exported = script.exported.find(name);
  if (record.gpus > 0 || exported == script.exported.end() || exported->second.unknown()) return;
  set(devices_listed(exported->second.text()), name + "=" + exported->second.text(),
      exported->second.line());
}

void read_environment_counts(const ShellScript& script, LaunchRecord& record) {
  const auto count = [&](const char* name) {
    const auto found = script.exported.find(name);
    if (found == script.exported.end() || found->second.unknown()) return 0;
    const std::string& text = found->second.text();
    const bool whole =
        !text.empty() && text.size() < 7 &&
        std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    return whole ? std::stoi(text) : 0;
  };
  const int nodes = count("NNODES");
  const int per_node = count("NPROC_PER_NODE");
  if (per_node > 0 && record.gpus == 0) {
    record.gpus_per_node = per_node;
    record.gpus = per_node * std::max(1, nodes);
  }
}

}  // namespace meshwright::interop
