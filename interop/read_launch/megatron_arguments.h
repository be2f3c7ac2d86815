// SPDX-License-Identifier: Apache-2.0
// The arguments of Megatron-LM: name, the key under which Python and the argument block of a log
// have it, how many words follow, and what it means here.
//
// Source: NVIDIA/Megatron-LM megatron/training/arguments.py at commit 000c4ac2; rows marked `later`
// are in d98e8a6 (2026-08-22) and not there, rows marked `earlier` are of v2.5 (2021) or of
// Megatron-DeepSpeed (bigscience-workshop, tag of BLOOM's training).
#pragma once

#include <cstdint>
#include <string_view>

namespace meshwright::interop {

enum class ArgumentKind : std::uint8_t { on, off, one, many };  // off: a switch that clears its key
enum class ArgumentMeaning : std::uint8_t {
  read,       // model, job or layout follow from it
  harmless,   // no cost hangs on it: data, learning rate, logging, checkpoints
  unmodelled  // it changes cost or memory, and no record here can say so
};
enum class ArgumentAge : std::uint8_t { now, later, earlier };

struct MegatronArgument {
  std::string_view flag;
  std::string_view key;  // argparse's dest
  ArgumentKind kind = ArgumentKind::one;
  ArgumentMeaning meaning = ArgumentMeaning::read;
  ArgumentAge age = ArgumentAge::now;
};

// nullptr: not in the list.
const MegatronArgument* megatron_argument(std::string_view flag);
// A row whose key is this, or nullptr.
const MegatronArgument* megatron_argument_of_key(std::string_view key);

}  // namespace meshwright::interop
