// SPDX-License-Identifier: Apache-2.0
#include "calibrate/imported/named_device.h"

#include <algorithm>
#include <cctype>

#include "sim/base/text.h"

namespace meshwright::calibrate {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Letters and digits that stand together, in lower case.
std::vector<std::string> name_words(const std::string& name) {
  std::string spaced = lower_case(name);
  for (char& c : spaced) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = ' ';
  }
  return split_words(spaced);
}

bool is_unit(const std::string& word) { return word == "gb" || word == "gib" || word == "w"; }

// "h100" of "NVIDIA H100 SXM5 96 GB, 500 W": words with a digit that are no socket and no amount.
std::vector<std::string> chip_words(const std::string& name) {
  std::vector<std::string> chips;
  const std::vector<std::string> words = name_words(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool amount = is_digit(word.front()) &&
                        (word.ends_with("gb") || (i + 1 < words.size() && is_unit(words[i + 1])));
    const bool socket = word.starts_with("sxm") || word.starts_with("hbm");
    if (!amount && !socket && std::any_of(word.begin(), word.end(), is_digit)) {
      chips.push_back(word);
    }
  }
  return chips;
}

}  // namespace

bool may_be_device(const std::string& named, const Device& device) {
  const std::vector<std::string> chips = chip_words(device.name);
  const std::vector<std::string> words = name_words(named);
  return chips.empty() || std::any_of(chips.begin(), chips.end(), [&](const std::string& chip) {
           return std::find(words.begin(), words.end(), chip) != words.end();
         });
}

std::string other_device(const std::vector<std::string>& names, const Device& device) {
  const auto other = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return !may_be_device(name, device);
  });
  return other == names.end() ? "" : *other;
}

}  // namespace meshwright::calibrate
