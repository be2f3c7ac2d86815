// SPDX-License-Identifier: Apache-2.0
// The process that clients ask if a service has two pools. It sends each prompt to a prefill
// replica, and the request with its cache to a decode replica.
#pragma once

#include <string>
#include <vector>

#include "sim/hardware/inference_rates.h"

namespace meshwright::interop {

inline constexpr int kRouterPort = 8900;
// Where SGLang's prefill replicas announce their caches (--disaggregation-bootstrap-port).
inline constexpr int kBootstrapPort = 8998;

struct ReplicaAddress {
  std::string host;
  int port = 8000;
  int bootstrap_port = kBootstrapPort;
};
struct PoolAddresses {
  std::vector<ReplicaAddress> prefill, decode;
};

// Lines of a shell that start it. Those in front of the last command install or configure it.
std::vector<std::string> router_lines(EngineKind engine, const PoolAddresses& pools);

}  // namespace meshwright::interop
