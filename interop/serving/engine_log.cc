// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/engine_log.h"

#include <array>
#include <cctype>
#include <string>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// The whole number at the begin of a text, commas inside it left out; 0: there is none.
double number_at(std::string_view text) {
  double number = 0;
  for (const char c : text) {
    if (c == ',' || (c == ' ' && number == 0)) continue;
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 || number > 1e12) break;
    number = number * 10 + (c - '0');
  }
  return number;
}

}  // namespace

std::optional<double> kv_tokens_in_log(std::string_view log, int block_size) {
  constexpr std::array<std::string_view, 3> kTokens{
      "GPU KV cache size:", "max_total_num_tokens=", "max tokens in paged KV cache:"};
  constexpr std::string_view kBlocks = "# GPU blocks:";
  std::optional<double> found;
  for (const std::string& line : split_lines(log)) {
    const auto behind = [&](std::string_view words) -> double {
      const std::size_t at = line.find(words);
      return at == std::string::npos ? 0
                                     : number_at(std::string_view(line).substr(at + words.size()));
    };
    for (const std::string_view words : kTokens) {
      if (const double tokens = behind(words); tokens > 0) found = tokens;
    }
    if (const double blocks = behind(kBlocks); blocks > 0) found = blocks * block_size;
  }
  return found;
}

}  // namespace meshwright::interop
