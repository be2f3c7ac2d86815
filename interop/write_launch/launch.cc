// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/launch.h"

#include <algorithm>
#include <array>

namespace meshwright::interop {

std::vector<LaunchFile> launches(const Training& training) {
  std::vector<LaunchFile> files{
      megatron_lm(training), torchtitan(training),      deepspeed(training),   accelerate(training),
      nanotron(training),    megatron_bridge(training), llm_foundry(training), sbatch(training)};
  if (!freezes_weights(training.scenario.job)) return files;
  // The other files leave the model to a recipe or a program, which has the adapters.
  constexpr std::array<std::string_view, 4> kWithoutAdapters{"Megatron-LM", "torchtitan",
                                                             "nanotron", "llm-foundry"};
  for (LaunchFile& file : files) {
    const bool without = std::find(kWithoutAdapters.begin(), kWithoutAdapters.end(), file.target) !=
                         kWithoutAdapters.end();
    if (!without) continue;
    file.text.clear();
    file.notes.clear();
    file.refusal = "it has no word for LoRA";
  }
  return files;
}

}  // namespace meshwright::interop
