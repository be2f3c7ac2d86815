// SPDX-License-Identifier: Apache-2.0
#include "reports/text/interval_text.h"

#include <fmt/format.h>

namespace meshwright::reports {

std::string_view words_of(IntervalRegime regime) {
  switch (regime) {
    case IntervalRegime::profiled_machine:
      return "a measured machine and known software";
    case IntervalRegime::profiled_cores:
      return "a calibrated host with ranks on CPU cores";
    case IntervalRegime::known_chip:
      return "a known chip and known software";
    case IntervalRegime::unknown_software:
      return "a known chip and unknown software";
    case IntervalRegime::unknown_chip:
      return "a chip known only from its datasheet";
  }
  return "";
}

std::string interval_text(const Estimate& estimate) {
  const std::string& narrower = estimate.narrowed_by;
  return fmt::format("The interval is for {}{}.", words_of(estimate.interval_regime),
                     narrower.empty() ? "" : ". To narrow it: " + narrower);
}

}  // namespace meshwright::reports
