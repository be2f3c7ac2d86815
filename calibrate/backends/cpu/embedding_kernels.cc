// SPDX-License-Identifier: Apache-2.0
// Vocabulary-parallel embedding and cross-entropy (Shoeybi 2019, arXiv 1909.08053, section 3).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "calibrate/backends/cpu/fast_math.h"
#include "calibrate/backends/cpu/kernels.h"

namespace meshwright::calibrate::cpu {
namespace {

// The row of a slice first..first+rows-1 that holds `id`, or -1.
std::int64_t local_row(std::int32_t id, std::int64_t first, std::int64_t rows) {
  const std::int64_t local = id - first;
  return local >= 0 && local < rows ? local : -1;
}

}  // namespace

void CpuKernels::embedding_forward(const std::int32_t* tokens, const float* table, float* y,
                                   std::int64_t count, std::int64_t first, std::int64_t rows,
                                   std::int64_t cols) {
  const std::size_t row_bytes = static_cast<std::size_t>(cols) * sizeof(float);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t local = local_row(tokens[i], first, rows);
    if (local < 0) {
      std::memset(y + i * cols, 0, row_bytes);
    } else {
      std::memcpy(y + i * cols, table + local * cols, row_bytes);
    }
  }
}

void CpuKernels::embedding_backward(const std::int32_t* tokens, const float* dy, float* dtable,
                                    std::int64_t count, std::int64_t first, std::int64_t rows,
                                    std::int64_t cols) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t local = local_row(tokens[i], first, rows);
    if (local >= 0) add(dtable + local * cols, dy + i * cols, dtable + local * cols, cols);
  }
}

void CpuKernels::row_max(const float* logits, float* maximum, std::int64_t rows,
                         std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, logits += cols) {
    float m = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : m)
    for (std::int64_t j = 0; j < cols; ++j) m = std::max(m, logits[j]);
    maximum[i] = m;
  }
}

void CpuKernels::exp_and_target(float* logits, const float* maximum, const std::int32_t* targets,
                                float* sum_exp, float* target, std::int64_t rows, std::int64_t cols,
                                std::int64_t first) {
  for (std::int64_t i = 0; i < rows; ++i, logits += cols) {
    const float m = maximum[i];
    const std::int64_t local = local_row(targets[i], first, cols);
    target[i] = local < 0 ? 0.0F : logits[local] - m;
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < cols; ++j) {
      const float e = fast_exp(logits[j] - m);
      logits[j] = e;
      sum += e;
    }
    sum_exp[i] = sum;
  }
}

void CpuKernels::cross_entropy_backward(float* logits, const float* sum_exp,
                                        const std::int32_t* targets, float scale, std::int64_t rows,
                                        std::int64_t cols, std::int64_t first) {
  for (std::int64_t i = 0; i < rows; ++i, logits += cols) {
    const float factor = scale / sum_exp[i];
#pragma omp simd
    for (std::int64_t j = 0; j < cols; ++j) logits[j] *= factor;
    const std::int64_t local = local_row(targets[i], first, cols);
    if (local >= 0) logits[local] -= scale;
  }
}

void CpuKernels::add_cross_entropy(const float* sum_exp, const float* target, float* loss,
                                   float share, std::int64_t rows) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < rows; ++i) {
    sum += std::log(static_cast<double>(sum_exp[i])) - static_cast<double>(target[i]);
  }
  *loss += static_cast<float>(static_cast<double>(share) * sum);
}

}  // namespace meshwright::calibrate::cpu
