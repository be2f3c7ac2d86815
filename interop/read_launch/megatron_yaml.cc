// SPDX-License-Identifier: Apache-2.0
// Arguments of Megatron-LM in a YAML, whatever sections they stand in: Primus
// (modules.NAME.overrides), FlagScale (system, model), MODEL_ARGS of Megatron-MoE-ModelZoo.
#include "interop/read_launch/megatron_yaml.h"

#include <algorithm>

#include "interop/read_launch/document.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/megatron_arguments.h"
#include "interop/read_launch/megatron_fields.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr int kEnoughArguments = 3;
constexpr int kMostVariables = 20;  // of one text

struct FoundArgument {
  const MegatronArgument* argument = nullptr;  // nullptr: the key is none
  bool by_option = false;  // "disable_bias_linear" and not its key in Python, "add_bias_linear"
};

// Finds the argument of a key: "modules.pre_trainer.overrides.seq_length" and
// "MODEL_ARGS.--seq-length" are seq_length.
FoundArgument argument_of(const std::string& key) {
  std::string name = key.substr(key.rfind('.') == std::string::npos ? 0 : key.rfind('.') + 1);
  if (const MegatronArgument* argument = megatron_argument_of_key(name)) return {argument, false};
  if (!name.starts_with("--")) name = "--" + name;
  std::replace(name.begin(), name.end(), '_', '-');
  return {megatron_argument(name), true};
}

bool is_primus(const Values& values) {
  return std::any_of(values.all().begin(), values.all().end(), [](const Value& value) {
    return value.key.starts_with("modules.") && contains(value.key, ".overrides.");
  });
}

// pre_trainer.yaml of Primus, which its experiments are laid over.
constexpr ArgumentDefault kPrimusDefaults[] = {
    {"micro_batch_size", "2", "micro_batch_size"},
    {"global_batch_size", "16", "global_batch_size"},
    {"bf16", "true", "precision"},
    {"use_flash_attn", "true", "attention_kernel"},
    {"use_distributed_optimizer", "true", "zero_stage"},
    {"hidden_dropout", "0.0", "dropout"},  // of its Llama, Qwen and DeepSeek presets
    {"attention_dropout", "0.0", "dropout"}};

// "${PRIMUS_TP:4}": the environment's, or 4; "${TP}" must be stated. Also inside a text.
void put_in_environment(Value& value, const LaunchHints& hints, LaunchRecord& record) {
  if (value.words.size() != 1) return;
  std::string& word = value.words.front();
  std::size_t from = 0;
  for (int hop = 0; hop < kMostVariables; ++hop) {
    const std::size_t begin = word.find("${", from);
    const std::size_t end = begin == std::string::npos ? begin : word.find('}', begin);
    if (end == std::string::npos) return;
    const std::string inside = word.substr(begin + 2, end - begin - 2);
    const std::size_t colon = inside.find(':');
    const std::string name = inside.substr(0, colon);
    const auto given = hints.variables.find(name);
    if (given == hints.variables.end() && colon == std::string::npos) {
      value.unknown = fmt::format("{} is the environment's", name);
      return;
    }
    const std::string otherwise = colon == std::string::npos ? "" : inside.substr(colon + 1);
    const bool is_given = given != hints.variables.end();
    word.replace(begin, end + 1 - begin, is_given ? given->second : otherwise);
    from = begin + (is_given ? given->second : otherwise).size();
    if (!is_given) {
      record.assumed.push_back({name, otherwise, "the environment may say otherwise", {}});
    }
  }
}

void name_primus_model(Values& values, const LaunchHints& hints, LaunchRecord& record) {
  for (const Value& value : values.all()) {
    const bool names = value.key.starts_with("modules.") && value.key.ends_with(".model");
    if (!names || value.words.size() != 1) continue;
    const std::string key = value.key;
    Value named = *values.find(key);
    const Value* const found = &named;
    put_in_environment(named, hints, record);
    std::string name = word_of(named);
    if (name.ends_with(".yaml")) name.resize(name.size() - 5);
    if (hints.needs_model()) record.model_name = name;
    record.read.push_back({"model", name, found->said, found->place});
    return;
  }
}

