// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "interop/read_launch/document.h"
#include "interop/read_launch/flat_values.h"
#include "sim/record/json.h"
#include "sim/record/parse.h"

namespace meshwright::interop {
namespace {

class JsonFlattener {
 public:
  JsonFlattener(std::string_view text, const std::string& file) : text_(text), values_(file) {
    find_lines();
  }

  Values read(const Json& json) {
    flatten(json, "", "", 0);
    return values_.take();
  }

 private:
  // Lines at which keys first stand, in one pass: strings before a colon.
  void find_lines() {
    int line = 1;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == '\n') ++line;
      if (text_[i] != '"') continue;
      const std::size_t begin = ++i;
      while (i < text_.size() && text_[i] != '"') i += text_[i] == '\\' ? 2 : 1;
      const std::size_t end = std::min(i, text_.size());
      const std::size_t next = text_.find_first_not_of(" \t\r\n", end + 1);
      const bool is_key = next != std::string_view::npos && text_[next] == ':';
      if (is_key) lines_.try_emplace(std::string(text_.substr(begin, end - begin)), line);
    }
  }
  [[nodiscard]] int line_of(const std::string& key) const {
    const auto found = lines_.find(key);
    return found == lines_.end() ? 0 : found->second;
  }
  static std::string word(const Json& json) {
    return json.is_string() ? json.get<std::string>() : json.dump();
  }

  void flatten(const Json& json, const std::string& path, const std::string& key, int depth) {
    values_.check_depth(depth, line_of(key));
    if (json.is_null()) return;
    if (json.is_object()) {
      for (const auto& [name, value] : json.items()) {
        flatten(value, joined_key(path, name), name, depth + 1);
      }
      return;
    }
    if (!json.is_array()) return values_.add(path, {word(json)}, {line_of(key), 0});
    std::vector<std::string> words;
    for (std::size_t i = 0; i < json.size(); ++i) {
      if (json[i].is_structured()) {
        flatten(json[i], joined_key(path, std::to_string(i)), key, depth + 1);
      } else {
        words.push_back(word(json[i]));
      }
    }
    values_.add(path, std::move(words), {line_of(key), 0});
  }

  std::string_view text_;
  std::unordered_map<std::string, int> lines_;
  FlatValues values_;
};

}  // namespace

Values values_of_json(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return JsonFlattener(text, file).read(parse_json(std::string(text), file));
}

}  // namespace meshwright::interop
