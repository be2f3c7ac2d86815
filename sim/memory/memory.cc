// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/memory.h"

#include <algorithm>

namespace meshwright {
namespace {

StageMemory together(const StageMemory& fixed, StageMemory moving) {
  moving.weights = fixed.weights;
  moving.gradients = fixed.gradients;
  moving.optimizer = fixed.optimizer;
  moving.communication_buffers += fixed.communication_buffers;
  return moving;
}

}  // namespace

StageMemory stage_memory(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, const std::function<StageMemory(PeakScope)>& moving) {
  const StageMemory fixed = static_memory(model, job, layout, stage);
  const StageMemory at_loss =
      together(static_memory_at_loss(fixed, model, job, layout, stage), moving(PeakScope::all));
  if (!lighter_at_loss(layout)) return at_loss;
  const StageMemory in_layers = together(fixed, moving(PeakScope::layers));
  return in_layers.total() > at_loss.total() ? in_layers : at_loss;
}

StageMemory stage_memory(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, int stage_index) {
  return stage_memory(model, job, layout, stage, [&](PeakScope scope) {
    return moving_memory(model, job, layout, stage, stage_index, scope);
  });
}

Bytes printed_peak(Bytes allocated, const MemoryFacts& facts, const Device& device) {
  if (!facts.reports_reserved) return allocated;
  return std::max(allocated, std::min(allocated * facts.reserved_ratio, device.memory));
}

Bytes outside_allocator(const Device& device, const Layout& layout) {
  const int groups =
      (layout.tensor_parallel_size > 1 ? 1 : 0) + (layout.pipeline_parallel_size > 1 ? 1 : 0) +
      (gradient_group_size(layout) > 1 ? 1 : 0) + (layout.context_parallel_size > 1 ? 1 : 0) +
      (layout.expert_parallel_size > 1 ? 1 : 0);
  return device.context_memory + device.communicator_memory * groups;
}

}  // namespace meshwright
