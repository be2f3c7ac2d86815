// SPDX-License-Identifier: Apache-2.0
// The arguments of Megatron-LM: name, the key under which Python and the argument block of a log
// have it, how many words follow, and whether it is read. Those that are not are words of
// configs/launchers/megatron-lm.json.
//
// Source: NVIDIA/Megatron-LM megatron/training/arguments.py at commit 000c4ac2; rows marked `later`
// are in d98e8a6 (2026-08-22) and not there, rows marked `earlier` are of v2.5 (2021) or of
// Megatron-DeepSpeed (bigscience-workshop, tag of BLOOM's training).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/launcher_words.h"

namespace meshwright::interop {

enum class ArgumentKind : std::uint8_t { on, off, one, many };  // off: a switch that clears its key
enum class ArgumentAge : std::uint8_t { now, later, earlier };

struct MegatronArgument {
  std::string_view flag{};
  std::string_view key{};  // argparse's dest
  ArgumentKind kind = ArgumentKind::one;
  const WordGroup* group = nullptr;  // that is not read; nullptr: model, job or layout follow
  ArgumentAge age = ArgumentAge::now;

  [[nodiscard]] bool is_of(WordClass word_class) const {
    return group != nullptr && group->word_class == word_class;
  }
};

// nullptr: not in the list.
const MegatronArgument* megatron_argument(std::string_view flag);
// A row whose key is this, or nullptr.
const MegatronArgument* megatron_argument_of_key(std::string_view key);
std::vector<std::string> megatron_flags();

}  // namespace meshwright::interop
