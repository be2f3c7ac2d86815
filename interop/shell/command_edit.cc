// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/command_edit.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "interop/shell/shell_cursor.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

bool is_long_option(const std::string& word) { return word.starts_with("--") && word.size() > 2; }
// model.tensor_model_parallel_size=2, ++model.tp=2
bool is_override(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && !word.starts_with("-") && word.find('.') < equals;
}
std::string option_name(const std::string& word) { return word.substr(0, word.find('=')); }

bool is_part_of_name(char c) { return is_name(c) || c == '-' || c == '.' || c == '+'; }

// Begins of the lines, from line 1 on.
std::vector<std::size_t> begins_of_lines(const std::string& text) {
  std::vector<std::size_t> begins{0, 0};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') begins.push_back(i + 1);
  }
  return begins;
}

// The place of a whole name at or behind `from`, in its line.
std::size_t find_name(const std::string& text, const std::string& name, std::size_t from) {
  const std::size_t line_end = std::min(text.find('\n', from), text.size());
  for (std::size_t at = text.find(name, from); at < line_end; at = text.find(name, at + 1)) {
    const std::size_t after = at + name.size();
    const bool begins = at == 0 || !is_part_of_name(text[at - 1]);
    if (begins && (after >= text.size() || !is_part_of_name(text[after]))) return at;
  }
  return std::string::npos;
}

// Skips blanks, continued lines and, in arrays and quotes, ends of lines.
std::size_t skip_space(const std::string& text, std::size_t at) {
  while (at < text.size()) {
    const bool continued =
        text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '\n' || text[at + 1] == '\r');
    if (std::isspace(static_cast<unsigned char>(text[at])) == 0 && !continued) break;
    ++at;
  }
  return at;
}

std::size_t behind_closing(const std::string& text, std::size_t at, const std::string& closing) {
  const std::size_t found = text.find(closing, at);
  return found == std::string::npos ? at : found + closing.size();
}

// The end of a word that begins at `at`: "$TP", ${TP:-8}, $((2 * N)), '[1]*4'.
std::size_t end_of_word(const std::string& text, std::size_t at) {
  if (text.compare(at, 2, "\\\"") == 0) return behind_closing(text, at + 2, "\\\"");
  if (text[at] == '"' || text[at] == '\'') return behind_closing(text, at + 1, {text[at]});
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool opens = at > 0 && text[at - 1] == '$' && (c == '(' || c == '{');
    if (opens || (depth > 0 && c == '(')) ++depth;
    if (depth > 0 && (c == ')' || c == '}')) {
      --depth;
    } else if (depth == 0 && (ends_word(c) || c == '"' || c == '\'' || c == '\\' || c == '`')) {
      break;
    }
  }
  return at;
}

// One value, or a list of plain words such as names of modules.
std::size_t end_of_values(const std::string& text, std::size_t begin, std::size_t count) {
  std::size_t end = end_of_word(text, begin);
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t next = skip_space(text, end);
    if (next == end || next >= text.size() || !is_name(text[next])) break;
    end = end_of_word(text, next);
  }
  return end;
}

void locate(const std::string& text, std::size_t at, TypedOption& option) {
  option.begin = at;
  option.value = option.end = at + option.name.size();
  if (option.end < text.size() && text[option.end] == '=') {
    option.value = option.end + 1;
    option.end = end_of_word(text, option.value);
  } else if (!option.words.empty()) {
    const std::size_t value = skip_space(text, option.end);
    if (value == option.end || value >= text.size() || text[value] == '-') return;
    option.value = value;
    option.end = end_of_values(text, value, option.words.size());
  }
}

std::size_t line_end(const std::string& text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

// What stands behind an option in its line: nothing, or the backslash that continues it.
bool ends_line(const std::string& text, std::size_t at) {
  const std::string rest = trimmed_right(text.substr(at, line_end(text, at) - at));
  return rest.find_first_not_of(" \t") == std::string::npos ||
         (rest.back() == '\\' && rest.find_first_not_of(" \t") == rest.size() - 1);
}

}  // namespace