// A switch that is off is left out, as on a command line.
bool is_left_out(const MegatronArgument& argument, const Value& value) {
  if (value.words.size() != 1) return false;
  const std::string& word = value.words.front();
  if (!value.unknown.empty()) return false;
  if (word == "null" || word == "None" || word.empty()) return true;
  const bool off = word == "false" || word == "False";
  const bool on = word == "true" || word == "True";
  return (argument.kind == ArgumentKind::on && off) || (argument.kind == ArgumentKind::off && on);
}

// A switch that clears its key is on: the key is false.
void say_as_in_python(Value& value, const MegatronArgument& argument) {
  if (argument.kind != ArgumentKind::off || value.words.size() != 1) return;
  value.words = {flag_of(value) ? "false" : "true"};
}

}  // namespace

namespace {

// Primus's own kernels: attention as fused ones have it, and DeepEP for the dispatcher.
void read_turbo(Values& others, Values& arguments, std::vector<std::string>& said) {
  for (const char* name : {"enable_primus_turbo", "use_turbo_attention", "use_turbo_grouped_mlp",
                           "turbo_deepep_use_comm_stream"}) {
    others.pass_over_ending("." + std::string(name));
  }
  for (const Value& value : others.all()) {
    if (!value.key.ends_with(".use_turbo_deepep") || !flag_of(value)) continue;
    for (const auto& [key, word] : {std::pair{"moe_token_dispatcher_type", "flex"},
                                    {"moe_flex_dispatcher_backend", "deepep"}}) {
      Value argument = value;
      argument.key = key;
      argument.words = {word};
      argument.used = false;
      arguments.add(std::move(argument));
      said.emplace_back(key);
    }
    return others.pass_over_ending(".use_turbo_deepep");
  }
}

}  // namespace

void add_defaults(Values& arguments, std::span<const ArgumentDefault> defaults,
                  const std::vector<std::string>& said, const std::string& why,
                  LaunchRecord& record) {
  const auto says = [&](std::string_view key) {
    return std::find(said.begin(), said.end(), key) != said.end();
  };
  for (const ArgumentDefault& each : defaults) {
    const std::string key = each.key;
    const bool another_type = key == "bf16" && (says("fp16") || says("torch_dtype"));
    if (says(key) || another_type) continue;
    arguments.add({.key = key, .words = {each.word}, .said = key, .place = {}});
    record.assumed.push_back({each.field, key + " " + each.word, why, {}});
  }
}

void add_megatron_argument(Values& arguments, Value value, const MegatronArgument& argument) {
  if (is_left_out(argument, value)) return;
  value.key = argument.key;
  arguments.add(std::move(value));
}

bool is_megatron_yaml(const Values& values) {
  int count = 0;
  for (const Value& value : values.all()) {
    const MegatronArgument* argument = argument_of(value.key).argument;
    if (argument != nullptr && argument->group == nullptr) ++count;
  }
  return count >= kEnoughArguments;
}

void read_megatron_yaml(Values values, const std::string& file, const LaunchHints& hints,
                        LaunchRecord& record) {
  Values arguments;
  Values others;
  std::vector<std::string> said;
  const bool primus = is_primus(values);
  if (primus) name_primus_model(values, hints, record);
  for (const char* section : {"ENV_VARS.", "env_vars.", "envs."}) {
    read_environment(values, section, record);
  }
  for (Value value : values.all()) {
    put_in_environment(value, hints, record);
    const FoundArgument found = argument_of(value.key);
    if (found.argument != nullptr) {
      said.emplace_back(found.argument->key);
      if (found.by_option) say_as_in_python(value, *found.argument);
      add_megatron_argument(arguments, value, *found.argument);
    } else if (!value.used) {
      others.add(value);
    }
  }
  if (primus) add_defaults(arguments, kPrimusDefaults, said, "Primus's pre_trainer.yaml", record);
  for (const char* key : {"exp_name", "work_group", "user_name", "workspace"})
    others.pass_over(key);
  if (primus) read_turbo(others, arguments, said);
  for (const char* name :
       {"framework", "config", "name", "trainable", "sink_level", "log_avg_skip_iterations",
        "log_avg_reset_interval", "disable_last_saving", "auto_continue_train", "stderr_sink_level",
        "file_sink_level", "is_instruction_dataset", "finetune_lr"}) {
    others.pass_over_ending("." + std::string(name));
  }
  record.target = "Megatron-LM";
  LaunchReading reading(arguments, record);
  list_megatron_words(reading, WordClass::not_modelled);
  read_megatron_fields(reading, hints, file);
  if (primus) record.target = "Primus";
  list_megatron_words(reading, WordClass::harmless);
  reading.list_unused("no argument of Megatron-LM that is known here");
  LaunchReading beside(others, record);
  beside.list_unused("no argument of Megatron-LM that is known here");
}

