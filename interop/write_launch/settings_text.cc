// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/settings_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace meshwright::interop {
namespace {

std::string section_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

std::string first_part(const std::string& name) {
  const std::size_t dot = name.find('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

// Settings without a section first, then by sections as they first come.
template <typename Section>
void gather(std::vector<LaunchSetting>& settings, const Section& section) {
  std::vector<std::string> order{""};
  for (const LaunchSetting& s : settings) {
    const std::string name = section(s.name);
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  }
  const auto place = [&](const LaunchSetting& s) {
    return std::find(order.begin(), order.end(), section(s.name)) - order.begin();
  };
  std::stable_sort(settings.begin(), settings.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

bool is_number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end && !text.empty();
}

bool is_plain_word(const std::string& value) {
  return value == "true" || value == "false" || is_number(value) || value.starts_with("[");
}

// YAML 1.1 reads these as true and false.
bool is_yaml_word(const std::string& value) {
  constexpr std::array<std::string_view, 8> kTruths{"no", "yes", "on", "off", "n", "y", "null", ""};
  if (std::find(kTruths.begin(), kTruths.end(), value) != kTruths.end()) return false;
  return value.find_first_of(":#{}[]&*!|>'\"%@`,") == std::string::npos;
}

}  // namespace

std::string option_text(const std::string& name, const std::string& value) {
  const std::size_t dot = name.rfind('.') + 1;
  if (value == "true") return "--" + name;
  if (value == "false") return "--" + name.substr(0, dot) + "no-" + name.substr(dot);
  return fmt::format("--{} {}", name, value);
}

std::string document_word(LaunchTextKind kind, const std::string& value) {
  const bool yaml = kind == LaunchTextKind::yaml;
  if (is_plain_word(value) || (yaml && is_yaml_word(value))) return value;
  return yaml ? "'" + value + "'" : "\"" + value + "\"";
}

std::string yaml_text(std::vector<LaunchSetting> settings) {
  gather(settings, first_part);
  std::string text;
  std::vector<std::string> open;
  for (const LaunchSetting& setting : settings) {
    std::vector<std::string> path;
    std::string rest = setting.name;
    for (std::size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
      path.push_back(rest.substr(0, dot));
      rest = rest.substr(dot + 1);
    }
    std::size_t same = 0;
    while (same < std::min(path.size(), open.size()) && path[same] == open[same]) ++same;
    for (std::size_t i = same; i < path.size(); ++i) {
      text += fmt::format("{}{}:\n", std::string(2 * i, ' '), path[i]);
    }
    open = path;
    text += fmt::format("{}{}: {}\n", std::string(2 * path.size(), ' '), rest,
                        document_word(LaunchTextKind::yaml, setting.value));
  }
  return text;
}

std::string toml_text(std::vector<LaunchSetting> settings) {
  gather(settings, section_of);
  std::string text;
  std::string section;
  for (const LaunchSetting& setting : settings) {
    if (const std::string mine = section_of(setting.name); mine != section) {
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", mine);
      section = mine;
    }
    const std::string name = setting.name.substr(section.empty() ? 0 : section.size() + 1);
    text += fmt::format("{} = {}\n", name, document_word(LaunchTextKind::toml, setting.value));
  }
  return text;
}

}  // namespace meshwright::interop
