// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/line_regex.h"

#include <fmt/format.h>

#include <boost/regex.hpp>
#include <cctype>
#include <stdexcept>

#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kLongestPattern = 1000;
constexpr const char* kPatternHint =
    "the pattern is a regular expression with placeholders, for example 'step {step} .* "
    "{seconds}s'";

// "1,234.5", "1e-3", "2.05K", as number_at reads it; never a part of a longer number.
constexpr std::string_view kWholeNumber =
    "(?<![0-9])(?<![0-9][.,eE])(?<![0-9][eE][+-])"
    "([0-9]+(?:,[0-9]{3})*(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9])(?!\\.[0-9])[KMB]?)";

// The pattern in Boost's words: placeholders are its only groups that are kept.
class PatternTranslation {
 public:
  PatternTranslation(std::string_view text, const std::string& option)
      : text_(text), option_(option) {
    if (text.empty()) fail("is empty");
    if (text.size() > kLongestPattern) {
      fail(fmt::format("has {} characters, more than {}", text.size(), kLongestPattern));
    }
    while (at_ < text_.size()) step();
  }

  std::string regex;
  std::vector<std::string> names;

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(option_, "", what, kPatternHint);
  }

  void copy(std::size_t count) {
    regex += text_.substr(at_, count);
    at_ += std::min(count, text_.size() - at_);
  }

  void step() {
    switch (text_[at_]) {
      case '\\':
        return copy(2);
      case '[':
        return copy_class();
      case '(':
        return open_group();
      case '{':
        return open_brace();
      default:
        return copy(1);
    }
  }

  // "[^]x]": a bracket that stands first is one of the characters.
  void copy_class() {
    copy(1);
    if (at_ < text_.size() && text_[at_] == '^') copy(1);
    if (at_ < text_.size() && text_[at_] == ']') copy(1);
    while (at_ < text_.size() && text_[at_] != ']') copy(text_[at_] == '\\' ? 2 : 1);
    copy(1);
  }

  void open_group() {
    copy(1);
    if (at_ >= text_.size() || text_[at_] != '?') {
      regex += "?:";
    } else if (text_.substr(at_, 2) != "?:") {
      fail("has a group that is not known: only (...) and (?:...) are");
    }
  }

  void open_brace() {
    const std::size_t end = text_.find('}', at_);
    const std::string name(text_.substr(at_ + 1, end - at_ - 1));
    if (end != std::string_view::npos && !name.empty() &&
        std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
      return copy(name.size() + 2);
    }
    if (end == std::string_view::npos || name.empty()) {
      fail(fmt::format("has a brace at character {} that opens no placeholder", at_ + 1));
    }
    names.push_back(name);
    regex += kWholeNumber;
    at_ = end + 1;
  }

  std::string_view text_;
  const std::string& option_;
  std::size_t at_ = 0;
};

}  // namespace

struct LineRegex::Compiled {
  boost::regex regex;
};

LineRegex::LineRegex(std::string_view text, const std::string& option) : option_(option) {
  PatternTranslation translation(text, option);
  names_ = std::move(translation.names);
  try {
    compiled_ =
        std::make_unique<Compiled>(Compiled{boost::regex(translation.regex, boost::regex::perl)});
  } catch (const std::runtime_error& error) {
    // Boost goes on with a fragment of the translated expression, which nobody typed.
    const std::string_view what(error.what());
    throw InputError(option, "",
                     fmt::format("is no regular expression: {}", what.substr(0, what.find(".  "))),
                     kPatternHint);
  }
}

LineRegex::~LineRegex() = default;

std::optional<std::vector<std::string_view>> LineRegex::match(std::string_view line) const {
  boost::cmatch found;
  try {
    if (!boost::regex_search(line.data(), line.data() + line.size(), found, compiled_->regex,
                             boost::match_not_dot_newline)) {
      return std::nullopt;
    }
  } catch (const std::runtime_error&) {
    throw InputError(option_, "",
                     fmt::format("takes too many steps on a line of {} characters", line.size()),
                     "repeat a repetition, such as (a*)*, nowhere");
  }
  std::vector<std::string_view> numbers;
  for (std::size_t i = 1; i <= names_.size(); ++i) {
    const auto& number = found[static_cast<int>(i)];
    numbers.push_back(
        number.matched ? std::string_view(number.first, static_cast<std::size_t>(number.length()))
                       : std::string_view());
  }
  return numbers;
}

}  // namespace meshwright::interop
