// SPDX-License-Identifier: Apache-2.0
// What the benches of an inference engine's parts have in common.
#pragma once

#include <cstddef>
#include <vector>

#include "calibrate/backends/compute.h"
#include "calibrate/bench/sample_data.h"
#include "calibrate/measure/serving_shapes.h"
#include "calibrate/trial/serving/paged_cache.h"
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

// Blocks of each sequence, with its new rows.
inline std::int64_t served_blocks(const PagedAttentionShape& shape) {
  return (shape.cached + shape.rows + kServedBlock - 1) / kServedBlock;
}

// The blocks of all sequences in turn, as requests that grow together get them.
inline std::vector<BlockTable> served_tables(const PagedAttentionShape& shape) {
  std::vector<BlockTable> tables(static_cast<std::size_t>(shape.sequences));
  for (std::int64_t block = 0; block < served_blocks(shape) * shape.sequences; ++block) {
    tables[static_cast<std::size_t>(block % shape.sequences)].push_back(
        static_cast<std::int32_t>(block));
  }
  return tables;
}

// Rows of each sequence behind its cache. Refers to the tables.
inline std::vector<SequenceRows> served_rows(const PagedAttentionShape& shape,
                                             const std::vector<BlockTable>& tables) {
  std::vector<SequenceRows> rows;
  for (const BlockTable& table : tables) {
    rows.push_back(
        {static_cast<std::int64_t>(rows.size()) * shape.rows, shape.rows, shape.cached, &table});
  }
  return rows;
}

// Numbers from -1/2 to 1/2: scores of unit size, else one key has all the weight.
inline Tensor served_sample(const TrialContext& context, std::int64_t count, unsigned stream) {
  Tensor made = context.tensor(count);
  std::vector<float> numbers = sample_numbers(static_cast<std::size_t>(count), stream);
  for (float& number : numbers) number *= 0.5F;
  context.compute.upload(made.data(), numbers.data(), made.size());
  context.compute.synchronize();
  return made;
}

// Of an attention's result, relative to numbers above 1.
inline double served_tolerance(const Job& job) {
  return job.precision == Precision::fp32 ? 1e-3 : 3e-2;
}

inline Job served_job(const Compute& compute) {
  Job job;
  const bool cores = compute.describe().device_kind() == DeviceKind::cpu;
  job.precision = cores ? Precision::fp32 : Precision::bf16;
  return job;
}

}  // namespace meshwright::calibrate
