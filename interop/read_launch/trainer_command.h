// SPDX-License-Identifier: Apache-2.0
// The words of a command that fine-tunes with Hugging Face's Trainer.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "interop/read_launch/fine_tuning.h"
#include "interop/shell/shell_script.h"

namespace meshwright::interop {

// Tells whether a word of the command is one of the names, or a path that ends in it.
bool names_a_program(const ShellCommand& command, std::initializer_list<std::string_view> names);

// accelerate's file or options, which come before those of the program.
void read_accelerate_part(const ShellCommand& command, const ShellScript& script,
                          const FineTuningInputs& inputs, LaunchRecord& record);
// The options of the program, and before them those of the YAML that it names, in the Trainer's
// words.
Values options_of_program(const ShellCommand& command, const ShellScript& script, FineTuner tuner,
                          const FineTuningInputs& inputs);

// torchrun's counts, which LLaMA-Factory takes from the environment.
void read_environment_counts(const ShellScript& script, LaunchRecord& record);
// CUDA_VISIBLE_DEVICES and deepspeed's --include, where nothing else says how many devices work.
void read_visible_devices(const ShellCommand& command, const ShellScript& script,
                          const std::string& file, LaunchRecord& record);

}  // namespace meshwright::interop
