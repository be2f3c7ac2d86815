// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/regex_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/base/error.h"

namespace meshwright::interop {

ByteSet byte_range(unsigned char from, unsigned char to) {
  ByteSet set;
  for (std::size_t c = from; c <= to; ++c) set.set(c);
  return set;
}

namespace {

constexpr std::size_t kLongestPattern = 1000;
constexpr int kMostRepeats = 1000;

ByteSet bytes_where(int (*is)(int)) {
  ByteSet set;
  for (int c = 0; c < 128; ++c) set[static_cast<std::size_t>(c)] = is(c) != 0;
  return set;
}

ByteSet word_bytes() { return bytes_where(std::isalnum) | byte_range('_', '_'); }

// \d and its like; nothing for another letter.
std::optional<ByteSet> set_of_escape(char c) {
  switch (c) {
    case 'd':
      return bytes_where(std::isdigit);
    case 'D':
      return ~bytes_where(std::isdigit);
    case 's':
      return bytes_where(std::isspace);
    case 'S':
      return ~bytes_where(std::isspace);
    case 'w':
      return word_bytes();
    case 'W':
      return ~word_bytes();
    case 't':
      return byte_range('\t', '\t');
    default:
      break;
  }
  if (std::isalnum(byte_of(c)) != 0) return std::nullopt;
  return byte_range(byte_of(c), byte_of(c));
}

using PatternPointer = std::unique_ptr<PatternNode>;

PatternPointer make_pattern_node(PatternNode::Kind kind) {
  auto node = std::make_unique<PatternNode>();
  node->kind = kind;
  return node;
}

PatternPointer make_set_node(const ByteSet& set) {
  PatternPointer node = make_pattern_node(PatternNode::Kind::set);
  node->set = set;
  return node;
}

class PatternParser {
 public:
  PatternParser(std::string_view text, const std::string& option, std::vector<std::string>& names)
      : text_(text), option_(option), names_(names) {}

  PatternPointer parse() {
    if (text_.empty()) fail("is empty");
    if (text_.size() > kLongestPattern) {
      fail(fmt::format("has {} characters; {} are the most", text_.size(), kLongestPattern));
    }
    PatternPointer node = alternatives();
    if (!at_end()) fail_here("a closing ')' has no opening one");
    return node;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(option_, "", what,
                     "the pattern is a regular expression with placeholders, for example "
                     "'step {step} .* {seconds}s'");
  }
  [[noreturn]] void fail_here(const std::string& what) const {
    fail(fmt::format("is no regular expression: {} at character {}", what, at_ + 1));
  }
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  [[nodiscard]] char peek_next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  PatternPointer alternatives() {
    PatternPointer node = make_pattern_node(PatternNode::Kind::alternatives);
    do {
      node->parts.push_back(sequence());
    } while (take('|'));
    return node;
  }

  PatternPointer sequence() {
    PatternPointer node = make_pattern_node(PatternNode::Kind::sequence);
    while (!at_end() && peek() != '|' && peek() != ')') node->parts.push_back(repeated());
    return node;
  }

  PatternPointer repeated() {
    PatternPointer node = atom();
    while (auto range = count()) {
      if (node->kind == PatternNode::Kind::repeat) fail_here("a second repetition");
      if (contains_number(*node)) fail_here("a placeholder is repeated");
      PatternPointer repeat = make_pattern_node(PatternNode::Kind::repeat);
      std::tie(repeat->least, repeat->most) = *range;
      repeat->greedy = !take('?');
      repeat->parts.push_back(std::move(node));
      node = std::move(repeat);
    }
    return node;
  }

  static bool contains_number(const PatternNode& node) {
    return node.kind == PatternNode::Kind::number ||
           std::any_of(node.parts.begin(), node.parts.end(),
                       [](const PatternPointer& part) { return contains_number(*part); });
  }

  std::optional<std::pair<int, int>> count() {
    if (take('*')) return std::pair{0, kUnbounded};
    if (take('+')) return std::pair{1, kUnbounded};
    if (take('?')) return std::pair{0, 1};
    if (peek() != '{' || std::isdigit(byte_of(peek_next())) == 0) return std::nullopt;
    ++at_;
    const int least = whole_number();
    int most = least;
    if (take(',')) most = peek() == '}' ? kUnbounded : whole_number();
    if (!take('}')) fail_here("'{' is not closed");
    if (most != kUnbounded && most < least) fail_here("a repetition counts down");
    return std::pair{least, most};
  }

