// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_cause.h"

#include <algorithm>
#include <utility>

#include "interop/shell/shell_arguments.h"
#include "interop/shell/shell_cursor.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kLongestReason = 60;

bool is_digits(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

// The name in $NAME, ${NAME...}, ${#NAME} at a dollar; "@", "*" and "#" are names too.
std::string name_at(const MarkedText& text, std::size_t at) {
  std::size_t i = at + 1;
  if (text.at(i) == '{') ++i;
  if (text.at(i) == '#' && is_name(text.at(i + 1))) ++i;
  std::string name;
  while (is_name(text.at(i)) && name.size() <= kLongestReason) name += text.at(i++);
  const char c = text.at(i);
  if (name.empty() && (c == '@' || c == '*' || c == '#')) name = c;
  return name;
}

bool is_output(const MarkedText& text, std::size_t at) {
  return text.at(at) == '`' || (text.at(at) == '$' && text.at(at + 1) == '(');
}

std::string why_argument(const std::string& name, const ShellState& s) {
  std::string own = why_own_argument(s);
  if (!own.empty() || s.arguments.given) return own;
  return is_digits(name) ? fmt::format("it is the script's argument {}", original_argument(name, s))
                         : "it depends on the script's arguments";
}

// Explains why a text is unknown.
std::string why_text(const MarkedText& text, const ShellState& s) {
  std::size_t at = 0;
  while (!text.unknown_at(at)) ++at;
  const std::string place = fmt::format(", line {}", text.line_at(at));
  if (is_output(text, at)) {
    return "commands are not run: " + shortened(text.part(at, at + kLongestReason + 1).text()) +
           place;
  }
  const std::string name = text.at(at) == '$' ? name_at(text, at) : "";
  const auto why = s.script.why_unknown.find(name);
  if (is_digits(name) && why != s.script.why_unknown.end()) {
    const std::string script = "it is the script's argument " + name;
    if (why->second.starts_with(script)) return script + place;
  }
  if (why != s.script.why_unknown.end()) return name + ": " + shortened(why->second) + place;
  return shortened(text.part(at, at + kLongestReason + 1).text()) + " is unknown" + place;
}

// Subject and reason of the first name in a condition that is unknown.
ShellCausePtr cause_of_name(const std::string& name, const ShellState& s) {
  if (name.empty()) return nullptr;
  std::string why;
  if (!is_name_start(name.front())) {
    if (!s.variables.contains(original_argument(name, s))) why = why_argument(name, s);
    if (why.empty()) return nullptr;
    const std::string subject = "$" + name;
    return std::make_shared<const ShellCause>(ShellCause{subject, subject + ": " + why});
  }
  why = why_unknown_variable(name, s);
  if (why.empty()) return nullptr;
  const auto root = s.causes.find(name);
  const bool has_root = root != s.causes.end() && root->second && !s.variables.contains(name);
  return std::make_shared<const ShellCause>(
      ShellCause{name, has_root ? root->second->reason : name + ": " + why});
}

}  // namespace

std::string shortened(const std::string& text) {
  std::string line = text.substr(0, kLongestReason);
  std::replace(line.begin(), line.end(), '\n', ' ');
  while (line.ends_with(' ') || line.ends_with(';')) line.pop_back();
  return text.size() <= kLongestReason ? line : line + "...";
}

std::string why_unknown_variable(const std::string& name, const ShellState& state) {
  const auto found = state.variables.find(name);
  if (found != state.variables.end()) {
    for (const MarkedText& word : found->second.words) {
      if (word.unknown()) return why_text(word, state);
    }
    return "";
  }
  const auto why = state.script.why_unknown.find(name);
  return why == state.script.why_unknown.end() ? "the file does not set it" : why->second;
}

ShellCausePtr cause_of_condition(const MarkedText& typed, const ShellState& state,
                                 const std::string& otherwise, bool arithmetic) {
  std::size_t output = typed.size();
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const bool begins =
        arithmetic && is_name_start(typed.at(i)) && (i == 0 || !is_name(typed.at(i - 1)));
    std::string name;
    if (begins) {
      for (std::size_t j = i; is_name(typed.at(j)) && name.size() <= kLongestReason; ++j)
        name += typed.at(j);
    } else if (typed.at(i) == '$') {
      name = name_at(typed, i);
    }
    if (output == typed.size() && is_output(typed, i)) output = i;
    if (output < i) continue;  // names inside a command's output
    if (ShellCausePtr cause = cause_of_name(name, state)) return cause;
  }
  const std::string subject = "`" + shortened(typed.part(0, kLongestReason + 1).text()) + "`";
  const std::string why = output < typed.size() ? "commands are not run" : otherwise;
  return std::make_shared<const ShellCause>(
      ShellCause{subject, fmt::format("line {}: {}", typed.line(), why)});
}

std::string set_under_condition(const ShellCausePtr& cause, int line) {
  if (!cause) return fmt::format("it is set under a condition, line {}", line);
  const std::string on = cause->subject.empty() ? "" : " on " + cause->subject;
  return fmt::format("it is set under a condition{}, line {} ({})", on, line, cause->reason);
}

}  // namespace meshwright::interop
