// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_header.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace meshwright::interop {
namespace {

constexpr std::array kNodeVariables{"SLURM_NNODES", "SLURM_JOB_NUM_NODES"};

bool is_node_count(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "-N 4", "-N4", "--nodes=4", "--gpus-per-node h100:8" in front of `end`.
std::map<std::string, std::string> srun_options(const std::vector<MarkedText>& words,
                                                std::size_t end) {
  std::map<std::string, std::string> options;
  for (std::size_t i = 1; i < end; ++i) {
    std::string name = words[i].text();
    std::string value;
    const std::size_t equals = name.find('=');
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (name.starts_with("-N") && is_node_count(name.substr(2))) {
      value = name.substr(2);
      name = "-N";
    } else if (i + 1 < end) {
      value = words[i + 1].text();
    }
    if (name == "-N") name = "--nodes";
    const bool counts = name == "--nodes" || name == "--gpus-per-node" || name == "--gres" ||
                        name == "--ntasks-per-node";
    if (counts && !words[i].unknown() && !value.empty()) options[name] = value;
  }
  return options;
}

// Options enough for a launch, where a step that prepares the nodes has few.
bool starts_launch(const ShellScript& script, std::size_t first) {
  constexpr std::ptrdiff_t kFew = 4;
  return std::any_of(script.commands.begin() + static_cast<std::ptrdiff_t>(first),
                     script.commands.end(), [&](const ShellCommand& command) {
                       return std::count_if(command.words.begin(), command.words.end(),
                                            [](const MarkedText& word) {
                                              return word.text().starts_with("--");
                                            }) > kFew;
                     });
}

}  // namespace

SrunOptions::SrunOptions(const std::vector<MarkedText>& words, std::size_t end, ShellState& state)
    : state_(state), commands_(state.script.commands.size()) {
  if (!state.live() || words.front().text() != "srun") return;
  options_ = srun_options(words, end);
  const auto nodes = options_.find("--nodes");
  if (nodes == options_.end() || !is_node_count(nodes->second)) return;
  for (const char* variable : kNodeVariables) {
    if (state_.given.contains(variable)) continue;
    before_[variable] = state_.variables[variable];
    state_.variables[variable] = {{MarkedText::on_line(nodes->second, words.front().line())}};
  }
}

SrunOptions::~SrunOptions() {
  for (auto& [name, value] : before_) {
    if (value.words.empty()) {
      state_.variables.erase(name);
    } else {
      state_.variables[name] = std::move(value);
    }
  }
  if (options_.empty() || !starts_launch(state_.script, commands_)) return;
  for (const auto& [name, value] : options_) state_.script.slurm.try_emplace(name, value);
}

void read_shell_header(const MarkedText& comment, ShellState& state) {
  if (!comment.text().starts_with("#SBATCH")) return;
  const std::vector<MarkedText> fields = comment.fields();
  for (std::size_t i = 1; i < fields.size() && fields[i].text().front() == '-'; ++i) {
    std::string name = fields[i].text();
    std::string value;
    const std::size_t equals = name.find('=');
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < fields.size() && fields[i + 1].text().front() != '-') {
      value = fields[++i].text();
    }
    if (name == "-N") name = "--nodes";
    state.script.slurm[name] = value;
    if (name != "--nodes") continue;
    for (const char* variable : kNodeVariables) {
      MarkedText text;
      for (const char c : value) text.add(c, comment.line());
      state.variables[variable] = {{text}};
    }
  }
}

}  // namespace meshwright::interop
