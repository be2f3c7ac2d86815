// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/launch_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

#include "interop/write_launch/megatron_bridge.h"

namespace meshwright::interop {
namespace {

// BLOOM's software says fewer things, in part by other names.
std::string megatron_deepspeed_refusal(const Training& t) {
  const Layout& l = t.layout;
  if (l.recompute_granularity == RecomputeGranularity::selective || l.recompute_num_layers > 0) {
    return "it recomputes all layers or none";
  }
  if (l.virtual_pipeline_parallel_size > 1) return "it does not interleave";
  if (l.pipeline_layout || l.num_layers_in_first_pipeline_stage > 0 ||
      l.num_layers_in_last_pipeline_stage > 0) {
    return "it parts layers by type only";
  }
  if (l.sequence_parallel || l.context_parallel_size > 1 || offloads_activations(l)) {
    return "it has no sequence or context parallelism";
  }
  return "";
}

std::vector<LaunchSetting> megatron_deepspeed_settings(const Training& t) {
  const Layout& l = t.layout;
  std::vector<LaunchSetting> settings{
      {"--tensor-model-parallel-size", std::to_string(l.tensor_parallel_size)},
      {"--pipeline-model-parallel-size", std::to_string(l.pipeline_parallel_size)},
      {"--micro-batch-size", std::to_string(l.micro_batch_size)}};
  if (l.recompute_granularity == RecomputeGranularity::full) {
    settings.push_back({"--checkpoint-activations", ""});
    settings.push_back({"--deepspeed-activation-checkpointing", ""});
  }
  const bool by_layers = l.account_for_embedding_in_pipeline_split;
  if (by_layers) settings.push_back({"--pp-partition-method", "type:transformer|embedding"});
  if (t.job.precision != Precision::bf16) {
    settings.push_back({"--zero-stage", std::to_string(l.zero_stage)});
  }
  return settings;
}

void flatten(const nlohmann::ordered_json& json, const std::string& path,
             std::vector<LaunchSetting>& settings) {
  for (const auto& [key, value] : json.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (value.is_object()) {
      flatten(value, name, settings);
    } else {
      settings.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
    }
  }
}

std::vector<LaunchSetting> settings_in_json(const std::string& text) {
  std::vector<LaunchSetting> settings;
  if (!text.empty()) flatten(nlohmann::ordered_json::parse(text), "", settings);
  return settings;
}

// Recompute is the model's switch, not the file's.
std::vector<LaunchSetting> deepspeed_settings(const Training& t) {
  std::vector<LaunchSetting> settings = settings_in_json(deepspeed(t).text);
  const bool full = t.layout.recompute_granularity == RecomputeGranularity::full;
  settings.push_back(
      {"gradient_checkpointing_enable() in the model", full ? "called" : "not called"});
  return settings;
}

// "[parallelism]", then "tensor_parallel_degree = 8", as our own writer has them.
std::vector<LaunchSetting> settings_in_toml(const std::string& text) {
  std::vector<LaunchSetting> settings;
  std::istringstream lines(text);
  std::string line, section;
  while (std::getline(lines, line)) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with("[")) section = line.substr(1, line.find(']') - 1) + ".";
    if (equals == std::string::npos || line.starts_with("#")) continue;
    std::string value = line.substr(equals + 3, line.find("  #") - equals - 3);
    std::erase(value, '"');
    settings.push_back({section + line.substr(0, equals), value});
  }
  std::erase_if(settings, [](const auto& s) { return s.name.starts_with("model."); });
  return settings;
}

std::string llm_foundry_refusal(const Training& t) {
  const Layout& l = t.layout;
  if (world_size(l) != l.data_parallel_size) return "it has data parallelism only";
  if (l.zero_stage == 1 || (l.zero_stage > 0 && l.fsdp_unit != FsdpUnit::block)) {
    return "it shards with FSDP, a block at a time";
  }
  if (l.zero_shard_size > 0) return "its sharding is over all ranks here";
  if (l.recompute_granularity == RecomputeGranularity::selective || l.recompute_num_layers > 0) {
    return "it recomputes all layers or none";
  }
  if (l.optimizer_offload || offloads_activations(l)) return "offload is not written for it";
  return "";
}

