// SPDX-License-Identifier: Apache-2.0
// Configurations that torchtitan ships (torchtitan/models/*/config_registry.py, read at commits
// 00d1c0e4, 0014ac2c, 0310b491, 0a151a70 and 02694955 of 2026; train_configs/*.toml before that,
// whose values are the same but for the batch of deepseek_v3_16b, 8).
#include <algorithm>
#include <array>

#include "interop/read_launch/document.h"
#include "interop/read_launch/torchtitan.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::string_view kTitanFloat8 = R"(model.converters = ["float8"]
float8.enable_fsdp_float8_all_gather = true
float8.precompute_float8_dynamic_scale_for_fsdp = true
)";

constexpr std::array kTitanConfigurations{
    TitanConfiguration{"llama3_debugmodel", "", R"(model.name = "llama3"
model.flavor = "debugmodel"
training.local_batch_size = 8
training.seq_len = 2048
parallelism.pipeline_parallel_schedule = "Interleaved1F1B"
activation_checkpoint.mode = "selective"
)"},
    TitanConfiguration{"llama3_debugmodel_flex_attn", "llama3_debugmodel", ""},
    TitanConfiguration{"llama3_debugmodel_varlen_attn", "llama3_debugmodel", ""},
    TitanConfiguration{"llama3_debugmodel_fused_qkv", "llama3_debugmodel", ""},
    TitanConfiguration{"llama3_debugmodel_float8", "llama3_debugmodel", kTitanFloat8},
    TitanConfiguration{"llama3_8b", "", R"(model.name = "llama3"
model.flavor = "8B"
training.local_batch_size = 1
training.seq_len = 8192
activation_checkpoint.mode = "selective"
activation_checkpoint.selective_ac_option = "op"
)"},
    TitanConfiguration{"llama3_8b_fp8_tensorwise", "llama3_8b", kTitanFloat8},
    TitanConfiguration{"llama3_70b", "", R"(model.name = "llama3"
model.flavor = "70B"
training.local_batch_size = 8
training.seq_len = 8192
parallelism.tensor_parallel_degree = 8
activation_checkpoint.mode = "full"
)"},
    TitanConfiguration{"llama3_405b", "", R"(model.name = "llama3"
model.flavor = "405B"
model.converters = ["float8"]
float8.enable_fsdp_float8_all_gather = true
float8.precompute_float8_dynamic_scale_for_fsdp = true
float8.filter_fqns = ["output"]
training.local_batch_size = 2
training.seq_len = 8192
parallelism.tensor_parallel_degree = 8
parallelism.enable_async_tensor_parallel = true
activation_checkpoint.mode = "full"
compile.enable = true
)"},
    TitanConfiguration{"llama4_17bx16e", "", R"(model.name = "llama4"
model.flavor = "17bx16e"
training.local_batch_size = 8
training.seq_len = 8192
parallelism.tensor_parallel_degree = 8
parallelism.expert_parallel_degree = 1
parallelism.expert_tensor_parallel_degree = 8
activation_checkpoint.mode = "full"
)"},
    TitanConfiguration{"llama4_17bx128e", "", R"(model.name = "llama4"
model.flavor = "17bx128e"
training.local_batch_size = 1
training.seq_len = 8192
parallelism.tensor_parallel_degree = 8
parallelism.pipeline_parallel_degree = 4
parallelism.expert_parallel_degree = 1
parallelism.expert_tensor_parallel_degree = 8
activation_checkpoint.mode = "full"
)"},
    TitanConfiguration{"deepseek_v3_16b", "", R"(model.name = "deepseek_v3"
model.flavor = "16B"
training.local_batch_size = 4
training.seq_len = 4096
parallelism.pipeline_parallel_schedule = "Interleaved1F1B"
parallelism.expert_parallel_degree = 8
activation_checkpoint.mode = "selective"
activation_checkpoint.selective_ac_option = "op"
compile.enable = true
compile.components = ["loss"]
)"},
    TitanConfiguration{"deepseek_v3_671b", "", R"(model.name = "deepseek_v3"
model.flavor = "671B"
model.converters = ["float8", "quantize.grouped_mm.float8"]
float8.filter_fqns = ["output", "router.gate"]
training.local_batch_size = 4
training.seq_len = 4096
parallelism.pipeline_parallel_schedule = "Interleaved1F1B"
parallelism.expert_parallel_degree = 2
activation_checkpoint.mode = "selective"
activation_checkpoint.selective_ac_option = "op"
compile.enable = true
compile.components = ["loss"]
)"},
    TitanConfiguration{"qwen3_0_6b", "", R"(model.name = "qwen3"
model.flavor = "0.6B"
training.local_batch_size = 4
training.seq_len = 4096
activation_checkpoint.mode = "selective"
activation_checkpoint.selective_ac_option = "op"
)"},
    TitanConfiguration{"qwen3_1_7b", "qwen3_0_6b", "model.flavor = \"1.7B\"\n"},
    TitanConfiguration{"qwen3_14b", "qwen3_0_6b", R"(model.flavor = "14B"
activation_checkpoint.mode = "full"
)"},
    TitanConfiguration{"qwen3_32b", "qwen3_14b", R"(model.flavor = "32B"
training.local_batch_size = 2
)"},
    TitanConfiguration{"qwen3_30b_a3b", "qwen3_32b", "model.flavor = \"30B-A3B\"\n"},
    TitanConfiguration{"gpt_oss_20b", "", R"(model.name = "gpt_oss"
model.flavor = "20b"
training.local_batch_size = 1
training.seq_len = 8192
parallelism.expert_parallel_degree = 1
activation_checkpoint.mode = "full"
)"},
    TitanConfiguration{"gpt_oss_120b", "gpt_oss_20b", "model.flavor = \"120b\"\n"},
    TitanConfiguration{"gpt_oss_20b_fp8_tensorwise", "gpt_oss_20b", kTitanFloat8},
};

