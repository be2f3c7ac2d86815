// SPDX-License-Identifier: Apache-2.0
// What a launch line or a configuration file says, key by key, each with its place. Who reads a
// value marks it as used, so that what nobody understood can be listed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/place.h"
#include "sim/record/reader.h"

namespace meshwright::interop {

struct Value {
  std::string key;                 // "num_layers", "parallelism.tp"
  std::vector<std::string> words;  // none: a switch that is on
  std::string said;                // "--num-layers 96"
  Place place;
  std::string unknown{};  // why the words are not known; empty: they are
  bool used = false;
};

class Values {
 public:
  void add(Value value) { all_.push_back(std::move(value)); }

  // The last of that key, or nullptr. All of that key count as used.
  const Value* find(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] const std::vector<Value>& all() const& { return all_; }
  [[nodiscard]] std::vector<Value>& all() & { return all_; }
  // A temporary returns its values by value, so that a loop keeps them alive.
  [[nodiscard]] std::vector<Value> all() && { return std::move(all_); }
  // Marks what is known to change no cost.
  void pass_over(std::string_view key);
  void pass_over_below(std::string_view prefix);
  void pass_over_ending(std::string_view suffix);
  void drop(std::string_view key);
  // Puts a value in the place of those that its key has.
  void put_over(Value value);

 private:
  std::vector<Value> all_;
};

// The values of a section, "parallelism.", under their keys inside it.
Values below(const Values& values, std::string_view section);
// An assumed value has no place in the launch.
Values without_places(Values values);

// Convert one value. All throw InputError with the place if there is not exactly one word, or if
// the word has another type, is out of range or unknown.
std::string word_of(const Value& value);
int integer_of(const Value& value, IntRange range);
double number_of(const Value& value, NumberRange range);
// A switch alone, or true, false, True, False, 1, 0.
bool flag_of(const Value& value);
[[noreturn]] void fail_at(const Value& value, const std::string& what,
                          const std::string& hint = "");

}  // namespace meshwright::interop
