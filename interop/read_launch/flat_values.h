// SPDX-License-Identifier: Apache-2.0
// Collects the values of a nested document under dotted keys, and keeps its size in bounds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interop/read_launch/values.h"
#include "sim/base/error.h"

namespace meshwright::interop {

class FlatValues {
 public:
  explicit FlatValues(std::string file) : file_(std::move(file)) {}

  struct At {
    int line = 0, column = 0;
  };
  void add(const std::string& key, std::vector<std::string> words, At at) {
    Value value;
    value.key = key;
    value.said = key + " =";
    for (const std::string& word : words) value.said += " " + word;
    constexpr std::size_t kLongest = 120;
    if (value.said.size() > kLongest) value.said = value.said.substr(0, kLongest) + "...";
    value.words = std::move(words);
    value.place = {file_, at.line, at.column};
    values_.add(std::move(value));
    if (values_.all().size() > kMostValues) fail(at.line, "holds more than 100,000 values");
  }
  void check_depth(int depth, int line) const {
    if (depth > kDeepest) fail(line, "nests deeper than 50 levels");
  }
  Values take() { return std::move(values_); }

 private:
  static constexpr std::size_t kMostValues = 100'000;
  static constexpr int kDeepest = 50;
  [[noreturn]] void fail(int line, const std::string& what) const {
    throw InputError(Place{file_, line, 0}.text(), "", what);
  }

  std::string file_;
  Values values_;
};

inline std::string joined_key(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

}  // namespace meshwright::interop
