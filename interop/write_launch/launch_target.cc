// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/launch_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

std::string any_model(const Training& /*training*/) { return ""; }

constexpr std::array kTargets{
    LaunchTarget{"Megatron-LM", "megatron-core-2026", "", megatron_model_refusal,
                 megatron_layout_refusal, megatron_layout_settings, megatron_lm},
    LaunchTarget{"Megatron-Bridge", "megatron-core-2026", "", any_model,
                 megatron_bridge_layout_refusal, megatron_bridge_layout_settings, megatron_bridge},
    LaunchTarget{"NeMo", "megatron-core-2025", "", any_model, nemo_layout_refusal,
                 nemo_layout_settings, nullptr},
    LaunchTarget{"Megatron-DeepSpeed", "megatron-deepspeed-2022", "", any_model,
                 megatron_deepspeed_layout_refusal, megatron_deepspeed_layout_settings, nullptr},
    LaunchTarget{"torchtitan", "torchtitan-2025", "", any_model, torchtitan_layout_refusal,
                 torchtitan_layout_settings, torchtitan},
    LaunchTarget{"DeepSpeed", "deepspeed-2025", "", any_model, deepspeed_layout_refusal,
                 deepspeed_layout_settings, deepspeed},
    LaunchTarget{"accelerate", "accelerate-2026",
                 "no runs of accelerate are known: its costs are as its code says", any_model,
                 accelerate_layout_refusal, accelerate_layout_settings, accelerate},
    LaunchTarget{"nanotron", "nanotron-2024", "", nanotron_model_refusal, nanotron_layout_refusal,
                 nanotron_layout_settings, nanotron},
    LaunchTarget{"llm-foundry", "pytorch-fsdp-2023", "", llm_foundry_model_refusal,
                 llm_foundry_layout_refusal, llm_foundry_layout_settings, llm_foundry}};

}  // namespace

std::span<const LaunchTarget> launch_targets() { return kTargets; }

const LaunchTarget* launch_target(std::string_view name) {
  // Their keys are Megatron-LM's.
  if (name == "Primus" || name == "ms-swift") name = "Megatron-LM";
  const auto* const found = std::find_if(kTargets.begin(), kTargets.end(), [&](const auto& target) {
    return same_letters(target.name, name);
  });
  return found == kTargets.end() ? nullptr : found;
}

std::string refusal_for(std::string_view target, const Training& training) {
  const LaunchTarget* known = launch_target(target);
  return known == nullptr ? fmt::format("nothing is written for {}", target)
                          : known->layout_refusal(training);
}

std::vector<LaunchSetting> settings_for(std::string_view target, const Training& training) {
  const LaunchTarget* known = launch_target(target);
  return known == nullptr ? std::vector<LaunchSetting>{} : known->settings(training);
}

}  // namespace meshwright::interop
