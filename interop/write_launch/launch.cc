// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/launch.h"

namespace meshwright::interop {

std::vector<LaunchFile> launches(const Training& training) {
  return {megatron_lm(training), torchtitan(training), deepspeed(training),
          accelerate(training),  nanotron(training),   megatron_bridge(training),
          llm_foundry(training), sbatch(training)};
}

}  // namespace meshwright::interop
