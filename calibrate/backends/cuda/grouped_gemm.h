// SPDX-License-Identifier: Apache-2.0
// The products of many experts in one call: cublasGemmGroupedBatchedEx (cuBLAS 12.5 and later),
// each expert a group of one. Its three arrays of pointers lie on the device, all other arrays on
// the host. fp8 is not among its formats.
#pragma once

#include <memory>
#include <string>

#include "calibrate/backends/library_kernels.h"

namespace meshwright::calibrate::cuda {

// The numbers of one call, column-major: our row-major c = a op(b) is c' = op(b)' a', so cuBLAS'
// first operand is our b. Pure.
struct GroupedProblem {
  explicit GroupedProblem(const GroupedGemmCall& call);

  // Of each group: op(first) is m x k, the second k x n.
  std::vector<std::int64_t> m, n, k, first_ld, second_ld, result_ld, sizes;
  std::vector<float> alpha, beta;
  bool transpose_first = false;
  // Offsets of each group's operands, in numbers.
  std::vector<std::int64_t> first_offset, second_offset, result_offset;
};

class GroupedGemm {
 public:
  GroupedGemm() = default;
  GroupedGemm(const GroupedGemm&) = delete;
  GroupedGemm& operator=(const GroupedGemm&) = delete;
  virtual ~GroupedGemm() = default;

  [[nodiscard]] virtual std::string why_not(Precision precision) = 0;
  virtual void run(const GroupedGemmCall& call) = 0;
};

// Never null: without the library or its function it answers why_not() alone.
std::unique_ptr<GroupedGemm> make_grouped_gemm();

}  // namespace meshwright::calibrate::cuda
