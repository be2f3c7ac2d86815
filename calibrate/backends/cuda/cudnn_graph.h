// SPDX-License-Identifier: Apache-2.0
// Descriptors of cuDNN's graph API: tensors, operations, the graph of them, and the plan that runs
// it on a device.
#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibrate/backends/cuda/attention_graph.h"

namespace meshwright::calibrate::cuda {

struct DestroyDescriptor {
  void operator()(void* descriptor) const;
};
// A cudnnBackendDescriptor_t.
using Descriptor = std::unique_ptr<void, DestroyDescriptor>;

// Each throws SystemError where cuDNN refuses. What a descriptor refers to has to outlive it.
Descriptor make_tensor(const GraphTensor& tensor);

// A graph with all that it refers to.
class GraphDescriptors {
 public:
  // Without a handle the graph is described only; with one, plans can be made for its device.
  GraphDescriptors(const AttentionGraph& graph, cudnnHandle_t handle);

  [[nodiscard]] const Descriptor& tensor(std::int64_t id) const {
    return tensors_[static_cast<std::size_t>(id - 1)];
  }
  [[nodiscard]] const std::vector<Descriptor>& operations() const { return operations_; }
  [[nodiscard]] void* graph() const { return graph_.get(); }

 private:
  std::vector<Descriptor> tensors_, parts_, operations_;
  Descriptor graph_;
};

// Configurations of engines that cuDNN's heuristic names for the graph, best first, at most `most`.
// `device`: properties of a device that is described only; null: the device of the graph's handle.
std::vector<Descriptor> engine_configurations(const GraphDescriptors& graph, void* device,
                                              std::size_t most);
// The global index of a configuration's engine.
std::int64_t engine_of(const Descriptor& configuration);
// Properties of a device as cuDNN writes them down, so that none has to be there.
Descriptor device_properties(const std::string& json);

struct ExecutionPlan {
  Descriptor plan;
  std::int64_t workspace = 0;  // bytes
};
ExecutionPlan make_plan(const Descriptor& configuration, cudnnHandle_t handle);

// Asks for one run; ids[i] of the graph's tensors lies at pointers[i].
void execute(cudnnHandle_t handle, const ExecutionPlan& plan, std::span<const std::int64_t> ids,
             std::span<void*> pointers, void* workspace);

}  // namespace meshwright::calibrate::cuda
