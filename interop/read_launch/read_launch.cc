// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/read_launch.h"

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/foreign_launch.h"
#include "interop/read_launch/job_document.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_text.h"
#include "interop/read_launch/megatron.h"
#include "interop/read_launch/reading_check.h"
#include "interop/read_launch/stated_values.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

const LaunchFormat* format_of(const LaunchText& text) {
  for (const LaunchFormat* format : launch_formats()) {
    if (format->is(text)) return format;
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

// "--section.key value" behind the program, as keys of the configuration.
void add_options_to_document(const ShellCommand& command, const ShellScript& script,
                             const std::string& file, LaunchText& text) {
  for (Value& option : options_of(command, first_program_word(command), script, file)) {
    if (!option.key.starts_with("--") || !contains(option.key, ".")) continue;
    option.key.erase(0, 2);
    if (option.words.empty()) option.words = {"true"};
    text.document.add(std::move(option));
  }
}

// The first that is a launch. Its command says the devices; its other options are not read, unless
// the format takes them.
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
    LaunchText inner = launch_text(named.text, named.name);
    if (is_script(inner)) continue;
    refuse_foreign_launch(inner, hints);
    const LaunchFormat* format = format_of(inner);
    if (format == nullptr) continue;
    if (format->takes_options) {
      add_options_to_document(*named.command, script, text.file, inner);
    }
    record = format->read(inner, hints, read);
    read_start(*named.command, script, text.file, *record);
    list_unknown_words(*named.command, script, text.file, *record);
    if (!format->takes_options) {
      list_options_of_command(*named.command, script, text.file, *record);
    }
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

// The script with the texts of the scripts that it starts or sources; empty: there are none.
std::string with_started_scripts(const LaunchText& launch, const LaunchHints& hints,
                                 const ReadNamedFile& read) {
  if (!is_script(launch) || !read) return "";
  std::string texts;
  const ReadNamedFile noted = [&](const std::string& name) {
    std::optional<std::string> found = read(name);
    if (found) texts += "\n" + *found;
    return found;
  };
  read_shell_script(launch.text, launch.file, shell_inputs(hints, noted));
  return texts.empty() ? "" : std::string(launch.text) + texts;
}

// Devices of the job, where its command does not say them.
void take_job_counts(Values& counts, LaunchRecord& record) {
  const Value* nodes = counts.find("num_nodes");
  const Value* each = counts.find("gpus_per_node");
  if (record.gpus > 0 || nodes == nullptr || each == nullptr) return;
  record.gpus_per_node = integer_of(*each, {1, 100'000});
  record.gpus = record.gpus_per_node * integer_of(*nodes, {1, 1'000'000});
  record.unknown_gpus.clear();
  for (const Value* value : {nodes, each}) {
    record.read.push_back({value->key, value->words.front(), value->said, value->place});
  }
}

}  // namespace

bool log_says_launch(std::string_view log) { return has_megatron_argument_block(log); }

LaunchRecord read_launch(std::string_view text, const std::string& file, const LaunchHints& hints,
                         const ReadNamedFile& read) {
  if (has_megatron_argument_block(text)) return read_megatron_argument_block(text, file, hints);
  LaunchText launch = launch_text(text, file);
  std::optional<JobDocument> job = job_document(launch);
  if (job) launch = {job->script, file, LaunchTextKind::script, {}};
  if (is_document(launch)) launch.document = with_stated(launch.document, hints);
  refuse_foreign_launch(launch, hints);
  std::optional<LaunchRecord> record;
  const LaunchFormat* format = format_of(launch);
  const std::string started = format == nullptr ? with_started_scripts(launch, hints, read) : "";
  if (!started.empty()) {
    const LaunchText whole{started, file, launch.kind, {}};
    refuse_foreign_launch(whole, hints);
    format = format_of(whole);
  }
  if (format != nullptr) {
    record = format->read(launch, hints, read);
  } else if (is_script(launch)) {
    record = read_configuration_of_script(launch, hints, read);
  }
  if (!record) refuse_unknown_launch(launch, hints);
  if (job) take_job_counts(job->counts, *record);
  take_stated_length(*record, hints);
  check_reading(*record, file);
  return *record;
}

}  // namespace meshwright::interop
