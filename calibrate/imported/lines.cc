// SPDX-License-Identifier: Apache-2.0
#include "calibrate/imported/lines.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/base/text.h"

namespace meshwright::calibrate {
namespace {

// One standard deviation of a time whose samples are not known: what clusters vary by from run to
// run. Assumed.
constexpr double kToldSpread = 0.05;

// Without "[1,0]<stdout>:" or "0:" and a blank after it.
std::string without_prefix(const std::string& line) {
  const auto skip = [&](std::size_t from, const char* characters) {
    return std::min(line.find_first_not_of(characters, from), line.size());
  };
  const auto is = [&](std::size_t at, char c) { return at < line.size() && line[at] == c; };
  constexpr const char* kDigits = "0123456789";
  const std::size_t start = skip(0, " \t");
  std::size_t colon = skip(start, kDigits);
  if (is(start, '[')) {
    const std::size_t close = line.find("]<", start);
    if (close == std::string::npos || skip(start + 1, "0123456789,") != close) return line;
    colon = std::min(line.find('>', close), line.size() - 1) + 1;
  }
  if (colon == start || !is(colon, ':')) return line;
  return line.substr(colon + (is(colon + 1, ' ') || is(colon + 1, '\t') ? 2 : 1));
}

}  // namespace

std::vector<std::string> log_lines(const std::string& text) {
  std::vector<std::string> lines = split_lines(text);
  for (std::string& line : lines) line = without_prefix(line);
  return lines;
}

std::optional<double> number_in(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (end == word.c_str() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

Measurement told(Seconds time) {
  Measurement measurement;
  measurement.summary = {.median = time,
                         .min = time,
                         .p10 = time,
                         .p90 = time,
                         .count = 1,
                         .relative_spread = kToldSpread};
  measurement.stopped = StopReason::enough_samples;
  return measurement;
}

}  // namespace meshwright::calibrate
