// SPDX-License-Identifier: Apache-2.0
// A GemmCall in cuBLASLt's words.
//
// cuBLASLt is column-major: our row-major c = op(a) op(b) is its c' = op(b)' op(a)', so its first
// operand is our b. Nothing is copied for that.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <tuple>
#include <type_traits>

#include "calibrate/backends/compute.h"

namespace meshwright::calibrate::cuda {

struct DestroyCublasObject {
  void operator()(cublasLtMatmulDesc_t d) const { cublasLtMatmulDescDestroy(d); }
  void operator()(cublasLtMatrixLayout_t l) const { cublasLtMatrixLayoutDestroy(l); }
  void operator()(cublasLtMatmulPreference_t p) const { cublasLtMatmulPreferenceDestroy(p); }
  void operator()(cublasLtHandle_t h) const { cublasLtDestroy(h); }
};
template <typename Handle>
using CublasObject = std::unique_ptr<std::remove_pointer_t<Handle>, DestroyCublasObject>;

// The type of a matrix in this format. No fp4 is measured.
cudaDataType_t data_type(Precision precision);
// fp32 means fp32: only tf32 may round its operands to 10 bits of mantissa.
cublasComputeType_t compute_type(Precision precision);

// The largest power of two up to 256 that divides the address: an algorithm may want 16 bytes, and
// pointers into the middle of an array may have less.
unsigned alignment_of(const void* pointer);

// Key of the chosen algorithm: the call, with the alignments of its pointers in place of the
// pointers.
using GemmKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool,
                           Precision, Precision, bool, bool, bool, std::int64_t, std::int64_t,
                           std::int64_t, unsigned, unsigned, unsigned>;
GemmKey key_of(const GemmCall& call);

// The library cannot do what it was asked, and nothing has happened (cublasLt.h, cublasLtMatmul:
// parameters in an impossible configuration, or not supported on this device).
bool is_refusal(cublasStatus_t status);

struct GemmProblem {
  explicit GemmProblem(const GemmCall& call);

  CublasObject<cublasLtMatmulDesc_t> operation;
  CublasObject<cublasLtMatrixLayout_t> first, second, result;
};

}  // namespace meshwright::calibrate::cuda
