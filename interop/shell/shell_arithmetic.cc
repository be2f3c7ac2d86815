// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_arithmetic.h"

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

  // A value that is unknown does not end the reading: `0 && N` is 0.
  Number whole() {
    const Number value = either();
    skip();
    return at_ == text_.size() && !failed_ ? value : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char next() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view sign) {
    skip();
    if (failed_ || !text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  Number fail() {
    failed_ = true;
    return std::nullopt;
  }

  Number either() {
    Number value = both();
    while (take("||")) {
      const Number right = both();
      const bool holds = (value && *value != 0) || (right && *right != 0);
      value = holds ? Number(1) : value && right ? Number(0) : std::nullopt;
    }
    return value;
  }

  Number both() {
    Number value = comparison();
    while (take("&&")) {
      const Number right = comparison();
      const bool fails = (value && *value == 0) || (right && *right == 0);
      value = fails ? Number(0) : value && right ? Number(1) : std::nullopt;
    }
    return value;
  }

  Number comparison() {
    const Number left = sum();
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(sign)) continue;
      const Number right = sum();
      if (!left || !right) return std::nullopt;
      const bool equal = *left == *right;
      if (sign == "==" || sign == "!=") return equal == (sign == "==") ? 1 : 0;
      if (sign.size() == 2 && equal) return 1;
      return (sign[0] == '<' ? *left < *right : *left > *right) ? 1 : 0;
    }
    return left;
  }

  Number sum() {
    Number value = product();
    while (next() == '+' || next() == '-') {
      const bool plus = text_[at_++] == '+';
      const Number right = product();
      const bool known = value && right;
      value = known ? in_range(plus ? *value + *right : *value - *right) : std::nullopt;
    }
    return value;
  }

  Number product() {
    Number value = factor();
    while (next() == '*' || next() == '/' || next() == '%') {
      const char operation = text_[at_++];
      const Number right = factor();
      const bool known = value && right && (operation == '*' || *right != 0);
      if (!known) {
        value = std::nullopt;
      } else if (operation == '*') {
        const bool fits = *right == 0 || std::abs(*value) <= kLargest / std::abs(*right);
        value = fits ? Number(*value * *right) : std::nullopt;
      } else {
        value = operation == '/' ? *value / *right : *value % *right;
      }
    }
    return value;
  }

  Number factor() {
    if (++depth_ > kDeepest) return fail();
    const Number value = bracket_or_number();
    --depth_;
    return value;
  }

  Number bracket_or_number() {
    const char c = next();
    if (failed_) return std::nullopt;
    if (c == '(') {
      ++at_;
      const Number value = either();
      if (next() != ')') return fail();
      ++at_;
      return value;
    }
    if (c == '-' || c == '!') {
      ++at_;
      const Number value = factor();
      if (!value) return value;
      return c == '-' ? -*value : *value == 0 ? 1 : 0;
    }
    std::string word;
    const bool dollar = c == '$';
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' ||
            text_[at_] == '$' || text_[at_] == '{' || text_[at_] == '}')) {
      if (text_[at_] != '$' && text_[at_] != '{' && text_[at_] != '}') word += text_[at_];
      ++at_;
    }
    if (word.empty()) return fail();
    return number(word, dollar);
  }

  Number number(std::string word, bool dollar) {
    const bool name = std::isdigit(static_cast<unsigned char>(word.front())) == 0;
    if (name || dollar) word = value_of_(word);
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
  bool failed_ = false;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(
    std::string_view expression, const std::function<std::string(const std::string&)>& value_of) {
  return Parser(expression, value_of).whole();
}

}  // namespace meshwright::interop
