// SPDX-License-Identifier: Apache-2.0
// Settings of a launch that is there: its launcher's, and what its own form adds. Launches round
// Hugging Face's Trainer have a file of DeepSpeed or accelerate and a program beside it.
#include <algorithm>

#include "interop/read_launch/fine_tuning.h"
#include "interop/write_launch/launch_changes.h"
#include "interop/write_launch/launch_target.h"

namespace meshwright::interop {
namespace {

bool recomputes(const Layout& layout) {
  return layout.recompute_granularity == RecomputeGranularity::full;
}

void add_spellings(std::vector<LaunchSetting>& settings, const Layout& layout) {
  if (layout.zero_stage < 2) return;
  settings.push_back({"fsdp_config.fsdp_sharding_strategy",
                      layout.zero_stage == 3 ? "FULL_SHARD" : "SHARD_GRAD_OP"});
}

std::vector<LaunchSetting> fine_tuning_settings(const LaunchRecord& launch, const Training& t,
                                                bool spellings) {
  std::vector<LaunchSetting> settings = settings_for(words_of_layout(launch), t);
  // A switch of the program; both at once are refused by the Trainer.
  std::erase_if(settings, [&](const LaunchSetting& setting) {
    return setting.name.find(' ') != std::string::npos ||
           (!spellings && setting.name == "fsdp_config.fsdp_activation_checkpointing");
  });
  // A file of its own says nothing of its program.
  const bool file_alone = launch.command.words.empty() &&
                          (launch.target == "DeepSpeed" || launch.target == "accelerate");
  if (file_alone && !spellings) return settings;
  const FineTunerDefaults& defaults = fine_tuner_defaults(fine_tuner_of_target(launch.target));
  if (defaults.tuner == FineTuner::llama_factory) {
    if (!recomputes(t.layout)) settings.push_back({"--disable_gradient_checkpointing", "true"});
  } else if (defaults.recomputes) {
    settings.push_back({"--gradient_checkpointing", recomputes(t.layout) ? "true" : "false"});
  } else if (recomputes(t.layout)) {
    settings.push_back({"--gradient_checkpointing", ""});
  }
  const int sequences = num_micro_batches(t.scenario.job.global_batch_size, t.layout);
  const std::vector<LaunchSetting> batch{
      {"--per_device_train_batch_size", std::to_string(t.layout.micro_batch_size)},
      {"--gradient_accumulation_steps", std::to_string(sequences)}};
  for (const LaunchSetting& setting : batch) {
    const bool is_there = std::any_of(settings.begin(), settings.end(), [&](const auto& each) {
      return each.name == setting.name || each.name == setting.name.substr(2);
    });
    if (!is_there) settings.push_back(setting);
  }
  if (spellings) add_spellings(settings, t.layout);
  return settings;
}

// ms-swift has other defaults than Megatron-LM: what is off is said.
void add_swift_settings(std::vector<LaunchSetting>& settings, const Layout& layout) {
  if (layout.zero_stage == 0) settings.push_back({"--use-distributed-optimizer", "false"});
  if (layout.recompute_granularity == RecomputeGranularity::none) {
    settings.push_back({"--recompute-granularity", "none"});
  }
}

// The number of hardware queues, if the launch sets it: some layouts need one, some refuse it.
void add_queues(std::vector<LaunchSetting>& settings, const LaunchRecord& launch,
                const Layout& layout) {
  constexpr const char* kQueues = "CUDA_DEVICE_MAX_CONNECTIONS";
  const auto set = launch.variables.find(kQueues);
  if (set == launch.variables.end()) return;
  const QueueNeed need = megatron_queues(layout);
  settings.push_back({kQueues, need == QueueNeed::one                             ? "1"
                               : need == QueueNeed::several && set->second == "1" ? "8"
                                                                                  : set->second});
}

}  // namespace

std::vector<LaunchSetting> layout_settings(const LaunchRecord& launch, const Training& t,
                                           bool spellings) {
  if (is_fine_tuning(launch.target)) return fine_tuning_settings(launch, t, spellings);
  std::vector<LaunchSetting> settings = settings_for(launch.target, t);
  if (launch.target == "ms-swift") add_swift_settings(settings, t.layout);
  add_queues(settings, launch, t.layout);
  return settings;
}

}  // namespace meshwright::interop
