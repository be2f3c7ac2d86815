// SPDX-License-Identifier: Apache-2.0
// The parallel sizes under `model`, which NeMo and Megatron-Bridge name alike.
#pragma once

#include "interop/write_launch/settings_text.h"

namespace meshwright::interop {

void set_model_sizes(SettingsList& settings, const Training& training);

}  // namespace meshwright::interop
