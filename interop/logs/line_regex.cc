// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/line_regex.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <tuple>
#include <utility>

#include "interop/logs/log_numbers.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

using Operation = LineRegex::Operation;
using Assertion = LineRegex::Assertion;
using Instruction = LineRegex::Instruction;
using ByteSet = std::bitset<256>;

constexpr std::size_t kLongestPattern = 1000, kLongestProgram = 4000;
constexpr int kMostRepeats = 1000;
constexpr int kUnbounded = -1;

unsigned char byte_of(char c) { return static_cast<unsigned char>(c); }

ByteSet bytes_where(int (*is)(int)) {
  ByteSet set;
  for (int c = 0; c < 128; ++c) set[static_cast<std::size_t>(c)] = is(c) != 0;
  return set;
}

ByteSet byte_range(unsigned char from, unsigned char to) {
  ByteSet set;
  for (std::size_t c = from; c <= to; ++c) set.set(c);
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

struct Node {
  enum class Kind { set, sequence, alternatives, repeat, assertion, number };
  Kind kind = Kind::sequence;
  ByteSet set{};
  std::vector<std::unique_ptr<Node>> parts{};
  int least = 0, most = 0;
  bool greedy = true;
  Assertion assertion = Assertion::line_begin;
  std::size_t slot = 0;  // of a number's begin
};
using NodePointer = std::unique_ptr<Node>;

NodePointer make_node(Node::Kind kind) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  return node;
}

NodePointer make_set(const ByteSet& set) {
  NodePointer node = make_node(Node::Kind::set);
  node->set = set;
  return node;
}

class PatternParser {
 public:
  PatternParser(std::string_view text, const std::string& option, std::vector<std::string>& names)
      : text_(text), option_(option), names_(names) {}

  NodePointer parse() {
    if (text_.empty()) fail("is empty");
    if (text_.size() > kLongestPattern) {
      fail(fmt::format("has {} characters; {} are the most", text_.size(), kLongestPattern));
    }
    NodePointer node = alternatives();
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

  NodePointer alternatives() {
    NodePointer node = make_node(Node::Kind::alternatives);
    do {
      node->parts.push_back(sequence());
    } while (take('|'));
    return node;
  }

  NodePointer sequence() {
    NodePointer node = make_node(Node::Kind::sequence);
    while (!at_end() && peek() != '|' && peek() != ')') node->parts.push_back(repeated());
    return node;
  }

  NodePointer repeated() {
    NodePointer node = atom();
    while (auto range = count()) {
      if (node->kind == Node::Kind::repeat) fail_here("a second repetition");
      if (contains_number(*node)) fail_here("a placeholder is repeated");
      NodePointer repeat = make_node(Node::Kind::repeat);
      std::tie(repeat->least, repeat->most) = *range;
      repeat->greedy = !take('?');
      repeat->parts.push_back(std::move(node));
      node = std::move(repeat);
    }
    return node;
  }

  static bool contains_number(const Node& node) {
    return node.kind == Node::Kind::number ||
           std::any_of(node.parts.begin(), node.parts.end(),
                       [](const NodePointer& part) { return contains_number(*part); });
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

  NodePointer atom() {
    const char c = text_[at_];
    if (c == '{') return placeholder();
    if (c == '*' || c == '+' || c == '?') fail_here(fmt::format("'{}' repeats nothing", c));
    if (c == '(') return group();
    ++at_;
    if (c == '[') return brackets();
    if (c == '\\') return escape();
    if (c == '.') return make_set(ByteSet().set());
    if (c == '^') return assertion(Assertion::line_begin);
    if (c == '$') return assertion(Assertion::line_end);
    return make_set(byte_range(byte_of(c), byte_of(c)));
  }

  static NodePointer assertion(Assertion kind) {
    NodePointer node = make_node(Node::Kind::assertion);
    node->assertion = kind;
    return node;
  }

  NodePointer escape() {
    if (at_end()) fail_here("'\\' ends the pattern");
    const char c = text_[at_++];
    if (c == 'b') return assertion(Assertion::word);
    if (c == 'B') return assertion(Assertion::no_word);
    const auto set = set_of_escape(c);
    if (!set) fail_here(fmt::format("'\\{}' is not known", c));
    return make_set(*set);
  }

  NodePointer group() {
    const std::size_t opened = at_++;
    if (take('?') && !take(':')) fail_here("of groups with '?' only (?:...) is known");
    NodePointer node = alternatives();
    if (!take(')')) {
      at_ = opened;
      fail_here("'(' is not closed");
    }
    return node;
  }

  NodePointer placeholder() {
    const std::size_t end = text_.find('}', at_);
    const std::string name(
        text_.substr(at_ + 1, end == std::string_view::npos ? 0 : end - at_ - 1));
    const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return c == '_' || std::isalnum(byte_of(c)) != 0;
    });
    if (!is_name) fail_here("'{' opens no placeholder; a brace itself is '\\{'");
    at_ = end + 1;
    NodePointer node = make_node(Node::Kind::number);
    node->slot = 2 * names_.size();
    names_.push_back(name);
    return node;
  }