  int whole_number() {
    int number = 0;
    if (std::isdigit(byte_of(peek())) == 0) fail_here("a number is missing");
    while (std::isdigit(byte_of(peek())) != 0) {
      number = number * 10 + (text_[at_++] - '0');
      if (number > kMostRepeats) fail_here(fmt::format("more than {} repetitions", kMostRepeats));
    }
    return number;
  }

  PatternPointer atom() {
    const char c = text_[at_];
    if (c == '{') return placeholder();
    if (c == '*' || c == '+' || c == '?') fail_here(fmt::format("'{}' repeats nothing", c));
    if (c == '(') return group();
    ++at_;
    if (c == '[') return brackets();
    if (c == '\\') return escape();
    if (c == '.') return make_set_node(ByteSet().set());
    if (c == '^') return assertion(RegexAssertion::line_begin);
    if (c == '$') return assertion(RegexAssertion::line_end);
    return make_set_node(byte_range(byte_of(c), byte_of(c)));
  }

  static PatternPointer assertion(RegexAssertion kind) {
    PatternPointer node = make_pattern_node(PatternNode::Kind::assertion);
    node->assertion = kind;
    return node;
  }

  PatternPointer escape() {
    if (at_end()) fail_here("'\\' ends the pattern");
    const char c = text_[at_++];
    if (c == 'b') return assertion(RegexAssertion::word);
    if (c == 'B') return assertion(RegexAssertion::no_word);
    const auto set = set_of_escape(c);
    if (!set) fail_here(fmt::format("'\\{}' is not known", c));
    return make_set_node(*set);
  }

  PatternPointer group() {
    const std::size_t opened = at_++;
    if (take('?') && !take(':')) fail_here("of groups with '?' only (?:...) is known");
    PatternPointer node = alternatives();
    if (!take(')')) {
      at_ = opened;
      fail_here("'(' is not closed");
    }
    return node;
  }

  PatternPointer placeholder() {
    const std::size_t end = text_.find('}', at_);
    const std::string name(
        text_.substr(at_ + 1, end == std::string_view::npos ? 0 : end - at_ - 1));
    const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return c == '_' || std::isalnum(byte_of(c)) != 0;
    });
    if (!is_name) fail_here("'{' opens no placeholder; a brace itself is '\\{'");
    at_ = end + 1;
    PatternPointer node = make_pattern_node(PatternNode::Kind::number);
    node->slot = 2 * names_.size();
    names_.push_back(name);
    if (names_.size() > kMostNames) fail(fmt::format("has more than {} placeholders", kMostNames));
    return node;
  }

  char range_end() {
    if (at_end()) fail_here("'[' is not closed");
    const char c = text_[at_++];
    return c == '\\' && !at_end() ? text_[at_++] : c;
  }

  PatternPointer brackets() {
    const bool negated = take('^');
    ByteSet set;
    bool first = true;
    while (first || peek() != ']') {
      first = false;
      if (at_end()) fail_here("'[' is not closed");
      const char c = text_[at_++];
      if (c == '\\') {
        if (at_end()) fail_here("'[' is not closed");
        const auto escaped = set_of_escape(text_[at_++]);
        if (!escaped) fail_here("an escape inside [] is not known");
        set |= *escaped;
      } else if (peek() == '-' && peek_next() != ']' && peek_next() != '\0') {
        ++at_;
        const char to = range_end();
        if (byte_of(to) < byte_of(c)) fail_here("a range inside [] counts down");
        set |= byte_range(byte_of(c), byte_of(to));
      } else {
        set.set(byte_of(c));
      }
    }
    ++at_;
    return make_set_node(negated ? ~set : set);
  }

  std::string_view text_;
  const std::string& option_;
  std::vector<std::string>& names_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<PatternNode> parse_pattern(std::string_view text, const std::string& option,
                                           std::vector<std::string>& names) {
  return PatternParser(text, option, names).parse();
}

}  // namespace meshwright::interop
