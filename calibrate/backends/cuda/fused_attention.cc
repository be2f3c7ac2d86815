// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/fused_attention.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/backends/compute.h"
#include "calibrate/backends/cuda/cudnn_graph.h"
#include "calibrate/backends/cuda/cudnn_library.h"
#include "calibrate/backends/cuda/device_memory.h"
#include "calibrate/backends/cuda/stream.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {
namespace {

constexpr std::size_t kEnginesTried = 4;  // tried in turn

using ShapeKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            bool, bool, Precision>;
ShapeKey shape_key_of(const AttentionCall& c) {
  return {c.batch,    c.heads,  c.query_groups, c.positions,
          c.head_dim, c.causal, c.backward,     c.precision};
}

struct DestroyCudnnHandle {
  void operator()(cudnnHandle_t handle) const { cudnn_library().destroy(handle); }
};
using CudnnHandle = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, DestroyCudnnHandle>;

CudnnHandle make_cudnn_handle() {
  const CudnnLibrary& library = cudnn_library();
  cudnnHandle_t made = nullptr;
  check_cudnn(library.create(&made), "cudnnCreate");
  CudnnHandle handle(made);
  check_cudnn(library.set_stream(made, kStream), "cudnnSetStream");
  return handle;
}

// A shape's plan with what it refers to, and its tensors with memory.
struct ShapePlan {
  std::unique_ptr<GraphDescriptors> graph;
  Descriptor configuration;
  ExecutionPlan plan;
  std::vector<std::int64_t> ids;
  std::vector<AttentionOperand> operands;
  std::string why_not;  // empty: there is a plan
};

class CudnnAttention final : public FusedAttention {
 public:
  [[nodiscard]] std::string why_not(const AttentionCall& call) override {
    if (!cudnn_library().why_missing.empty()) return cudnn_library().why_missing;
    if (call.precision != Precision::bf16 && call.precision != Precision::fp16) {
      return "fused attention takes bf16 and fp16";
    }
    return plan_for(call).why_not;
  }

  void run(const AttentionCall& call) override {
    const std::string reason = why_not(call);
    if (!reason.empty()) throw UnsupportedCall(reason);
    const ShapePlan& plan = plan_for(call);
    reserve_sums(call);
    workspace_.reserve(static_cast<std::size_t>(plan.plan.workspace));
    Scalars scalars{.scale = call.scale};
    std::vector<void*> pointers;
    for (const AttentionOperand operand : plan.operands) {
      pointers.push_back(pointer_of(operand, call, scalars));
    }
    execute(handle_.get(), plan.plan, plan.ids, pointers, workspace_.data());
  }

 private:
  struct Scalars {
    float scale = 1.0F, masked = -std::numeric_limits<float>::infinity(), one = 1.0F;
  };

  const ShapePlan& plan_for(const AttentionCall& call) {
    const auto found = plans_.find(shape_key_of(call));
    if (found != plans_.end()) return found->second;
    ShapePlan made;
    try {
      if (!handle_) handle_ = make_cudnn_handle();
      made = planned(call);
    } catch (const SystemError& error) {
      made = {};
      made.why_not = error.what();
    }
    return plans_.emplace(shape_key_of(call), std::move(made)).first->second;
  }

  ShapePlan planned(const AttentionCall& call) {
    const AttentionGraph graph = attention_graph(call);
    ShapePlan made;
    for (const GraphTensor& tensor : graph.tensors) {
      if (!tensor.operand) continue;
      made.ids.push_back(tensor.id);
      made.operands.push_back(*tensor.operand);
    }
    made.graph = std::make_unique<GraphDescriptors>(graph, handle_.get());
    made.why_not = "cuDNN: its heuristic names no engine for this attention";
    for (Descriptor& configuration : engine_configurations(*made.graph, nullptr, kEnginesTried)) {
      try {
        made.plan = make_plan(configuration, handle_.get());
        made.configuration = std::move(configuration);
        made.why_not.clear();
        break;
      } catch (const SystemError& error) {
        made.why_not = error.what();
      }
    }
    return made;
  }

  void reserve_sums(const AttentionCall& call) {
    if (!call.backward) return;
    const auto rows = static_cast<std::size_t>(call.batch * call.heads * call.positions);
    row_sums_.reserve(rows * sizeof(float));
    dq_sums_.reserve(rows * static_cast<std::size_t>(call.head_dim) * sizeof(float));
  }

  [[nodiscard]] void* pointer_of(AttentionOperand operand, const AttentionCall& call,
                                 Scalars& scalars) const {
    // cuDNN's pack has no pointers to const.
    const auto input = [](const void* pointer) { return const_cast<void*>(pointer); };
    switch (operand) {
      case AttentionOperand::q:
        return input(call.q);
      case AttentionOperand::k:
        return input(call.k);
      case AttentionOperand::v:
        return input(call.v);
      case AttentionOperand::o:
        return call.o;
      case AttentionOperand::statistics:
        return call.statistics;
      case AttentionOperand::d_o:
        return input(call.d_o);
      case AttentionOperand::dq:
        return call.dq;
      case AttentionOperand::dk:
        return call.dk;
      case AttentionOperand::dv:
        return call.dv;
      case AttentionOperand::row_sums:
        return row_sums_.data();
      case AttentionOperand::dq_sums:
        return dq_sums_.data();
      case AttentionOperand::scale:
        return &scalars.scale;
      case AttentionOperand::masked:
        return &scalars.masked;
      case AttentionOperand::one:
        return &scalars.one;
    }
    return nullptr;
  }

  CudnnHandle handle_;
  DeviceMemory workspace_, row_sums_, dq_sums_;
  std::map<ShapeKey, ShapePlan> plans_;
};

}  // namespace

std::unique_ptr<FusedAttention> make_fused_attention() {
  return std::make_unique<CudnnAttention>();
}

std::string cudnn_version() {
  const CudnnLibrary& library = cudnn_library();
  return library.why_missing.empty() ? fmt::format("{}", library.version()) : "";
}

}  // namespace meshwright::calibrate::cuda