CommandEdit::CommandEdit(std::string text, const ShellCommand& command) : text_(std::move(text)) {
  const std::vector<std::size_t> lines = begins_of_lines(text_);
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text();
    if (!is_long_option(word) && !is_override(word)) continue;
    TypedOption option{.name = option_name(word), .words = {}, .index = i};
    if (option.name.size() < word.size()) option.words = {word.substr(option.name.size() + 1)};
    while (!is_override(word) && i + 1 < command.words.size() &&
           !is_long_option(command.words[i + 1].text()) &&
           !is_override(command.words[i + 1].text())) {
      option.words.push_back(command.words[++i].text());
    }
    const auto line = static_cast<std::size_t>(command.words[option.index].line());
    std::size_t from = line < lines.size() ? lines[line] : text_.size();
    for (const TypedOption& other : options_) {
      if (other.name == option.name && other.begin >= from) from = std::max(from, other.end);
    }
    const std::size_t at = find_name(text_, option.name, from);
    if (at != std::string::npos) locate(text_, at, option);
    options_.push_back(std::move(option));
  }
}

void CommandEdit::set(const TypedOption& option, const std::string& value) {
  const bool has_value = option.value < option.end;
  replacements_.push_back(
      {has_value ? option.value : option.end, option.end, has_value ? value : " " + value});
}

void CommandEdit::rename(const TypedOption& option, const std::string& name) {
  replacements_.push_back({option.begin, option.begin + option.name.size(), name});
}

void CommandEdit::remove(const TypedOption& option) {
  std::size_t begin = option.begin;
  std::size_t end = option.end;
  const auto is_blank = [&](std::size_t at) { return text_[at] == ' ' || text_[at] == '\t'; };
  if (!ends_line(text_, end)) {
    while (end < text_.size() && is_blank(end)) ++end;
  } else {
    while (begin > 0 && is_blank(begin - 1)) --begin;
    // Alone in its line: the line goes, with the backslash before it.
    if (begin > 0 && text_[begin - 1] == '\n') {
      --begin;
      if (begin > 0 && text_[begin - 1] == '\\') --begin;
      while (begin > 0 && is_blank(begin - 1)) --begin;
    }
  }
  replacements_.push_back({begin, end, ""});
}

void CommandEdit::add_behind(const TypedOption& option, const std::string& words) {
  const std::size_t line = text_.rfind('\n', option.begin) + 1;
  const std::size_t first = text_.find_first_not_of(" \t", line);
  const std::size_t next = skip_space(text_, option.end);
  // Alone in its line, in an array, or where a backslash continues the line.
  const bool own_line = first == option.begin && ends_line(text_, option.end) &&
                        next < text_.size() && (text_[next] == '-' || text_[next] == ')');
  const std::size_t rest = text_.find_first_not_of(" \t", option.end);
  const std::string ends = own_line && text_[rest] == '\\' ? " \\\n" : "\n";
  const std::string before = own_line ? ends + text_.substr(line, first - line) : " ";
  replacements_.push_back({option.end, option.end, before + words});
}

std::string CommandEdit::text() const {
  std::vector<Replacement> sorted = replacements_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Replacement& a, const Replacement& b) { return a.begin < b.begin; });
  std::string text;
  std::size_t at = 0;
  for (const Replacement& part : sorted) {
    if (part.begin > at) text += text_.substr(at, part.begin - at);
    text += part.text;
    at = std::max(at, part.end);
  }
  return text + text_.substr(at);
}

std::string shell_words(const std::string& value) {
  constexpr std::string_view kPlain = "-_./:=,@%+^ ";
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != kPlain.npos;
  });
  return plain ? value : "'" + replaced(value, "'", "'\\''") + "'";
}

}  // namespace meshwright::interop
