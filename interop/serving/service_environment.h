// SPDX-License-Identifier: Apache-2.0
// Variables in the environment of an engine's process: those of the engine, and those of NCCL, CUDA
// and PyTorch that change how fast its steps are. Sources: vLLM envs.py, SGLang environ.py, and
// those of interop/read_launch/environment.h.
#pragma once

#include <string>

#include "interop/serving/serving_launch.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

// Adds a variable to what was passed over, assumed or not understood. Other variables than those
// above are left alone.
void note_variable(const std::string& name, const std::string& value, const Place& place,
                   ServingLaunch& launch);

// "NAME=VALUE" of `env`, and of docker's -e and --env. Other words are left alone.
void note_assignment(std::string word, const Place& place, ServingLaunch& launch);
// The lines NAME=VALUE of docker's --env-file; a file that is not there is listed as assumed.
void note_variable_file(const std::string& name, const Place& place, const ReadNamedFile& read,
                        ServingLaunch& launch);

// Variables of messages between GPUs change nothing where every replica is one GPU.
void pass_over_messages_of_one_gpu(ServingLaunch& launch);

// "0,1,3" -> 3; "all", an unknown list, or nothing -> 0.
int num_visible_devices(const std::string& list);

}  // namespace meshwright::interop
