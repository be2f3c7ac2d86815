// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/log_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "interop/logs/log_numbers.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr const char* kPatternOption = "--log-pattern";

void set_iteration(double number, LogPattern::Reading& reading) {
  if (number > 1e9) return;
  reading.step.iteration = static_cast<int>(std::lround(number));
  reading.numbered = true;
}

struct PatternPlaceholder {
  std::string_view name;
  bool is_time;
  void (*set)(double number, LogPattern::Reading& reading);
};

constexpr double kBytesOfGibibyte = 1'073'741'824.0;

constexpr std::array kPlaceholders{
    PatternPlaceholder{"step", false, set_iteration},
    PatternPlaceholder{"seconds", true,
                       [](double x, LogPattern::Reading& r) { r.step.time = seconds(x); }},
    PatternPlaceholder{"milliseconds", true,
                       [](double x, LogPattern::Reading& r) { r.step.time = milliseconds(x); }},
    PatternPlaceholder{"steps_per_second", true,
                       [](double x, LogPattern::Reading& r) { r.step.time = seconds(1.0 / x); }},
    PatternPlaceholder{"samples_per_second", true,
                       [](double x, LogPattern::Reading& r) { r.step.samples_per_second = x; }},
    PatternPlaceholder{"tokens_per_second", true,
                       [](double x, LogPattern::Reading& r) { r.step.tokens_per_second = x; }},
    PatternPlaceholder{
        "tokens_per_second_per_gpu", true,
        [](double x, LogPattern::Reading& r) { r.step.tokens_per_second_per_gpu = x; }},
    PatternPlaceholder{"global_batch_size", false,
                       [](double x, LogPattern::Reading& r) {
                         if (x < 1e9) r.step.global_batch_size = static_cast<int>(std::lround(x));
                       }},
    PatternPlaceholder{"memory_gib", false,
                       [](double x, LogPattern::Reading& r) {
                         if (x < 1e6) r.memory = bytes(x * kBytesOfGibibyte);
                       }},
};

const PatternPlaceholder* find_placeholder(std::string_view name) {
  const auto found =
      std::find_if(kPlaceholders.begin(), kPlaceholders.end(),
                   [&](const PatternPlaceholder& known) { return known.name == name; });
  return found == kPlaceholders.end() ? nullptr : &*found;
}

std::string placeholders_of_time() {
  std::string list;
  for (const PatternPlaceholder& known : kPlaceholders) {
    if (known.is_time) append_to_list(list, ", ", fmt::format("{{{}}}", known.name));
  }
  return list;
}

void check_names(const std::vector<std::string>& names) {
  int times = 0;
  std::vector<std::string> seen;
  for (const std::string& name : names) {
    const PatternPlaceholder* known = find_placeholder(name);
    if (known == nullptr) {
      throw InputError(
          kPatternOption, "", fmt::format("{{{}}} is no placeholder", name),
          fmt::format("placeholders are {}; a brace itself is \\{{", LogPattern::placeholders()));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      throw InputError(kPatternOption, "", fmt::format("has {{{}}} twice", name),
                       "name a number once, and match others with \\d+");
    }
    seen.push_back(name);
    if (known->is_time) ++times;
  }
  if (times == 1) return;
  throw InputError(kPatternOption, "",
                   times == 0 ? "has no placeholder of a step's time"
                              : "has more than one placeholder of a step's time",
                   fmt::format("use one of {}, for example 'step {{step}} .* {{seconds}}s'",
                               placeholders_of_time()));
}

// Runs of letters outside of placeholders and escapes.
std::vector<std::string> words_of_pattern(std::string_view text) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') i = std::min(text.find('}', i), text.size());
    const bool escape = i < text.size() && text[i] == '\\';
    if (escape) ++i;
    const bool letter =
        !escape && i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) != 0;
    if (letter) {
      words.back() += text[i];
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::erase_if(words, [](const std::string& word) { return word.size() < 2; });
  return words;
}

}  // namespace

LogPattern::LogPattern(const std::string& text) : text_(text), regex_(text, kPatternOption) {
  check_names(regex_.names());
}

std::string LogPattern::placeholders() {
  std::string list;
  for (const PatternPlaceholder& known : kPlaceholders) {
    append_to_list(list, ", ", fmt::format("{{{}}}", known.name));
  }
  return list;
}

std::optional<LogPattern::Reading> LogPattern::read(std::string_view line) const {
  const auto found = regex_.match(line);
  if (!found) return std::nullopt;
  Reading reading;
  for (std::size_t i = 0; i < found->size(); ++i) {
    const auto number = number_at((*found)[i]);
    const PatternPlaceholder* known = find_placeholder(regex_.names()[i]);
    if (!number || (*number <= 0.0 && known->name != "step")) continue;
    known->set(*number, reading);
  }
  if (!reading.step.has_time()) return std::nullopt;
  return reading;
}

std::string LogPattern::nearest_line(std::string_view log) const {
  constexpr std::size_t kShown = 160;
  const std::vector<std::string> words = words_of_pattern(text_);
  std::ptrdiff_t most = 0;
  std::string nearest;
  for (const std::string& line : split_lines(log)) {
    if (line.find_first_of("0123456789") == std::string::npos) continue;
    const auto has = std::count_if(words.begin(), words.end(), [&](const std::string& word) {
      return contains_any_case(line, word);
    });
    if (has <= most) continue;
    most = has;
    nearest = line.size() > kShown ? line.substr(0, kShown) + "..." : line;
  }
  return nearest;
}

}  // namespace meshwright::interop
