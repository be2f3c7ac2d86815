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

// Where a bracket of a launcher ends: "[0]" of mpiexec -l, "[1,0]<stdout>:" of mpirun --tag-output
// and
// "[prterun-host-7@1,0]<stdout>:" of its fifth version. 0: none.
std::size_t bracket_end(const std::string& line, std::size_t start) {
  const std::size_t close = line.find(']', start);
  if (close == std::string::npos) return 0;
  const std::string inside = line.substr(start + 1, close - start - 1);
  if (line.compare(close, 4, "]<st") == 0) {
    const std::size_t comma = inside.rfind(',');
    const std::size_t digits = comma == std::string::npos ? 0 : comma + 1;
    if (inside.find_first_not_of("0123456789", digits) != std::string::npos) return 0;
    const std::size_t colon = line.find(">:", close);
    return colon == std::string::npos ? 0 : colon + 2;
  }
  const bool number = !inside.empty() && inside.size() < 7 &&
                      inside.find_first_not_of("0123456789") == std::string::npos;
  return number ? close + 1 : 0;
}

// Label that a launcher puts before a line: a bracket, or "0: " of srun --label. Empty: none.
std::string label_of(const std::string& line) {
  const std::size_t start = std::min(line.find_first_not_of(" \t"), line.size());
  if (start == line.size()) return "";
  if (line[start] == '[') {
    const std::size_t end = bracket_end(line, start);
    return end == 0 ? "" : line.substr(start, end - start);
  }
  const std::size_t colon = line.find_first_not_of("0123456789", start);
  if (colon == start || colon == std::string::npos || line[colon] != ':') return "";
  const bool blank = colon + 1 < line.size() && (line[colon + 1] == ' ' || line[colon + 1] == '\t');
  return line.substr(start, colon - start + (blank ? 2 : 1));
}

// A label stands once more wherever the program flushed a part of a line: "-1[0]  1626.5".
std::string without_label(const std::string& line) {
  const std::string label = label_of(line);
  if (label.empty()) return line;
  const std::string rest = line.substr(line.find(label) + label.size());
  const bool marked = label.front() == '[' || label.back() == ' ';
  return marked ? replaced(rest, label, " ") : rest;
}

}  // namespace

std::vector<std::string> log_lines(const std::string& text) {
  std::vector<std::string> lines = split_lines(text);
  for (std::string& line : lines) line = without_label(line);
  return lines;
}

std::optional<double> number_in(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (end == word.c_str() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

Bytes gemm_bytes(const Product& product) {
  const GemmShape& s = product.variant.shape;
  const auto b = static_cast<double>(s.batch), m = static_cast<double>(s.m);
  const auto n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  return bytes(bytes_per_element(product.precision) * b * (m * k + k * n + m * n));
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
