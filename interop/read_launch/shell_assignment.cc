// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/shell_assignment.h"

#include <algorithm>
#include <utility>

#include "interop/read_launch/shell_words.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct Assignment {
  std::string name;
  ShellVariable value;
  bool appends = false, element = false;
  int line = 0;
};

bool same_words(const ShellVariable& a, const ShellVariable& b) {
  return std::equal(a.words.begin(), a.words.end(), b.words.begin(), b.words.end(),
                    [](const auto& x, const auto& y) { return x.text() == y.text(); });
}

// Under a condition, or of one element: what the variable holds is not known, unless it is the
// same.
void forget(ShellState& s, const Assignment& a) {
  const auto old = s.variables.find(a.name);
  const bool same =
      old != s.variables.end() && !a.appends && !a.element && same_words(a.value, old->second);
  if (same) return;
  s.variables.erase(a.name);
  s.script.why_unknown[a.name] = a.element
                                     ? fmt::format("single elements of it are set, line {}", a.line)
                                     : fmt::format("it is set under a condition, line {}", a.line);
}

void append(ShellVariable& old, ShellVariable value) {
  if (value.words.size() == 1 && old.words.size() == 1) {
    return old.words.front().add(value.words.front());
  }
  for (MarkedText& word : value.words) old.words.push_back(std::move(word));
}

// Options that are added under a condition are left out, and said so.
bool leaves_out(ShellState& s, const Assignment& a) {
  if (!a.appends || a.element || s.conditions == 0) return false;
  std::string words;
  for (const MarkedText& word : a.value.words) {
    append_to_list(words, " ", word.text());
  }
  const std::size_t first = words.find_first_not_of(" \t\n");
  if (first == std::string::npos || !words.substr(first).starts_with("--")) return false;
  if (!s.variables.contains(a.name)) return false;
  s.script.left_out.push_back({words.substr(first), a.line});
  return true;
}

void assign(ShellState& s, Assignment a) {
  if (s.given.contains(a.name) || leaves_out(s, a)) return;
  if (a.element || s.conditions > 0) return forget(s, a);
  if (s.script.why_unknown.contains(a.name) && a.appends) return;
  s.script.why_unknown.erase(a.name);
  std::size_t size = 0;
  for (const MarkedText& word : a.value.words) size += word.size();
  s.count(size, a.line);
  const auto old = s.variables.find(a.name);
  if (!a.appends || old == s.variables.end()) {
    s.variables[a.name] = std::move(a.value);
  } else {
    append(old->second, std::move(a.value));
  }
}

}  // namespace

bool read_shell_assignment(ShellCursor& cursor, ShellState& state, int depth, bool exported) {
  const MarkedText& text = cursor.text();
  std::size_t end = cursor.place();
  if (!is_name_start(text.at(end))) return false;
  while (is_name(text.at(end))) ++end;
  Assignment a;
  a.name = text.part(cursor.place(), end).text();
  a.element = text.at(end) == '[';
  if (a.element) {
    while (end < text.size() && text.at(end) != ']' && text.at(end) != '\n') ++end;
    ++end;
  }
  a.appends = text.at(end) == '+' && text.at(end + 1) == '=';
  if (text.at(end) != '=' && !a.appends) return false;
  a.line = cursor.line();
  cursor.move_to(end + (a.appends ? 2 : 1));
  if (cursor.here() == '(') {
    a.value.words = read_shell_array(cursor, state, depth);
  } else {
    MarkedText value;
    for (const MarkedText& word : read_shell_word(cursor, state, depth, false)) value.add(word);
    a.value.words = {value};
  }
  const std::string name = a.name;
  assign(state, std::move(a));
  if (!exported && state.conditions > 0) return true;
  const auto set = state.variables.find(name);
  if (set != state.variables.end() && set->second.words.size() == 1) {
    state.script.exported[name] = set->second.words.front();
  }
  return true;
}

}  // namespace meshwright::interop
