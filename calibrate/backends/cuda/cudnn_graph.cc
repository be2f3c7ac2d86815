// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/cudnn_graph.h"

#include <algorithm>
#include <utility>

#include "calibrate/backends/cuda/cudnn_library.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {
namespace {

// Of pointers from cudaMalloc, and of the tensors between them.
constexpr std::int64_t kTensorAlignment = 16;

Descriptor new_descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  check_cudnn(cudnn_library().create_descriptor(type, &made), "cudnnBackendCreateDescriptor");
  return Descriptor(made);
}

template <typename Value>
void set_attribute(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, const Value* values, std::size_t count) {
  check_cudnn(cudnn_library().set_attribute(descriptor.get(), name, type,
                                            static_cast<std::int64_t>(count), values),
              "cudnnBackendSetAttribute");
}
template <typename Value>
void set_attribute(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, Value value) {
  set_attribute(descriptor, name, type, &value, 1);
}
void refer(const Descriptor& descriptor, cudnnBackendAttributeName_t name, void* other) {
  set_attribute(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other);
}
void finalize_descriptor(const Descriptor& descriptor) {
  check_cudnn(cudnn_library().finalize(descriptor.get()), "cudnnBackendFinalize");
}

Descriptor product_part(const GraphOperation& operation) {
  Descriptor part = new_descriptor(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  set_attribute(part, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, operation.math);
  finalize_descriptor(part);
  return part;
}
Descriptor pointwise_part(const GraphOperation& operation) {
  Descriptor part = new_descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set_attribute(part, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, operation.pointwise);
  set_attribute(part, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, operation.math);
  if (operation.axis)
    set_attribute(part, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, *operation.axis);
  finalize_descriptor(part);
  return part;
}
Descriptor reduction_part(const GraphOperation& operation) {
  Descriptor part = new_descriptor(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  set_attribute(part, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
                operation.reduction);
  set_attribute(part, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, operation.math);
  finalize_descriptor(part);
  return part;
}

using TensorList = std::vector<Descriptor>;
void* tensor_at(const TensorList& tensors, std::int64_t id) {
  return tensors[static_cast<std::size_t>(id - 1)].get();
}

Descriptor product_operation(const GraphOperation& o, const TensorList& tensors, void* part) {
  Descriptor made = new_descriptor(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  refer(made, CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensor_at(tensors, o.x));
  refer(made, CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensor_at(tensors, o.b));
  refer(made, CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensor_at(tensors, o.y));
  refer(made, CUDNN_ATTR_OPERATION_MATMUL_DESC, part);
  return made;
}
Descriptor pointwise_operation(const GraphOperation& o, const TensorList& tensors, void* part) {
  Descriptor made = new_descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  refer(made, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part);
  refer(made, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor_at(tensors, o.x));
  if (o.b != 0) refer(made, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor_at(tensors, o.b));
  if (o.t != 0) refer(made, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, tensor_at(tensors, o.t));
  refer(made, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor_at(tensors, o.y));
  return made;
}
Descriptor reduction_operation(const GraphOperation& o, const TensorList& tensors, void* part) {
  Descriptor made = new_descriptor(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  refer(made, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensor_at(tensors, o.x));
  refer(made, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensor_at(tensors, o.y));
  refer(made, CUDNN_ATTR_OPERATION_REDUCTION_DESC, part);
  return made;
}
Descriptor reshape_operation(const GraphOperation& o, const TensorList& tensors) {
  Descriptor made = new_descriptor(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  refer(made, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, tensor_at(tensors, o.x));
  refer(made, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensor_at(tensors, o.y));
  return made;
}

Descriptor part_of(const GraphOperation& operation) {
  switch (operation.kind) {
    case GraphOperation::Kind::product:
      return product_part(operation);
    case GraphOperation::Kind::pointwise:
      return pointwise_part(operation);
    case GraphOperation::Kind::reduction:
      return reduction_part(operation);
    case GraphOperation::Kind::reshape:
      break;
  }
  return nullptr;
}
Descriptor operation_of(const GraphOperation& operation, const TensorList& tensors, void* part) {
  switch (operation.kind) {
    case GraphOperation::Kind::product:
      return product_operation(operation, tensors, part);
    case GraphOperation::Kind::pointwise:
      return pointwise_operation(operation, tensors, part);
    case GraphOperation::Kind::reduction:
      return reduction_operation(operation, tensors, part);
    case GraphOperation::Kind::reshape:
      break;
  }
  return reshape_operation(operation, tensors);
}

std::vector<void*> pointers_to(const std::vector<Descriptor>& descriptors) {
  std::vector<void*> pointers;
  for (const Descriptor& d : descriptors) pointers.push_back(d.get());
  return pointers;
}

}  // namespace

void DestroyDescriptor::operator()(void* descriptor) const {
  cudnn_library().destroy_descriptor(descriptor);
}

Descriptor make_tensor(const GraphTensor& tensor) {
  Descriptor made = new_descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set_attribute(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, tensor.type);
  set_attribute(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, tensor.sizes.data(),
                tensor.sizes.size());
  set_attribute(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, tensor.strides.data(),
                tensor.strides.size());
  set_attribute(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, tensor.id);
  set_attribute(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kTensorAlignment);
  set_attribute(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN,
                !tensor.operand.has_value());
  if (tensor.operand && is_scalar(*tensor.operand)) {
    set_attribute(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  }
  finalize_descriptor(made);
  return made;
}

GraphDescriptors::GraphDescriptors(const AttentionGraph& graph, cudnnHandle_t handle) {
  for (const GraphTensor& tensor : graph.tensors) tensors_.push_back(make_tensor(tensor));
  for (const GraphOperation& operation : graph.operations) {
    parts_.push_back(part_of(operation));
    operations_.push_back(operation_of(operation, tensors_, parts_.back().get()));
    finalize_descriptor(operations_.back());
  }
  graph_ = new_descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  const std::vector<void*> operations = pointers_to(operations_);
  set_attribute(graph_, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                operations.data(), operations.size());
  if (handle != nullptr) {
    set_attribute(graph_, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  }
  finalize_descriptor(graph_);
}

Descriptor device_properties(const std::string& json) {
  Descriptor made = new_descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  set_attribute(made, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, json.data(),
                json.size());
  finalize_descriptor(made);
  return made;
}

std::vector<Descriptor> engine_configurations(const GraphDescriptors& graph, void* device,
                                              std::size_t most) {
  const Descriptor heuristic = new_descriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  refer(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph());
  set_attribute(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  if (device != nullptr) refer(heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  finalize_descriptor(heuristic);
  std::vector<Descriptor> found(most);
  for (Descriptor& d : found) d = new_descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  std::vector<void*> pointers = pointers_to(found);
  std::int64_t count = 0;
  check_cudnn(cudnn_library().get_attribute(
                  heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                  static_cast<std::int64_t>(most), &count, pointers.data()),
              "cudnnBackendGetAttribute of the heuristic's results");
  found.resize(std::min(most, static_cast<std::size_t>(std::max<std::int64_t>(0, count))));
  return found;
}

std::int64_t engine_of(const Descriptor& configuration) {
  const CudnnLibrary& library = cudnn_library();
  const Descriptor engine = new_descriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  void* pointer = engine.get();
  std::int64_t count = 0, index = -1;
  check_cudnn(library.get_attribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &pointer),
              "cudnnBackendGetAttribute of a configuration's engine");
  check_cudnn(library.get_attribute(pointer, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                    &count, &index),
              "cudnnBackendGetAttribute of an engine's index");
  return index;
}

ExecutionPlan make_plan(const Descriptor& configuration, cudnnHandle_t handle) {
  ExecutionPlan made{.plan = new_descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)};
  refer(made.plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration.get());
  set_attribute(made.plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  finalize_descriptor(made.plan);
  std::int64_t count = 0;
  check_cudnn(
      cudnn_library().get_attribute(made.plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                    CUDNN_TYPE_INT64, 1, &count, &made.workspace),
      "cudnnBackendGetAttribute of a plan's workspace");
  return made;
}

void execute(cudnnHandle_t handle, const ExecutionPlan& plan, std::span<const std::int64_t> ids,
             std::span<void*> pointers, void* workspace) {
  invariant(ids.size() == pointers.size(), "each tensor has one pointer");
  const Descriptor pack = new_descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set_attribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids.data(), ids.size());
  set_attribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers.data(),
                pointers.size());
  set_attribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  finalize_descriptor(pack);
  check_cudnn(cudnn_library().execute(handle, plan.plan.get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace meshwright::calibrate::cuda
