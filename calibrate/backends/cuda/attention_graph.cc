// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/attention_graph.h"

#include <utility>

namespace meshwright::calibrate::cuda {
namespace {

using TensorSizes = std::array<std::int64_t, 4>;
using TensorId = std::int64_t;

TensorSizes packed(const TensorSizes& s) { return {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}; }
TensorSizes with_last_two_swapped(TensorSizes s) {
  std::swap(s[2], s[3]);
  return s;
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const AttentionCall& call)
      : call_(call),
        narrow_(call.precision == Precision::fp16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16),
        of_queries_{call.batch, call.heads, call.positions, call.head_dim},
        of_keys_{call.batch, call.query_groups, call.positions, call.head_dim},
        of_scores_{call.batch, call.heads, call.positions, call.positions},
        of_rows_{call.batch, call.heads, call.positions, 1} {}

  AttentionGraph forward() {
    using enum AttentionOperand;
    const TensorId queries = memory(q, of_queries_), keys = transposed_memory(k, of_keys_),
                   values = memory(v, of_keys_), output = memory(o, of_queries_);
    const TensorId scores =
        masked_if_causal(scaled(product_of_scores(queries, keys), scalar(scale)));
    const TensorId maximum = reduced(CUDNN_REDUCE_TENSOR_MAX, scores, value(of_rows_));
    const TensorId e =
        pointwise(CUDNN_POINTWISE_EXP, pointwise(CUDNN_POINTWISE_SUB, scores, maximum));
    const TensorId sum = reduced(CUDNN_REDUCE_TENSOR_ADD, e, value(of_rows_));
    const TensorId logarithm = put(CUDNN_POINTWISE_LOG, value(of_rows_), sum);
    put(CUDNN_POINTWISE_ADD, memory(statistics, of_rows_, CUDNN_DATA_FLOAT), maximum, logarithm);
    const TensorId softmax = put(CUDNN_POINTWISE_DIV, value(of_scores_, narrow_), e, sum);
    product(softmax, values, output);
    return std::move(graph_);
  }

  AttentionGraph backward() {
    using enum AttentionOperand;
    const TensorId queries = memory(q, of_queries_), keys = transposed_memory(k, of_keys_),
                   values = transposed_memory(v, of_keys_), output = memory(o, of_queries_),
                   d_output = memory(d_o, of_queries_), factor = scalar(scale);
    const TensorId sums = sums_of_rows(d_output, output);
    const TensorId scores = scaled(product_of_scores(queries, keys), factor);
    const TensorId centred =
        pointwise(CUDNN_POINTWISE_SUB, scores, memory(statistics, of_rows_, CUDNN_DATA_FLOAT));
    const TensorId softmax = pointwise(CUDNN_POINTWISE_EXP, masked_if_causal(centred));
    product_of_keys(softmax, d_output, dv);
    const TensorId d_softmax = product_of_scores(d_output, values);
    const TensorId around_mean = pointwise(CUDNN_POINTWISE_SUB, d_softmax, sums);
    const TensorId d_scores = pointwise(CUDNN_POINTWISE_MUL, around_mean, softmax);
    const TensorId d_scaled =
        put(CUDNN_POINTWISE_MUL, value(of_scores_, narrow_), d_scores, factor);
    product_of_keys(d_scaled, queries, dk);
    const TensorId untransposed = value(of_keys_, narrow_);
    reshaped(keys, untransposed);
    const TensorId dq_sum = memory(dq_sums, of_queries_, CUDNN_DATA_FLOAT);
    product(d_scaled, untransposed, dq_sum);
    put(CUDNN_POINTWISE_IDENTITY, memory(dq, of_queries_), dq_sum);
    return std::move(graph_);
  }

 private:
  TensorId add(GraphTensor tensor) {
    tensor.id = static_cast<TensorId>(graph_.tensors.size()) + 1;
    graph_.tensors.push_back(tensor);
    return tensor.id;
  }
  TensorId value(const TensorSizes& sizes, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return add({.sizes = sizes, .strides = packed(sizes), .type = type, .operand = {}});
  }
  TensorId memory(AttentionOperand operand, const TensorSizes& sizes) {
    return memory(operand, sizes, narrow_);
  }
  TensorId memory(AttentionOperand operand, const TensorSizes& sizes, cudnnDataType_t type) {
    return add({.sizes = sizes, .strides = packed(sizes), .type = type, .operand = operand});
  }
  TensorId transposed_memory(AttentionOperand operand, const TensorSizes& sizes) {
    return add({.sizes = with_last_two_swapped(sizes),
                .strides = with_last_two_swapped(packed(sizes)),
                .type = narrow_,
                .operand = operand});
  }
  TensorId scalar(AttentionOperand operand) {
    return add({.sizes = {1, 1, 1, 1},
                .strides = {1, 1, 1, 1},
                .type = CUDNN_DATA_FLOAT,
                .operand = operand});
  }

