// SPDX-License-Identifier: Apache-2.0
// A layout as overrides of a Megatron-Bridge recipe.
#pragma once

#include <string>
#include <vector>

#include "interop/write_launch/launch.h"

namespace meshwright::interop {

LaunchFile megatron_bridge(const Training& training);
// The settings, whatever the model is, and why it cannot run a layout.
std::vector<LaunchSetting> megatron_bridge_layout_settings(const Training& training);
std::string megatron_bridge_layout_refusal(const Layout& layout);

}  // namespace meshwright::interop
