// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/launch.h"

#include "interop/write_launch/megatron_bridge.h"

namespace meshwright::interop {

std::vector<LaunchFile> launches(const Training& training) {
  return {megatron_lm(training), torchtitan(training), deepspeed(training), nanotron(training),
          megatron_bridge(training)};
}

}  // namespace meshwright::interop