  void product(TensorId x, TensorId b, TensorId y) {
    graph_.operations.push_back(
        {.kind = GraphOperation::Kind::product, .axis = {}, .x = x, .b = b, .y = y});
  }
  TensorId put(cudnnPointwiseMode_t mode, TensorId y, TensorId x, TensorId b = 0) {
    graph_.operations.push_back({.pointwise = mode, .axis = {}, .x = x, .b = b, .y = y});
    return y;
  }
  // A value for each pair of a query and a key.
  TensorId pointwise(cudnnPointwiseMode_t mode, TensorId x, TensorId b = 0) {
    return put(mode, value(of_scores_), x, b);
  }
  TensorId reduced(cudnnReduceTensorOp_t how, TensorId x, TensorId y) {
    graph_.operations.push_back(
        {.kind = GraphOperation::Kind::reduction, .reduction = how, .axis = {}, .x = x, .y = y});
    return y;
  }
  void reshaped(TensorId x, TensorId y) {
    graph_.operations.push_back(
        {.kind = GraphOperation::Kind::reshape, .axis = {}, .x = x, .y = y});
  }

  // `rows` (queries x width) times `columns` (width x keys).
  TensorId product_of_scores(TensorId rows, TensorId columns) {
    const TensorId y = value(of_scores_);
    product(rows, columns, y);
    return y;
  }
  TensorId scaled(TensorId scores, TensorId factor) {
    return pointwise(CUDNN_POINTWISE_MUL, scores, factor);
  }

  TensorId indices(TensorId like, std::int64_t axis) {
    const TensorId y = value(of_scores_, CUDNN_DATA_INT32);
    graph_.operations.push_back(
        {.pointwise = CUDNN_POINTWISE_GEN_INDEX, .axis = axis, .x = like, .y = y});
    return y;
  }
  TensorId masked_if_causal(TensorId scores) {
    if (!call_.causal) return scores;
    const TensorId rows = indices(scores, 2), columns = indices(scores, 3);
    const TensorId seen = value(of_scores_, CUDNN_DATA_BOOLEAN);
    graph_.operations.push_back({.pointwise = CUDNN_POINTWISE_CMP_GE,
                                 .math = CUDNN_DATA_BOOLEAN,
                                 .axis = {},
                                 .x = rows,
                                 .b = columns,
                                 .y = seen});
    const TensorId hidden = scalar(AttentionOperand::masked), y = value(of_scores_);
    graph_.operations.push_back({.pointwise = CUDNN_POINTWISE_BINARY_SELECT,
                                 .axis = {},
                                 .x = scores,
                                 .b = hidden,
                                 .t = seen,
                                 .y = y});
    return y;
  }

  // The engines want these in memory, by way of a factor: that of dropout, which is one here.
  TensorId sums_of_rows(TensorId d_output, TensorId output) {
    const TensorId products = put(CUDNN_POINTWISE_MUL, value(of_queries_), d_output, output);
    const TensorId sums = reduced(CUDNN_REDUCE_TENSOR_ADD, products, value(of_rows_));
    return put(CUDNN_POINTWISE_MUL, memory(AttentionOperand::row_sums, of_rows_, CUDNN_DATA_FLOAT),
               sums, scalar(AttentionOperand::one));
  }

  // result = pairs^T rows, summed over the heads of a group.
  void product_of_keys(TensorId pairs, TensorId rows, AttentionOperand result) {
    const TensorId transposed = add({.sizes = with_last_two_swapped(of_scores_),
                                     .strides = with_last_two_swapped(packed(of_scores_)),
                                     .type = narrow_,
                                     .operand = {}});
    reshaped(pairs, transposed);
    const TensorId gradient = memory(result, of_keys_);
    if (call_.heads == call_.query_groups) return product(transposed, rows, gradient);
    const TensorId of_heads = value(of_queries_, narrow_);
    product(transposed, rows, of_heads);
    reduced(CUDNN_REDUCE_TENSOR_ADD, of_heads, gradient);
  }

  const AttentionCall& call_;
  cudnnDataType_t narrow_;
  TensorSizes of_queries_, of_keys_, of_scores_, of_rows_;
  AttentionGraph graph_;
};

}  // namespace

AttentionGraph attention_graph(const AttentionCall& call) {
  GraphBuilder builder(call);
  return call.backward ? builder.backward() : builder.forward();
}

}  // namespace meshwright::calibrate::cuda
