// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/log_numbers.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

namespace meshwright::interop {
namespace {

std::optional<std::string_view> text_behind(std::string_view line, std::string_view label,
                                            const char* left_out) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + label.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(left_out), rest.size()));
  return rest;
}

}  // namespace

std::optional<std::string_view> behind(std::string_view line, std::string_view label) {
  return text_behind(line, label, " \t");
}

std::optional<double> number_at(std::string_view text) {
  std::string digits;
  std::size_t end = 0;
  while (end < text.size() && digits.size() < 40) {
    const char c = text[end];
    const bool part =
        std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == 'e' || c == 'E' ||
        ((c == '+' || c == '-') && (end == 0 || text[end - 1] == 'e' || text[end - 1] == 'E'));
    if (!part && c != ',') break;
    if (c != ',') digits += c;
    ++end;
  }
  while (!digits.empty() && std::isdigit(static_cast<unsigned char>(digits.back())) == 0) {
    digits.pop_back();
  }
  double value = 0;
  const char* const last = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), last, value);
  if (error != std::errc() || stopped != last || !std::isfinite(value)) return std::nullopt;
  const char unit = end < text.size() ? text[end] : ' ';
  if (unit == 'K') return value * 1e3;
  if (unit == 'M' && text.substr(end, 2) != "Mi") return value * 1e6;
  if (unit == 'B') return value * 1e9;
  return value;
}

std::optional<double> number_behind(std::string_view line, std::string_view label) {
  const auto rest = behind(line, label);
  return rest ? number_at(*rest) : std::nullopt;
}

std::optional<int> count_behind(std::string_view line, std::string_view label) {
  const auto value = number_behind(line, label);
  if (!value || *value < 0 || *value > 1e9) return std::nullopt;
  return static_cast<int>(std::lround(*value));
}

std::optional<double> positive_behind(std::string_view line, std::string_view label) {
  const auto value = number_behind(line, label);
  return value && *value > 0.0 ? value : std::nullopt;
}

std::optional<std::string_view> value_behind(std::string_view line, std::string_view key) {
  return text_behind(line, key, " \t'\":=");
}

std::optional<double> positive_value(std::string_view line, std::string_view key) {
  const auto text = value_behind(line, key);
  const auto value = text ? number_at(*text) : std::nullopt;
  return value && *value > 0.0 ? value : std::nullopt;
}

std::optional<double> exact_value(std::string_view line, std::string_view key) {
  const auto text = value_behind(line, key);
  if (!text) return std::nullopt;
  const std::string_view digits = text->substr(0, text->find_first_not_of("0123456789.,eE+-"));
  if (digits.find_first_of("eE") != std::string_view::npos) return std::nullopt;
  return number_at(digits);
}

}  // namespace meshwright::interop
