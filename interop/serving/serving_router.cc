// SPDX-License-Identifier: Apache-2.0
// vLLM: vllm-project/router, on PyPI as vllm-router. SGLang: sglang_router, in its image.
// TensorRT-LLM: docs/source/features/disagg-serving.md.
#include "interop/serving/serving_router.h"

#include <fmt/format.h>

namespace meshwright::interop {
namespace {

std::string address(const ReplicaAddress& one) { return fmt::format("{}:{}", one.host, one.port); }

void add_servers(std::vector<std::string>& lines, const char* key,
                 const std::vector<ReplicaAddress>& replicas) {
  lines.push_back(fmt::format("{}:", key));
  lines.push_back(fmt::format("  num_instances: {}", replicas.size()));
  lines.emplace_back("  urls:");
  for (const ReplicaAddress& one : replicas) {
    lines.push_back(fmt::format("  - \"{}\"", address(one)));
  }
}

std::vector<std::string> tensorrt_llm_lines(const PoolAddresses& pools) {
  std::vector<std::string> lines{"cat > router.yaml <<EOF", "hostname: 0.0.0.0",
                                 fmt::format("port: {}", kRouterPort)};
  add_servers(lines, "context_servers", pools.prefill);
  add_servers(lines, "generation_servers", pools.decode);
  lines.insert(lines.end(), {"EOF", "trtllm-serve disaggregated -c router.yaml"});
  return lines;
}

}  // namespace

std::vector<std::string> router_lines(EngineKind engine, const PoolAddresses& pools) {
  if (engine == EngineKind::tensorrt_llm) return tensorrt_llm_lines(pools);
  const bool vllm = engine == EngineKind::vllm;
  std::vector<std::string> lines;
  if (vllm) lines.emplace_back("pip install vllm-router==0.1.17");
  lines.emplace_back(vllm ? "vllm-router --vllm-pd-disaggregation \\"
                          : "python3 -m sglang_router.launch_router --pd-disaggregation \\");
  for (const ReplicaAddress& one : pools.prefill) {
    const std::string bootstrap = vllm ? "" : fmt::format(" {}", one.bootstrap_port);
    lines.push_back(fmt::format("  --prefill http://{}{} \\", address(one), bootstrap));
  }
  for (const ReplicaAddress& one : pools.decode) {
    lines.push_back(fmt::format("  --decode http://{} \\", address(one)));
  }
  lines.push_back(fmt::format("  --host 0.0.0.0 --port {}", kRouterPort));
  return lines;
}

}  // namespace meshwright::interop
