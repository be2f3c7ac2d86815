// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/shell_arithmetic.h"

#include <cctype>
#include <cstdlib>

namespace meshwright::interop {
namespace {

using Number = std::optional<std::int64_t>;
constexpr std::int64_t kLargest = 999'999'999'999'999;
constexpr int kDeepest = 50;

Number in_range(std::int64_t value) {
  return std::abs(value) <= kLargest ? Number(value) : std::nullopt;
}

class Parser {
 public:
  Parser(std::string_view text, const std::function<std::string(const std::string&)>& value_of)
      : text_(text), value_of_(value_of) {}

  Number whole() {
    const Number value = sum();
    skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char next() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  Number sum() {
    Number value = product();
    while (value && (next() == '+' || next() == '-')) {
      const bool plus = text_[at_++] == '+';
      const Number right = product();
      value = right ? in_range(plus ? *value + *right : *value - *right) : std::nullopt;
    }
    return value;
  }

  Number product() {
    Number value = factor();
    while (value && (next() == '*' || next() == '/' || next() == '%')) {
      const char operation = text_[at_++];
      const Number right = factor();
      if (!right || (operation != '*' && *right == 0)) return std::nullopt;
      if (operation == '*') {
        const bool fits = *right == 0 || std::abs(*value) <= kLargest / std::abs(*right);
        value = fits ? Number(*value * *right) : std::nullopt;
      } else {
        value = operation == '/' ? *value / *right : *value % *right;
      }
    }
    return value;
  }

  Number factor() {
    if (++depth_ > kDeepest) return std::nullopt;
    const Number value = bracket_or_number();
    --depth_;
    return value;
  }

  Number bracket_or_number() {
    const char c = next();
    if (c == '(') {
      ++at_;
      const Number value = sum();
      if (next() != ')') return std::nullopt;
      ++at_;
      return value;
    }
    if (c == '-') {
      ++at_;
      const Number value = factor();
      return value ? Number(-*value) : std::nullopt;
    }
    std::string word;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' ||
            text_[at_] == '$' || text_[at_] == '{' || text_[at_] == '}')) {
      if (text_[at_] != '$' && text_[at_] != '{' && text_[at_] != '}') word += text_[at_];
      ++at_;
    }
    return number(word);
  }

  Number number(std::string word) {
    if (word.empty()) return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(word.front())) == 0) word = value_of_(word);
    constexpr std::size_t kMostDigits = 15;
    if (word.empty() || word.size() > kMostDigits) return std::nullopt;
    std::int64_t value = 0;
    for (const char c : word) {
      if (std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
      value = 10 * value + (c - '0');
    }
    return value;
  }

  std::string_view text_;
  const std::function<std::string(const std::string&)>& value_of_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(
    std::string_view expression, const std::function<std::string(const std::string&)>& value_of) {
  return Parser(expression, value_of).whole();
}

}  // namespace meshwright::interop
