// SPDX-License-Identifier: Apache-2.0
// References and arithmetic of OmegaConf. NeMo registers multiply, add, divide and others
// (nemo/utils, NeMo-Framework-Launcher main.py, nemo/collections/nlp/parts/nlp_overrides.py).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "interop/read_launch/document.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr int kMostHops = 10;
constexpr int kMostSteps = 1000;  // of one value
constexpr std::size_t kLongestWord = 4096;

std::string without_outer_spaces(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : trimmed_right(text.substr(begin));
}

// ".name" stands beside the value, "..name" one section up.
std::string absolute(const std::string& name, const std::string& key) {
  std::size_t dots = 0;
  while (dots < name.size() && name[dots] == '.') ++dots;
  if (dots == 0) return name;
  std::string section = key;
  for (std::size_t i = 0; i < dots; ++i) {
    const std::size_t end = section.rfind('.');
    section = end == std::string::npos ? "" : section.substr(0, end);
  }
  return section.empty() ? name.substr(dots) : section + "." + name.substr(dots);
}

// The end of "${...}" that begins at `begin`, one behind its brace; npos: none.
std::size_t end_of_reference(const std::string& text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  return std::string::npos;
}

// Arguments between commas that stand in no braces.
std::vector<std::string> arguments_of(const std::string& text) {
  std::vector<std::string> arguments(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      arguments.emplace_back();
    } else {
      arguments.back() += c;
    }
  }
  return arguments;
}

std::optional<double> resolved_number(const std::string& text) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool whole = error == std::errc() && stopped == end && std::abs(value) < 1e15;
  return whole ? std::optional(value) : std::nullopt;
}

std::string text_of_number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? std::to_string(whole) : fmt::format("{}", value);
}

enum class Arithmetic {
  none,
  multiply,
  add,
  subtract,
  divide,
  divide_down,
  divide_up,
  least,
  most
};
struct ResolverName {
  std::string_view name;
  Arithmetic what;
};
constexpr ResolverName kResolvers[] = {{"multiply", Arithmetic::multiply},
                                       {"mul", Arithmetic::multiply},
                                       {"product", Arithmetic::multiply},
                                       {"int_mul", Arithmetic::multiply},
                                       {"add", Arithmetic::add},
                                       {"sum", Arithmetic::add},
                                       {"subtract", Arithmetic::subtract},
                                       {"sub", Arithmetic::subtract},
                                       {"minus", Arithmetic::subtract},
                                       {"divide", Arithmetic::divide},
                                       {"div", Arithmetic::divide},
                                       {"divide_floor", Arithmetic::divide_down},
                                       {"int_div", Arithmetic::divide_down},
                                       {"int_divide", Arithmetic::divide_down},
                                       {"floor_div", Arithmetic::divide_down},
                                       {"floordiv", Arithmetic::divide_down},
                                       {"divide_int", Arithmetic::divide_down},
                                       {"divide_ceil", Arithmetic::divide_up},
                                       {"ceil_div", Arithmetic::divide_up},
                                       {"min", Arithmetic::least},
                                       {"max", Arithmetic::most}};

Arithmetic arithmetic_of(std::string_view name) {
  for (const ResolverName& each : kResolvers) {
    if (each.name == name) return each.what;
  }
  return Arithmetic::none;
}

std::optional<double> computed(Arithmetic what, double a, double b) {
  if (what == Arithmetic::multiply) return a * b;
  if (what == Arithmetic::add) return a + b;
  if (what == Arithmetic::subtract) return a - b;
  if (what == Arithmetic::least) return std::min(a, b);
  if (what == Arithmetic::most) return std::max(a, b);
  if (b == 0.0) return std::nullopt;
  if (what == Arithmetic::divide) return a / b;
  return what == Arithmetic::divide_up ? std::ceil(a / b) : std::floor(a / b);
}

class References {
 public:
  References(Values& values, const std::map<std::string, std::string>& variables)
      : values_(values), variables_(variables) {}

  // The words of a value with all references put in; nothing: why() says why not.
  std::optional<std::vector<std::string>> words_of(const Value& value) {
    why_.clear();
    steps_ = 0;
    std::vector<std::string> words;
    for (const std::string& word : value.words) {
      const auto put = words_of_text(word, value.key, 0);
      if (!put) return std::nullopt;
      words.insert(words.end(), put->begin(), put->end());
    }
    return words;
  }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  using Words = std::optional<std::vector<std::string>>;

