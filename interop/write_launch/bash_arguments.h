// SPDX-License-Identifier: Apache-2.0
// Options of Megatron-LM as they are put together.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "interop/write_launch/launch.h"

namespace meshwright::interop {

// One group of a launch script: a bash array.
class Arguments {
 public:
  void flag(std::string_view name) { lines_.push_back(std::string(name)); }
  template <typename Value>
  void set(std::string_view name, const Value& value) {
    lines_.push_back(fmt::format("{} {}", name, value));
  }
  void flag_if(bool on, std::string_view name) {
    if (on) flag(name);
  }
  template <typename Value>
  void set_if(bool on, std::string_view name, const Value& value) {
    if (on) set(name, value);
  }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] std::string text(std::string_view array) const {
    return fmt::format("{}=(\n  {}\n)\n", array, fmt::join(lines_, "\n  "));
  }

 private:
  std::vector<std::string> lines_;
};

// The model, its data types apart, as one group.
Arguments megatron_model_arguments(const Training& training);
// The dispatcher's part of what a layout says.
void add_megatron_dispatcher(Arguments& arguments, const Layout& layout);

}  // namespace meshwright::interop
