// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/swift.h"

#include <algorithm>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/lora.h"
#include "interop/read_launch/megatron_fields.h"
#include "interop/read_launch/megatron_yaml.h"
#include "interop/shell/base_name.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

std::string python_key(std::string_view option) {
  std::string key(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

bool is_swift_option(std::string_view word) {
  return word.starts_with("--") && megatron_argument_of_key(python_key(word)) != nullptr;
}

// docs/source_en/Megatron-SWIFT/Command-line-parameters.md of ms-swift 3.12.
constexpr ArgumentDefault kSwiftDefaults[] = {
    {"micro_batch_size", "1", "micro_batch_size"},
    {"global_batch_size", "16", "global_batch_size"},
    {"bf16", "true", "precision"},
    {"use_distributed_optimizer", "true", "zero_stage"},
    {"recompute_granularity", "selective", "recompute_granularity"},
    {"attention_backend", "flash", "attention_kernel"},
    {"moe_token_dispatcher_type", "alltoall", "moe_token_dispatcher_type"},
    {"expert_tensor_parallel_size", "1", "expert_tensor_parallel_size"},
    {"hidden_dropout", "0.0", "dropout"},
    {"attention_dropout", "0.0", "dropout"}};

// It hands NPROC_PER_NODE and NNODES to torchrun, which starts on one node unless told.
void read_nodes(const ShellScript& script, LaunchRecord& record) {
  const auto number = [&](const char* name) {
    const auto found = script.exported.find(name);
    if (found == script.exported.end() || found->second.unknown()) return 0;
    return integer_of({.key = name, .words = {found->second.text()}, .said = name, .place = {}},
                      {1, 1'000'000});
  };
  const int per_node = number("NPROC_PER_NODE");
  const int nodes = number("NNODES");
  if (per_node == 0 || record.gpus > 0) return;
  record.gpus_per_node = per_node;
  record.gpus = per_node * std::max(1, nodes);
  if (nodes == 0) record.assumed.push_back({"num_nodes", "1", "torchrun's default", {}});
}

// "--torch_dtype bfloat16".
void add_type(Values& arguments, Value value) {
  const std::string word = word_of(value);
  const bool half = word == "float16" || word == "fp16";
  const bool whole = word == "float32" || word == "fp32";
  if (whole) return;
  value.key = half ? "fp16" : "bf16";
  value.words.clear();
  arguments.add(std::move(value));
}

constexpr std::string_view kTunerKeys[] = {"train_type", "tuner_type", "sft_type"};
bool is_tuner_key(std::string_view key) {
  return std::find(std::begin(kTunerKeys), std::end(kTunerKeys), key) != std::end(kTunerKeys);
}

// Keys of data, prompts and sources of models, without a cost. Padding-free batches are the
// default.
constexpr const char* kNoCostOfSwift[] = {
    "split_dataset_ratio", "model_author", "model_name",
    "model_type",          "use_hf",       "system",
    "padding_free",        "template",     "agent_template",
    "loss_scale",          "add_version",  "streaming",
    "lazy_tokenize",       "ddp_timeout",  "truncation_strategy",
    "cached_dataset",      "columns",      "enable_thinking",
    "response_prefix",     "attn_impl"};

// Keys of adapters, of which only rank and linears change a cost.
constexpr std::string_view kLoraKeys[] = {
    "lora_rank",  "target_modules", "lora_alpha",     "lora_dropout",     "use_rslora",
    "lora_dtype", "adapter_load",   "adapters",       "mcore_adapter",    "mcore_adapters",
    "merge_lora", "lora_bias",      "lorap_lr_ratio", "ref_adapter_load", "init_weights"};
bool is_lora_key(std::string_view key) {
  return std::find(std::begin(kLoraKeys), std::end(kLoraKeys), key) != std::end(kLoraKeys);
}

constexpr std::string_view kBesideLora[] = {"target_regex",      "use_dora",     "modules_to_save",
                                            "target_parameters", "quant_method", "quant_bits",
                                            "load_in_4bit"};
bool is_beside_lora(std::string_view key) {
  return std::find(std::begin(kBesideLora), std::end(kBesideLora), key) != std::end(kBesideLora);
}

// --train_type of ms-swift 3, --tuner_type of 4: full unless it is said.
void read_tuner(Values& tuner, LaunchRecord& record) {
  const Value* type = nullptr;
  for (const std::string_view key : kTunerKeys) {
    if (const Value* said = tuner.find(key)) type = said;
  }
  const std::string word = type == nullptr ? "full" : word_of(*type);
  if (word == "full" || word == "none") return;
  if (word != "lora") refuse_adapters(*type);
  for (const std::string_view key : kBesideLora) {
    const Value* other = tuner.find(key);
    if (other != nullptr && !is_off(*other)) {
      fail_at(*other, "is not modelled beside LoRA",
              "a verdict without it would be false; leave it out to ask for that");
    }
  }
  LaunchReading reading(tuner, record);
  reading.note("train_type", word, *type);
  read_lora(reading, {"lora_rank", "target_modules"}, {8, kAllLoraLinears, "ms-swift's default"});
}

// "--load Qwen3-30B-A3B-mcore", where no --model is named: as `swift export` names a checkpoint.
void name_model_of(const Value& checkpoint, const LaunchHints& hints, LaunchRecord& record) {
  constexpr std::string_view kEnd = "-mcore";
  const std::string name =
      base_name(checkpoint.words.size() == 1 ? checkpoint.words.front() : std::string());
  if (!hints.needs_model() || !record.model_name.empty() || !name.ends_with(kEnd)) return;
  record.model_name = name.substr(0, name.size() - kEnd.size());
  record.read.push_back({"model", record.model_name, checkpoint.said, checkpoint.place});
}

void set_sequence(LaunchRecord& record, Values& arguments, const LaunchHints& hints) {
  const Value* length = arguments.find("seq_length");
  if (length == nullptr && hints.seq_length) {
    arguments.add({.key = "seq_length",
                   .words = {std::to_string(*hints.seq_length)},
                   .said = "--seq-length",
                   .place = {}});
    return;
  }
  const Value* packing = arguments.find("packing");
  if (length == nullptr || (packing != nullptr && flag_of(*packing))) return;
  record.assumed.push_back({"seq_length",
                            word_of(*length),
                            "every sample is as long as max_length; shorter ones cost less",
                            {}});
}

}  // namespace

bool is_swift_command(std::string_view text) {
  return contains(text, "megatron sft") || contains(text, "megatron pt ") ||
         contains(text, "megatron pt\\") || contains(text, "megatron pt\n");
}

LaunchRecord read_swift(std::string_view text, const std::string& file, const LaunchHints& hints,
                        const ReadNamedFile& read) {
  const ShellScript script = read_shell_script(text, file, shell_inputs(hints, read));
  LaunchRecord record;
  const ShellCommand* command = launch_command(script, is_swift_option, file, record);
  if (command == nullptr) throw InputError(file, "", "has no command with options of ms-swift");
  read_start(*command, script, file, record);
  list_unknown_words(*command, script, file, record);
  read_nodes(script, record);
  Values arguments;
  Values others;
  Values tuner;
  Value checkpoint;
  std::vector<std::string> said;
  for (Value& option : options_of(*command, 0, script, file)) {
    std::string key = python_key(option.key);
    if (key == "max_length") key = "seq_length";
    said.push_back(key);
    option.key = key;
    const MegatronArgument* argument = megatron_argument_of_key(key);
    if (is_tuner_key(key) || is_lora_key(key) || is_beside_lora(key)) {
      tuner.add(option);
    }
    if (is_tuner_key(key) || is_lora_key(key)) {
      continue;
    }
    if (key == "torch_dtype") {
      add_type(arguments, std::move(option));
    } else if (key == "packing") {
      arguments.add(std::move(option));
    } else if (argument != nullptr && key != "load") {
      add_megatron_argument(arguments, std::move(option), *argument);
    } else if (key == "model" && option.words.size() == 1 && hints.needs_model()) {
      record.model_name = word_of(option);
      record.read.push_back({"model", record.model_name, option.said, option.place});
    } else if (key == "load") {
      checkpoint = option;
    } else if (key != "model") {
      option.key = "--" + key;
      others.add(std::move(option));
    }
  }
  name_model_of(checkpoint, hints, record);
  add_defaults(arguments, kSwiftDefaults, said, "ms-swift's default", record);
  set_sequence(record, arguments, hints);
  record.target = "Megatron-LM";
  LaunchReading reading(arguments, record);
  list_megatron_words(reading, WordClass::not_modelled);
  read_megatron_fields(reading, hints, file);
  record.target = "ms-swift";
  read_tuner(tuner, record);
  list_megatron_words(reading, WordClass::harmless);
  reading.list_unused("no argument of Megatron-LM that is known here");
  LaunchReading beside(others, record);
  for (const char* name : kNoCostOfSwift) others.pass_over("--" + std::string(name));
  beside.list_unused("no option of ms-swift that is known here");
  return record;
}

extern const LaunchFormat kSwiftFormat;
constexpr LaunchFormat kSwiftFormat{
    [](const LaunchText& t) { return is_script(t) && is_swift_command(t.text); },
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
      return read_swift(t.text, t.file, hints, read);
    }};

}  // namespace meshwright::interop
