// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/document_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "interop/read_launch/document.h"
#include "interop/write_launch/settings_text.h"

namespace meshwright::interop {
namespace {

struct Spot {
  std::size_t key = 0;             // begin of the key
  std::size_t begin = 0, end = 0;  // its value
  bool in_braces = false;          // {key: value, ...}
};

// JSON is YAML, whose reader knows columns.
Values values_of(const std::string& text, LaunchTextKind kind) {
  return kind == LaunchTextKind::toml ? values_of_toml(text, "") : values_of_yaml(text, "");
}

std::size_t offset_of(const std::string& text, const Place& place) {
  std::size_t at = 0;
  for (int line = 1; line < place.line && at != std::string::npos; ++line) {
    at = text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  return at == std::string::npos ? at : at + static_cast<std::size_t>(place.column) - 1;
}

std::size_t begin_of_line(const std::string& text, std::size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
}
std::size_t end_of_line(const std::string& text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

bool is_in_braces(const std::string& text, std::size_t at, LaunchTextKind kind) {
  if (kind == LaunchTextKind::json || text.find_first_not_of(" \t\r\n") == text.find('{')) {
    return true;
  }
  const std::string_view before(text.data() + begin_of_line(text, at),
                                at - begin_of_line(text, at));
  return std::count(before.begin(), before.end(), '{') >
         std::count(before.begin(), before.end(), '}');
}

std::size_t end_of_value(const std::string& text, std::size_t begin, bool in_braces) {
  const char first = text[begin];
  if (first == '"' || first == '\'') return text.find(first, begin + 1) + 1;
  if (first == '[') return text.find(']', begin) + 1;
  std::size_t end = begin;
  for (; end < text.size() && text[end] != '\n' && text[end] != '\r'; ++end) {
    const bool comment = text[end] == '#' && text[end - 1] == ' ';
    const bool closes = text[end] == ',' || text[end] == '}' || text[end] == ']';
    if (comment || (in_braces && closes)) break;
  }
  while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
  return end;
}

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }
std::string parent_of(const std::string& key) {
  return key.substr(0, std::min(key.rfind('.'), key.size()));
}
bool has_section(const std::string& key) { return key.find('.') != std::string::npos; }

std::optional<Spot> spot_of(const std::string& text, LaunchTextKind kind, const Value& value) {
  Spot spot;
  spot.begin = offset_of(text, value.place);
  if (spot.begin >= text.size() || spot.begin == 0 || text[spot.begin] == '-') return std::nullopt;
  std::size_t at = spot.begin;
  while (at > 0 && std::string_view(" \t:=").find(text[at - 1]) != std::string_view::npos) --at;
  const bool quoted = at > 0 && (text[at - 1] == '"' || text[at - 1] == '\'');
  const std::string name = last_part(value.key);
  const std::size_t size = name.size() + (quoted ? 2 : 0);
  if (at < size || text.compare(at - size + (quoted ? 1 : 0), name.size(), name) != 0) {
    return std::nullopt;
  }
  spot.key = at - size;
  spot.in_braces = is_in_braces(text, spot.key, kind);
  spot.end = end_of_value(text, spot.begin, spot.in_braces);
  if (spot.end <= spot.begin) return std::nullopt;
  return spot;
}

std::optional<Spot> find_spot(const std::string& text, LaunchTextKind kind,
                              const std::string& key) {
  Values values = values_of(text, kind);
  const Value* value = values.find(key);
  return value == nullptr ? std::nullopt : spot_of(text, kind, *value);
}

std::string said(LaunchTextKind kind, const std::string& name, const std::string& value) {
  if (kind == LaunchTextKind::json) return fmt::format("\"{}\": {}", name, value);
  return fmt::format("{}{} {}", name, kind == LaunchTextKind::toml ? " =" : ":", value);
}

// The last key of the section that has a spot.
std::optional<Spot> last_spot_in(const std::string& text, LaunchTextKind kind,
                                 const std::string& key) {
  std::optional<Spot> last;
  for (const Value& value : values_of(text, kind).all()) {
    if (has_section(value.key) != has_section(key)) continue;
    if (has_section(key) && parent_of(value.key) != parent_of(key)) continue;
    const auto spot = spot_of(text, kind, value);
    if (spot && (!last || spot->begin > last->begin)) last = spot;
  }
  return last;
}

std::string indent_of(const std::string& text, const Spot& spot) {
  const std::size_t begin = begin_of_line(text, spot.key);
  const bool own_line = text.find_first_not_of(" \t", begin) == spot.key;
  return own_line ? text.substr(begin, spot.key - begin) : "";
}

// TOML's stands behind everything, those of others behind a key beside the section.
std::optional<std::string> with_new_section(std::string text, LaunchTextKind kind,
                                            const std::string& key, const std::string& word) {
  const std::string section = parent_of(key);
  const std::string line = said(kind, last_part(key), word);
  if (!text.empty() && text.back() != '\n') text += '\n';
  if (kind == LaunchTextKind::toml) return fmt::format("{}\n[{}]\n{}\n", text, section, line);
  const auto beside = last_spot_in(text, kind, section);
  if (!beside) {
    const bool can = !has_section(section) && !is_in_braces(text, 0, kind);
    return can ? std::optional(fmt::format("{}{}:\n  {}\n", text, section, line)) : std::nullopt;
  }
  if (beside->in_braces) {
    return text.insert(beside->end, ", " + said(kind, last_part(section), "{" + line + "}"));
  }
  const std::string indent = indent_of(text, *beside);
  return text.insert(end_of_line(text, beside->end),
                     fmt::format("\n{}{}:\n{}  {}", indent, last_part(section), indent, line));
}

}  // namespace

std::optional<std::string> with_value(const std::string& text, LaunchTextKind kind,
                                      const std::string& key, const std::string& value) {
  const auto spot = find_spot(text, kind, key);
  if (!spot) return std::nullopt;
  std::string changed = text;
  return changed.replace(spot->begin, spot->end - spot->begin, document_word(kind, value));
}

std::optional<std::string> without_key(const std::string& text, LaunchTextKind kind,
                                       const std::string& key) {
  const auto spot = find_spot(text, kind, key);
  if (!spot) return std::nullopt;
  std::size_t begin = spot->key;
  std::size_t end = spot->end;
  if (spot->in_braces) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", end);
    const std::size_t before = text.find_last_not_of(" \t\r\n", begin - 1);
    if (next != std::string::npos && text[next] == ',') {
      end = std::min(text.find_first_not_of(" \t\r\n", next + 1), text.size());
    } else if (before != std::string::npos && text[before] == ',') {
      begin = before;
    }
  } else {
    begin = begin_of_line(text, begin);
    if (text.find_first_not_of(" \t", begin) != spot->key) return std::nullopt;
    end = std::min(end_of_line(text, end) + 1, text.size());
  }
  std::string changed = text;
  return changed.erase(begin, end - begin);
}

std::optional<std::string> with_new_key(const std::string& text, LaunchTextKind kind,
                                        const std::string& key, const std::string& value) {
  const std::string word = document_word(kind, value);
  const auto beside = last_spot_in(text, kind, key);
  if (!beside) {
    return has_section(key) ? with_new_section(text, kind, key, word) : std::nullopt;
  }
  const std::string line = said(kind, last_part(key), word);
  const std::string indent = indent_of(text, *beside);
  std::string changed = text;
  if (beside->in_braces) {
    return changed.insert(beside->end, (indent.empty() ? ", " : ",\n" + indent) + line);
  }
  return changed.insert(end_of_line(text, beside->end), "\n" + indent + line);
}

}  // namespace meshwright::interop
