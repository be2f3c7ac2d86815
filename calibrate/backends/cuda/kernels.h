// SPDX-License-Identifier: Apache-2.0
// The kernels of calibrate/backends/compute.h for one GPU; same names, same meaning. Asynchronous,
// on stream.h.
#pragma once

#include <cstdint>

#include "calibrate/backends/compute.h"

namespace meshwright::calibrate::cuda {

void layer_norm_forward(const float* x, const float* gamma, const float* beta, float* y,
                        float* mean, float* rstd, std::int64_t rows, std::int64_t cols);
void layer_norm_backward(const float* dy, const float* x, const float* gamma, const float* mean,
                         const float* rstd, float* dx, float* dgamma, float* dbeta,
                         std::int64_t rows, std::int64_t cols);
void rms_norm_forward(const float* x, const float* gamma, float* y, float* rstd, std::int64_t rows,
                      std::int64_t cols);
void rms_norm_backward(const float* dy, const float* x, const float* gamma, const float* rstd,
                       float* dx, float* dgamma, std::int64_t rows, std::int64_t cols);

// A null bias or dbias is skipped.
void bias_gelu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                       std::int64_t cols);
void bias_gelu_backward(const float* dy, const float* x, const float* bias, float* dx, float* dbias,
                        std::int64_t rows, std::int64_t cols);
void bias_relu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                       std::int64_t cols);
void bias_relu_backward(const float* dy, const float* x, const float* bias, float* dx, float* dbias,
                        std::int64_t rows, std::int64_t cols);
void bias_swiglu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                         std::int64_t cols);
void bias_swiglu_backward(const float* dy, const float* x, const float* bias, float* dx,
                          float* dbias, std::int64_t rows, std::int64_t cols);
void bias_geglu_forward(const float* x, const float* bias, float* y, std::int64_t rows,
                        std::int64_t cols);
void bias_geglu_backward(const float* dy, const float* x, const float* bias, float* dx,
                         float* dbias, std::int64_t rows, std::int64_t cols);
void clamp_gated_forward(const float* x, const float* bias, float* y, float limit,
                         std::int64_t rows, std::int64_t cols);
void clamp_gated_backward(const float* dy, const float* x, const float* bias, float* dx,
                          float* dbias, float limit, std::int64_t rows, std::int64_t cols);
void add_bias(float* y, const float* bias, std::int64_t rows, std::int64_t cols);
void bias_backward(const float* dy, float* dbias, std::int64_t rows, std::int64_t cols);
void scale_rows(const float* x, const float* scale, float* y, std::int64_t rows, std::int64_t cols);
void row_dots(const float* a, const float* b, float* dots, std::int64_t rows, std::int64_t cols);
void add(const float* a, const float* b, float* y, std::int64_t count);
void adam(float* weight, const float* gradient, float* exp_avg, float* exp_avg_sq,
          std::int64_t count, const AdamStep& step);

// To 16 or 8 bits, rounded to nearest even; beyond the largest number fp8 stays at it.
void to_bf16(void* to, const float* from, std::int64_t count);
void to_fp16(void* to, const float* from, std::int64_t count);
void to_fp8(void* to, const float* from, std::int64_t count);  // e4m3
void from_bf16(float* to, const void* from, std::int64_t count);
void from_fp16(float* to, const void* from, std::int64_t count);
// In place, to what the format has.
void round_to_bf16(float* data, std::int64_t count);
void round_to_fp16(float* data, std::int64_t count);
// `batch` matrices of bytes, rows x cols to cols x rows; `stride` bytes between those at `from`.
// Adds to *found how many of a's numbers are not b's.
void count_different(const float* a, const float* b, std::int64_t count, unsigned long long* found);

void transpose_bytes(const void* from, void* to, std::int64_t rows, std::int64_t cols,
                     std::int64_t batch, std::int64_t stride);

void causal_softmax_forward(const float* x, float* y, float scale, std::int64_t matrices,
                            std::int64_t queries, std::int64_t keys, std::int64_t first,
                            std::int64_t window = 0, std::int64_t jump = 0,
                            const AttentionSinks& sinks = {});
void sinks_backward(const float* dy, const float* y, const AttentionSinks& sinks, float* dlogits,
                    std::int64_t matrices, std::int64_t keys, std::int64_t queries);
void softmax_backward(const float* dy, const float* y, float* dx, float scale,
                      std::int64_t matrices, std::int64_t keys, std::int64_t queries = 0);
void rotary(float* x, const float* table, std::int64_t blocks, std::int64_t heads,
            std::int64_t rotated, std::int64_t positions, std::int64_t width, bool inverse);
void to_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
              std::int64_t blocks, std::int64_t heads, std::int64_t width);
void from_heads(const float* x, float* y, std::int64_t positions, std::int64_t batch,
                std::int64_t blocks, std::int64_t heads, std::int64_t width);

void embedding_forward(const std::int32_t* tokens, const float* table, float* y, std::int64_t count,
                       std::int64_t first, std::int64_t rows, std::int64_t cols);
void embedding_backward(const std::int32_t* tokens, const float* dy, float* dtable,
                        std::int64_t count, std::int64_t first, std::int64_t rows,
                        std::int64_t cols);
void row_max(const float* logits, float* maximum, std::int64_t rows, std::int64_t cols);
void exp_and_target(float* logits, const float* maximum, const std::int32_t* targets,
                    float* sum_exp, float* target, std::int64_t rows, std::int64_t cols,
                    std::int64_t first);
void cross_entropy_backward(float* logits, const float* sum_exp, const std::int32_t* targets,
                            float scale, std::int64_t rows, std::int64_t cols, std::int64_t first);

}  // namespace meshwright::calibrate::cuda
