// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/launch_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/fine_tuning.h"
#include "interop/read_launch/trainer.h"
#include "interop/shell/command_edit.h"
#include "interop/write_launch/document_edit.h"
#include "interop/write_launch/settings_text.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

const LaunchSetting* find(const std::vector<LaunchSetting>& settings, const std::string& name) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const LaunchSetting& s) { return s.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

std::string without_prefix(const std::string& text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// A name without what spellings differ in: dashes, and for the Trainer's kin sections and synonyms.
std::string plain_name(const std::string& name, bool fine_tuning) {
  std::string plain = name.substr(std::min(name.find_first_not_of("-+"), name.size()));
  std::replace(plain.begin(), plain.end(), '-', '_');
  if (!fine_tuning) return plain;
  if (plain == "zero_optimization.stage") return "zero_stage";
  for (const char* section : {"deepspeed_config.", "parallelism_config.", "parallelism_config_"}) {
    plain = without_prefix(plain, section);
  }
  if (plain.starts_with("fsdp_config.")) {
    plain = "fsdp_" + without_prefix(plain.substr(12), "fsdp_");
  }
  return trainer_key(plain);
}

bool is_truth(const std::string& word) { return word == "true" || word == "false"; }

// A document in the launch: all of the given file, a here-document in it, or a named file.
struct Part {
  std::string* text;
  std::size_t begin, size;
  LaunchTextKind kind;
  Values values;
};

class LaunchEditor {
 public:
  LaunchEditor(LaunchFiles& files, const LaunchRecord& launch, const LaunchHints& hints,
               const std::vector<LaunchSetting>& before, const std::vector<LaunchSetting>& after,
               const std::set<std::string>& fields)
      : files_(files), launch_(launch), hints_(hints), fine_tuning_(is_fine_tuning(launch.target)) {
    for (const auto* settings : {&before, &after}) {
      for (const LaunchSetting& setting : *settings) names_.insert(plain(setting.name));
    }
    changes_ = launch_changes(before, after);
    add_other_names(fields);
  }

  std::vector<LaunchChange> run(bool adds) {
    if (!launch_.command.words.empty()) change_command(adds);
    for (const LaunchChange& change : changes_) change_documents(change);
    if (adds) add_to_documents();
    return std::move(said_);
  }

 private:
  [[nodiscard]] std::string plain(const std::string& name) const {
    return plain_name(name, fine_tuning_);
  }
  [[nodiscard]] bool is_same(const std::string& typed, const std::string& name) const {
    const std::string a = plain(typed);
    const std::string b = plain(name);
    return a == b || a.ends_with("." + b);
  }
  [[nodiscard]] bool is_setting(const std::string& typed) const {
    return std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
      const std::string a = plain(typed);
      return a == name || a.ends_with("." + name);
    });
  }

  void add_other_names(const std::set<std::string>& fields) {
    for (const Fact& fact : launch_.read) {
      const std::string name = fact.said.substr(0, fact.said.find_first_of(" ="));
      const bool listed = std::any_of(changes_.begin(), changes_.end(),
                                      [&](const auto& change) { return change.name == name; });
      if (!fields.contains(fact.field) || is_setting(name) || listed) continue;
      changes_.push_back({name, true, false, "", ""});
    }
  }

  void note(const std::string& name, const std::vector<std::string>& before,
            std::optional<std::string> after) {
    said_.push_back({name, true, after.has_value(), joined(before), after.value_or("")});
  }
  static std::string joined(const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, " "));
  }

  // Switches of ms-swift and of configurations have a word.
  static bool has_truth(const std::vector<std::string>& words) {
    return words.size() == 1 && is_truth(lower_case(words.front()));
  }

  void change_option(CommandEdit& edit, const TypedOption& option, const LaunchChange& change) {
    if (has_truth(option.words) && (!change.after || change.value_after.empty())) {
      const std::string word = change.after ? "true" : "false";
      if (lower_case(option.words.front()) == word) return;
      edit.set(option, word);
      note(option.name, option.words, word);
    } else if (!change.after) {
      edit.remove(option);
      note(option.name, option.words, std::nullopt);
    } else if (option.words.empty() && change.value_after == "false" && !fine_tuning_) {
      const std::size_t dot = option.name.rfind('.') + 1;
      const std::string off = option.name.substr(0, dot) + "no-" + option.name.substr(dot);
      edit.rename(option, off);
      note(option.name, option.words, std::nullopt);
    } else if (!change.value_after.empty() && change.value_after != joined(option.words)) {
      edit.set(option, shell_words(change.value_after));
      note(option.name, option.words, change.value_after);
    }
  }

  // NAME=1, wherever the script sets it.
  void change_variables() {
    for (const LaunchChange& change : changes_) {
      const std::string typed = change.name + "=" + change.value_before;
      const bool is_variable = std::isupper(static_cast<unsigned char>(change.name.front())) != 0;
      if (!is_variable || !change.after || !contains(files_.text, typed)) continue;
      files_.text = replaced(files_.text, typed, change.name + "=" + change.value_after);
      note(change.name, {change.value_before}, change.value_after);
    }
  }

  // "activation-checkpoint:full" of tyro's commands.
  static bool is_subcommand(const LaunchChange& change) {
    return !change.name.starts_with("--") && !contains(change.name, ".") &&
           contains(change.name, "-");
  }
  // A subcommand stands behind all options, and is read as a word of the last one.
  static bool ends_in_subcommand(const TypedOption& option) {
    return option.words.size() > 1 && contains(option.words.back(), ":");
  }
  bool change_subcommand(const LaunchChange& change, std::string& text) {
    const std::string typed = change.name + ":" + change.value_before;
    if (!is_subcommand(change) || !change.after || !contains(text, typed)) return false;
    text = replaced(text, typed, change.name + ":" + change.value_after);
    note(change.name, {change.value_before}, change.value_after);
    return true;
  }

  void change_command(bool adds) {
    CommandEdit edit(files_.text, launch_.command);
    const TypedOption* last = nullptr;
    for (const TypedOption& option : edit.options()) {
      if (!option.is_there() || !is_of_program(option)) continue;
      if (last != nullptr && ends_in_subcommand(option)) continue;
      if (last == nullptr || is_setting(option.name) || !is_setting(last->name)) last = &option;
    }
    std::vector<const LaunchChange*> missing;
    for (const LaunchChange& change : changes_) {
      bool found = false;
      for (const TypedOption& option : edit.options()) {
        if (!is_same(option.name, change.name)) continue;
        if (option.is_there()) change_option(edit, option, change);
        found = found || option.is_there();
      }
      if (!found && change.after) missing.push_back(&change);
    }
    for (const LaunchChange* change : missing) {
      if (!adds || last == nullptr || !is_for_command(*change)) continue;
      if (is_subcommand(*change) && contains(files_.text, change->name + ":")) continue;
      const auto [name, words] = new_option(edit, *change);
      edit.add_behind(*last, words);
      said_.push_back({name, false, true, "", change->value_after});
    }
    files_.text = edit.text();
    for (const LaunchChange& change : changes_) change_subcommand(change, files_.text);
    change_variables();
  }

  // accelerate's options stand before the program.
  [[nodiscard]] bool is_of_program(const TypedOption& option) const {
    return option.index >= first_program_word(launch_.command);
  }

  bool is_for_command(const LaunchChange& change) {
    const std::vector<Part> all = parts();
    if (std::any_of(all.begin(), all.end(), [&](const Part& part) {
          return has_same(part, change.name) || has_section(part, change.name);
        })) {
      return false;
    }
    return change.name.starts_with("--") || !fine_tuning_;
  }

  // Its name and its words, as the command spells others.
  [[nodiscard]] std::pair<std::string, std::string> new_option(const CommandEdit& edit,
                                                               const LaunchChange& change) const {
    const std::string value = shell_words(change.value_after);
    if (!change.name.starts_with("--")) {
      const bool overrides = std::any_of(edit.options().begin(), edit.options().end(),
                                         [](const TypedOption& o) { return o.is_override(); });
      if (overrides) return {change.name, change.name + "=" + value};
      if (is_subcommand(change)) return {change.name, change.name + ":" + value};
      return {"--" + change.name, option_text(change.name, value)};
    }
    int underscores = 0;
    bool truths = false;
    for (const TypedOption& option : edit.options()) {
      if (!is_setting(option.name)) continue;
      underscores += contains(option.name.substr(2), "_") ? 1 : 0;
      underscores -= contains(option.name.substr(2), "-") ? 1 : 0;
      truths = truths || has_truth(option.words);
    }
    std::string name = change.name;
    if (underscores > 0) std::replace(name.begin() + 2, name.end(), '-', '_');
    if (!change.value_after.empty()) return {name, name + " " + value};
    return {name, name + (truths ? " true" : "")};
  }

  std::vector<Part> parts() {
    std::vector<Part> parts;
    const auto add = [&](std::string& text, std::size_t begin, std::size_t size) {
      const std::string inner = text.substr(begin, size);
      try {
        LaunchText read = launch_text(inner, "");
        if (is_document(read)) {
          parts.push_back({&text, begin, size, read.kind, std::move(read.document)});
        }
      } catch (const InputError&) {
        return;  // another program's text
      }
    };
    add(files_.text, 0, files_.text.size());
    if (parts.empty()) {
      const ShellScript script =
          read_shell_script(files_.text, files_.file, shell_inputs(hints_, {}));
      for (const HereDocument& document : script.here_documents) {
        const auto [begin, size] = lines_of(document.text);
        add(files_.text, begin, size);
      }
    }
    for (auto& [name, text] : files_.named) {
      if (names_configuration(name)) add(text, 0, text.size());
    }
    return parts;
  }

  [[nodiscard]] std::pair<std::size_t, std::size_t> lines_of(const MarkedText& document) const {
    std::size_t begin = 0;
    for (int line = 1; line < document.line(); ++line) begin = files_.text.find('\n', begin) + 1;
    std::size_t end = begin;
    const auto lines = std::count(document.text().begin(), document.text().end(), '\n');
    for (auto i = lines; i > 0; --i) end = files_.text.find('\n', end) + 1;
    return {begin, end - begin};
  }

  static bool put(const Part& part, std::optional<std::string> inner) {
    if (!inner) return false;
    part.text->replace(part.begin, part.size, *inner);
    return true;
  }
  static std::string inner(const Part& part) { return part.text->substr(part.begin, part.size); }

  [[nodiscard]] bool has_same(const Part& part, const std::string& name) const {
    const auto& all = part.values.all();
    return std::any_of(all.begin(), all.end(),
                       [&](const Value& value) { return is_same(value.key, name); });
  }
  static bool has_section(const Part& part, const std::string& name) {
    const std::size_t dot = name.rfind('.');
    const auto& all = part.values.all();
    return dot != std::string::npos && std::any_of(all.begin(), all.end(), [&](const Value& value) {
             return value.key.starts_with(name.substr(0, dot + 1));
           });
  }

  // A command's option as a value: a switch is true, several words are a list. FSDP of version 1
  // has names where that of version 2 has truths.
  static std::string document_value(const LaunchChange& change, const std::string& typed) {
    if (fsdp_strategy(typed) && is_truth(change.value_after) && !is_truth(lower_case(typed))) {
      return change.value_after == "true" ? "FULL_SHARD" : "SHARD_GRAD_OP";
    }
    if (change.value_after.empty()) return "true";
    if (!change.name.starts_with("--") || !contains(change.value_after, " ")) {
      return change.value_after;
    }
    return fmt::format("[{}]", replaced(change.value_after, " ", ", "));
  }

  void change_documents(const LaunchChange& change) {
    for (std::size_t i = 0; i < parts().size(); ++i) {
      const Part part = parts()[i];  // places move with each change
      for (const Value& value : part.values.all()) {
        const bool follows = value.words.size() == 1 && value.words.front() == "auto" &&
                             (parts().size() > 1 || !launch_.command.words.empty());
        if (!is_same(value.key, change.name) || follows) continue;
        const bool off = !change.after && has_truth(value.words);
        const std::string word = off ? "false" : document_value(change, joined(value.words));
        const bool removes = !change.after && !off;
        if (!removes && joined(value.words) == word) break;
        const bool done = put(part, removes ? without_key(inner(part), part.kind, value.key)
                                            : with_value(inner(part), part.kind, value.key, word));
        if (done) note(value.key, value.words, removes ? std::nullopt : std::optional(word));
        break;
      }
    }
  }

  // The key under which a new setting stands beside those that are there.
  std::optional<std::string> new_key(const Part& part, const LaunchChange& change) const {
    if (fine_tuning_ && launch_.target == "axolotl") return plain(change.name);
    if (!change.name.starts_with("--")) return change.name;
    for (const Value& value : part.values.all()) {
      if (!is_setting(value.key)) continue;
      return value.key.substr(0, value.key.rfind('.') + 1) + plain(change.name);
    }
    return std::nullopt;
  }

  void add_to_documents() {
    for (const LaunchChange& change : changes_) {
      const bool in_command = !launch_.command.words.empty() && is_for_command(change);
      if (!change.after || in_command) continue;
      const std::vector<Part> all = parts();
      if (all.empty() || std::any_of(all.begin(), all.end(), [&](const Part& part) {
            return has_same(part, change.name);
          })) {
        continue;
      }
      const auto with_section = std::find_if(
          all.begin(), all.end(), [&](const Part& part) { return has_section(part, change.name); });
      const Part& part = with_section == all.end() ? all.front() : *with_section;
      const auto key = new_key(part, change);
      const std::string value = document_value(change, "");
      if (!key || !put(part, with_new_key(inner(part), part.kind, *key, value))) continue;
      said_.push_back({*key, false, true, "", value});
    }
  }

  LaunchFiles& files_;
  const LaunchRecord& launch_;
  const LaunchHints& hints_;
  bool fine_tuning_;
  std::set<std::string> names_;  // of all settings, plain
  std::vector<LaunchChange> changes_;
  std::vector<LaunchChange> said_;
};

}  // namespace

