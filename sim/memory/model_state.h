// SPDX-License-Identifier: Apache-2.0
// Bytes of a rank that do not change during a step: parameters, gradients, optimizer states and
// gather buffers (Megatron docs dist_optimizer.md and ZeRO, arXiv 1910.02054). They depend on the
// data size.
#pragma once

#include "sim/base/job.h"
#include "sim/memory/stage_memory.h"
#include "sim/memory/stage_parameters.h"

namespace meshwright {

// Bytes of a gradient number, as data ranks keep and reduce it.
constexpr double gradient_bytes(const TrainingJob& job, const Layout& layout) {
  const bool whole = job.replicas_keep_fp32_gradients && layout.zero_stage == 0;
  return whole ? 4.0 : bytes_per_element(job.gradient_precision);
}

// Tells whether FSDP reduces gradients once a step, not after each micro-batch: below a pipeline,
// and where no_sync holds for all micro-batches but the last of several.
constexpr bool fsdp_reduces_once(const TrainingJob& job, const Layout& layout) {
  const bool no_sync =
      layout.defer_grad_reduce && num_micro_batches(job.global_batch_size, layout) > 1;
  return uses_fsdp(layout) && (layout.pipeline_parallel_size > 1 || no_sync);
}

// Bytes of the weights alone, as the forward pass holds them: all of the model's states where
// nothing is trained. ZeRO-3 shards them. The operands of fp8_weights() come beside.
Bytes weight_memory(const StageParameters& parameters, const Numerics& numerics,
                    const Layout& layout);
// Bytes of weights, gradients and optimizer state for one rank (ZeRO stages 0-3 as in 1910.02054,
// with this job's number formats). Only a job that trains has the last two.
StageMemory model_state_memory(const StageParameters& parameters, const TrainingJob& job,
                               const Layout& layout);

// LoRA's adapters on one rank of a stage; none where all weights are trained.
StageParameters adapter_parameters(const Model& model, const Numerics& numerics,
                                   const Layout& layout, const Stage& stage);
// Parameters with gradients and optimizer states: the adapters, or all.
StageParameters trained_parameters(const Model& model, const Numerics& numerics,
                                   const Layout& layout, const Stage& stage);
// The same as gradients are reduced: padded under FSDP2.
StageParameters reduced_parameters(const Model& model, const Numerics& numerics,
                                   const Layout& layout, const Stage& stage);
// Bytes of the frozen weights as they are stored, dense and expert, before ZeRO.
StageParameters frozen_bytes(const Model& model, const Numerics& numerics, const Layout& layout,
                             const Stage& stage);

// Buffers that stand as long as the states do: ZeRO-3's and FSDP's gathered units.
Bytes zero_3_buffers(const Model& model, const Job& job, const Layout& layout, const Stage& stage);

// Weights of the layers' linears.
StageParameters linear_parameters(const Model& model, const Numerics& numerics,
                                  const Layout& layout, const Stage& stage);
// Parameters that Transformer Engine multiplies in fp8 or fp4; none in other formats.
StageParameters fp8_parameters(const Model& model, const Numerics& numerics, const Layout& layout,
                               const Stage& stage);
// Tells whether they have no 16-bit copy: Megatron-LM takes --fp8-param-gather only with a
// distributed optimizer.
constexpr bool gathers_fp8_params(const Numerics& numerics, const Layout& layout) {
  return numerics.precision == Precision::fp8 && numerics.fp8_param_gather && layout.zero_stage > 0;
}
// Bytes in which such a weight is gathered: MXFP8's go in 16 bits, through the gradients' buffer,
// and are cast where they arrive (Megatron-LM reuse_grad_buf_for_mxfp8_param_ag).
double gathered_narrow_bytes(const Numerics& numerics);
// Bytes that fp8 and fp4 add to 16-bit weights. Transformer Engine keeps each linear's operand from
// a step's first micro-batch on (is_first_microbatch), in operand_copies() copies. They are in
// addition to the 16-bit weight or, with fp8_param_gather, replace it. ZeRO-3 has no whole weights
// to keep.
Bytes fp8_weights(const Model& model, const Numerics& numerics, const Layout& layout,
                  const Stage& stage);

// Memory that is held for the whole step: model states and ZeRO-3's gathered units. It depends on
// the data-parallel size and ZeRO, but not on micro-batches, recompute or schedule.
StageMemory static_memory(const Model& model, const Job& job, const Layout& layout,
                          const Stage& stage);
// The part of `held`, a stage's static_memory(), that is there while the loss runs. Without a
// pipeline FSDP has then gathered its root alone. The first micro-batch finds no gradients:
// zero_grad leaves none (PyTorch 2.15, by its memory tracker: peaks of 4 blocks on 8 ranks).
StageMemory static_memory_at_loss(StageMemory held, const Model& model, const Job& job,
                                  const Layout& layout, const Stage& stage);
// Tells whether it differs from static_memory().
constexpr bool lighter_at_loss(const Layout& layout) {
  return uses_fsdp(layout) && layout.pipeline_parallel_size == 1;
}

}  // namespace meshwright
