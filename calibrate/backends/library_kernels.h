// SPDX-License-Identifier: Apache-2.0
// Kernels that only the libraries of some devices have, beside those of Compute: fused attention,
// the products of many experts in one call, and casts to fp8 as Transformer Engine runs them.
//
// Pointers are device pointers, matrices are row-major. Calls are asynchronous where the device is.
// A call that cannot run throws UnsupportedCall (compute.h); the why_no_... functions say so
// before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/job.h"

namespace meshwright::calibrate {

// o = softmax(scale * q k^T) v, head by head; under `causal` query i sees keys 0..i. Query heads
// share the keys and values of their group. Backward wants the o and `statistics` of forward.
struct AttentionCall {
  std::int64_t batch = 1, heads = 1, query_groups = 1, positions = 0, head_dim = 128;
  bool causal = true, backward = false;
  Precision precision = Precision::bf16;  // of all but the statistics: bf16 or fp16
  float scale = 1.0F;
  // (batch, heads or query_groups, positions, head_dim), without gaps.
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
  // (batch, heads, positions): the logarithm of the sum of exponentials of a row's scores.
  float* statistics = nullptr;
  const void* d_o = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
};

// c[e] = a[e] * op(b[e]) for each expert e: a[e] is rows[e] x k, op(b[e]) is k x n, c[e] is
// rows[e] x n. Each operand holds its experts one after the other, without gaps. Results have the
// operands' format.
struct GroupedGemmCall {
  std::vector<std::int64_t> rows;  // of each expert
  std::int64_t n = 0, k = 0;
  bool transpose_b = false;
  Precision precision = Precision::bf16;  // fp32, tf32, bf16 or fp16
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};

class LibraryKernels {
 public:
  LibraryKernels() = default;
  LibraryKernels(const LibraryKernels&) = delete;
  LibraryKernels& operator=(const LibraryKernels&) = delete;
  virtual ~LibraryKernels() = default;

  // Why attention of this shape cannot run; empty: it can. Its pointers do not count.
  [[nodiscard]] virtual std::string why_no_attention(const AttentionCall& call) = 0;
  virtual void attention(const AttentionCall& call) = 0;

  // Why one call cannot multiply for many experts in this format; empty: it can.
  [[nodiscard]] virtual std::string why_no_grouped_gemm(Precision precision) = 0;
  virtual void grouped_gemm(const GroupedGemmCall& call) = 0;

  // Tells whether the device has fp8 numbers.
  [[nodiscard]] virtual bool casts_to_fp8() const = 0;
  // *largest = max(*largest, the largest magnitude of `count` numbers of bf16).
  virtual void find_largest(const void* from, float* largest, std::int64_t count) = 0;
  // to = fp8 (e4m3) of *scale * from (bf16), and the largest magnitude of `from` as above.
  virtual void cast_to_fp8(const void* from, const float* scale, void* to, float* largest,
                           std::int64_t count) = 0;
  // The same of a matrix, by rows and, transposed, by columns. Both edges are multiples of
  // kFp8Tile.
  virtual void cast_transpose_to_fp8(const void* from, const float* scale, void* to,
                                     void* transposed, float* largest, std::int64_t rows,
                                     std::int64_t cols) = 0;
  // A matrix of fp8 numbers transposed.
  virtual void transpose_fp8(const void* from, void* to, std::int64_t rows, std::int64_t cols) = 0;

  static constexpr std::int64_t kFp8Tile = 64;
};

}  // namespace meshwright::calibrate
