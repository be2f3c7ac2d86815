// SPDX-License-Identifier: Apache-2.0
// Vocabulary-parallel embedding and cross-entropy (Shoeybi 2019, arXiv 1909.08053, section 3).
#include "calibrate/backends/cuda/kernels/kernels.h"
#include "calibrate/backends/cuda/kernels/reduce.cuh"

namespace meshwright::calibrate::cuda {
namespace {

// The row of a slice first..first+rows-1 that holds `id`, or -1.
__device__ std::int64_t local_row(std::int32_t id, std::int64_t first, std::int64_t rows) {
  const std::int64_t local = id - first;
  return local >= 0 && local < rows ? local : -1;
}

__global__ void embedding_forward_kernel(const std::int32_t* tokens, const float* table, float* y,
                                         std::int64_t first, std::int64_t rows, std::int64_t cols) {
  const std::int64_t i = blockIdx.x;
  const std::int64_t local = local_row(tokens[i], first, rows);
  for_columns_of_chunk(
      cols, [=](std::int64_t j) { y[i * cols + j] = local < 0 ? 0.0F : table[local * cols + j]; });
}

__global__ void embedding_backward_kernel(const std::int32_t* tokens, const float* dy,
                                          float* dtable, std::int64_t first, std::int64_t rows,
                                          std::int64_t cols) {
  const std::int64_t i = blockIdx.x;
  const std::int64_t local = local_row(tokens[i], first, rows);
  if (local < 0) return;
  for_columns_of_chunk(
      cols, [=](std::int64_t j) { atomicAdd(dtable + local * cols + j, dy[i * cols + j]); });
}

__global__ void row_max_kernel(const float* logits, float* maximum, std::int64_t cols) {
  const std::int64_t row = blockIdx.x;
  const float m = reduce_row(cols, Max{}, [=](std::int64_t j) { return logits[row * cols + j]; });
  if (threadIdx.x == 0) maximum[row] = m;
}

__global__ void exp_and_target_kernel(float* logits, const float* maximum,
                                      const std::int32_t* targets, float* sum_exp, float* target,
                                      std::int64_t cols, std::int64_t first) {
  const std::int64_t row = blockIdx.x;
  float* of_row = logits + row * cols;
  const float m = maximum[row];
  const std::int64_t local = local_row(targets[row], first, cols);
  if (threadIdx.x == 0) target[row] = local < 0 ? 0.0F : of_row[local] - m;
  __syncthreads();  // the target's logit is read before another thread overwrites it
  const float sum = reduce_row(cols, Add{}, [=](std::int64_t j) {
    const float e = expf(of_row[j] - m);
    of_row[j] = e;
    return e;
  });
  if (threadIdx.x == 0) sum_exp[row] = sum;
}

__global__ void cross_entropy_backward_kernel(float* logits, const float* sum_exp,
                                              const std::int32_t* targets, float scale,
                                              std::int64_t cols, std::int64_t first) {
  const std::int64_t row = blockIdx.x;
  float* of_row = logits + row * cols;
  const float factor = scale / sum_exp[row];
  const std::int64_t local = local_row(targets[row], first, cols);
  for_columns_of_chunk(
      cols, [=](std::int64_t j) { of_row[j] = of_row[j] * factor - (j == local ? scale : 0.0F); });
}

// One block.
__global__ void add_cross_entropy_kernel(const float* sum_exp, const float* target, float* loss,
                                         float share, std::int64_t rows) {
  const float sum =
      reduce_row(rows, Add{}, [=](std::int64_t i) { return logf(sum_exp[i]) - target[i]; });
  if (threadIdx.x == 0) *loss += share * sum;
}

// Rows of one number: a block a row would leave all but one of its threads idle.
__global__ void pick_kernel(const std::int32_t* tokens, const float* table, float* y,
                            std::int64_t count, std::int64_t first, std::int64_t rows) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const std::int64_t local = local_row(tokens[i], first, rows);
    y[i] = local < 0 ? 0.0F : table[local];
  }
}

__global__ void put_back_kernel(const std::int32_t* tokens, const float* dy, float* dtable,
                                std::int64_t count, std::int64_t first, std::int64_t rows) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const std::int64_t local = local_row(tokens[i], first, rows);
    if (local >= 0) atomicAdd(dtable + local, dy[i]);
  }
}

}  // namespace

void CudaKernels::add_cross_entropy(const float* sum_exp, const float* target, float* loss,
                                    float share, std::int64_t rows) {
  if (rows == 0) return;
  add_cross_entropy_kernel<<<1, kThreads, 0, kStream>>>(sum_exp, target, loss, share, rows);
  check_launch();
}

void CudaKernels::embedding_forward(const std::int32_t* tokens, const float* table, float* y,
                                    std::int64_t count, std::int64_t first, std::int64_t rows,
                                    std::int64_t cols) {
  if (count == 0 || cols == 0) return;
  if (cols == 1) {
    pick_kernel<<<flat(count), kThreads, 0, kStream>>>(tokens, table, y, count, first, rows);
  } else {
    embedding_forward_kernel<<<row_chunks(count, cols), kThreads, 0, kStream>>>(tokens, table, y,
                                                                                first, rows, cols);
  }
  check_launch();
}

void CudaKernels::embedding_backward(const std::int32_t* tokens, const float* dy, float* dtable,
                                     std::int64_t count, std::int64_t first, std::int64_t rows,
                                     std::int64_t cols) {
  if (count == 0 || cols == 0) return;
  if (cols == 1) {
    put_back_kernel<<<flat(count), kThreads, 0, kStream>>>(tokens, dy, dtable, count, first, rows);
  } else {
    embedding_backward_kernel<<<row_chunks(count, cols), kThreads, 0, kStream>>>(tokens, dy, dtable,
                                                                                 first, rows, cols);
  }
  check_launch();
}

void CudaKernels::row_max(const float* logits, float* maximum, std::int64_t rows,
                          std::int64_t cols) {
  if (rows == 0) return;
  row_max_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(logits, maximum, cols);
  check_launch();
}

void CudaKernels::exp_and_target(float* logits, const float* maximum, const std::int32_t* targets,
                                 float* sum_exp, float* target, std::int64_t rows,
                                 std::int64_t cols, std::int64_t first) {
  if (rows == 0) return;
  exp_and_target_kernel<<<one_block_a_row(rows), kThreads, 0, kStream>>>(
      logits, maximum, targets, sum_exp, target, cols, first);
  check_launch();
}

void CudaKernels::cross_entropy_backward(float* logits, const float* sum_exp,
                                         const std::int32_t* targets, float scale,
                                         std::int64_t rows, std::int64_t cols, std::int64_t first) {
  if (rows == 0 || cols == 0) return;
  cross_entropy_backward_kernel<<<row_chunks(rows, cols), kThreads, 0, kStream>>>(
      logits, sum_exp, targets, scale, cols, first);
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
