// SPDX-License-Identifier: Apache-2.0
// Variables in the environment of an engine's process: those of the engine, and those of NCCL, CUDA
// and PyTorch that change how fast its steps are. Sources: vLLM envs.py, SGLang environ.py, and
// those of interop/read_launch/environment.h.
#pragma once

#include <string>
#include <vector>

#include "interop/read_launch/values.h"
#include "interop/serving/serving_launch.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

// The variable of "NAME=VALUE", as `env` and docker's -e and --env say it, its name as the key;
// without words: it is none.
Value assignment_of(std::string word, const Place& place);
// Those of docker's --env-file; a file that is not there is listed as assumed.
std::vector<Value> variables_of_file(const std::string& name, const Place& place,
                                     const ReadNamedFile& read, ServingLaunch& launch);

// Options that variables state: VLLM_ALL2ALL_BACKEND, those of Dynamo's workers (DYN_VLLM_...) and
// of a NIM (NIM_...).
std::vector<Value> options_of_environment(EngineKind engine, const std::vector<Value>& environment);
// Adds the other variables to what was passed over, assumed or not understood; those that no engine
// or library reads are left alone.
void note_environment(const std::vector<Value>& environment, ServingLaunch& launch);

// Variables of messages between GPUs change nothing where every replica is one GPU.
void pass_over_messages_of_one_gpu(ServingLaunch& launch);

// "0,1,3" -> 3; "all", an unknown list, or nothing -> 0.
int num_visible_devices(const std::string& list);

}  // namespace meshwright::interop
