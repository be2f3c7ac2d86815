// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_header.h"

namespace meshwright::interop {

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
    for (const char* variable : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) {
      MarkedText text;
      for (const char c : value) text.add(c, comment.line());
      state.variables[variable] = {{text}};
    }
  }
}

}  // namespace meshwright::interop
