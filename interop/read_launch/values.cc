// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

void check_known(const Value& value) {
  if (value.unknown.empty()) return;
  fail_at(value, "its value is not known: " + value.unknown,
          "state it with --set NAME=VALUE; --args \"...\" states the arguments of a script");
}

// Python and shells write 9_765_625.
std::string without_underscores(std::string text) {
  std::erase(text, '_');
  return text;
}

}  // namespace

const Value* Values::find(std::string_view key) {
  const Value* last = nullptr;
  for (Value& value : all_) {
    if (value.key != key) continue;
    value.used = true;
    last = &value;
  }
  return last;
}

bool Values::has(std::string_view key) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Value& v) { return v.key == key; });
}

void Values::pass_over(std::string_view key) { find(key); }

void Values::drop(std::string_view key) {
  std::erase_if(all_, [&](const Value& value) { return value.key == key; });
}

void Values::put_over(Value value) {
  drop(value.key);
  add(std::move(value));
}

Values below(const Values& values, std::string_view section) {
  Values inside;
  for (Value value : values.all()) {
    if (!value.key.starts_with(section)) continue;
    value.key.erase(0, section.size());
    inside.add(std::move(value));
  }
  return inside;
}

Values without_places(Values values) {
  for (Value& value : values.all()) value.place = {};
  return values;
}

void Values::pass_over_below(std::string_view prefix) {
  for (Value& value : all_) value.used = value.used || value.key.starts_with(prefix);
}

void Values::pass_over_ending(std::string_view suffix) {
  for (Value& value : all_) value.used = value.used || value.key.ends_with(suffix);
}

void fail_at(const Value& value, const std::string& what, const std::string& hint) {
  throw InputError(value.place.exact_text(), "", value.said + ": " + what, hint);
}

std::string word_of(const Value& value) {
  check_known(value);
  if (value.words.size() != 1) {
    fail_at(value, fmt::format("must have one value (got {})", value.words.size()));
  }
  return value.words.front();
}

int integer_of(const Value& value, IntRange range) {
  const std::string text = without_underscores(word_of(value));
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stopped == end && number >= range.low && number <= range.high) {
    return static_cast<int>(number);
  }
  fail_at(value, fmt::format("must be a whole number from {} to {}", range.low, range.high));
}

double number_of(const Value& value, NumberRange range) {
  const std::string text = without_underscores(word_of(value));
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  const bool whole = error == std::errc() && stopped == end && std::isfinite(number);
  if (whole && number >= range.low && number <= range.high) return number;
  fail_at(value, fmt::format("must be a number from {} to {}", range.low, range.high));
}

bool flag_of(const Value& value) {
  check_known(value);
  if (value.words.empty()) return true;
  const std::string word = word_of(value);
  if (word == "true" || word == "True" || word == "1") return true;
  if (word == "false" || word == "False" || word == "0") return false;
  fail_at(value, "must be true or false");
}

}  // namespace meshwright::interop
