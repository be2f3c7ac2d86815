// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/read_serving.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "interop/read_launch/launch_text.h"
#include "interop/serving/replica_hosts.h"
#include "interop/serving/service_environment.h"
#include "interop/serving/serving_command.h"
#include "interop/serving/serving_formats.h"
#include "interop/serving/serving_manifest.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

std::string gpus_text(int count) { return devices_text(ServedDevice::nvidia_gpu, count); }

// A container has the GPUs of one process, or of its node's part of it. A process on one host needs
// all of its GPUs there.
void check_gpus(const LaunchedPool& pool, ServingLaunch& launch) {
  if (pool.tensor_by_operator || pool.data_by_operator) return;  // not chosen yet
  const int needed = num_gpus(pool.options.layout) * pool.copies;
  const auto fault = [&](const std::string& said, bool too_few) {
    auto& faults = too_few ? launch.cannot_start : launch.not_understood;
    faults.push_back(
        {.said = said,
         .why = fmt::format("the command uses {}: {}", needed, short_name(pool.options.layout)),
         .place = {},
         .effect = OptionEffect::sizes});
  };
  const int there = pool.gpus_of_container, visible = pool.visible_gpus;
  if (visible > 0 && visible < needed && !pool.spans_nodes) {
    return fault(gpus_text(visible) + " that the process may use", true);
  }
  if (there == 0) return;
  const int nodes = std::max(1, pool.nodes);
  if (there * nodes == needed) return;
  if (nodes > 1) {
    return fault(fmt::format("{} nodes of {}", nodes, gpus_text(there)), there * nodes < needed);
  }
  // Processes of several containers may make one replica.
  if (pool.spans_nodes && needed % there == 0) return;
  fault(gpus_text(there) + " of a container", there < needed);
}

// A manifest with actions of Go's templates. A script may have them, too: docker's --format, and
// chat templates.
bool is_helm_template(std::string_view text) {
  const bool manifest = text.starts_with("kind:") || text.starts_with("apiVersion:") ||
                        contains(text, "\nkind:") || contains(text, "\napiVersion:");
  // KServe's operator puts values into these itself.
  const bool own = contains(text, "kind: LLMInferenceService");
  return manifest && !own && (contains(text, "{{ .") || contains(text, "{{- "));
}

// "0.24" of a comment in the file's first lines, "# vLLM 0.24"; empty: none names the engine.
std::string version_in_head(std::string_view text, EngineKind engine) {
  const std::string title = "# " + std::string(title_of(engine)) + " ";
  for (const std::string& line : split_lines(text)) {
    if (!line.starts_with('#')) return "";
    if (!line.starts_with(title)) continue;
    const std::size_t end = line.find_first_not_of("0123456789.", title.size());
    std::string version = line.substr(title.size(), end - title.size());
    if (version.ends_with('.')) version.pop_back();
    return version;
  }
  return "";
}

// Servers that are not modelled, by the words that start them.
struct OtherEngine {
  std::string_view words, name;
  std::string_view nearest{};  // the start of a server of vLLM, if its options are vLLM's
};
constexpr std::array kOtherEngines{
    OtherEngine{"lmdeploy serve", "LMDeploy"},
    OtherEngine{"openmmlab/lmdeploy", "LMDeploy"},
    OtherEngine{"text-generation-launcher", "Text Generation Inference"},
    OtherEngine{"huggingface/text-generation-inference", "Text Generation Inference"},
    OtherEngine{"atom.entrypoints.openai_server", "ATOM", "vllm.entrypoints.openai.api_server"},
    OtherEngine{"atom.entrypoints", "ATOM"},
    OtherEngine{"llama-server ", "llama.cpp"},
    OtherEngine{"ggml-org/llama.cpp", "llama.cpp"},
    OtherEngine{"ollama serve", "Ollama"},
    OtherEngine{"ollama/ollama", "Ollama"},
    OtherEngine{"mlc_llm serve", "MLC LLM"},
    OtherEngine{"tritonserver ", "Triton Inference Server"},
    OtherEngine{"tabbyapi", "TabbyAPI"}};

// Rewrites another engine's start and options as vLLM's. ATOM has options for the members of vLLM's
// --speculative-config.
std::string as_nearest_engine(std::string_view text, const OtherEngine& other) {
  std::string command = replaced(text, other.words, other.nearest);
  const auto taken = [&](const std::string& option) -> std::string {
    const std::size_t at = command.find(option);
    if (at == std::string::npos) return "";
    const std::size_t first = at + option.size();
    const std::size_t end = std::min(command.find_first_of(" \t\r\n\\", first), command.size());
    std::string value = command.substr(first, end - first);
    command.erase(at, end - at);
    return value;
  };
  if (!contains(command, "--method ")) return command;
  const std::string tokens = taken("--num-speculative-tokens ");
  const std::size_t method = command.find("--method ");
  const std::string name = taken("--method ");
  return command.insert(method, fmt::format("--speculative-config '{{\"method\": \"{}\", "
                                            "\"num_speculative_tokens\": {}}}'",
                                            name, tokens.empty() ? "1" : tokens));
}

const OtherEngine* other_engine_in(std::string_view text) {
  const auto* const found =
      std::find_if(kOtherEngines.begin(), kOtherEngines.end(),
                   [&](const OtherEngine& one) { return contains(text, one.words); });
  return found == kOtherEngines.end() ? nullptr : found;
}

