// SPDX-License-Identifier: Apache-2.0
// What the benches of an inference engine's parts have in common.
#pragma once

#include <cstddef>

#include "calibrate/backends/compute.h"
#include "calibrate/measure/serving_shapes.h"
#include "sim/base/job.h"
#include "sim/model/model.h"

namespace meshwright::calibrate {

inline constexpr int kServedBlock = 16;  // tokens
// Layers whose caches take turns: as many as most models here have, or fewer where they fill the
// memory that a bench may have.
inline constexpr std::size_t kMostCachesInTurn = 32;

// The model around the heads of a rank.
inline Model served_model(const PagedAttentionShape& shape) {
  Model model;
  model.num_layers = 1;
  model.num_attention_heads = static_cast<int>(shape.heads);
  model.num_query_groups = static_cast<int>(shape.query_groups);
  model.kv_channels = static_cast<int>(shape.head_dim);
  model.hidden_size = static_cast<int>(shape.heads * shape.head_dim);
  return model;
}

inline Job served_job(const Compute& compute) {
  Job job;
  const bool cores = compute.describe().device_kind() == DeviceKind::cpu;
  job.precision = cores ? Precision::fp32 : Precision::bf16;
  return job;
}

}  // namespace meshwright::calibrate