namespace {

constexpr int kMostFiles = 20;

// "defaults: [{train: 7b}, _self_]" of Hydra, "extends: [../base.yaml]" of Primus: the files below
// this one.
struct FileBelow {
  Value said;
  std::string name;
};
std::vector<FileBelow> files_below(const Values& values) {
  std::vector<FileBelow> files;
  for (const Value& value : values.all()) {
    if (value.key == "extends" || value.key.ends_with(".extends")) {
      for (const std::string& word : value.words) files.push_back({value, word});
    }
    if (!value.key.starts_with("defaults.") || value.words.size() != 1) continue;
    const std::string folder = value.key.substr(value.key.rfind('.') + 1);
    const bool is_index = folder.find_first_not_of("0123456789") == std::string::npos;
    const std::string& word = value.words.front();
    if (is_index || word == "_self_" || word == "null") continue;
    files.push_back({value, folder + "/" + word});
  }
  return files;
}

bool has_section_of(const Values& values, std::string_view prefix) {
  return std::any_of(values.all().begin(), values.all().end(),
                     [&](const Value& value) { return value.key.starts_with(prefix); });
}

// FlagScale's experiment, which names its training file.
bool is_experiment(const Values& values) {
  return has_section_of(values, "experiment.runner.") || has_section_of(values, "experiment.task.");
}

Values with_files_below(const Values& top, const ReadNamedFile& read, LaunchRecord& record,
                        int& left) {
  Values all;
  for (const FileBelow& file : files_below(top)) {
    if (--left < 0) fail_at(file.said, "names too many files");
    const std::string whole = file.name.ends_with(".yaml") || file.name.ends_with(".yml")
                                  ? file.name
                                  : file.name + ".yaml";
    const auto text = read ? read(whole) : std::nullopt;
    if (!text) {
      record.not_understood.push_back({.said = file.said.said,
                                       .why = whole + " is not there to be read",
                                       .place = file.said.place,
                                       .effect = OptionEffect::cost});
      continue;
    }
    const Values below = with_files_below(values_of_yaml(*text, whole), read, record, left);
    for (const Value& value : below.all()) {
      if (!top.has(value.key)) all.add(value);
    }
  }
  for (const Value& value : top.all()) {
    const bool names_file = value.key == "extends" || value.key.ends_with(".extends") ||
                            value.key.starts_with("defaults.");
    if (!names_file) all.add(value);
  }
  return all;
}

// nnodes and nproc_per_node of FlagScale's runner.
void read_runner(Values& values, LaunchRecord& record) {
  LaunchReading reading(values, record);
  int nodes = 1;
  const bool says_nodes =
      reading.integer(nodes, "num_nodes", "experiment.runner.nnodes", {1, 1'000'000});
  if (reading.integer(record.gpus_per_node, "gpus_per_node", "experiment.runner.nproc_per_node",
                      {1, 1024}) &&
      says_nodes) {
    record.gpus = nodes * record.gpus_per_node;
  }
  for (const char* section : {"experiment.envs.", "envs."}) {
    read_environment(values, section, record);
  }
  for (const char* section : {"experiment.", "hydra.", "action", "defaults"}) {
    values.pass_over_below(section);
  }
}

}  // namespace

extern const LaunchFormat kMegatronYamlFormat;
constexpr LaunchFormat kMegatronYamlFormat{
    [](const LaunchText& t) {
      return is_document(t) && (is_megatron_yaml(t.document) || is_experiment(t.document) ||
                                (is_primus(t.document) && !files_below(t.document).empty()));
    },
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
      LaunchRecord record;
      int left = kMostFiles;
      Values values = with_files_below(t.document, read, record, left);
      read_runner(values, record);
      if (!is_megatron_yaml(values)) {
        const std::string missing =
            record.not_understood.empty() ? "" : ": " + record.not_understood.front().why;
        throw InputError(t.file, "", "names its training file, which is not read" + missing,
                         "lay it beside the file, or give it with --from and --gpus");
      }
      read_megatron_yaml(std::move(values), t.file, hints, record);
      return record;
    }};

}  // namespace meshwright::interop
