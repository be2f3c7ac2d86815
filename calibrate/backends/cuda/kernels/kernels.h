// SPDX-License-Identifier: Apache-2.0
// The kernels of Compute for one GPU. Asynchronous, on stream.h.
#pragma once

#include "calibrate/backends/compute.h"

namespace meshwright::calibrate::cuda {

class CudaKernels : public Compute {
 public:
  void layer_norm_forward(ConstNumbers x, const float* gamma, const float* beta, Numbers y,
                          float* mean, float* rstd, std::int64_t rows, std::int64_t cols) override;
  void layer_norm_backward(ConstNumbers dy, ConstNumbers x, const float* gamma, const float* mean,
                           const float* rstd, Numbers dx, float* dgamma, float* dbeta,
                           std::int64_t rows, std::int64_t cols) override;
  void rms_norm_forward(ConstNumbers x, const float* gamma, Numbers y, float* rstd,
                        std::int64_t rows, std::int64_t cols) override;
  void rms_norm_backward(ConstNumbers dy, ConstNumbers x, const float* gamma, const float* rstd,
                         Numbers dx, float* dgamma, std::int64_t rows, std::int64_t cols) override;

  void bias_gelu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                         std::int64_t cols) override;
  void bias_gelu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                          float* dbias, std::int64_t rows, std::int64_t cols) override;
  void bias_relu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                         std::int64_t cols) override;
  void bias_relu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                          float* dbias, std::int64_t rows, std::int64_t cols) override;
  void bias_swiglu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                           std::int64_t cols) override;
  void bias_swiglu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                            float* dbias, std::int64_t rows, std::int64_t cols) override;
  void bias_geglu_forward(ConstNumbers x, const float* bias, Numbers y, std::int64_t rows,
                          std::int64_t cols) override;
  void bias_geglu_backward(ConstNumbers dy, ConstNumbers x, const float* bias, Numbers dx,
                           float* dbias, std::int64_t rows, std::int64_t cols) override;
  void clamp_gated_forward(const float* x, const float* bias, float* y, float limit,
                           std::int64_t rows, std::int64_t cols) override;
  void clamp_gated_backward(const float* dy, const float* x, const float* bias, float* dx,
                            float* dbias, float limit, std::int64_t rows,
                            std::int64_t cols) override;
  void add_bias(float* y, const float* bias, std::int64_t rows, std::int64_t cols) override;
  void bias_backward(const float* dy, float* dbias, std::int64_t rows, std::int64_t cols) override;
  void scale_rows(const float* x, const float* scale, float* y, std::int64_t rows,
                  std::int64_t cols) override;
  void row_dots(const float* a, const float* b, float* dots, std::int64_t rows,
                std::int64_t cols) override;
  void add(const float* a, const float* b, float* y, std::int64_t count) override;
  void adam(float* weight, const float* gradient, float* exp_avg, float* exp_avg_sq,
            std::int64_t count, const AdamStep& step) override;

  // Rounded to nearest even; beyond the largest number fp8 (e4m3) stays at it.
  void convert(void* to, Precision precision, const float* from, std::int64_t count) override;
  void widen(float* to, const void* from, Precision precision, std::int64_t count) override;
  void round(float* data, Precision precision, std::int64_t count) override;

  void causal_softmax_forward(ConstNumbers x, Numbers y, float scale, std::int64_t matrices,
                              std::int64_t queries, std::int64_t keys, std::int64_t first,
                              std::int64_t window, std::int64_t jump,
                              const AttentionSinks& sinks) override;
  void sinks_backward(ConstNumbers dy, ConstNumbers y, const AttentionSinks& sinks, float* dlogits,
                      std::int64_t matrices, std::int64_t keys, std::int64_t queries) override;
  void softmax_backward(ConstNumbers dy, ConstNumbers y, Numbers dx, float scale,
                        std::int64_t matrices, std::int64_t keys, std::int64_t queries) override;
  void rotary(Numbers x, const float* table, std::int64_t blocks, std::int64_t heads,
              std::int64_t rotated, std::int64_t positions, std::int64_t width,
              bool inverse) override;
  void to_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                std::int64_t blocks, std::int64_t heads, std::int64_t width) override;
  void from_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                  std::int64_t blocks, std::int64_t heads, std::int64_t width) override;

  void embedding_forward(const std::int32_t* tokens, const float* table, float* y,
                         std::int64_t count, std::int64_t first, std::int64_t rows,
                         std::int64_t cols) override;
  void embedding_backward(const std::int32_t* tokens, const float* dy, float* dtable,
                          std::int64_t count, std::int64_t first, std::int64_t rows,
                          std::int64_t cols) override;
  void row_max(const float* logits, float* maximum, std::int64_t rows, std::int64_t cols) override;
  void exp_and_target(float* logits, const float* maximum, const std::int32_t* targets,
                      float* sum_exp, float* target, std::int64_t rows, std::int64_t cols,
                      std::int64_t first) override;
  void cross_entropy_backward(float* logits, const float* sum_exp, const std::int32_t* targets,
                              float scale, std::int64_t rows, std::int64_t cols,
                              std::int64_t first) override;
  void add_cross_entropy(const float* sum_exp, const float* target, float* loss, float share,
                         std::int64_t rows) override;
  void top_k(const float* logits, std::int32_t* chosen, const RouterShape& shape) override;
  void chosen_softmax(const float* logits, const std::int32_t* chosen, float* probabilities,
                      const RouterShape& shape) override;
  void chosen_softmax_backward(const std::int32_t* chosen, const float* probabilities,
                               const float* dprobabilities, float* dlogits,
                               const RouterShape& shape) override;
  void order_by_expert(const std::int32_t* chosen, std::int32_t* order, std::int32_t* tokens,
                       std::int32_t* counts, const RouterShape& shape) override;
};

// Adds to *found how many of a's numbers are not b's.
void count_different(const float* a, const float* b, std::int64_t count, unsigned long long* found);
// `batch` matrices of bytes, rows x cols to cols x rows; `stride` bytes between those at `from`.
void transpose_bytes(const void* from, void* to, std::int64_t rows, std::int64_t cols,
                     std::int64_t batch, std::int64_t stride);

}  // namespace meshwright::calibrate::cuda
