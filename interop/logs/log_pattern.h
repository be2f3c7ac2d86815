// SPDX-License-Identifier: Apache-2.0
// The user's own pattern for a log's steps: "step {step} .* {seconds}s".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "interop/logs/line_regex.h"
#include "interop/logs/training_log.h"

namespace meshwright::interop {

class LogPattern {
 public:
  // Throws InputError that names --log-pattern.
  explicit LogPattern(const std::string& text);

  // Values of one line. Nothing if it does not match or its time is not above 0. The caller counts
  // steps if the pattern has no {step}.
  struct Reading {
    LogStep step;
    bool numbered = false;
    std::optional<Bytes> memory;
  };
  [[nodiscard]] std::optional<Reading> read(std::string_view line) const;

  // The first of the lines that have most of the pattern's words; empty: none has any.
  [[nodiscard]] std::string nearest_line(std::string_view log) const;

  // "{step}, {seconds}".
  static std::string placeholders();

 private:
  std::string text_;
  LineRegex regex_;
};

}  // namespace meshwright::interop
