// SPDX-License-Identifier: Apache-2.0
#include "calibrate/imported/lines.h"

#include <cmath>
#include <cstdlib>
#include <regex>
#include <sstream>

namespace meshwright::calibrate {
namespace {

// One standard deviation of a time whose samples are not known: what clusters vary by from run to
// run. Assumed.
constexpr double kToldSpread = 0.05;

}  // namespace

std::vector<std::string> log_lines(const std::string& text) {
  static const std::regex prefix(R"(^\s*(\[\d+,\d+\]<\w+>:|\d+:)\s?)");
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::regex_replace(line, prefix, "", std::regex_constants::format_first_only));
  }
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
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
