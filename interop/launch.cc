// SPDX-License-Identifier: Apache-2.0
#include "interop/launch.h"

namespace meshwright::interop {

std::vector<LaunchFile> launches(const Training& training) {
  return {megatron_lm(training), torchtitan(training), deepspeed(training)};
}

}  // namespace meshwright::interop
