// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/service_environment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/environment.h"
#include "interop/serving/serving_options.h"
#include "interop/shell/shell_cursor.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// Variables of engines that change no number.
constexpr std::array kHarmlessVariables{"VLLM_ALLOW_RUNTIME_LORA_UPDATING",
                                        "VLLM_API_KEY",
                                        "VLLM_ASSETS_CACHE",
                                        "VLLM_CACHE_ROOT",
                                        "VLLM_CONFIGURE_LOGGING",
                                        "VLLM_CONFIG_ROOT",
                                        "VLLM_DO_NOT_TRACK",
                                        "VLLM_ENGINE_ITERATION_TIMEOUT_S",
                                        "VLLM_ENGINE_READY_TIMEOUT_S",
                                        "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS",
                                        "VLLM_HOST_IP",
                                        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE",
                                        "VLLM_LOGGING_CONFIG_PATH",
                                        "VLLM_LOGGING_LEVEL",
                                        "VLLM_LOGGING_PREFIX",
                                        "VLLM_LOG_STATS_INTERVAL",
                                        "VLLM_NIXL_SIDE_CHANNEL_HOST",
                                        "VLLM_NIXL_SIDE_CHANNEL_PORT",
                                        "VLLM_NO_USAGE_STATS",
                                        "VLLM_PORT",
                                        "VLLM_RANDOMIZE_DP_DUMMY_INPUTS",
                                        "VLLM_RPC_TIMEOUT",
                                        "VLLM_SERVER_DEV_MODE",
                                        "VLLM_SKIP_P2P_CHECK",
                                        "VLLM_TORCH_PROFILER_DIR",
                                        "VLLM_USAGE_SOURCE",
                                        "VLLM_USE_MODELSCOPE",
                                        "VLLM_WORKER_MULTIPROC_METHOD",
                                        "SGLANG_LOG_LEVEL",
                                        "SGLANG_TORCH_PROFILER_DIR",
                                        "SGLANG_USE_MODELSCOPE",
                                        "TLLM_LOG_LEVEL"};

// Variables that state options by the options' names.
struct VariablePrefix {
  std::string_view prefix;
  EngineKind engine;
};
constexpr std::array kVariablePrefixes{
    VariablePrefix{"DYN_VLLM_", EngineKind::vllm}, VariablePrefix{"DYN_SGL_", EngineKind::sglang},
    VariablePrefix{"DYN_TRTLLM_", EngineKind::tensorrt_llm},
    VariablePrefix{"NIM_", EngineKind::vllm}, VariablePrefix{"NIM_", EngineKind::sglang}};
// Those that other words state; no option: words of the engine.
struct VariableOption {
  std::string_view variable, option;
};
constexpr std::array kVariableOptions{VariableOption{"VLLM_ALL2ALL_BACKEND", "all2all-backend"},
                                      VariableOption{"NIM_MODEL_PATH", "model"},
                                      VariableOption{"NIM_MODEL_NAME", "model"},
                                      VariableOption{"NIM_SERVED_MODEL_NAME", "served-model-name"},
                                      VariableOption{"NIM_DISABLE_CUDA_GRAPH", "enforce-eager"},
                                      VariableOption{"NIM_PASSTHROUGH_ARGS", ""}};

// The option that a variable states; nothing: none.
std::optional<std::string> option_of_variable(EngineKind engine, const std::string& name) {
  for (const VariableOption& one : kVariableOptions) {
    const bool vllm = one.variable.starts_with("VLLM_");
    if (one.variable == name && (!vllm || engine == EngineKind::vllm)) {
      return std::string(one.option);
    }
  }
  for (const VariablePrefix& one : kVariablePrefixes) {
    if (one.engine != engine || !name.starts_with(one.prefix)) continue;
    const std::string option = spelled(lower_case(name.substr(one.prefix.size())));
    if (serving_option(engine, option) != nullptr) return option;
  }
  return std::nullopt;
}

bool names_kernels(const std::string& name) {
  return contains(name, "ATTENTION_BACKEND") || contains(name, "MOE_") ||
         contains(name, "USE_FLASHINFER") || contains(name, "AITER") ||
         contains(name, "DEEP_GEMM") || contains(name, "DEEPGEMM");
}
bool names_memory(const std::string& name) {
  return contains(name, "MEM") || contains(name, "CACHE") || contains(name, "QUANT") ||
         contains(name, "DTYPE") || contains(name, "OFFLOAD") || contains(name, "_LEN");
}
bool is_engine_variable(const std::string& name) {
  return name.starts_with("VLLM_") || name.starts_with("SGLANG_") || name.starts_with("SGL_") ||
         name.starts_with("TRTLLM_") || name.starts_with("TLLM_");
}
// NCCL's variables that matter between nodes alone.
bool is_between_nodes(const std::string& name) {
  return name.starts_with("NCCL_IB_") || name.starts_with("NCCL_NET") || name == "NCCL_CROSS_NIC";
}