const TitanConfiguration* titan_row(std::string_view name) {
  const auto* const found =
      std::find_if(kTitanConfigurations.begin(), kTitanConfigurations.end(),
                   [&](const TitanConfiguration& each) { return each.name == name; });
  return found == kTitanConfigurations.end() ? nullptr : found;
}

// "torchtitan/models/llama3/train_configs/debug_model.toml" is llama3's.
std::string titan_row_name(std::string_view name) {
  const std::vector<std::string> parts = split(name, '/');
  std::string stem = parts.empty() ? "" : parts.back();
  if (stem.ends_with(".toml")) stem.resize(stem.size() - 5);
  if (stem == "debug_model" && parts.size() >= 3) stem = parts[parts.size() - 3] + "_debugmodel";
  std::replace(stem.begin(), stem.end(), '.', '_');
  return stem;
}

void add_titan_values(const TitanConfiguration& row, Values& values) {
  if (!row.base.empty()) {
    if (const TitanConfiguration* base = titan_row(row.base)) add_titan_values(*base, values);
  }
  const Values own = values_of_toml(row.flags, std::string(row.name));
  for (const Value& value : own.all()) values.add(value);
}

}  // namespace

const TitanConfiguration* titan_configuration(std::string_view name) {
  return titan_row(titan_row_name(name));
}

Values titan_values(const TitanConfiguration& configuration, const std::string& said,
                    const Place& place) {
  Values typed;
  add_titan_values(configuration, typed);
  Values values;
  for (Value value : typed.all()) {
    value.said = said;
    value.place = place;
    values.add(std::move(value));
  }
  return values;
}

std::string titan_configuration_names() {
  std::string names;
  for (const TitanConfiguration& each : kTitanConfigurations) {
    if (!contains(each.name, "debugmodel")) append_to_list(names, ", ", each.name);
  }
  return names;
}

}  // namespace meshwright::interop
