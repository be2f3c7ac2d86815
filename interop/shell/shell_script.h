// SPDX-License-Identifier: Apache-2.0
// Reads the commands of a shell script, with the variables that the script sets put in. Nothing is
// run. The output of commands, the environment and files are unknown. So are positional parameters
// and sourced files, unless they are given, and variables that are set under a condition whose
// result is unknown. An unknown piece stays in the text as it was typed.
//
// Understood: quotes, line continuations, comments, variables, arrays, $((arithmetic)), defaults
// (${NAME:-8}), if, case, for over known words, [ ], [[ ]], (( )), && and ||, here-documents,
// `source`, `bash -c "..."`, and Slurm's header, which sets SLURM_NNODES.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interop/shell/marked_text.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

struct ShellCommand {
  std::vector<MarkedText> words;
  std::map<std::string, MarkedText> variables{};  // that stand in front of it
  bool operator==(const ShellCommand&) const = default;
};

struct HereDocument {
  MarkedText file;  // that it is written to; empty: none is named
  MarkedText text;
};

// ${NAME:-8}: taken, though the environment may say otherwise.
struct TakenDefault {
  std::string name, value;
  int line = 0;  // line of the script, from 1
};

// Words that a variable would gain under a condition whose result is unknown: ARGS+=(--bf16),
// CMD="$CMD --profile". The variable keeps its old value.
struct LeftOutOptions {
  std::string words;
  int line = 0;
  std::string why;  // "WANDB_API_KEY: the file does not set it"
};

// A file that the script sources and that could not be read.
struct NotSourced {
  std::string name;
  int line = 0;
};

struct ShellScript {
  std::vector<ShellCommand> commands;
  std::vector<HereDocument> here_documents;
  std::vector<TakenDefault> taken_defaults;
  std::vector<LeftOutOptions> left_out;
  std::vector<NotSourced> not_sourced;
  std::map<std::string, std::string> slurm;        // of "#SBATCH --nodes=48"
  std::map<std::string, MarkedText> exported;      // with `export`, or before a command
  std::map<std::string, std::string> why_unknown;  // by variable
};

// Values that the user states next to the script.
struct ShellInputs {
  std::map<std::string, std::string> variables{};       // "1" is the first argument
  std::optional<std::vector<std::string>> arguments{};  // nothing: they are unknown
  ReadNamedFile read{};                                 // of files that the script sources
};

// Throws InputError with file and line: a quote or bracket that is never closed, more than 4 MiB
// after expansion, nesting deeper than 20.
ShellScript read_shell_script(std::string_view text, const std::string& file,
                              const ShellInputs& inputs);
ShellScript read_shell_script(std::string_view text, const std::string& file,
                              const std::map<std::string, std::string>& variables = {});

}  // namespace meshwright::interop
