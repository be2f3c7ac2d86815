// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "interop/read_launch/document.h"
#include "interop/read_launch/flat_values.h"
#include "sim/json/parse.h"

namespace meshwright::interop {
namespace {

class JsonFlattener {
 public:
  JsonFlattener(std::string_view text, const std::string& file) : text_(text), values_(file) {}

  Values read(const nlohmann::json& json) {
    flatten(json, "", "", 0);
    return values_.take();
  }

 private:
  [[nodiscard]] int line_of(const std::string& key) const {
    const std::size_t at = text_.find("\"" + key + "\"");
    if (at == std::string_view::npos) return 0;
    return 1 + static_cast<int>(std::count(text_.begin(),
                                           text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  static std::string word(const nlohmann::json& json) {
    return json.is_string() ? json.get<std::string>() : json.dump();
  }

  void flatten(const nlohmann::json& json, const std::string& path, const std::string& key,
               int depth) {
    values_.check_depth(depth, line_of(key));
    if (json.is_null()) return;
    if (json.is_object()) {
      for (const auto& [name, value] : json.items()) {
        flatten(value, joined_key(path, name), name, depth + 1);
      }
      return;
    }
    if (!json.is_array()) return values_.add(path, {word(json)}, line_of(key));
    std::vector<std::string> words;
    for (std::size_t i = 0; i < json.size(); ++i) {
      if (json[i].is_structured()) {
        flatten(json[i], joined_key(path, std::to_string(i)), key, depth + 1);
      } else {
        words.push_back(word(json[i]));
      }
    }
    values_.add(path, std::move(words), line_of(key));
  }

  std::string_view text_;
  FlatValues values_;
};

}  // namespace

Values values_of_json(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return JsonFlattener(text, file).read(parse_json(std::string(text), file));
}

}  // namespace meshwright::interop
