// SPDX-License-Identifier: Apache-2.0
// Arguments of Megatron-LM, under the keys that Python has them, as a model, a job and a layout,
// with its defaults and what arguments.py makes of them.
#pragma once

#include <string>

#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/megatron.h"

namespace meshwright::interop {

void read_megatron_fields(LaunchReading& reading, const LaunchHints& hints,
                          const std::string& file);

// Lists the arguments of a class that nobody asked for.
void list_megatron_words(LaunchReading& reading, WordClass word_class);
void read_megatron_model(LaunchReading& reading, const LaunchHints& hints, const std::string& file);
// `model`: read from the launch, or named beside it.
void read_megatron_layout(LaunchReading& reading, const Model& model);
// The layers of each chunk as `list` has them: "Et|(tt|)*30L". The pipeline size is read already.
void read_chunk_list(LaunchReading& reading, const Value& list);
// Numbers of the router, "fp32" or "bf16"; None is the activations'.
void read_router_dtype(LaunchReading& reading, const char* key);
// CUDA graphs; keys stand behind `section`: "", "model.".
void read_cuda_graphs(LaunchReading& reading, const std::string& section);
// Throws InputError at an option that Megatron-LM would refuse beside the others.
void check_megatron_asserts(LaunchReading& reading, const Model& model);
// Throws InputError at an option that asks for layers which no record here can say.
void refuse_unmodelled_layers(LaunchReading& reading);

}  // namespace meshwright::interop
