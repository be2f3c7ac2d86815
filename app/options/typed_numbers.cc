// SPDX-License-Identifier: Apache-2.0
#include "app/options/typed_numbers.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "app/console/terminal.h"
#include "sim/base/text.h"

namespace meshwright::app {
namespace {

struct Suffix {
  std::string_view word;
  double factor;
};
constexpr std::array kOfCounts{Suffix{"k", 1024.0}, Suffix{"m", 1024.0 * 1024.0}};
constexpr std::array kOfAmounts{Suffix{"k", 1e3},        Suffix{"m", 1e6},       Suffix{"b", 1e9},
                                Suffix{"g", 1e9},        Suffix{"bn", 1e9},      Suffix{"t", 1e12},
                                Suffix{"million", 1e6},  Suffix{"billion", 1e9}, Suffix{"tn", 1e12},
                                Suffix{"trillion", 1e12}};
constexpr std::array kOfRates{Suffix{"rps", 1.0}, Suffix{"qps", 1.0}, Suffix{"/s", 1.0},
                              Suffix{"req/s", 1.0}, Suffix{"requests/s", 1.0}};

template <typename Suffixes>
double factor_of(const Suffixes& suffixes, std::string_view word) {
  for (const Suffix& suffix : suffixes) {
    if (suffix.word == word) return suffix.factor;
  }
  return 0.0;
}

// The number behind the words; the text itself where it is none of these.
std::string plain_number(const std::string& typed, TypedNumber kind) {
  double value = 0.0;
  const auto [rest, error] = std::from_chars(typed.data(), typed.data() + typed.size(), value);
  if (error != std::errc()) return typed;
  std::string word = lower_case({rest, typed.data() + typed.size()});
  word.erase(0, word.find_first_not_of(' '));
  if (word.ends_with("tokens")) word = trimmed_right(word.substr(0, word.size() - 6));
  const double factor = kind == TypedNumber::count    ? factor_of(kOfCounts, word)
                        : kind == TypedNumber::amount ? factor_of(kOfAmounts, word)
                                                      : factor_of(kOfRates, word);
  const double number = value * factor;
  const bool whole = std::round(number) == number && std::abs(number) < 1e18;
  if (factor == 0.0 || (kind == TypedNumber::count && !whole)) return typed;
  return whole ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

// A batch of "4M" is one of tokens, and the option counts sequences.
std::string tokens_of_batch(const std::string& typed) {
  const std::string word = lower_case(typed);
  if (word.find_first_of("mbt") == std::string::npos) return "";
  return fmt::format(
      "counts sequences, not tokens (got \"{}\"); 4M tokens are 1024 sequences of 4096", typed);
}

}  // namespace

void take_typed_number(CLI::Option& option, TypedNumber kind) {
  const std::string name = option.get_name();
  const bool of_batch = name == "--global-batch-size";
  option.transform(CLI::Validator(
      [name, kind, of_batch](std::string& text) -> std::string {
        if (of_batch && !tokens_of_batch(text).empty()) return tokens_of_batch(text);
        const std::string number = plain_number(text, kind);
        if (number != text) say("{} {} is read as {}\n", name, text, number);
        text = number;
        return "";
      },
      ""));
}

}  // namespace meshwright::app
