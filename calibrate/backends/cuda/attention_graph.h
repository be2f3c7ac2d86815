// SPDX-License-Identifier: Apache-2.0
// Fused attention as the graph of primitive operations that cuDNN's attention engines know: its one
// operation for attention has no causal mask before 9.20. Pure: no library is asked.
//
// Forward: scores = q k^T, scale, mask by generated row and column indices, softmax as maximum,
// difference, exponential, sum and quotient, statistics = maximum + log(sum), o = softmax v.
// Backward: row sums of do * o; softmax again from the statistics; dv, dk and dq by three products.
// dq is summed in fp32 and then cast. Where heads share keys and values, dk and dv are summed over
// the heads of a group. The patterns are those that cudnn-frontend builds (v1, composite nodes).
#pragma once

#include <cudnn_graph.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "calibrate/backends/library_kernels.h"

namespace meshwright::calibrate::cuda {

// What a tensor with memory is. Scalars lie on the host.
enum class AttentionOperand {
  q,
  k,
  v,
  o,
  statistics,
  d_o,
  dq,
  dk,
  dv,
  row_sums,  // of do * o, fp32 (batch, heads, positions)
  dq_sums,   // fp32, as q
  scale,
  masked,  // the score of a masked pair: minus infinity
  one
};
constexpr bool is_scalar(AttentionOperand operand) { return operand >= AttentionOperand::scale; }

struct GraphTensor {
  std::int64_t id = 0;  // its place in the list, from 1
  std::array<std::int64_t, 4> sizes{}, strides{};
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::optional<AttentionOperand> operand;  // absent: a value that no memory holds
};

struct GraphOperation {
  enum class Kind { product, pointwise, reduction, reshape };
  Kind kind = Kind::pointwise;
  cudnnPointwiseMode_t pointwise = CUDNN_POINTWISE_IDENTITY;
  cudnnReduceTensorOp_t reduction = CUDNN_REDUCE_TENSOR_ADD;
  cudnnDataType_t math = CUDNN_DATA_FLOAT;
  std::optional<std::int64_t> axis;  // of generated indices
  // Ids of tensors; 0: none. Of a product the factors are x and b.
  std::int64_t x = 0, b = 0, t = 0, y = 0;
};

struct AttentionGraph {
  std::vector<GraphTensor> tensors;
  std::vector<GraphOperation> operations;  // in the order in which their inputs become known
};

AttentionGraph attention_graph(const AttentionCall& call);

}  // namespace meshwright::calibrate::cuda
