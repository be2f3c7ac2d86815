// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt. For each new shape its heuristic names a few algorithms, the one
// first that it expects to be fastest. Frameworks run that one unseen, and so does this. Where
// GemmCall::fastest_algorithm asks for it, each is timed once on the real operands, and the fastest
// is used from then on.
//
// fp8 is e4m3 with scale 1. Hopper and Ada multiply it only with op(a) = a and op(b) = b'
// (cuBLASLt's "TN"); other operands are transposed first, which is no part of the product: what
// times products hands them over in that order. Edges must be multiples of 16.
#pragma once

#include <map>

#include "calibrate/backends/cuda/device.h"
#include "calibrate/backends/cuda/device_memory.h"
#include "calibrate/backends/cuda/gemm_problem.h"

namespace meshwright::calibrate::cuda {

class Gemm {
 public:
  explicit Gemm(ComputeCapability capability);

  [[nodiscard]] bool supports(Precision precision) const;
  // Throws UnsupportedCall where cuBLASLt has no such product.
  void run(const GemmCall& call);

 private:
  struct Plan {
    GemmProblem problem;
    cublasLtMatmulAlgo_t algorithm{};
    std::size_t workspace = 0;
  };

  struct Candidates;

  const Plan& plan_for(const GemmCall& call);
  Plan plan(const GemmCall& call);
  Candidates candidates(const GemmCall& call, const GemmProblem& problem);
  void keep_fastest(const GemmCall& call, const Candidates& candidates, Plan& plan);
  cublasStatus_t multiply(const GemmCall& call, const Plan& plan, void* result);
  float milliseconds(const GemmCall& call, const Plan& plan, void* result);
  GemmCall with_fp8_operands_in_order(const GemmCall& call);

  ComputeCapability capability_;
  CublasObject<cublasLtHandle_t> handle_;
  DeviceMemory workspace_;
  DeviceMemory ordered_a_, ordered_b_;  // fp8 operands that had to be transposed
  std::map<GemmKey, Plan> plans_;
};

}  // namespace meshwright::calibrate::cuda
