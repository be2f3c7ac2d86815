// SPDX-License-Identifier: Apache-2.0
// One container of a manifest: its image, words, variables and GPUs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "interop/read_launch/values.h"
#include "interop/serving/serving_launch.h"
#include "interop/shell/marked_text.h"
#include "interop/shell/shell_script.h"

namespace meshwright::interop {

// The value of a key that is one word; else empty.
std::string one_word(Values& values, const std::string& key);

// What the operator of a format adds to a container.
struct OperatedContainer {
  std::string program;         // where the container names none; empty: that of its image
  std::string model;           // mounted where the engine's command names a folder of the operator
  std::vector<Value> options;  // weaker than the container's words
  std::vector<std::string> words;
  int gpus = 0;  // of the deployment, where the container does not state them
};

class ContainerReading {
 public:
  ContainerReading(Values& values, std::string prefix, const ShellInputs& inputs)
      : values_(values), prefix_(std::move(prefix)), inputs_(inputs) {}

  // Returns whether the container starts an engine.
  bool read(LaunchedPool base, const OperatedContainer& by, ServingLaunch& launch);

 private:
  std::string word(const std::string& key);
  std::string image();
  std::vector<std::string> list(const char* key);
  std::vector<std::string> words_of(const OperatedContainer& by, const std::string& image);
  int gpus();
  void read_environment(int nodes, ServingLaunch& launch);
  void add_variable(const std::string& name, const Value* value, const Place& place);
  [[nodiscard]] std::string with_environment(std::string text) const;
  [[nodiscard]] MarkedText marked(const std::string& word, ShellScript& script) const;

  Values& values_;
  std::string prefix_, file_;
  const ShellInputs& inputs_;
  std::map<std::string, std::string> known_;  // variables that are stated
  std::vector<Value> environment_;
  int line_ = 1;
};

}  // namespace meshwright::interop
