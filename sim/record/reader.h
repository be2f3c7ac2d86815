// SPDX-License-Identifier: Apache-2.0
// Reads one JSON object field by field, with an error that names file, JSON pointer, value and what
// is allowed. finish() refuses keys that nobody asked for and names the nearest known one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/error.h"
#include "sim/record/json.h"

namespace meshwright {

struct IntRange {
  std::int64_t low = 1;
  std::int64_t high = 1'000'000'000;
};
struct NumberRange {
  double low = 0.0;
  double high = 1e300;
  bool low_excluded = false;
};

class ObjectReader {
 public:
  // `file` names the source in messages. Throws InputError when `json` is no object.
  ObjectReader(const Json& json, std::string file, std::string pointer = "");

  [[nodiscard]] bool has(
      std::string_view key) const;  // present and not null; marks the key as known
  [[nodiscard]] bool is_null(std::string_view key) const;  // present and null
  [[nodiscard]] const Json& member(std::string_view key);  // required, any type

  int required_int(std::string_view key, IntRange range = {});
  int optional_int(std::string_view key, int default_value, IntRange range = {});
  double required_number(std::string_view key, NumberRange range = {});
  double optional_number(std::string_view key, double default_value, NumberRange range = {});
  // Nothing where the key is absent or 0: files say 0 for what is not stated.
  std::optional<double> stated_number(std::string_view key);
  bool optional_bool(std::string_view key, bool default_value);
  std::string required_string(std::string_view key);
  std::string optional_string(std::string_view key, std::string default_value);
  ObjectReader required_object(std::string_view key);
  const Json& required_array(std::string_view key);
  // None where the key is not there.
  std::vector<std::string> optional_strings(std::string_view key);

  template <typename Enum, typename Names>
  Enum optional_enum(std::string_view key, Enum default_value, const Names& names) {
    if (!has(key)) return default_value;
    const std::string text = required_string(key);
    std::vector<std::string_view> allowed;
    for (const auto& entry : names) {
      if (entry.name == text) return entry.value;
      allowed.push_back(entry.name);
    }
    fail_choice(key, text, allowed);
  }

  // Refuses keys that were never asked for. `ignored` are allowed and unread.
  void finish(const std::vector<std::string_view>& ignored = {}) const;

  [[noreturn]] void fail(std::string_view key, const std::string& what,
                         std::string hint = "") const;
  // Names what is allowed, and the nearest of it.
  [[noreturn]] void fail_choice(std::string_view key, const std::string& value,
                                const std::vector<std::string_view>& allowed) const;
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  [[nodiscard]] std::string pointer_to(std::string_view key) const;

 private:
  const Json* find(std::string_view key);
  const Json& require(std::string_view key);

  const Json* json_;
  std::string file_;
  std::string pointer_;
  mutable std::vector<std::string> known_;
};

// A key as a token of a JSON pointer (RFC 6901).
std::string pointer_token(std::string_view key);

// The member of `candidates` nearest to `word` by edit distance, or empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
// A hint with the nearest, in quotes where they are given; empty where none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view quote = "");

}  // namespace meshwright