  char range_end() {
    if (at_end()) fail_here("'[' is not closed");
    const char c = text_[at_++];
    return c == '\\' && !at_end() ? text_[at_++] : c;
  }

  NodePointer brackets() {
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
    return make_set(negated ? ~set : set);
  }

  std::string_view text_;
  const std::string& option_;
  std::vector<std::string>& names_;
  std::size_t at_ = 0;
};

class PatternCompiler {
 public:
  explicit PatternCompiler(const std::string& option) : option_(option) {}

  std::vector<Instruction> compile(const Node& node) {
    emit(node);
    add(Operation::done);
    return std::move(program_);
  }

 private:
  std::size_t add(Operation operation) {
    if (program_.size() >= kLongestProgram) {
      throw InputError(option_, "", "repeats too much", "use * in place of large counts");
    }
    Instruction instruction;
    instruction.operation = operation;
    instruction.next = program_.size() + 1;
    program_.push_back(instruction);
    return program_.size() - 1;
  }

  void add_set(const ByteSet& set) { program_[add(Operation::set)].set = set; }
  void add_assertion(Assertion kind) { program_[add(Operation::assertion)].assertion = kind; }
  void add_save(std::size_t slot) { program_[add(Operation::save)].slot = slot; }

  void emit(const Node& node) {
    switch (node.kind) {
      case Node::Kind::set:
        add_set(node.set);
        return;
      case Node::Kind::assertion:
        add_assertion(node.assertion);
        return;
      case Node::Kind::number:
        emit_number(node.slot);
        return;
      case Node::Kind::repeat:
        emit_repeat(node);
        return;
      case Node::Kind::alternatives:
        emit_alternatives(node);
        return;
      case Node::Kind::sequence:
        break;
    }
    for (const NodePointer& part : node.parts) emit(*part);
  }

  void emit_alternatives(const Node& node) {
    std::vector<std::size_t> jumps;
    for (std::size_t i = 0; i + 1 < node.parts.size(); ++i) {
      const std::size_t split = add(Operation::split);
      emit(*node.parts[i]);
      jumps.push_back(add(Operation::jump));
      program_[split].other = program_.size();
    }
    emit(*node.parts.back());
    for (const std::size_t jump : jumps) program_[jump].next = program_.size();
  }

  void prefer(std::size_t split, std::size_t body, std::size_t end, bool greedy) {
    program_[split].next = greedy ? body : end;
    program_[split].other = greedy ? end : body;
  }

  void emit_repeat(const Node& node) {
    const Node& body = *node.parts.front();
    for (int i = 0; i < node.least; ++i) emit(body);
    if (node.most == kUnbounded) {
      const std::size_t split = add(Operation::split);
      emit(body);
      program_[add(Operation::jump)].next = split;
      prefer(split, split + 1, program_.size(), node.greedy);
      return;
    }
    std::vector<std::size_t> splits;
    for (int i = node.least; i < node.most; ++i) {
      splits.push_back(add(Operation::split));
      emit(body);
    }
    for (const std::size_t split : splits) prefer(split, split + 1, program_.size(), node.greedy);
  }

  // A set as often as it matches, at least once.
  void emit_run(const ByteSet& set) {
    const std::size_t first = program_.size();
    add_set(set);
    const std::size_t split = add(Operation::split);
    prefer(split, first, program_.size(), true);
  }

  // "1,234.5", "1e-3", "2.05K", as number_at reads it; never a part of a longer number.
  void emit_number(std::size_t slot) {
    const ByteSet digits = byte_range('0', '9');
    add_assertion(Assertion::number_begin);
    add_save(slot);
    emit_run(digits);
    const std::size_t thousands = add(Operation::split);
    add_set(byte_range(',', ','));
    for (int i = 0; i < 3; ++i) add_set(digits);
    program_[add(Operation::jump)].next = thousands;
    prefer(thousands, thousands + 1, program_.size(), true);
    const std::size_t fraction = add(Operation::split);
    add_set(byte_range('.', '.'));
    emit_run(digits);
    prefer(fraction, fraction + 1, program_.size(), true);
    const std::size_t exponent = add(Operation::split);
    add_set(byte_range('e', 'e') | byte_range('E', 'E'));
    const std::size_t sign = add(Operation::split);
    add_set(byte_range('+', '+') | byte_range('-', '-'));
    prefer(sign, sign + 1, program_.size(), true);
    emit_run(digits);
    prefer(exponent, exponent + 1, program_.size(), true);
    add_assertion(Assertion::number_end);
    const std::size_t unit = add(Operation::split);
    add_set(byte_range('K', 'K') | byte_range('M', 'M') | byte_range('B', 'B'));
    prefer(unit, unit + 1, program_.size(), true);
    add_save(slot + 1);
  }

