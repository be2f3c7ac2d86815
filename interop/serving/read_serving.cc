// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/read_serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "interop/read_launch/launch_text.h"
#include "interop/serving/serving_command.h"
#include "interop/serving/serving_manifest.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// A container has the GPUs of one replica, or of its node's part of it.
void check_gpus(const LaunchedPool& pool, ServingLaunch& launch) {
  const int needed = num_gpus(pool.options.layout);
  const int there = pool.gpus_of_container;
  if (there == 0 || needed == there || (there < needed && needed % there == 0)) return;
  launch.not_understood.push_back(
      {.said = fmt::format("{} GPUs of a container", there),
       .why = fmt::format("the command uses {}: {}", needed, short_name(pool.options.layout)),
       .place = {},
       .effect = OptionEffect::sizes});
}

// A prefill pool without a decode pool, or the other way round, is half a service.
void check_roles(ServingLaunch& launch) {
  const auto has = [&](PoolRole role) {
    return std::any_of(launch.pools.begin(), launch.pools.end(),
                       [&](const LaunchedPool& pool) { return pool.role == role; });
  };
  if (has(PoolRole::prefill) == has(PoolRole::decode)) return;
  const PoolRole missing = has(PoolRole::prefill) ? PoolRole::decode : PoolRole::prefill;
  launch.not_understood.push_back(
      {.said = fmt::format("no {} pool", name_of(missing)),
       .why = "the file starts the other half of a disaggregated service alone",
       .place = {},
       .effect = OptionEffect::sizes});
}

}  // namespace

std::string_view title_of(EngineKind engine) {
  if (engine == EngineKind::vllm) return "vLLM";
  return engine == EngineKind::sglang ? "SGLang" : "TensorRT-LLM";
}

bool names_serving_engine(std::string_view text) {
  constexpr std::array kNames{"vllm serve",           "vllm.entrypoints", "vllm/vllm-openai",
                              "sglang.launch_server", "sglang serve",     "sglang/launch_server",
                              "trtllm-serve",         "dynamo.vllm",      "dynamo.sglang",
                              "dynamo.trtllm",        "modelArtifacts:"};
  if (std::any_of(kNames.begin(), kNames.end(),
                  [&](const char* name) { return contains(text, name); })) {
    return true;
  }
  const bool manifest = contains(text, "kind:") && contains(text, "containers:");
  return manifest && (contains(text, "vllm") || contains(text, "sglang"));
}

ServingLaunch read_serving(std::string_view text, const std::string& file,
                           const ShellInputs& inputs) {
  ServingLaunch launch;
  launch.form = "command";
  bool found = false;
  const bool manifest =
      launch_text(text.substr(0, text.find("\n---")), file).kind == LaunchTextKind::yaml ||
      contains(text, "\nkind:") || text.starts_with("kind:");
  if (manifest) {
    found = read_serving_manifest(text, file, inputs.read, launch);
  } else {
    const ShellScript script = read_shell_script(text, file, inputs);
    found = read_engine_script({text, script, file, inputs.read}, {}, launch);
  }
  if (!found || launch.pools.empty()) {
    throw InputError(file, "", "starts no inference engine that is read",
                     "vllm serve, sglang.launch_server, trtllm-serve; manifests of Deployment, "
                     "LeaderWorkerSet, DynamoGraphDeployment and llm-d");
  }
  for (const LaunchedPool& pool : launch.pools) check_gpus(pool, launch);
  check_roles(launch);
  if (launch.model.empty()) {
    launch.not_understood.push_back({.said = "no model",
                                     .why = "the command names none, and the engine asks for one",
                                     .place = {file, 0},
                                     .effect = OptionEffect::sizes,
                                     .key = "model"});
  }
  return launch;
}

}  // namespace meshwright::interop
