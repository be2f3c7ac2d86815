// SPDX-License-Identifier: Apache-2.0
// Arguments of Megatron-LM in a YAML, whatever sections they stand in: Primus
// (modules.NAME.overrides), FlagScale (system, model), MODEL_ARGS of Megatron-MoE-ModelZoo.
#include "interop/read_launch/megatron_yaml.h"

#include <algorithm>

#include "interop/read_launch/environment.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/megatron_arguments.h"
#include "interop/read_launch/megatron_fields.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr int kEnoughArguments = 3;

struct FoundArgument {
  const MegatronArgument* argument = nullptr;  // nullptr: the key is none
  bool by_option = false;  // "disable_bias_linear" and not its key in Python, "add_bias_linear"
};

// Of "modules.pre_trainer.overrides.seq_length", "MODEL_ARGS.--seq-length": seq_length.
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

void name_primus_model(Values& values, const LaunchHints& hints, LaunchRecord& record) {
  for (const Value& value : values.all()) {
    const bool names = value.key.starts_with("modules.") && value.key.ends_with(".model");
    if (!names || value.words.size() != 1) continue;
    const std::string key = value.key;
    const Value* found = values.find(key);
    std::string name = word_of(*found);
    if (name.ends_with(".yaml")) name.resize(name.size() - 5);
    if (hints.needs_model()) record.model_name = name;
    record.read.push_back({"model", name, found->said, found->place});
    return;
  }
}

// "${PRIMUS_TP:4}": the environment's, or 4.
void put_in_environment(Value& value, const LaunchHints& hints, LaunchRecord& record) {
  if (value.words.size() != 1) return;
  std::string& word = value.words.front();
  const std::size_t colon = word.find(':');
  if (!word.starts_with("${") || !word.ends_with('}') || colon == std::string::npos) return;
  const std::string name = word.substr(2, colon - 2);
  const auto given = hints.variables.find(name);
  const std::string otherwise = word.substr(colon + 1, word.size() - colon - 2);
  word = given != hints.variables.end() ? given->second : otherwise;
  if (given == hints.variables.end()) {
    record.assumed.push_back({name, otherwise, "the environment may say otherwise", {}});
  }
}

// A switch that is off is left out, as on a command line.
bool is_left_out(const MegatronArgument& argument, const Value& value) {
  if (value.words.size() != 1) return false;
  const std::string& word = value.words.front();
  if (word == "null" || word == "None") return true;
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
  value.used = argument.meaning == ArgumentMeaning::harmless;
  arguments.add(std::move(value));
}

bool is_megatron_yaml(const Values& values) {
  int count = 0;
  for (const Value& value : values.all()) {
    const MegatronArgument* argument = argument_of(value.key).argument;
    if (argument != nullptr && argument->meaning == ArgumentMeaning::read) ++count;
  }
  return count >= kEnoughArguments;
}

LaunchRecord read_megatron_yaml(Values values, const std::string& file, const LaunchHints& hints) {
  LaunchRecord record;
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
  for (const char* name : {"framework", "config", "name", "trainable", "sink_level"}) {
    others.pass_over_ending("." + std::string(name));
  }
  record.target = "Megatron-LM";
  LaunchReading reading(arguments, record);
  list_unmodelled(reading);
  read_megatron_fields(reading, hints, file);
  if (primus) record.target = "Primus";
  reading.list_unused("no argument of Megatron-LM that is known here");
  LaunchReading beside(others, record);
  beside.list_unused("no argument of Megatron-LM that is known here");
  return record;
}

extern const LaunchFormat kMegatronYamlFormat;
constexpr LaunchFormat kMegatronYamlFormat{
    [](const LaunchText& t) { return is_document(t) && is_megatron_yaml(t.document); },
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_megatron_yaml(t.document, t.file, hints);
    }};

}  // namespace meshwright::interop
