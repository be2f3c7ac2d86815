// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/progress_bar.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "interop/logs/log_numbers.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::string_view kBarDigits = "0123456789";

std::optional<int> leading_count(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of(kBarDigits), text.size());
  if (end == 0 || end > 9) return std::nullopt;
  const auto number = number_at(text.substr(0, end));
  text.remove_prefix(end);
  return number ? std::optional(static_cast<int>(std::lround(*number))) : std::nullopt;
}

// "03:20", "43:24:54".
std::optional<Seconds> bar_time(std::string_view text) {
  double total = 0;
  int parts = 0;
  while (true) {
    const auto part = leading_count(text);
    if (!part) return std::nullopt;
    total = total * 60.0 + *part;
    ++parts;
    if (!text.starts_with(':')) break;
    text.remove_prefix(1);
  }
  return parts >= 2 ? std::optional(seconds(total)) : std::nullopt;
}

// Keeps letters only, so that numbers of an epoch and a loss make no difference. A label that still
// contains another bar, a dictionary or a rank's prefix belongs to another bar.
std::string bar_label(std::string_view text) {
  const std::size_t other = text.find_last_of("]}");
  if (other != std::string_view::npos) text.remove_prefix(other + 1);
  std::string letters;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) letters += c;
  }
  return lower_case(letters);
}

// "16.73s/it", "1.23it/s", "5000.2 examples/s"; a bar may have no rate.
void read_bar_rate(std::string_view text, ProgressBar& bar) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::size_t digits = std::min(text.find_first_not_of("0123456789.?"), text.size());
  const auto number = number_at(text.substr(0, digits));
  if (digits == 0) return;
  std::string_view unit = text.substr(digits);
  unit = unit.substr(0, unit.find_first_of(",] "));
  const bool step_of_time = unit == "s/it" || unit == "s/step";
  const bool steps_a_second = unit == "it/s" || unit == "step/s" || unit == "steps/s";
  bar.counts_steps = step_of_time || steps_a_second;
  if (!number || *number <= 0.0 || !bar.counts_steps) return;
  bar.time_per_step = seconds(step_of_time ? *number : 1.0 / *number);
}

// Reads the text after a drawn bar: " 12/400 [03:20<1:48:00, 16.73s/it".
std::optional<ProgressBar> bar_behind(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  ProgressBar bar;
  const auto done = leading_count(text);
  if (!done || !text.starts_with('/')) return std::nullopt;
  text.remove_prefix(1);
  const auto total = leading_count(text);
  if (!total || !text.starts_with(" [")) return std::nullopt;
  text.remove_prefix(2);
  bar.done = *done;
  bar.total = *total;
  bar.elapsed = bar_time(text);
  const std::size_t comma = text.find(", ");
  const std::size_t end = text.find(']');
  if (comma < end) read_bar_rate(text.substr(comma + 2), bar);
  return bar;
}

}  // namespace

std::optional<ProgressBar> next_progress_bar(std::string_view& text) {
  constexpr std::string_view kOpens = "%|";
  while (true) {
    const std::size_t at = text.find(kOpens);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view before = text.substr(0, at);
    text.remove_prefix(at + kOpens.size());
    const std::size_t closes = text.find('|');
    if (closes == std::string_view::npos) return std::nullopt;
    auto bar = bar_behind(text.substr(closes + 1));
    if (!bar) continue;
    bar->label = bar_label(before);
    text.remove_prefix(closes + 1);
    return bar;
  }
}

}  // namespace meshwright::interop
