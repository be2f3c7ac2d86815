// SPDX-License-Identifier: Apache-2.0
#include "sim/record/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace meshwright {
namespace {

constexpr std::size_t kLongestShownValue = 60;

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongestShownValue) text = text.substr(0, kLongestShownValue) + "...";
  return text;
}

// "1 to 64", "1 or more"; a bound beyond what anyone would type is not shown.
std::string allowed_text(IntRange range) {
  constexpr std::int64_t kUnbounded = 1'000'000'000;
  if (range.high >= kUnbounded) return fmt::format("an integer, {} or more", range.low);
  return fmt::format("an integer from {} to {}", range.low, range.high);
}

std::string allowed_text(NumberRange range) {
  if (range.high >= 1e300) {
    return fmt::format("a finite number{} {}", range.low_excluded ? " above" : ", at least",
                       range.low);
  }
  return fmt::format("a number from {} to {}", range.low, range.high);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  // Further than a third of the word is no typing error.
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view quote) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : fmt::format("use {0}{1}{0}", quote, near);
}

ObjectReader::ObjectReader(const Json& json, std::string file, std::string pointer)
    : json_(&json), file_(std::move(file)), pointer_(std::move(pointer)) {
  if (!json.is_object()) {
    throw InputError(file_, pointer_.empty() ? "/" : pointer_,
                     "must be an object, is " + shown(json));
  }
}

std::string pointer_token(std::string_view key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '~') {
      escaped += "~0";
    } else if (c == '/') {
      escaped += "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string ObjectReader::pointer_to(std::string_view key) const {
  return pointer_ + "/" + pointer_token(key);
}

void ObjectReader::fail(std::string_view key, const std::string& what, std::string hint) const {
  throw InputError(file_, pointer_to(key), what, std::move(hint));
}

void ObjectReader::fail_choice(std::string_view key, const std::string& value,
                               const std::vector<std::string_view>& allowed) const {
  fail(key, fmt::format("must be one of {} (got \"{}\")", fmt::join(allowed, ", "), value),
       did_you_mean(value, {allowed.begin(), allowed.end()}, "\""));
}

const Json* ObjectReader::find(std::string_view key) {
  known_.emplace_back(key);
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

const Json& ObjectReader::require(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) fail(key, "is required and missing");
  return *found;
}

bool ObjectReader::has(std::string_view key) const {
  known_.emplace_back(key);
  const auto found = json_->find(key);
  return found != json_->end() && !found->is_null();
}

bool ObjectReader::is_null(std::string_view key) const {
  const auto found = json_->find(key);
  return found != json_->end() && found->is_null();
}

const Json& ObjectReader::member(std::string_view key) { return require(key); }

int ObjectReader::required_int(std::string_view key, IntRange range) {
  const Json& value = require(key);
  // 4e3 and 4096.0 are accepted as the integers they are.
  const bool whole =
      value.is_number_integer() || (value.is_number_float() && std::isfinite(value.get<double>()) &&
                                    value.get<double>() == std::floor(value.get<double>()));
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  if (!whole || number < static_cast<double>(range.low) ||
      number > static_cast<double>(range.high)) {
    fail(key, fmt::format("must be {} (got {})", allowed_text(range), shown(value)));
  }
  return static_cast<int>(number);
}

int ObjectReader::optional_int(std::string_view key, int default_value, IntRange range) {
  return has(key) ? required_int(key, range) : default_value;
}

// Below this a divisor makes infinities of ordinary numbers; nothing physical is as small.
constexpr double kSmallestNumber = 1e-30;

double ObjectReader::required_number(std::string_view key, NumberRange range) {
  const Json& value = require(key);
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  const bool above = range.low_excluded ? number > range.low : number >= range.low;
  if (!std::isfinite(number) || !above || number > range.high) {
    fail(key, fmt::format("must be {} (got {})", allowed_text(range), shown(value)));
  }
  if (number != 0.0 && std::abs(number) < kSmallestNumber) {
    fail(key, fmt::format("must be 0 or at least {} (got {})", kSmallestNumber, shown(value)));
  }
  return number;
}

double ObjectReader::optional_number(std::string_view key, double default_value,
                                     NumberRange range) {
  return has(key) ? required_number(key, range) : default_value;
}

std::optional<double> ObjectReader::stated_number(std::string_view key) {
  const double number = optional_number(key, 0.0);
  return number > 0.0 ? std::optional(number) : std::nullopt;
}

bool ObjectReader::optional_bool(std::string_view key, bool default_value) {
  const Json* value = find(key);
  if (value == nullptr) return default_value;
  if (!value->is_boolean()) fail(key, fmt::format("must be true or false (got {})", shown(*value)));
  return value->get<bool>();
}

std::string ObjectReader::required_string(std::string_view key) {
  const Json& value = require(key);
  if (!value.is_string()) fail(key, fmt::format("must be a string (got {})", shown(value)));
  return value.get<std::string>();
}

std::string ObjectReader::optional_string(std::string_view key, std::string default_value) {
  return has(key) ? required_string(key) : std::move(default_value);
}

ObjectReader ObjectReader::required_object(std::string_view key) {
  return {require(key), file_, pointer_to(key)};
}

std::vector<std::string> ObjectReader::optional_strings(std::string_view key) {
  std::vector<std::string> texts;
  if (!has(key)) return texts;
  for (const Json& text : required_array(key)) {
    if (!text.is_string()) fail(key, "must hold texts only");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

const Json& ObjectReader::required_array(std::string_view key) {
  const Json& value = require(key);
  if (!value.is_array()) fail(key, fmt::format("must be an array (got {})", shown(value)));
  return value;
}

void ObjectReader::finish(const std::vector<std::string_view>& ignored) const {
  for (const auto& item : json_->items()) {
    const std::string& key = item.key();
    const bool known = std::find(known_.begin(), known_.end(), key) != known_.end() ||
                       std::find(ignored.begin(), ignored.end(), key) != ignored.end();
    if (known) continue;
    const std::string hint = did_you_mean(key, known_, "\"");
    const std::set<std::string> once(known_.begin(), known_.end());
    fail(key, fmt::format("unknown key \"{}\"", key),
         hint.empty() ? fmt::format("known keys: {}", fmt::join(once, ", ")) : hint);
  }
}

}  // namespace meshwright
