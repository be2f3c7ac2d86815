// SPDX-License-Identifier: Apache-2.0
// The commands of a shell script with the variables that the script itself sets put in. Nothing is
// run: what a command prints, the environment, positional parameters and variables that are set
// under a condition are unknown, and stay in the text as they were typed.
//
// Understood: quotes, line continuations, comments, variables, arrays, $((arithmetic)), defaults
// (${NAME:-8}), here-documents, `bash -c "..."`, and Slurm's header, which sets SLURM_NNODES.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/marked_text.h"

namespace meshwright::interop {

struct ShellCommand {
  std::vector<MarkedText> words;
};

struct HereDocument {
  MarkedText file;  // that it is written to; empty: none is named
  MarkedText text;
};

// ${NAME:-8}: taken, though the environment may say otherwise.
struct TakenDefault {
  std::string name, value;
  int line = 0;
};

// ARGS+=(--bf16) under a condition: left out of ARGS, for nothing decides it.
struct LeftOutOptions {
  std::string words;
  int line = 0;
};

struct ShellScript {
  std::vector<ShellCommand> commands;
  std::vector<HereDocument> here_documents;
  std::vector<TakenDefault> taken_defaults;
  std::vector<LeftOutOptions> left_out;
  std::map<std::string, std::string> slurm;        // of "#SBATCH --nodes=48"
  std::map<std::string, MarkedText> exported;      // with `export`, or before a command
  std::map<std::string, std::string> why_unknown;  // by variable
};

// `known`: variables that the user named beside the script. Throws InputError with file and line: a
// quote or bracket that is never closed, more than 4 MiB after expansion, nesting deeper than 20.
ShellScript read_shell_script(std::string_view text, const std::string& file,
                              const std::map<std::string, std::string>& known = {});

}  // namespace meshwright::interop
