// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "interop/read_launch/document.h"

namespace meshwright::interop {
namespace {

constexpr int kMostHops = 10;

// The name inside ${...}, or "".
std::string referred(const Value& value) {
  if (value.words.size() != 1) return "";
  const std::string& word = value.words.front();
  if (!word.starts_with("${") || !word.ends_with("}")) return "";
  return word.substr(2, word.size() - 3);
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

const Value* named_by(Values& values, const Value& from) {
  const std::string name = absolute(referred(from), from.key);
  const Value* named = values.find(name);
  return named != nullptr ? named : values.find("variables." + name);
}

}  // namespace

Values with_references(Values values) {
  Values out;
  for (Value value : values.all()) {
    const Value* at = &value;
    for (int hop = 0; hop < kMostHops && at != nullptr && !referred(*at).empty(); ++hop) {
      at = named_by(values, *at);
    }
    if (at == nullptr || !referred(*at).empty()) {
      const bool resolver = referred(value).find(':') != std::string::npos;
      value.unknown = resolver ? "resolvers of OmegaConf are not run"
                               : fmt::format("the file has no {}", referred(value));
    } else {
      value.words = at->words;
    }
    value.used = false;
    out.add(std::move(value));
  }
  return out;
}

}  // namespace meshwright::interop
