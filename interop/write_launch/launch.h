// SPDX-License-Identifier: Apache-2.0
// Writes a layout in the options of the frameworks that would run it. A layout that a framework
// cannot express is refused with the reason, never approximated.
//
// Names are those of the frameworks' sources at the commit in `names_of`; nothing here was run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/launch_file.h"
#include "sim/layout/layout.h"
#include "sim/step/scenario.h"

namespace meshwright::interop {

struct Training {
  const Scenario& scenario;
  const Layout& layout;
};

// One thing that a launcher is told: "--tensor-model-parallel-size" and "8", "parallelism.tp" and
// "8"; an empty value is a switch that is on.
struct LaunchSetting {
  std::string name, value;
  bool operator==(const LaunchSetting&) const = default;
};

// Functions of each launcher. model_refusal: why it cannot run a model, for any layout.
// layout_refusal: why it cannot express a layout, for any model except its experts. Both are empty
// if it can. layout_settings: the options that a layout determines. The last one returns the file.
// A changed launch keeps its own model.
std::string megatron_model_refusal(const Training& training);
std::string megatron_layout_refusal(const Training& training);
std::vector<LaunchSetting> megatron_layout_settings(const Training& training);
LaunchFile megatron_lm(const Training& training);
// Hardware queues that a layout needs there (CUDA_DEVICE_MAX_CONNECTIONS, before Blackwell): one
// keeps a collective in front of the GEMM it overlaps with; FSDP, and tokens that travel beside
// compute, need several.
enum class QueueNeed : std::uint8_t { any, one, several };
QueueNeed megatron_queues(const Layout& layout);

std::string megatron_bridge_layout_refusal(const Training& training);
std::vector<LaunchSetting> megatron_bridge_layout_settings(const Training& training);
LaunchFile megatron_bridge(const Training& training);

// Nothing is written whole for NeMo's YAML and for BLOOM's software.
std::string nemo_layout_refusal(const Training& training);
std::vector<LaunchSetting> nemo_layout_settings(const Training& training);

std::string megatron_deepspeed_layout_refusal(const Training& training);
std::vector<LaunchSetting> megatron_deepspeed_layout_settings(const Training& training);

std::string torchtitan_layout_refusal(const Training& training);
std::vector<LaunchSetting> torchtitan_layout_settings(const Training& training);
LaunchFile torchtitan(const Training& training);

std::string deepspeed_layout_refusal(const Training& training);
std::vector<LaunchSetting> deepspeed_layout_settings(const Training& training);
LaunchFile deepspeed(const Training& training);
// Returns the line that starts a program of Hugging Face's Trainer with that file. It has the
// batch, the sequence and recompute, for which the file has no place.
std::string deepspeed_command(const Training& training);

std::string accelerate_layout_refusal(const Training& training);
std::vector<LaunchSetting> accelerate_layout_settings(const Training& training);
LaunchFile accelerate(const Training& training);

std::string nanotron_model_refusal(const Training& training);
std::string nanotron_layout_refusal(const Training& training);
std::vector<LaunchSetting> nanotron_layout_settings(const Training& training);
LaunchFile nanotron(const Training& training);

std::string llm_foundry_model_refusal(const Training& training);
std::string llm_foundry_layout_refusal(const Training& training);
std::vector<LaunchSetting> llm_foundry_layout_settings(const Training& training);
LaunchFile llm_foundry(const Training& training);

// Slurm's header, with ranks a node and what the topology asks for, round any of the above.
LaunchFile sbatch(const Training& training);

// Every file, or why there is none.
std::vector<LaunchFile> launches(const Training& training);

}  // namespace meshwright::interop
