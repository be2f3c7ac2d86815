// SPDX-License-Identifier: Apache-2.0
// Launches of Hugging Face's Trainer: a command whose options say the batch, and a file of
// DeepSpeed or accelerate that says the sharding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "interop/read_launch/launch_reading.h"

namespace meshwright::interop {

// Reads a DeepSpeed JSON and an accelerate YAML; known keys are marked as read.
void read_deepspeed_json(LaunchReading& reading);
void read_accelerate_yaml(LaunchReading& reading);
void read_accelerate_precision(LaunchReading& reading);
// Devices and sizes of accelerate, where a file of DeepSpeed that it names was read before.
void read_accelerate_beside_deepspeed(LaunchReading& reading);

// FSDP's sharding strategies by name, in any case, or by number ("FULL_SHARD", "1").
struct FsdpStrategy {
  int zero_stage = 3;
  bool hybrid = false;  // shares inside a node; its copies are the nodes
};
// Nothing: it is none that is known here.
std::optional<FsdpStrategy> fsdp_strategy(std::string_view word);

// The sequence length that the user names beside the launch. Throws InputError where nobody says
// one.
void set_sequence_beside(LaunchRecord& record, const LaunchHints& hints, const std::string& file);
// One sequence a rank, where neither file nor command says the batch. `why`: "the file says auto".
void assume_batch(LaunchRecord& record, const std::string& why);
void assume_recompute(LaunchReading& reading, bool on, const std::string& why);

}  // namespace meshwright::interop