void refuse_variable(const std::string& name, const std::string& said, const std::string& why,
                     const Place& place, ServingLaunch& launch) {
  launch.not_understood.push_back(
      {.said = said, .why = why, .place = place, .effect = OptionEffect::unknown, .key = name});
}

void note_engine_variable(const std::string& name, const std::string& said,
                          const std::string& value, const Place& place, ServingLaunch& launch) {
  if (name == "VLLM_USE_V1") {
    if (value == "0") {
      return refuse_variable(name, said, "the engine's first scheduler, which is not predicted",
                             place, launch);
    }
    launch.passed_over.push_back({said, "the scheduler that is predicted", place});
  } else if (name == "VLLM_ALLOW_LONG_MAX_MODEL_LEN" ||
             name == "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN") {
    launch.longer_positions = value == "1" || lower_case(value) == "true";
    launch.passed_over.push_back({said, "a length beyond the model's positions is allowed", place});
  } else if (std::find(kHarmlessVariables.begin(), kHarmlessVariables.end(), name) !=
             kHarmlessVariables.end()) {
    launch.passed_over.push_back({said, "logs, addresses and start-up of the engine", place});
  } else if (names_kernels(name)) {
    launch.passed_over.push_back({said,
                                  "choice of kernels: step times are fitted over launch commands "
                                  "that choose them; bytes stay",
                                  place});
  } else {
    refuse_variable(name, said, "is no known variable of an engine", place, launch);
    if (!names_memory(name)) launch.not_understood.back().effect = OptionEffect::time;
  }
}

void note_variable(const std::string& name, const std::string& value, const Place& place,
                   ServingLaunch& launch) {
  const std::string said = name + "=" + value;
  if (option_of_variable(launch.engine, name)) return;
  if (is_engine_variable(name)) return note_engine_variable(name, said, value, place, launch);
  const auto note = environment_note(name, value, place);
  if (!note) return;
  if (note->slows && !is_between_nodes(name)) {
    return refuse_variable(name, said, note->effect + "; this is not predicted", place, launch);
  }
  launch.assumed.push_back(
      {name, "no effect", said + ": " + note->effect + "; this is not predicted", place});
}

}  // namespace

void note_environment(const std::vector<Value>& environment, ServingLaunch& launch) {
  for (const Value& variable : environment) {
    if (variable.words.size() != 1) continue;
    note_variable(variable.key, variable.words.front(), variable.place, launch);
  }
}

std::vector<Value> options_of_environment(EngineKind engine,
                                          const std::vector<Value>& environment) {
  std::vector<Value> options;
  bool has_path = false;
  for (const Value& variable : environment) has_path |= variable.key == "NIM_MODEL_PATH";
  for (const Value& variable : environment) {
    const auto option = option_of_variable(engine, variable.key);
    if (!option || (has_path && variable.key == "NIM_MODEL_NAME")) continue;
    Value value = variable;
    value.key = "--" + *option;
    if (!option->empty()) {
      options.push_back(std::move(value));
      continue;
    }
    const ShellScript script =
        read_shell_script("_ " + variable.words.front(), variable.place.file);
    if (script.commands.empty()) continue;
    for (Value& word : options_of(script.commands.front(), 1, script, variable.place.file)) {
      word.said = variable.key + ": " + word.said;
      word.place = variable.place;
      options.push_back(std::move(word));
    }
  }
  return options;
}

Value assignment_of(std::string word, const Place& place) {
  if (word.starts_with("--env=")) word.erase(0, word.find('=') + 1);
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return {};
  const std::string name = word.substr(0, equals);
  if (!std::all_of(name.begin(), name.end(), is_name)) return {};
  return {name, {word.substr(equals + 1)}, word, place};
}

std::vector<Value> variables_of_file(const std::string& name, const Place& place,
                                     const ReadNamedFile& read, ServingLaunch& launch) {
  const auto text = read ? read(name) : std::nullopt;
  if (!text) {
    launch.assumed.push_back(
        {name, "no variable of the engine", "the file is not there to be read", place});
    return {};
  }
  std::vector<Value> variables;
  int number = 0;
  for (const std::string& line : split_lines(*text)) {
    variables.push_back(assignment_of(line, {name, ++number}));
  }
  return variables;
}

void pass_over_messages_of_one_gpu(ServingLaunch& launch) {
  const bool alone =
      std::all_of(launch.pools.begin(), launch.pools.end(), [](const LaunchedPool& pool) {
        return num_gpus(pool.options.layout) == 1 && pool.role == PoolRole::aggregated;
      });
  if (!alone) return;
  std::erase_if(launch.not_understood, [&](const NotUnderstood& item) {
    if (!item.key.starts_with("NCCL_")) return false;
    launch.passed_over.push_back({item.said, "a replica of one GPU sends nothing", item.place});
    return true;
  });
}

int num_visible_devices(const std::string& list) {
  int count = 0;
  for (const std::string& part : split(list, ',')) {
    const bool is_number =
        !part.empty() &&
        std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (!is_number && !part.starts_with("GPU-") && !part.starts_with("MIG-")) return 0;
    ++count;
  }
  return count;
}

}  // namespace meshwright::interop
