// SPDX-License-Identifier: Apache-2.0
#include "sim/record/parse.h"

#include <fmt/format.h>

#include <unordered_set>
#include <vector>

#include "sim/base/error.h"
#include "sim/record/reader.h"

namespace meshwright {
namespace {

// Returns the error without the library's tag in square brackets.
std::string without_tag(const std::string& text) {
  const std::size_t tag = text.find("] ");
  return tag == std::string::npos ? text : text.substr(tag + 2);
}

// Follows the text without building a value.
class Checker : public nlohmann::json_sax<Json> {
 public:
  explicit Checker(const std::string& file) : file_(file) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(Json::number_integer_t) override { return value(); }
  bool number_unsigned(Json::number_unsigned_t) override { return value(); }
  bool number_float(Json::number_float_t, const std::string&) override { return value(); }
  bool string(std::string&) override { return value(); }
  bool binary(Json::binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    Level& level = levels_.back();
    const bool is_new = level.keys.insert(name).second;
    level.key = name;
    if (!is_new) throw InputError(file_, pointer(), "is a duplicate key of its object");
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const Json::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) {
      count();
      throw InputError(
          file_, pointer(),
          fmt::format("{} is larger than any number that is read", token.substr(0, 60)));
    }
    throw InputError(file_, "", "is not JSON: " + without_tag(error.what()));
  }

 private:
  struct Level {
    std::unordered_set<std::string> keys;  // of an object, so far
    std::string key;                       // its last; empty in an array
    std::size_t values = 0;
  };

  void count() {
    if (!levels_.empty()) ++levels_.back().values;
  }

  bool value() {
    count();
    if (++values_ <= kMostJsonValues) return true;
    throw InputError(file_, pointer(),
                     fmt::format("a file of at most {} values is read", kMostJsonValues));
  }

  bool open() {
    value();
    if (levels_.size() == kDeepestJson) {
      throw InputError(file_, "", fmt::format("is nested deeper than {} levels", kDeepestJson));
    }
    levels_.emplace_back();
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  [[nodiscard]] std::string pointer() const {
    std::string text;
    for (const Level& level : levels_) {
      text += level.keys.empty() ? fmt::format("/{}", level.values - 1)
                                 : "/" + pointer_token(level.key);
    }
    return text;
  }

  const std::string& file_;
  std::vector<Level> levels_;
  std::size_t values_ = 0;
};

}  // namespace

Json parse_json(const std::string& text, const std::string& file) {
  Checker checker(file);
  constexpr bool kStrict = true, kIgnoreComments = true;
  Json::sax_parse(text, &checker, Json::input_format_t::json, kStrict, kIgnoreComments);
  return Json::parse(text, nullptr, true, kIgnoreComments);
}

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace meshwright
