// SPDX-License-Identifier: Apache-2.0
// LoRA of all launchers: rank and adapted linears, in the names of Megatron-Bridge, NeMo 1,
// ms-swift and Hugging Face PEFT.
#pragma once

#include <string>

#include "interop/read_launch/launch_reading.h"

namespace meshwright::interop {

// Throws InputError at a name that no linear of sim/base/numerics.h has.
LoraModules lora_modules_of(const Value& modules);

struct LoraKeys {
  const char *rank, *modules;
};
// Sets the job's adapters from two keys. What nobody says is as `otherwise` has it, and is listed
// among the assumptions for `why`: "ms-swift's default".
struct LoraDefaults {
  int rank = 32;
  LoraModules modules;
  std::string why;
};
void read_lora(LaunchReading& reading, const LoraKeys& keys, const LoraDefaults& otherwise);

inline constexpr LoraModules kAllLoraLinears{kLoraQkv | kLoraProj | kLoraFc1 | kLoraFc2};

// Another scheme of adapters than LoRA, by its name.
[[noreturn]] void refuse_adapters(const Value& scheme);

}  // namespace meshwright::interop
