// SPDX-License-Identifier: Apache-2.0
// Slurm's options: those of the header, "#SBATCH --nodes=48", and those of srun in front of a
// script, "srun -N 48 bash -c '...'".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interop/shell/shell_state.h"

namespace meshwright::interop {

// Reads a comment that may be of the header. The node count becomes a variable too.
void read_shell_header(const MarkedText& comment, ShellState& state);

// While it lives, the node count of srun's words in front of `end` is a variable. Afterwards its
// options count as the header's where that has none, if the inner script started a launch.
class SrunOptions {
 public:
  SrunOptions(const std::vector<MarkedText>& words, std::size_t end, ShellState& state);
  ~SrunOptions();
  SrunOptions(const SrunOptions&) = delete;
  SrunOptions& operator=(const SrunOptions&) = delete;

 private:
  ShellState& state_;
  std::map<std::string, std::string> options_;
  std::map<std::string, ShellVariable> before_;
  std::size_t commands_;
};

}  // namespace meshwright::interop
