// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/line_regex.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <memory>
#include <utility>

#include "interop/logs/regex_syntax.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kLongestProgram = 4000;

class PatternCompiler {
 public:
  explicit PatternCompiler(const std::string& option) : option_(option) {}

  std::vector<RegexInstruction> compile(const PatternNode& node) {
    emit(node);
    add(RegexOperation::done);
    return std::move(program_);
  }

 private:
  std::size_t add(RegexOperation operation) {
    if (program_.size() >= kLongestProgram) {
      throw InputError(option_, "", "repeats too much", "use * in place of large counts");
    }
    RegexInstruction instruction;
    instruction.operation = operation;
    instruction.next = program_.size() + 1;
    program_.push_back(instruction);
    return program_.size() - 1;
  }

  void add_set(const ByteSet& set) { program_[add(RegexOperation::set)].set = set; }
  void add_assertion(RegexAssertion kind) {
    program_[add(RegexOperation::assertion)].assertion = kind;
  }
  void add_save(std::size_t slot) { program_[add(RegexOperation::save)].slot = slot; }

  void emit(const PatternNode& node) {
    switch (node.kind) {
      case PatternNode::Kind::set:
        add_set(node.set);
        return;
      case PatternNode::Kind::assertion:
        add_assertion(node.assertion);
        return;
      case PatternNode::Kind::number:
        emit_number(node.slot);
        return;
      case PatternNode::Kind::repeat:
        emit_repeat(node);
        return;
      case PatternNode::Kind::alternatives:
        emit_alternatives(node);
        return;
      case PatternNode::Kind::sequence:
        break;
    }
    for (const auto& part : node.parts) emit(*part);
  }

  void emit_alternatives(const PatternNode& node) {
    std::vector<std::size_t> jumps;
    for (std::size_t i = 0; i + 1 < node.parts.size(); ++i) {
      const std::size_t split = add(RegexOperation::split);
      emit(*node.parts[i]);
      jumps.push_back(add(RegexOperation::jump));
      program_[split].other = program_.size();
    }
    emit(*node.parts.back());
    for (const std::size_t jump : jumps) program_[jump].next = program_.size();
  }

  void prefer(std::size_t split, std::size_t body, std::size_t end, bool greedy) {
    program_[split].next = greedy ? body : end;
    program_[split].other = greedy ? end : body;
  }

  void emit_repeat(const PatternNode& node) {
    const PatternNode& body = *node.parts.front();
    for (int i = 0; i < node.least; ++i) emit(body);
    if (node.most == kUnbounded) {
      const std::size_t split = add(RegexOperation::split);
      emit(body);
      program_[add(RegexOperation::jump)].next = split;
      prefer(split, split + 1, program_.size(), node.greedy);
      return;
    }
    std::vector<std::size_t> splits;
    for (int i = node.least; i < node.most; ++i) {
      splits.push_back(add(RegexOperation::split));
      emit(body);
    }
    for (const std::size_t split : splits) prefer(split, split + 1, program_.size(), node.greedy);
  }

  // A set as often as it matches, at least once.
  void emit_run(const ByteSet& set) {
    const std::size_t first = program_.size();
    add_set(set);
    const std::size_t split = add(RegexOperation::split);
    prefer(split, first, program_.size(), true);
  }

  // "1,234.5", "1e-3", "2.05K", as number_at reads it; never a part of a longer number.
  void emit_number(std::size_t slot) {
    const ByteSet digits = byte_range('0', '9');
    add_assertion(RegexAssertion::number_begin);
    add_save(slot);
    emit_run(digits);
    const std::size_t thousands = add(RegexOperation::split);
    add_set(byte_range(',', ','));
    for (int i = 0; i < 3; ++i) add_set(digits);
    program_[add(RegexOperation::jump)].next = thousands;
    prefer(thousands, thousands + 1, program_.size(), true);
    const std::size_t fraction = add(RegexOperation::split);
    add_set(byte_range('.', '.'));
    emit_run(digits);
    prefer(fraction, fraction + 1, program_.size(), true);
    const std::size_t exponent = add(RegexOperation::split);
    add_set(byte_range('e', 'e') | byte_range('E', 'E'));
    const std::size_t sign = add(RegexOperation::split);
    add_set(byte_range('+', '+') | byte_range('-', '-'));
    prefer(sign, sign + 1, program_.size(), true);
    emit_run(digits);
    prefer(exponent, exponent + 1, program_.size(), true);
    add_assertion(RegexAssertion::number_end);
    const std::size_t unit = add(RegexOperation::split);
    add_set(byte_range('K', 'K') | byte_range('M', 'M') | byte_range('B', 'B'));
    prefer(unit, unit + 1, program_.size(), true);
    add_save(slot + 1);
  }

