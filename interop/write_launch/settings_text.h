// SPDX-License-Identifier: Apache-2.0
// Settings with dotted names, put together and written as a file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interop/read_launch/launch_text.h"
#include "interop/write_launch/launch.h"

namespace meshwright::interop {

class SettingsList {
 public:
  void set(std::string name, int value) { add(std::move(name), std::to_string(value)); }
  void set(std::string name, bool value) { add(std::move(name), value ? "true" : "false"); }
  void set(std::string name, std::string_view value) { add(std::move(name), std::string(value)); }
  void set(std::string name, const char* value) { set(std::move(name), std::string_view(value)); }
  void set_if(bool said, std::string name, auto value) {
    if (said) set(std::move(name), value);
  }
  std::vector<LaunchSetting> take() { return std::move(settings_); }

 private:
  void add(std::string name, std::string value) {
    settings_.push_back({std::move(name), std::move(value)});
  }
  std::vector<LaunchSetting> settings_;
};

// Sections in the order in which they first come, each once; words are quoted where the format
// would read them as something else.
std::string yaml_text(std::vector<LaunchSetting> settings);
std::string toml_text(std::vector<LaunchSetting> settings);
// Words of a command's option: "--a.b 2", "--a.b" where it is true, "--a.no-b" where it is false.
std::string option_text(const std::string& name, const std::string& value);
// One value as these formats write it.
std::string document_word(LaunchTextKind kind, const std::string& value);

}  // namespace meshwright::interop