  Words fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return std::nullopt;
  }

  // A text that is one reference may be a list; references inside a text are one word each.
  Words words_of_text(const std::string& text, const std::string& key, int hops) {
    const std::size_t begin = text.find("${");
    if (begin == std::string::npos) return std::vector{text};
    if (hops > kMostHops || ++steps_ > kMostSteps) return fail("its references lead to themselves");
    const std::size_t end = end_of_reference(text, begin);
    if (end == std::string::npos) return std::vector{text};
    const auto put = referred(text.substr(begin + 2, end - begin - 3), key, hops);
    if (!put) return std::nullopt;
    if (begin == 0 && end == text.size()) return put;
    if (put->size() != 1) return fail(fmt::format("{} is no single value", text));
    const std::string whole = text.substr(0, begin) + put->front() + text.substr(end);
    if (whole.size() > kLongestWord) return fail("it becomes too long");
    return words_of_text(whole, key, hops + 1);
  }

  Words referred(const std::string& inside, const std::string& key, int hops) {
    const std::size_t colon = inside.find(':');
    if (colon != std::string::npos && inside.substr(0, colon).find('{') == std::string::npos) {
      return resolved(without_outer_spaces(inside.substr(0, colon)), inside.substr(colon + 1), key,
                      hops);
    }
    const auto name_words = words_of_text(without_outer_spaces(inside), key, hops + 1);
    if (!name_words || name_words->size() != 1) return std::nullopt;
    return value_named(name_words->front(), key, hops);
  }

  Words value_named(const std::string& typed, const std::string& key, int hops) {
    const std::string name = absolute(typed, key);
    const Value* named = values_.find(name);
    if (named == nullptr) named = values_.find("variables." + name);
    if (named == nullptr) {
      const auto stated = variables_.find(name);
      if (stated != variables_.end()) return std::vector{stated->second};
      return fail(fmt::format("the file has no {}", typed));
    }
    const Value copy = *named;
    std::vector<std::string> words;
    for (const std::string& word : copy.words) {
      const auto put = words_of_text(word, copy.key, hops + 1);
      if (!put) return std::nullopt;
      words.insert(words.end(), put->begin(), put->end());
    }
    return words;
  }

  Words resolved(const std::string& resolver, const std::string& text, const std::string& key,
                 int hops) {
    std::vector<std::string> arguments;
    for (const std::string& each : arguments_of(text)) {
      arguments.push_back(without_outer_spaces(each));
    }
    if (resolver == "oc.env") return of_environment(arguments, key, hops);
    if (resolver == "oc.select") {
      const auto there = value_named(arguments.front(), key, hops);
      if (there || arguments.size() < 2) return there;
      why_.clear();
      return words_of_text(arguments[1], key, hops + 1);
    }
    if (resolver == "oc.decode") return words_of_text(text, key, hops + 1);
    const Arithmetic what = arithmetic_of(resolver);
    if (what == Arithmetic::none) {
      return fail(fmt::format("the resolver {} of OmegaConf is not run", resolver));
    }
    std::optional<double> result;
    for (const std::string& argument : arguments) {
      const auto words = words_of_text(argument, key, hops + 1);
      if (!words) return std::nullopt;
      const auto number = words->size() == 1 ? resolved_number(words->front()) : std::nullopt;
      if (!number) return fail(fmt::format("{} of {} is no number", argument, resolver));
      result = result ? computed(what, *result, *number) : number;
      if (!result) return fail("it divides by zero");
    }
    return std::vector{text_of_number(*result)};
  }

  Words of_environment(const std::vector<std::string>& arguments, const std::string& key,
                       int hops) {
    const auto stated = variables_.find(arguments.front());
    if (stated != variables_.end()) return std::vector{stated->second};
    if (arguments.size() > 1) return words_of_text(arguments[1], key, hops + 1);
    return fail(fmt::format("the environment's {} is not known", arguments.front()));
  }

  Values& values_;
  const std::map<std::string, std::string>& variables_;
  std::string why_;
  int steps_ = 0;
};

}  // namespace

Values with_references(Values values, const std::map<std::string, std::string>& variables) {
  Values out;
  References references(values, variables);
  const std::vector<Value> all = values.all();  // find() marks what it finds as used
  for (Value value : all) {
    const bool refers =
        std::any_of(value.words.begin(), value.words.end(),
                    [](const std::string& word) { return word.find("${") != std::string::npos; });
    if (refers) {
      const auto words = references.words_of(value);
      if (words) value.words = *words;
      if (!words) value.unknown = references.why();
    }
    value.used = false;
    out.add(std::move(value));
  }
  return out;
}

}  // namespace meshwright::interop