std::vector<LaunchSetting> llm_foundry_settings(const Training& t) {
  const Layout& l = t.layout;
  const bool full = l.recompute_granularity == RecomputeGranularity::full;
  return {{"device_train_microbatch_size", std::to_string(l.micro_batch_size)},
          {"fsdp_config.sharding_strategy", l.zero_stage == 3   ? "FULL_SHARD"
                                            : l.zero_stage == 2 ? "SHARD_GRAD_OP"
                                                                : "NO_SHARD"},
          {"fsdp_config.activation_checkpointing", full ? "true" : "false"}};
}

struct Target {
  std::string_view name;
  std::string (*refusal)(const Training&);
  std::vector<LaunchSetting> (*settings)(const Training&);
};
constexpr std::array kTargets{
    Target{"Megatron-LM", [](const Training& t) { return megatron_layout_refusal(t.layout); },
           megatron_layout_settings},
    Target{"Megatron-DeepSpeed", megatron_deepspeed_refusal, megatron_deepspeed_settings},
    Target{"Megatron-Bridge",
           [](const Training& t) { return megatron_bridge_layout_refusal(t.layout); },
           megatron_bridge_layout_settings},
    Target{"torchtitan", [](const Training& t) { return torchtitan(t).refusal; },
           [](const Training& t) { return settings_in_toml(torchtitan(t).text); }},
    Target{"DeepSpeed", [](const Training& t) { return deepspeed(t).refusal; }, deepspeed_settings},
    Target{"llm-foundry", llm_foundry_refusal, llm_foundry_settings},
    Target{"nanotron", [](const Training& t) { return nanotron_layout_refusal(t.layout); },
           nanotron_layout_settings}};

const Target* target_named(std::string_view name) {
  const auto* const found = std::find_if(kTargets.begin(), kTargets.end(),
                                         [&](const Target& target) { return target.name == name; });
  return found == kTargets.end() ? nullptr : found;
}

const LaunchSetting* find(const std::vector<LaunchSetting>& settings, const std::string& name) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const LaunchSetting& s) { return s.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

bool is_option(const std::string& word) { return word.starts_with("--") && word.size() > 2; }
std::string option_name(const std::string& word) { return word.substr(0, word.find('=')); }

void append_option(std::vector<std::string>& words, const LaunchChange& change) {
  words.push_back(change.name);
  std::istringstream values(change.value_after);
  for (std::string value; values >> value;) words.push_back(value);
}

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "-_./:=,@%+^$";
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != kPlain.npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string refusal_for(std::string_view target, const Training& training) {
  const Target* known = target_named(target);
  return known == nullptr ? fmt::format("nothing is written for {}", target)
                          : known->refusal(training);
}

std::vector<LaunchSetting> settings_for(std::string_view target, const Training& training) {
  const Target* known = target_named(target);
  return known == nullptr ? std::vector<LaunchSetting>{} : known->settings(training);
}

std::vector<LaunchChange> launch_changes(const std::vector<LaunchSetting>& before,
                                         const std::vector<LaunchSetting>& after) {
  std::vector<LaunchChange> changes;
  for (const LaunchSetting& setting : after) {
    const LaunchSetting* old = find(before, setting.name);
    if (old != nullptr && old->value == setting.value) continue;
    changes.push_back(
        {setting.name, old != nullptr, true, old != nullptr ? old->value : "", setting.value});
  }
  for (const LaunchSetting& setting : before) {
    if (find(after, setting.name) != nullptr) continue;
    changes.push_back({setting.name, true, false, setting.value, ""});
  }
  return changes;
}

std::vector<std::string> changed_command(const std::vector<std::string>& words,
                                         const std::vector<LaunchChange>& changes) {
  std::vector<std::string> changed;
  std::vector<bool> done(changes.size(), false);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found =
        std::find_if(changes.begin(), changes.end(), [&](const LaunchChange& change) {
          return is_option(words[i]) && change.name == option_name(words[i]);
        });
    if (found == changes.end()) {
      changed.push_back(words[i]);
      continue;
    }
    while (i + 1 < words.size() && !words[i + 1].starts_with("-")) ++i;
    const auto at = static_cast<std::size_t>(found - changes.begin());
    if (found->after && !done[at]) append_option(changed, *found);
    done[at] = true;
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].after && !done[i]) append_option(changed, changes[i]);
  }
  return changed;
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += is_option(word) ? " \\\n    " : " ";
    text += quoted(word);
  }
  return text.empty() ? "" : text + "\n";
}

}  // namespace meshwright::interop
