// SPDX-License-Identifier: Apache-2.0
// The launch command of a script as values, and what its launcher (torchrun, srun, deepspeed,
// accelerate) says of nodes and devices.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/values.h"
#include "interop/shell/shell_script.h"

namespace meshwright::interop {

// Returns the inputs with which a script is read.
ShellInputs shell_inputs(const LaunchHints& hints, const ReadNamedFile& read);

// Returns the command with the most options of a program; nullptr: none has any. `is_option` tells
// whether a word such as "--num-layers" is one. Options of other commands are listed in the record.
const ShellCommand* launch_command(const ShellScript& script,
                                   const std::function<bool(std::string_view)>& is_option,
                                   const std::string& file, LaunchRecord& record);

// Words behind the program's name (script.py, or -m module); all of them where there is none.
std::size_t first_program_word(const ShellCommand& command);

// Number of words that an option takes; 0: it is a switch.
using MostWords = std::function<std::size_t(std::string_view name)>;

// Every "--name", "--name=value" and the words behind it, as typed, from `first` on. A variable
// that is not known, behind all that an option takes ("--bf16 $EXTRA_ARGS", "--lr 1e-4 $@"), is a
// value of its own, whose key it is.
std::vector<Value> options_of(const ShellCommand& command, std::size_t first,
                              const ShellScript& script, const std::string& file,
                              const MostWords& most_words = {});

// Tells whether a word is the name of a YAML, TOML or JSON file.
bool names_configuration(std::string_view word);
// Lists the words of nothing known ("$EXTRA_ARGS", "$@") of a command that starts no Python
// program, such as "trl sft ...": they may hold options.
void list_unknown_words(const ShellCommand& command, const ShellScript& script,
                        const std::string& file, LaunchRecord& record);
// Lists the options and NAME=VALUE words behind the program as not read, but for names of files.
void list_options_of_command(const ShellCommand& command, const ShellScript& script,
                             const std::string& file, LaunchRecord& record);

// Sets gpus and gpus_per_node from --nproc_per_node, --nnodes, --ntasks-per-node, --num_gpus and
// Slurm's header, where they are known.
void read_launcher(const ShellCommand& command, const ShellScript& script, const std::string& file,
                   LaunchRecord& record);

// Why a word is not known: the first variable in it and what became of it. Empty: it is known.
std::string why_unknown(const MarkedText& word, const ShellScript& script);

}  // namespace meshwright::interop