  const std::string& option_;
  std::vector<RegexInstruction> program_;
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

bool assertion_holds(RegexAssertion assertion, std::string_view line, std::size_t at) {
  const bool word = (at > 0 && word_at(line, at - 1)) != word_at(line, at);
  switch (assertion) {
    case RegexAssertion::line_begin:
      return at == 0;
    case RegexAssertion::line_end:
      return at == line.size();
    case RegexAssertion::word:
      return word;
    case RegexAssertion::no_word:
      return !word;
    case RegexAssertion::number_begin:
      return number_begins(line, at);
    case RegexAssertion::number_end:
      break;
  }
  if (digit_at(line, at)) return false;
  return at >= line.size() || line[at] != '.' || !digit_at(line, at + 1);
}

constexpr std::uint32_t kNowhere = 0xffffffff;
using PatternSlots = std::array<std::uint32_t, 2 * kMostNames>;
struct PatternThread {
  std::size_t at = 0;  // in the program
  PatternSlots slots;
};

// All threads go over the line together, the preferred ones first.
class PatternRun {
 public:
  PatternRun(const std::vector<RegexInstruction>& program, const ByteSet& first,
             std::string_view line)
      : program_(program), first_(first), line_(line), visited_(program.size(), 0) {
    none_.fill(kNowhere);
  }

  std::optional<PatternSlots> match() {
    std::vector<PatternThread> now, next;
    std::optional<PatternSlots> found;
    for (std::size_t at = 0; at <= line_.size(); ++at) {
      if (!found && may_begin(at)) follow({0, none_}, at, now);
      if (now.empty() && found) break;
      next.clear();
      for (const PatternThread& thread : now) {
        const RegexInstruction& instruction = program_[thread.at];
        if (instruction.operation == RegexOperation::done) {
          found = thread.slots;
          break;  // those behind it are less preferred
        }
        if (at == line_.size() || !instruction.set[byte_of(line_[at])]) continue;
        follow({instruction.next, thread.slots}, at + 1, next);
      }
      std::swap(now, next);
    }
    return found;
  }

 private:
  [[nodiscard]] bool may_begin(std::size_t at) const {
    return at < line_.size() ? first_[byte_of(line_[at])] : true;
  }

  // Adds the instructions that wait for a byte, or end the match.
  void follow(const PatternThread& first, std::size_t at, std::vector<PatternThread>& threads) {
    const auto place = static_cast<std::uint32_t>(at);
    waiting_.assign(1, first);
    while (!waiting_.empty()) {
      PatternThread thread = waiting_.back();
      waiting_.pop_back();
      if (visited_[thread.at] == place + 1) continue;
      visited_[thread.at] = place + 1;
      const RegexInstruction& instruction = program_[thread.at];
      switch (instruction.operation) {
        case RegexOperation::set:
        case RegexOperation::done:
          threads.push_back(thread);
          continue;
        case RegexOperation::split:
          waiting_.push_back({instruction.other, thread.slots});
          break;
        case RegexOperation::save:
          thread.slots[instruction.slot] = place;
          break;
        case RegexOperation::assertion:
          if (!assertion_holds(instruction.assertion, line_, at)) continue;
          break;
        case RegexOperation::jump:
          break;
      }
      thread.at = instruction.next;
      waiting_.push_back(thread);
    }
  }

  const std::vector<RegexInstruction>& program_;
  const ByteSet& first_;
  std::string_view line_;
  PatternSlots none_{};
  std::vector<std::uint32_t> visited_;  // the place behind which each instruction was reached last
  std::vector<PatternThread> waiting_;
};

// Bytes with which a match can begin; all where it may be empty.
ByteSet first_bytes(const std::vector<RegexInstruction>& program) {
  ByteSet first;
  std::vector<bool> seen(program.size(), false);
  std::vector<std::size_t> waiting{0};
  while (!waiting.empty()) {
    const std::size_t at = waiting.back();
    waiting.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const RegexInstruction& instruction = program[at];
    if (instruction.operation == RegexOperation::done) return ByteSet().set();
    if (instruction.operation == RegexOperation::set) {
      first |= instruction.set;
      continue;
    }
    if (instruction.operation == RegexOperation::split) waiting.push_back(instruction.other);
    waiting.push_back(instruction.next);
  }
  return first;
}

}  // namespace

LineRegex::LineRegex(std::string_view text, const std::string& option) {
  const auto pattern = parse_pattern(text, option, names_);
  program_ = PatternCompiler(option).compile(*pattern);
  first_ = first_bytes(program_);
}

std::optional<std::vector<std::string_view>> LineRegex::match(std::string_view line) const {
  const auto slots = PatternRun(program_, first_, line).match();
  if (!slots) return std::nullopt;
  std::vector<std::string_view> numbers;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::uint32_t begin = (*slots)[2 * i], end = (*slots)[2 * i + 1];
    numbers.push_back(begin == kNowhere || end == kNowhere ? std::string_view()
                                                           : line.substr(begin, end - begin));
  }
  return numbers;
}

}  // namespace meshwright::interop
