// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/read_launch.h"

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/foreign_launch.h"
#include "interop/read_launch/gpt_neox.h"
#include "interop/read_launch/launch_text.h"
#include "interop/read_launch/megatron.h"
#include "interop/read_launch/megatron_bridge.h"
#include "interop/read_launch/megatron_yaml.h"
#include "interop/read_launch/olmo.h"
#include "interop/read_launch/overrides.h"
#include "interop/read_launch/reading_check.h"
#include "interop/read_launch/swift.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr int kEnoughOptions = 3;
constexpr int kEnoughOverrides = 2;

bool has_any(const LaunchText& text, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (key.ends_with('.') ? has_section(text, key) : has_key(text, key)) return true;
  }
  return false;
}

bool is_script(const LaunchText& text) { return text.kind == LaunchTextKind::script; }
bool is_document(const LaunchText& text) { return !is_script(text); }

// A document that holds a command, such as a job of Kubernetes, is read for the command.
bool is_megatron_command(const LaunchText& text) {
  return text.kind != LaunchTextKind::json &&
         count_megatron_options(text.text, kEnoughOptions) >= kEnoughOptions &&
         !is_megatron_yaml(text.document);
}

bool is_torchtitan(const LaunchText& text) {
  return text.kind == LaunchTextKind::toml && has_section(text, "training.") &&
         has_any(text, {"model.", "parallelism.", "job."});
}

bool is_nanotron(const LaunchText& text) {
  return has_any(text, {"parallelism.tp", "parallelism.dp", "parallelism.pp"}) &&
         has_section(text, "tokens.");
}

bool is_llm_foundry(const LaunchText& text) {
  return has_key(text, "global_train_batch_size") && has_section(text, "model.") &&
         !has_key(text, "model.max_sequence_length");
}

bool says_bridge_sizes(const LaunchText& text) {
  return has_any(text, {"model.tensor_model_parallel_size", "model.pipeline_model_parallel_size",
                        "train.micro_batch_size", "train.global_batch_size"});
}

// Its models say the sequence themselves, or it has a trainer.
bool is_nemo(const LaunchText& text) {
  return has_any(text, {"model.tensor_model_parallel_size", "model.pipeline_model_parallel_size",
                        "model.micro_batch_size"}) &&
         has_any(text, {"model.encoder_seq_length", "model.mcore_gpt", "trainer.", "exp_manager."});
}

bool is_accelerate(const LaunchText& text) {
  return has_key(text, "distributed_type") &&
         has_any(text,
                 {"fsdp_config.", "num_processes", "parallelism_config.", "deepspeed_config."});
}

bool is_deepspeed(const LaunchText& text) {
  return text.kind == LaunchTextKind::json &&
         has_any(text,
                 {"train_batch_size", "train_micro_batch_size_per_gpu", "zero_optimization."});
}

bool is_trainer_script(const LaunchText& text) {
  return is_script(text) && (contains(text.text, "--deepspeed") ||
                             contains(text.text, "--per_device_train_batch_size") ||
                             contains(text.text, "accelerate launch"));
}

struct LaunchFormat {
  bool (*is)(const LaunchText& text);
  LaunchRecord (*read)(const LaunchText& text, const LaunchHints& hints, const ReadNamedFile& read);
};

// The first that a text is one of. Each looks for keys or options that it alone has.
constexpr LaunchFormat kFormats[] = {
    {[](const LaunchText& t) { return is_script(t) && is_swift_command(t.text); },
     [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
       return read_swift(t.text, t.file, hints, read);
     }},
    {is_megatron_command,
     [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
       return read_megatron_script(t.text, t.file, hints, read);
     }},
    {[](const LaunchText& t) {
       return is_script(t) && count_overrides(t.text) >= kEnoughOverrides;
     },
     [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
       return read_override_script(t.text, t.file, hints, read);
     }},
    {is_trainer_script,
     [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
       return read_trainer_script(t.text, t.file, hints, read);
     }},
    {is_torchtitan, [](const LaunchText& t, const LaunchHints& hints,
                       const ReadNamedFile&) { return read_torchtitan(t.text, t.file, hints); }},
    {is_gpt_neox, [](const LaunchText& t, const LaunchHints& hints,
                     const ReadNamedFile&) { return read_gpt_neox(t.text, t.file, hints); }},
    {is_olmo, [](const LaunchText& t, const LaunchHints& hints,
                 const ReadNamedFile&) { return read_olmo(t.text, t.file, hints); }},
    {is_deepspeed, [](const LaunchText& t, const LaunchHints& hints,
                      const ReadNamedFile&) { return read_deepspeed(t.text, t.file, hints); }},
    {is_nanotron, [](const LaunchText& t, const LaunchHints& hints,
                     const ReadNamedFile&) { return read_nanotron(t.text, t.file, hints); }},
    {is_llm_foundry, [](const LaunchText& t, const LaunchHints& hints,
                        const ReadNamedFile&) { return read_llm_foundry(t.text, t.file, hints); }},
    {is_nemo, [](const LaunchText& t, const LaunchHints& hints,
                 const ReadNamedFile&) { return read_nemo(t.text, t.file, hints); }},
    {[](const LaunchText& t) { return is_document(t) && says_bridge_sizes(t); },
     [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
       return read_megatron_bridge(t.text, t.file, hints);
     }},
    {is_accelerate, [](const LaunchText& t, const LaunchHints& hints,
                       const ReadNamedFile&) { return read_accelerate(t.text, t.file, hints); }},
    {[](const LaunchText& t) { return is_document(t) && is_megatron_yaml(t.document); },
     [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
       return read_megatron_yaml(t.document, t.file, hints);
     }}};

