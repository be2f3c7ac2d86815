// SPDX-License-Identifier: Apache-2.0
// Where something stands in somebody's file.
#pragma once

#include <fmt/format.h>

#include <string>

namespace meshwright::interop {

struct Place {
  std::string file;
  int line = 0;    // from 1; 0: nowhere in particular
  int column = 0;  // from 1; 0: the line as a whole
  [[nodiscard]] std::string text() const {
    return line > 0 ? fmt::format("{}:{}", file, line) : file;
  }
  // Returns the place in the form that compilers use.
  [[nodiscard]] std::string exact_text() const {
    return column > 0 ? fmt::format("{}:{}", text(), column) : text();
  }
  bool operator==(const Place&) const = default;
};

}  // namespace meshwright::interop
