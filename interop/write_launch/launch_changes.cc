// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/launch_changes.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

const LaunchSetting* find(const std::vector<LaunchSetting>& settings, const std::string& name) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const LaunchSetting& s) { return s.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

bool is_option(const std::string& word) { return word.starts_with("--") && word.size() > 2; }
// model.tensor_model_parallel_size=2
bool is_override(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && !word.starts_with("-") && word.find('.') < equals;
}
std::string option_name(const std::string& word) { return word.substr(0, word.find('=')); }

void append_option(std::vector<std::string>& words, const LaunchChange& change) {
  words.push_back(change.name);
  for (std::string& value : split_words(change.value_after)) words.push_back(std::move(value));
}

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "-_./:=,@%+^$";
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != kPlain.npos;
  });
  if (plain) return word;
  return "'" + replaced(word, "'", "'\\''") + "'";
}

}  // namespace

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

std::vector<std::string> changed_command(const std::vector<std::string>& words,
                                         const std::vector<LaunchChange>& changes) {
  std::vector<std::string> changed;
  std::vector<bool> done(changes.size(), false);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found =
        std::find_if(changes.begin(), changes.end(), [&](const LaunchChange& change) {
          const bool says = is_option(words[i]) || is_override(words[i]);
          return says && change.name == option_name(words[i]);
        });
    if (found == changes.end()) {
      changed.push_back(words[i]);
      continue;
    }
    const auto at = static_cast<std::size_t>(found - changes.begin());
    if (is_override(words[i])) {
      if (found->after && !done[at]) changed.push_back(found->name + "=" + found->value_after);
      done[at] = true;
      continue;
    }
    while (i + 1 < words.size() && !words[i + 1].starts_with("-")) ++i;
    if (found->after && !done[at]) append_option(changed, *found);
    done[at] = true;
  }
  const bool overrides = std::any_of(words.begin(), words.end(), is_override);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!changes[i].after || done[i]) continue;
    if (is_option(changes[i].name)) {
      append_option(changed, changes[i]);
    } else if (overrides) {
      changed.push_back(changes[i].name + "=" + changes[i].value_after);
    }
  }
  return changed;
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += is_option(word) ? " \\\n    " : " ";
    text += quoted(word);
  }
  return text.empty() ? "" : text + "\n";
}

}  // namespace meshwright::interop