const LaunchFormat* format_of(const LaunchText& text) {
  for (const LaunchFormat& format : kFormats) {
    if (format.is(text)) return &format;
  }
  return nullptr;
}

// "--config-file=x.yaml" names x.yaml.
std::string file_of_word(const std::string& word) {
  const std::size_t equals = word.rfind('=');
  return equals == std::string::npos ? word : word.substr(equals + 1);
}

struct NamedConfiguration {
  const ShellCommand* command;
  std::string name, text;
  int line = 0;
};

// Configurations that commands name, and that the script writes or that stand beside it.
std::vector<NamedConfiguration> configurations_of(const ShellScript& script,
                                                  const ReadNamedFile& read) {
  std::vector<NamedConfiguration> named;
  for (const ShellCommand& command : script.commands) {
    for (const MarkedText& word : command.words) {
      const std::string name = file_of_word(word.text());
      if (word.unknown() || !names_configuration(name)) continue;
      std::optional<std::string> found;
      for (const HereDocument& document : script.here_documents) {
        if (document.file.text() == name) found = document.text.text();
      }
      if (!found && read) found = read(name);
      if (found) named.push_back({&command, name, *found, word.line()});
    }
  }
  return named;
}

// The first that is a launch. Its command says the devices; its other options are not read.
std::optional<LaunchRecord> read_configuration_of_script(const LaunchText& text,
                                                         const LaunchHints& hints,
                                                         const ReadNamedFile& read) {
  const ShellScript script = read_shell_script(text.text, text.file, shell_inputs(hints, read));
  std::optional<LaunchRecord> record;
  for (const NamedConfiguration& named : configurations_of(script, read)) {
    if (record) {
      record->not_understood.push_back({.said = named.name,
                                        .why = "a second configuration, which is not read",
                                        .place = {text.file, named.line}});
      continue;
    }
    const LaunchText inner = launch_text(named.text, named.name);
    if (is_script(inner)) continue;
    refuse_foreign_launch(inner, hints);
    const LaunchFormat* format = format_of(inner);
    if (format == nullptr) continue;
    record = format->read(inner, hints, read);
    read_launcher(*named.command, script, text.file, *record);
    read_environment(script, *named.command, text.file, *record);
    list_options_of_command(*named.command, script, text.file, *record);
    for (const TakenDefault& taken : script.taken_defaults) {
      record->assumed.push_back(
          {taken.name,
           taken.value,
           fmt::format("line {}: the environment may say otherwise", taken.line),
           {}});
    }
  }
  return record;
}

}  // namespace

bool log_says_launch(std::string_view log) { return has_megatron_argument_block(log); }

LaunchRecord read_launch(std::string_view text, const std::string& file, const LaunchHints& hints,
                         const ReadNamedFile& read) {
  if (has_megatron_argument_block(text)) return read_megatron_argument_block(text, file, hints);
  const LaunchText launch = launch_text(text, file);
  refuse_foreign_launch(launch, hints);
  std::optional<LaunchRecord> record;
  if (const LaunchFormat* format = format_of(launch)) {
    record = format->read(launch, hints, read);
  } else if (is_script(launch)) {
    record = read_configuration_of_script(launch, hints, read);
  }
  if (!record) refuse_unknown_launch(launch, hints);
  check_reading(*record, file);
  return *record;
}

}  // namespace meshwright::interop
