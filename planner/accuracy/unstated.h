// SPDX-License-Identifier: Apache-2.0
// What published runs leave unsaid, as the training software of their time had it. A run without:
//   micro_batch_size: 1, or for models of the GPT-2 generation (below) the smallest that gives
//   Megatron-LM's fused softmax whole blocks of four heads; data_parallel_size: the rest of the
//   GPUs; virtual_pipeline_parallel_size of an interleaved schedule: one layer a chunk (two stages,
//   one chunk, or no micro-batch size stated either: 1F1B); layers that do not divide by the
//   pipeline, but do with two more: first and last stage hold one less (Megatron
//   --account-for-embedding-in-pipeline-split, --account-for-loss-in-pipeline-split);
//   attention_kernel and dropout: unfused with dropout for models of the GPT-2 generation (learned
//   positions) in 16 bits, as Megatron-LM trained them; fused without dropout otherwise;
//   gradient_precision: fp16 for the same models in fp16 (Megatron-LM reduces in fp32 with bf16, or
//   when told to by --accumulate-allreduce-grads-in-fp32); sequence_parallel: on with tensor
//   parallelism for rotary models (Megatron-LM's advice, and what Nanotron's scaling_benchmarks.py
//   sets: tp_mode REDUCE_SCATTER); scatter_gather_p2p: on for the GPT-2 generation in fp16 with
//   tensor and pipeline parallelism and without sequence parallelism, Megatron-LM's default of that
//   time; overlap_p2p_comm: on where interleaved, but for the GPT-2 generation (Megatron-LM got it
//   in 2023).
#pragma once

#include <functional>
#include <set>
#include <string>

#include "sim/base/job.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright::planner {

using StatedKeys = std::set<std::string, std::less<>>;  // of a job, of a layout

Job with_unstated(Job job, const StatedKeys& stated, const Model& model);
// `job` is complete.
Layout with_unstated(Layout layout, const StatedKeys& stated, const Model& model, const Job& job,
                     int gpus);

}  // namespace meshwright::planner
