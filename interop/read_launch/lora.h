// SPDX-License-Identifier: Apache-2.0
// LoRA of all launchers: rank and adapted linears, in the names of Megatron-Bridge, NeMo 1,
// ms-swift and Hugging Face PEFT.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_launch/launch_reading.h"

namespace meshwright::interop {

// One linear by any launcher's name, as it stands or behind "model.layers.*.mlp."; 0: none is
// known.
unsigned lora_linear(std::string_view name);
// Hugging Face PEFT's seven adapters of a layer: one for each product.
inline constexpr unsigned kAllPeftLinears =
    kLoraQ | kLoraK | kLoraV | kLoraProj | kLoraFc1Gate | kLoraFc1Up | kLoraFc2;
// "linear_qkv+linear_proj".
std::string lora_text(const LoraModules& modules);
// Throws InputError at a name that no linear of sim/base/numerics.h has.
LoraModules lora_modules_of(const Value& modules);

struct LoraKeys {
  const char *rank, *modules;
};
// Sets the job's adapters from two keys. Missing values are those of `otherwise`, and are listed
// among the assumptions with the reason `why`: "ms-swift's default".
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
