// SPDX-License-Identifier: Apache-2.0
// Times of DeepEP's kernels are points of an all-to-all with the library named as its algorithm:
// "DeepEP dispatch fp8". They say nothing of NCCL's all-to-all, and are no part of a link's curves.
//
// Payload. Inside a node: the copies of tokens that a rank receives, its own among them. Between
// nodes: the copies that a rank sends to nodes, its own among them. Low latency: one copy for each
// token and expert.
#pragma once

#include <string_view>

#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

inline constexpr std::string_view kDeepEp = "DeepEP";
inline constexpr std::string_view kDeepEpDispatchLowLatency = "DeepEP low-latency dispatch";
inline constexpr std::string_view kDeepEpCombineLowLatency = "DeepEP low-latency combine";

inline bool is_deepep(const GroupCall& call) {
  return std::string_view(call.algorithm).substr(0, kDeepEp.size()) == kDeepEp;
}
inline bool is_deepep_low_latency(const GroupCall& call) {
  return call.algorithm == kDeepEpDispatchLowLatency || call.algorithm == kDeepEpCombineLowLatency;
}

}  // namespace meshwright::calibrate
