// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/launcher_words.h"

#include <algorithm>
#include <map>

#include "interop/read_launch/launcher_words_text.h"
#include "sim/record/json.h"
#include "sim/record/record.h"

namespace meshwright::interop {
namespace {

const meshwright::Record<WordGroup>& word_group_record() {
  return described([](meshwright::Record<WordGroup>& r) {
    using G = WordGroup;
    r.about("Words of one class and effect.");
    r.row<&G::word_class>("class", kWordClassNames, "harmless, or not_modelled.").required();
    r.row<&G::effect>(kOptionEffectNames, "What a word that is not modelled changes.");
    r.omitted_at_default();
    r.row<&G::why>("Why they change nothing, or what they change.").required();
    r.row<&G::takes>(kWordTakesNames, "How many words follow.").required();
    r.row<&G::always>("Values such as 0, 1 and auto change something, too.").omitted_at_default();
    r.row<&G::gone>("Words of earlier releases and forks.").omitted_at_default();
    r.row<&G::names>("Without dashes in front; NAME=KEY, or NAME* for all that begin so.")
        .required();
  });
}

const meshwright::Record<LauncherWords>& launcher_words_record() {
  return described([](meshwright::Record<LauncherWords>& r) {
    using L = LauncherWords;
    r.about("Words of a launcher that are passed over, or have an effect that is not modelled.");
    r.file_of({"meshwright.launcher/1"}, true);
    r.row<&L::launcher>("Its name, for people.").required();
    r.row<&L::package>("The package whose options these are.").required();
    r.row<&L::version>("Its version.").required();
    r.row<&L::abbreviates>("The beginning of one option alone stands for it.").required();
    r.row<&L::words>(word_group_record, "Groups of words.").required();
  });
}

const std::map<std::string_view, LauncherWords>& all_launchers() {
  static const std::map<std::string_view, LauncherWords> launchers = [] {
    std::map<std::string_view, LauncherWords> read;
    for (const LauncherText& text : kLauncherTexts) {
      const std::string file = "configs/launchers/" + std::string(text.name) + ".json";
      read[text.name] = launcher_words_record().read(Json::parse(text.text), file);
    }
    return read;
  }();
  return launchers;
}

}  // namespace

const LauncherWords& launcher_words(std::string_view name) { return all_launchers().at(name); }

std::vector<std::string_view> launchers_with_words() {
  std::vector<std::string_view> names;
  for (const LauncherText& text : kLauncherTexts) names.push_back(text.name);
  return names;
}

std::vector<std::string> names_of(const LauncherWords& launcher) {
  std::vector<std::string> names;
  for (const WordGroup& group : launcher.words) {
    names.insert(names.end(), group.names.begin(), group.names.end());
  }
  return names;
}

const WordGroup* group_of(const LauncherWords& launcher, std::string_view key) {
  for (const WordGroup& group : launcher.words) {
    for (const std::string& name : group.names) {
      const bool begins = name.ends_with('*') && key.starts_with(name.substr(0, name.size() - 1));
      if (begins || name == key) return &group;
    }
  }
  const std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? nullptr : group_of(launcher, key.substr(dot + 1));
}

}  // namespace meshwright::interop
