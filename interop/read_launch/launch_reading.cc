// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/launch_reading.h"

#include <algorithm>

#include "sim/layout/fields.h"

namespace meshwright::interop {

bool LaunchReading::integer(int& target, std::string_view field, std::string_view key,
                            IntRange range) {
  const Value* value = find(key);
  if (value == nullptr) return false;
  target = integer_of(*value, range);
  note(field, std::to_string(target), *value);
  return true;
}

bool LaunchReading::number(double& target, std::string_view field, std::string_view key,
                           NumberRange range) {
  const Value* value = find(key);
  if (value == nullptr) return false;
  target = number_of(*value, range);
  note(field, fmt::format("{}", target), *value);
  return true;
}

bool LaunchReading::flag(bool& target, std::string_view field, std::string_view key) {
  const Value* value = find(key);
  if (value == nullptr) return false;
  target = flag_of(*value);
  note(field, target ? "true" : "false", *value);
  return true;
}

void LaunchReading::layout_sizes(std::span<const SizeKey> sizes) {
  for (const SizeKey& size : sizes) {
    if (integer(record_.layout.*size.member, size.field, size.key, kParallelSizes))
      settle_layout(size.field);
  }
}

bool LaunchReading::recompute_switch(std::string_view key) {
  using enum RecomputeGranularity;
  const Value* value = find(key);
  if (value == nullptr) return false;
  RecomputeGranularity& target = record_.layout.recompute_granularity;
  target = flag_of(*value) ? full : none;
  note("recompute_granularity", std::string(name_of(target)), *value);
  return true;
}

bool LaunchReading::is_on(std::string_view key) {
  const Value* value = find(key);
  return value != nullptr && flag_of(*value);
}

std::string LaunchReading::word(std::string_view key, const std::string& otherwise) {
  const Value* value = find(key);
  return value == nullptr ? otherwise : word_of(*value);
}

void LaunchReading::note(std::string_view field, const std::string& value, const Value& from) {
  if (from.place.file.empty()) return;  // a default, which is among the assumptions
  record_.read.push_back({std::string(field), value, from.said, from.place});
}

void LaunchReading::assume(std::string_view field, const std::string& value,
                           const std::string& why) {
  record_.assumed.push_back({std::string(field), value, why, {}});
}

void LaunchReading::not_understood(const Value& value, const std::string& why) {
  const OptionEffect effect = effect_of(value.key);
  not_understood(value, why, changes_answer(effect) ? effect : OptionEffect::cost);
}

void LaunchReading::not_understood(const Value& value, const std::string& why,
                                   OptionEffect effect) {
  record_.not_understood.push_back(
      {value.said, why, value.place, effect, value.key, is_off(value)});
}

void LaunchReading::list_word(Value& value, const WordGroup& group) {
  value.used = true;
  const bool off = is_off(value) && !group.always && group.takes != WordTakes::clears;
  if (off || group.word_class == WordClass::harmless) return record_.harmless.push_back(value.said);
  record_.not_understood.push_back(
      {value.said, "not modelled: " + group.why, value.place, group.effect, value.key});
}

void LaunchReading::list_words(const LauncherWords& launcher) {
  for (Value& value : values_.all()) {
    const WordGroup* group = value.used ? nullptr : group_of(launcher, value.key);
    if (group != nullptr) list_word(value, *group);
  }
}

void LaunchReading::not_modelled_unless(std::string_view key,
                                        std::initializer_list<std::string_view> usual) {
  const Value* value = find(key);
  if (value == nullptr || is_off(*value)) return;
  const std::string word = value->words.size() == 1 ? value->words.front() : "";
  const bool is_usual = std::any_of(
      usual.begin(), usual.end(), [&](std::string_view each) { return same_letters(each, word); });
  if (!is_usual) not_understood(*value, "it changes cost or memory in a way that is not modelled");
}

void LaunchReading::settle_whole_layout() {
  for_each_field([&](const auto& field) { settle_layout(field.name); });
}

void LaunchReading::list_unknown(const std::string& release,
                                 const std::vector<std::string>& known) {
  for (const Value& value : values_.all()) {
    if (value.used) continue;
    const std::string near = nearest(value.key, known);
    not_understood(value,
                   fmt::format("is no option of {}{}", release,
                               near.empty() ? "" : "; the nearest is " + near),
                   effect_of(value.key));
  }
}

void LaunchReading::list_unused(const std::string& why) {
  for (const Value& value : values_.all()) {
    if (value.used) continue;
    const OptionEffect effect = effect_of(value.key);
    if (effect == OptionEffect::none) {
      record_.harmless.push_back(value.said);
    } else {
      not_understood(value, why, effect);
    }
  }
}

}  // namespace meshwright::interop
