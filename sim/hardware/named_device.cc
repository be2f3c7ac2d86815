// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/named_device.h"

#include <algorithm>
#include <cctype>

#include "sim/base/text.h"

namespace meshwright {
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

// Tells whether the text is a form that vendors append to a chip's name, as in "h100sxm5".
bool is_form(const std::string& rest) {
  return rest.empty() || rest.starts_with("sxm") || rest.starts_with("pcie") || rest == "nvl" ||
         rest == "oam";
}

// "h100" and "h100sxm" name the chip "h100"; "rtx4090" names "4090".
bool word_is_chip(const std::string& word, const std::string& chip) {
  if (word.starts_with(chip)) return is_form(word.substr(chip.size()));
  return is_digit(chip.front()) && word.ends_with(chip) && !is_digit(word.front());
}

enum class Form { unknown, sxm, pcie, nvl };

// HBM3 is said of the H100 of the SXM form alone: "NVIDIA H100 80GB HBM3".
Form form_in(const std::string& name) {
  for (const std::string& word : name_words(name)) {
    if (contains(word, "sxm") || word == "hbm3") return Form::sxm;
    if (word.ends_with("pcie")) return Form::pcie;
    if (word == "nvl") return Form::nvl;
  }
  return Form::unknown;
}

// Cards whose number is another generation's, too: RTX 6000 Ada and RTX PRO 6000.
bool same_line(const std::string& named, const std::string& device, const std::string& chip) {
  if (!is_digit(chip.front())) return true;
  const auto has = [](const std::string& name, const char* line) {
    const std::vector<std::string> words = name_words(name);
    return std::find(words.begin(), words.end(), line) != words.end();
  };
  return has(named, "ada") == has(device, "ada") && has(named, "pro") == has(device, "pro");
}

struct Capability {
  const char* chip;
  int capability;
};
// NVIDIA's list, developer.nvidia.com/cuda-gpus.
constexpr Capability kCapabilities[] = {
    {"v100", 70},  {"t4", 75},     {"a100", 80},  {"a800", 80},   {"a30", 80},   {"a40", 86},
    {"a10", 86},   {"3090", 86},   {"l4", 89},    {"l40", 89},    {"l40s", 89},  {"l20", 89},
    {"4090", 89},  {"h100", 90},   {"h200", 90},  {"h800", 90},   {"h20", 90},   {"gh200", 90},
    {"b200", 100}, {"gb200", 100}, {"b300", 103}, {"gb300", 103}, {"5090", 120}, {"gb10", 121}};

}  // namespace

bool may_be_device(const std::string& named, const Device& device) {
  const std::vector<std::string> chips = chip_words(device.name);
  const std::vector<std::string> words = name_words(named);
  const Form said = form_in(named), mine = form_in(device.name);
  if (said != Form::unknown && mine != Form::unknown && said != mine) return false;
  return chips.empty() || std::any_of(chips.begin(), chips.end(), [&](const std::string& chip) {
           return same_line(named, device.name, chip) &&
                  std::any_of(words.begin(), words.end(),
                              [&](const std::string& word) { return word_is_chip(word, chip); });
         });
}

bool names_a_chip(const std::string& named) { return !chip_words(named).empty(); }

bool names_a_slice(const std::string& named) {
  const std::string text = lower_case(named);
  for (std::size_t at = text.find("g."); at != std::string::npos; at = text.find("g.", at + 1)) {
    std::size_t end = at + 2;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (at > 0 && is_digit(text[at - 1]) && end > at + 2 && text.compare(end, 2, "gb") == 0) {
      return true;
    }
  }
  return false;
}

std::string other_device(const std::vector<std::string>& names, const Device& device) {
  const auto other = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return !may_be_device(name, device);
  });
  return other == names.end() ? "" : *other;
}

std::optional<int> compute_capability(const Device& device) {
  const std::vector<std::string> chips = chip_words(device.name);
  for (const Capability& known : kCapabilities) {
    if (std::find(chips.begin(), chips.end(), known.chip) != chips.end()) return known.capability;
  }
  return std::nullopt;
}

}  // namespace meshwright
