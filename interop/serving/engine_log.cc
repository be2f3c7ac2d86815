// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/engine_log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// The whole number at the begin of a text, commas inside it left out; 0: there is none.
double grouped_number_at(std::string_view text) {
  double number = 0;
  for (const char c : text) {
    if (c == ',' || (c == ' ' && number == 0)) continue;
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 || number > 1e12) break;
    number = number * 10 + (c - '0');
  }
  return number;
}

// "8,192 tokens per request: 51.21x" as 8,192 x 51.21; 0: it is not.
double tokens_of_concurrency(std::string_view words) {
  constexpr std::string_view kColon = "tokens per request:";
  const std::size_t at = words.find(kColon);
  if (at == std::string_view::npos) return 0;
  std::string_view times = words.substr(at + kColon.size());
  times.remove_prefix(std::min(times.find_first_not_of(' '), times.size()));
  double concurrency = 0;
  const auto [end, error] = std::from_chars(times.data(), times.data() + times.size(), concurrency);
  const bool good = error == std::errc() && std::isfinite(concurrency) && concurrency > 0;
  return good ? grouped_number_at(words.substr(0, at)) * concurrency : 0;
}

}  // namespace

std::optional<double> kv_tokens_in_log(std::string_view log, int block_size) {
  constexpr std::array<std::string_view, 3> kTokens{
      "GPU KV cache size:", "max_total_num_tokens=", "max tokens in paged KV cache:"};
  constexpr std::string_view kBlocks = "# GPU blocks:";
  constexpr std::string_view kConcurrency = "Maximum concurrency for ";
  std::optional<double> found, of_concurrency;
  for (const std::string& line : split_lines(log)) {
    const auto behind = [&](std::string_view words) -> double {
      const std::size_t at = line.find(words);
      return at == std::string::npos
                 ? 0
                 : grouped_number_at(std::string_view(line).substr(at + words.size()));
    };
    for (const std::string_view words : kTokens) {
      if (const double tokens = behind(words); tokens > 0) found = tokens;
    }
    if (const double blocks = behind(kBlocks); blocks > 0) found = blocks * block_size;
    if (const std::size_t at = line.find(kConcurrency); at != std::string::npos) {
      const double tokens =
          tokens_of_concurrency(std::string_view(line).substr(at + kConcurrency.size()));
      if (tokens > 0) of_concurrency = tokens;
    }
  }
  return found ? found : of_concurrency;
}

}  // namespace meshwright::interop