bool is_fine_tuning(const std::string& target) {
  constexpr std::array<std::string_view, 6> kTargets{
      "DeepSpeed", "accelerate", "axolotl", "LLaMA-Factory", "TRL", "ms-swift's Trainer"};
  return std::find(kTargets.begin(), kTargets.end(), target) != kTargets.end();
}

bool has_place_for_ranks(const LaunchRecord& launch) {
  const auto& words = launch.command.words;
  const bool by_accelerate = std::any_of(words.begin(), words.end(), [](const MarkedText& word) {
    return word.text() == "accelerate" || word.text().ends_with("/accelerate") ||
           word.text().starts_with("accelerate.commands");
  });
  return words_of_layout(launch) != "accelerate" || by_accelerate || launch.target == "axolotl" ||
         (launch.target == "accelerate" && words.empty());
}

std::string words_of_layout(const LaunchRecord& launch) {
  if (!is_fine_tuning(launch.target)) return launch.target;
  return launch.framework.starts_with("deepspeed") ? "DeepSpeed" : "accelerate";
}

std::vector<LaunchChange> launch_changes(const std::vector<LaunchSetting>& before,
                                         const std::vector<LaunchSetting>& after) {
  std::vector<LaunchChange> changes;
  for (const LaunchSetting& setting : after) {
    const LaunchSetting* old = find(before, setting.name);
    if (old != nullptr && old->value == setting.value) continue;
    changes.push_back(
        {setting.name, old != nullptr, true, old != nullptr ? old->value : "", setting.value});
  }
  for (const LaunchSetting& setting : before) {
    if (find(after, setting.name) != nullptr) continue;
    changes.push_back({setting.name, true, false, setting.value, ""});
  }
  return changes;
}

std::vector<LaunchChange> change_launch(LaunchFiles& files, const LaunchRecord& launch,
                                        const LaunchHints& hints,
                                        const std::vector<LaunchSetting>& before,
                                        const std::vector<LaunchSetting>& after,
                                        const std::set<std::string>& fields, bool adds) {
  return LaunchEditor(files, launch, hints, before, after, fields).run(adds);
}

}  // namespace meshwright::interop
