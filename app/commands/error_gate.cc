// SPDX-License-Identifier: Apache-2.0
#include "app/commands/error_gate.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"

namespace meshwright::app {

double share_of(const std::string& flag, const std::string& text) {
  try {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    const std::string unit = text.substr(used);
    if (value >= 0.0 && std::isfinite(value) && unit == "%") return value / 100.0;
    if (value >= 0.0 && std::isfinite(value) && unit.empty()) return value;
  } catch (const std::logic_error&) {
  }
  throw InputError(flag, "", fmt::format("must be a share such as 10% or 0.1 (got \"{}\")", text));
}

int error_gate(std::string_view what, double error, double limit) {
  const bool passed = error <= limit;
  say("gate: {} {} {} %: {}\n", what, passed ? "<=" : ">", number_text(100.0 * limit, 3),
      passed ? "passed" : "failed");
  return passed ? kDone : kGateFailed;
}

}  // namespace meshwright::app
