// SPDX-License-Identifier: Apache-2.0
// Words of a launcher that no reader reads, each with its class, from configs/launchers. They are
// compiled in, as interop reads no files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/option_effect.h"
#include "sim/base/enum_names.h"

namespace meshwright::interop {

enum class WordClass : std::uint8_t {
  harmless,     // changes neither layout, memory, time, batch nor precision
  not_modelled  // changes one of them, and no record here can say so
};
inline constexpr std::array kWordClassNames{EnumName{WordClass::harmless, "harmless"},
                                            EnumName{WordClass::not_modelled, "not_modelled"}};
// How many words follow. A switch that clears sets its key to false.
enum class WordTakes : std::uint8_t { nothing, clears, one, many };
inline constexpr std::array kWordTakesNames{
    EnumName{WordTakes::nothing, "nothing"}, EnumName{WordTakes::clears, "clears"},
    EnumName{WordTakes::one, "one"}, EnumName{WordTakes::many, "many"}};

struct WordGroup {
  WordClass word_class = WordClass::harmless;
  OptionEffect effect = OptionEffect::none;
  std::string why;
  WordTakes takes = WordTakes::one;
  bool always = false;  // 1, 0 and auto leave nothing as it is, either
  bool gone = false;    // of earlier releases and forks
  // Without dashes in front; "name=key" where the software has another key; "name*": all that begin
  // so.
  std::vector<std::string> names;
};

struct LauncherWords {
  std::string launcher, package, version;
  bool abbreviates = false;  // the beginning of one option alone stands for it
  std::vector<WordGroup> words;
};

// `name`: a file of configs/launchers, "megatron-lm".
const LauncherWords& launcher_words(std::string_view name);
std::vector<std::string_view> launchers_with_words();

std::vector<std::string> names_of(const LauncherWords& launcher);

// The group of a key, or of its last part; nullptr: none has it.
const WordGroup* group_of(const LauncherWords& launcher, std::string_view key);

}  // namespace meshwright::interop
