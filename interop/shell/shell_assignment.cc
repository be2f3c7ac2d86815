// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_assignment.h"

#include <algorithm>
#include <array>
#include <utility>

#include "interop/shell/shell_cause.h"
#include "interop/shell/shell_words.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct Assignment {
  std::string name;
  ShellVariable value;
  bool appends = false, element = false, array = false;
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
  s.causes.erase(a.name);
  if (!a.element) s.causes[a.name] = s.context.cause;
  s.script.why_unknown[a.name] = a.element
                                     ? fmt::format("single elements of it are set, line {}", a.line)
                                     : set_under_condition(s.context.cause, a.line);
}

void append(ShellVariable& old, ShellVariable value) {
  if (value.words.size() == 1 && old.words.size() == 1) {
    return old.words.front().add(value.words.front());
  }
  for (MarkedText& word : value.words) old.words.push_back(std::move(word));
}

// The place of the variable's own value in a word; the word's size: it is not there.
std::size_t own_value_in(const MarkedText& word, std::size_t from = 0) {
  while (from < word.size() && !is_own_value(word, from)) ++from;
  return from;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

void add_fields(std::string& words, const MarkedText& text) {
  for (const MarkedText& field : text.fields()) append_to_list(words, " ", field.text());
}

// Words that an assignment adds to the variable's own value, which stays whole; nothing: it does
// something else.
std::optional<std::string> added_words(const Assignment& a, const ShellVariable& old) {
  std::string words;
  if (a.appends) {
    for (const MarkedText& word : a.value.words) add_fields(words, word);
    const MarkedText& first = a.value.words.empty() ? MarkedText() : a.value.words.front();
    const bool apart = a.array || first.empty() || is_blank(first.at(0)) ||
                       words.starts_with("--") || old.words.size() != 1 ||
                       old.words.front().empty() ||
                       is_blank(old.words.front().at(old.words.front().size() - 1));
    return apart ? std::optional(words) : std::nullopt;
  }
  int found = 0;
  for (const MarkedText& word : a.value.words) {
    const std::size_t at = own_value_in(word);
    add_fields(words, word.part(0, at));
    if (at == word.size()) continue;
    ++found;
    const bool alone = at == 0 || is_blank(word.at(at - 1));
    const bool ends = at + 1 == word.size() || is_blank(word.at(at + 1));
    if (!alone || !ends || own_value_in(word, at + 1) < word.size()) return std::nullopt;
    add_fields(words, word.part(at + 1, word.size()));
  }
  return found == 1 ? std::optional(words) : std::nullopt;
}

// Words that are added under a condition are left out, and listed.
bool leaves_out(ShellState& s, const Assignment& a) {
  const auto old = s.variables.find(a.name);
  if (!s.conditional() || a.element || old == s.variables.end()) return false;
  const auto words = added_words(a, old->second);
  if (!words) return false;
  const ShellCausePtr& cause = s.context.cause;
  if (!words->empty()) s.script.left_out.push_back({*words, a.line, cause ? cause->reason : ""});
  return true;
}

void assign(ShellState& s, Assignment a) {
  if (s.given.contains(a.name) || leaves_out(s, a)) return;
  if (a.element || s.conditional()) return forget(s, a);
  if (!s.variables.contains(a.name) && s.script.why_unknown.contains(a.name) && a.appends) return;
  s.script.why_unknown.erase(a.name);
  s.causes.erase(a.name);
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

void read_value(Assignment& a, ShellCursor& cursor, ShellState& state, int depth) {
  a.array = cursor.here() == '(';
  if (a.array) {
    a.value.words = read_shell_array(cursor, state, depth);
    return;
  }
  MarkedText value;
  for (const MarkedText& word : read_shell_word(cursor, state, depth, false)) value.add(word);
  a.value.words = {value};
}

// In conditional code the variable stands for its own value, so that what is added to it shows.
void read_extending_value(Assignment& a, ShellCursor& cursor, ShellState& state, int depth) {
  const auto old = state.variables.find(a.name);
  const bool may_extend = state.conditional() && state.extended.empty() && !a.appends &&
                          !a.element && old != state.variables.end();
  if (!may_extend) return read_value(a, cursor, state, depth);
  MarkedText own;
  own.add('\x01', kOwnLine);
  ShellVariable kept = std::exchange(old->second, {{own}});
  state.extended = a.name;
  read_value(a, cursor, state, depth);
  state.extended.clear();
  state.variables[a.name] = std::move(kept);
}

// A copy of an argument names it.
void explain_copy(const std::string& name, ShellState& state) {
  const std::string why = why_unknown_variable(name, state);
  if (why.starts_with("it is the script's argument")) {
    state.script.why_unknown[name] = why + ": --args gives them";
  }
}

}  // namespace

bool is_declaration(std::string_view word) {
  constexpr std::array<std::string_view, 5> kDeclarations{"export", "declare", "local", "readonly",
                                                          "typeset"};
  return std::find(kDeclarations.begin(), kDeclarations.end(), word) != kDeclarations.end();
}

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
  read_extending_value(a, cursor, state, depth);
  if (state.dead()) return true;
  const std::string name = a.name;
  assign(state, std::move(a));
  const auto set = state.variables.find(name);
  if (set == state.variables.end()) return true;
  if (state.live()) explain_copy(name, state);
  if ((exported || state.live()) && set->second.words.size() == 1) {
    state.script.exported[name] = set->second.words.front();
  }
  return true;
}

}  // namespace meshwright::interop