  const std::string& option_;
  std::vector<Instruction> program_;
};

bool digit_at(std::string_view line, std::size_t at) {
  return at < line.size() && std::isdigit(byte_of(line[at])) != 0;
}

bool word_at(std::string_view line, std::size_t at) {
  return at < line.size() && (line[at] == '_' || std::isalnum(byte_of(line[at])) != 0);
}

// Not behind a digit, its point or comma, nor in an exponent.
bool number_begins(std::string_view line, std::size_t at) {
  if (at == 0) return true;
  if (digit_at(line, at - 1)) return false;
  if (at < 2 || !digit_at(line, at - 2)) {
    const bool sign = line[at - 1] == '-' || line[at - 1] == '+';
    const bool exponent =
        sign && at >= 3 && digit_at(line, at - 3) && (line[at - 2] == 'e' || line[at - 2] == 'E');
    return !exponent;
  }
  return std::string_view(".,eE").find(line[at - 1]) == std::string_view::npos;
}

bool holds(Assertion assertion, std::string_view line, std::size_t at) {
  const bool word = (at > 0 && word_at(line, at - 1)) != word_at(line, at);
  switch (assertion) {
    case Assertion::line_begin:
      return at == 0;
    case Assertion::line_end:
      return at == line.size();
    case Assertion::word:
      return word;
    case Assertion::no_word:
      return !word;
    case Assertion::number_begin:
      return number_begins(line, at);
    case Assertion::number_end:
      break;
  }
  if (digit_at(line, at)) return false;
  return at >= line.size() || line[at] != '.' || !digit_at(line, at + 1);
}

using Slots = std::vector<std::size_t>;
struct Thread {
  std::size_t at = 0;  // in the program
  Slots slots;
};

// All threads go over the line together, the preferred ones first.
class PatternRun {
 public:
  PatternRun(const std::vector<Instruction>& program, std::string_view line, std::size_t slots)
      : program_(program), line_(line), none_(slots, std::string_view::npos) {}

  std::optional<Slots> match() {
    std::vector<Thread> now, next;
    std::optional<Slots> found;
    for (std::size_t at = 0; at <= line_.size(); ++at) {
      if (!found) follow({0, none_}, at, now);
      if (now.empty() && found) break;
      next.clear();
      visited_.assign(program_.size(), false);
      for (Thread& thread : now) {
        const Instruction& instruction = program_[thread.at];
        if (instruction.operation == Operation::done) {
          found = std::move(thread.slots);
          break;  // those behind it are less preferred
        }
        if (at == line_.size() || !instruction.set[byte_of(line_[at])]) continue;
        follow({instruction.next, std::move(thread.slots)}, at + 1, next);
      }
      std::swap(now, next);
    }
    return found;
  }

 private:
  // Adds the instructions that wait for a byte, or end the match.
  void follow(Thread first, std::size_t at, std::vector<Thread>& threads) {
    std::vector<Thread> waiting;
    waiting.push_back(std::move(first));
    if (visited_.empty()) visited_.assign(program_.size(), false);
    while (!waiting.empty()) {
      Thread thread = std::move(waiting.back());
      waiting.pop_back();
      if (visited_[thread.at]) continue;
      visited_[thread.at] = true;
      const Instruction& instruction = program_[thread.at];
      switch (instruction.operation) {
        case Operation::set:
        case Operation::done:
          threads.push_back(std::move(thread));
          continue;
        case Operation::split:
          waiting.push_back({instruction.other, thread.slots});
          break;
        case Operation::save:
          thread.slots[instruction.slot] = at;
          break;
        case Operation::assertion:
          if (!holds(instruction.assertion, line_, at)) continue;
          break;
        case Operation::jump:
          break;
      }
      waiting.push_back({instruction.next, std::move(thread.slots)});
    }
  }

  const std::vector<Instruction>& program_;
  std::string_view line_;
  Slots none_;
  std::vector<bool> visited_;
};

}  // namespace

LineRegex::LineRegex(std::string_view text, const std::string& option) {
  const NodePointer pattern = PatternParser(text, option, names_).parse();
  program_ = PatternCompiler(option).compile(*pattern);
}

std::optional<std::vector<std::string_view>> LineRegex::match(std::string_view line) const {
  const auto slots = PatternRun(program_, line, 2 * names_.size()).match();
  if (!slots) return std::nullopt;
  std::vector<std::string_view> numbers;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::size_t begin = (*slots)[2 * i], end = (*slots)[2 * i + 1];
    numbers.push_back(begin == std::string_view::npos || end == std::string_view::npos
                          ? std::string_view()
                          : line.substr(begin, end - begin));
  }
  return numbers;
}

}  // namespace meshwright::interop
