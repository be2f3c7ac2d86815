// SPDX-License-Identifier: Apache-2.0
// Fills a LaunchRecord from values, and writes down where each field came from.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/launcher_words.h"
#include "interop/read_launch/values.h"
#include "sim/base/text.h"

namespace meshwright::interop {

inline constexpr IntRange kParallelSizes{1, 1'000'000};
inline constexpr IntRange kModelSizes{1, 100'000'000};
inline constexpr IntRange kCounts{1, 1'000'000'000};

// A field of the layout that a launcher says under one key.
struct SizeKey {
  int Layout::*member;
  const char *field, *key;
};

class LaunchReading {
 public:
  LaunchReading(Values& values, LaunchRecord& record) : values_(values), record_(record) {}

  [[nodiscard]] Values& values() { return values_; }
  [[nodiscard]] LaunchRecord& record() { return record_; }
  const Value* find(std::string_view key) { return values_.find(key); }

  // Each sets the target where the key is there, and returns whether it is.
  bool integer(int& target, std::string_view field, std::string_view key, IntRange range = {});
  bool number(double& target, std::string_view field, std::string_view key, NumberRange range = {});
  bool flag(bool& target, std::string_view field, std::string_view key);
  template <typename Enum, typename Names>
  bool choice(Enum& target, std::string_view field, std::string_view key, const Names& names) {
    const Value* value = find(key);
    if (value == nullptr) return false;
    const std::string word = word_of(*value);
    std::string allowed;
    for (const auto& entry : names) {
      if (entry.name == word) {
        target = entry.value;
        note(field, said_as(entry.value, word), *value);
        return true;
      }
      append_to_list(allowed, ", ", entry.name);
    }
    fail_at(*value, "must be one of " + allowed);
  }

  // Sizes of one rank or more; those that are there are settled.
  void layout_sizes(std::span<const SizeKey> sizes);

  // Full recompute or none, by a switch; noted as such.
  bool recompute_switch(std::string_view key);

  [[nodiscard]] bool is_on(std::string_view key);
  // The word under a key, or a default.
  std::string word(std::string_view key, const std::string& otherwise);

  // Numbers as numbers, whatever the launcher calls them: ZeRO 3 is "FULL_SHARD".
  template <typename Enum>
  static std::string said_as(Enum value, const std::string& word) {
    if constexpr (std::is_same_v<Enum, int>) return std::to_string(value);
    if constexpr (std::is_same_v<Enum, bool>) return value ? "true" : "false";
    return word;
  }

  // Something was read that other fields follow from.
  void note(std::string_view field, const std::string& value, const Value& from);
  void assume(std::string_view field, const std::string& value, const std::string& why);
  // Known, and no record here can say it.
  void not_understood(const Value& value, const std::string& why);
  void not_understood(const Value& value, const std::string& why, OptionEffect effect);

  // Lists a word of configs/launchers.
  void list_word(Value& value, const WordGroup& group);
  // Those of a launcher's words that nobody asked for.
  void list_words(const LauncherWords& launcher);

  // The same of a key whose value is neither off nor a usual one.
  void not_modelled_unless(std::string_view key,
                           std::initializer_list<std::string_view> usual = {});

  // States that the job or layout sets these fields, so the framework's defaults do not count.
  void settle_job(std::string_view field) { record_.job_fields.emplace_back(field); }
  void settle_layout(std::string_view field) { record_.layout_fields.emplace_back(field); }
  void settle_whole_layout();

  // Lists what nobody asked for, with what it may change.
  void list_unused(const std::string& why);
  // Lists it as no option of a release, each with the known one that is spelled nearest.
  void list_unknown(const std::string& release, const std::vector<std::string>& known);

 private:
  Values& values_;
  LaunchRecord& record_;
};

}  // namespace meshwright::interop