// Beside a pool that prefills, one without a role decodes. One half of a service is judged alone:
// its memory is its own, its times are not.
void check_roles(ServingLaunch& launch) {
  const auto has = [&](PoolRole role) {
    return std::any_of(launch.pools.begin(), launch.pools.end(),
                       [&](const LaunchedPool& pool) { return pool.role == role; });
  };
  for (LaunchedPool& pool : launch.pools) {
    const bool decodes = pool.role == PoolRole::aggregated && has(PoolRole::prefill);
    if (decodes) pool.role = PoolRole::decode;
  }
  if (has(PoolRole::prefill) == has(PoolRole::decode)) return;
  const PoolRole missing = has(PoolRole::prefill) ? PoolRole::decode : PoolRole::prefill;
  launch.not_understood.push_back(
      {.said = fmt::format("no {} pool", name_of(missing)),
       .why = "the file starts the other half of a disaggregated service alone",
       .place = {},
       .effect = OptionEffect::time});
}

// What follows from all pools of a service together.
void finish(ServingLaunch& launch, std::string_view text, const std::string& file) {
  // Sizes that were not understood cannot be compared.
  const bool sizes = std::all_of(
      launch.not_understood.begin(), launch.not_understood.end(), [](const NotUnderstood& one) {
        return one.effect == OptionEffect::time || one.effect == OptionEffect::more_memory;
      });
  if (sizes) check_gpus(launch);
  check_roles(launch);
  if (launch.engine_version.empty()) launch.engine_version = version_in_head(text, launch.engine);
  pass_over_messages_of_one_gpu(launch);
  if (!launch.model.empty()) return;
  launch.not_understood.push_back({.said = "no model",
                                   .why = "the command names none, and the engine asks for one",
                                   .place = {file, 0},
                                   .effect = OptionEffect::sizes,
                                   .key = "model"});
}

[[noreturn]] void refuse_text(std::string_view text, const std::string& file) {
  if (const OtherEngine* other = other_engine_in(text)) {
    throw InputError(file, "",
                     fmt::format("starts {}, an engine that is not modelled", other->name),
                     "vLLM, SGLang and TensorRT-LLM are: give the command of one of them");
  }
  std::vector<std::string_view> names;
  for (const ServingFormat& format : serving_formats()) {
    if (names.empty() || names.back() != format.name) names.push_back(format.name);
  }
  throw InputError(file, "", "starts no inference engine that is read",
                   fmt::format("vllm serve, sglang.launch_server, trtllm-serve, docker compose; {}",
                               fmt::join(names, ", ")));
}

}  // namespace

void check_gpus(ServingLaunch& launch) {
  for (const LaunchedPool& pool : launch.pools) check_gpus(pool, launch);
}

std::string_view title_of(EngineKind engine) {
  if (engine == EngineKind::vllm) return "vLLM";
  return engine == EngineKind::sglang ? "SGLang" : "TensorRT-LLM";
}

bool names_serving_engine(std::string_view text) {
  constexpr std::array kNames{"vllm serve",           "vllm.entrypoints", "vllm/vllm-openai",
                              "sglang.launch_server", "sglang serve",     "sglang/launch_server",
                              "trtllm-serve",         "dynamo.vllm",      "dynamo.sglang",
                              "dynamo.trtllm",        "nvcr.io/nim/",     "ray.serve.llm"};
  if (std::any_of(kNames.begin(), kNames.end(),
                  [&](const char* name) { return contains(text, name); })) {
    return true;
  }
  const bool manifest = contains(text, "kind:") && contains(text, "containers:");
  return (manifest && (contains(text, "vllm") || contains(text, "sglang"))) ||
         claims_serving_format(text) || other_engine_in(text) != nullptr;
}

ServingLaunch read_serving(std::string_view text, const std::string& file,
                           const ShellInputs& inputs) {
  if (const auto* other = other_engine_in(text); other != nullptr && !other->nearest.empty()) {
    ServingLaunch launch = read_serving(as_nearest_engine(text, *other), file, inputs);
    launch.assumed.push_back({"engine",
                              "vLLM",
                              fmt::format("the nearest to {}, which is not modelled", other->name),
                              {}});
    return launch;
  }
  if (is_helm_template(text)) {
    throw InputError(file, "", "is a template of Helm, whose values are not in the file",
                     "render it with helm template CHART > rendered.yaml, and give that");
  }
  ServingLaunch launch;
  launch.form = "command";
  bool found = false;
  const bool manifest =
      launch_text(text.substr(0, text.find("\n---")), file).kind == LaunchTextKind::yaml ||
      contains(text, "\nkind:") || text.starts_with("kind:");
  if (manifest) {
    found = read_serving_manifest(text, file, inputs, launch);
  } else {
    const ShellScript script = read_shell_script(text, file, inputs);
    found = read_engine_script({text, script, file, inputs.read}, {}, launch);
  }
  if (!found || launch.pools.empty()) refuse_text(text, file);
  for (ServingLaunch& other : launch.more) {
    other.form = launch.form;
    if (!other.load) other.load = launch.load;
    finish(other, text, file);
  }
  finish(launch, text, file);
  return launch;
}

}  // namespace meshwright::interop
