// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "calibrate/backends/cuda/cublas_check.h"
#include "calibrate/backends/cuda/event.h"
#include "calibrate/backends/cuda/kernels/kernels.h"
#include "calibrate/backends/cuda/stream.h"
#include "sim/base/error.h"
#include "sim/base/job.h"

namespace meshwright::calibrate::cuda {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20U;  // cuBLAS's own default on Hopper
constexpr int kCandidates = 6;
constexpr int kTimedRuns = 3;
constexpr std::int64_t kFp8Multiple = 16;

CublasObject<cublasLtHandle_t> make_handle() {
  cublasLtHandle_t handle = nullptr;
  CUBLAS_CHECK(cublasLtCreate(&handle));
  return CublasObject<cublasLtHandle_t>(handle);
}

template <typename Value>
void prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t what,
            Value value) {
  CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, what, &value, sizeof value));
}

CublasObject<cublasLtMatmulPreference_t> make_preference(const GemmCall& call) {
  cublasLtMatmulPreference_t made = nullptr;
  CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&made));
  CublasObject<cublasLtMatmulPreference_t> preference(made);
  prefer(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspace});
  prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{alignment_of(call.b)});
  prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t{alignment_of(call.a)});
  prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, std::uint32_t{alignment_of(call.c)});
  prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t{alignment_of(call.c)});
  return preference;
}

std::string words(const GemmCall& c) {
  return fmt::format("{} GEMM of {} x ({} x {}) ({} x {}){}{}", name_of(c.precision), c.batch, c.m,
                     c.k, c.k, c.n, c.transpose_a ? ", a transposed" : "",
                     c.transpose_b ? ", b transposed" : "");
}

[[noreturn]] void refuse(const GemmCall& call, cublasStatus_t status) {
  throw UnsupportedCall(
      fmt::format("cuBLASLt has no {}: {}", words(call), cublasLtGetStatusString(status)));
}

void check(const GemmCall& call, cublasStatus_t status, const char* function) {
  if (is_refusal(status)) refuse(call, status);
  if (status != CUBLAS_STATUS_SUCCESS) throw_cublas_error(status, function, __FILE__, __LINE__);
}

std::size_t result_bytes(const GemmCall& c) {
  const std::int64_t between = c.batch == 1 ? 0 : (c.batch - 1) * c.stride_c;
  const double width = bytes_per_element(c.result);
  return static_cast<std::size_t>(static_cast<double>(between + c.m * c.n) * width);
}

}  // namespace

Gemm::Gemm(ComputeCapability capability)
    : capability_(capability), handle_(make_handle()), workspace_(kWorkspace) {}

bool Gemm::supports(Precision precision) const {
  switch (precision) {
    case Precision::fp32:
    case Precision::fp16:
      return true;
    case Precision::tf32:
    case Precision::bf16:
      return capability_.at_least(8, 0);
    case Precision::fp8:
      return capability_.at_least(8, 9);
    case Precision::fp4:
      return false;  // not measured
  }
  return false;
}

// What cuBLASLt says is possible, the likely fastest first.
struct Gemm::Candidates {
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> list{};
  std::size_t count = 0;
};

void Gemm::run(const GemmCall& asked) {
  invariant(supports(asked.precision), "this precision was not asked for with supports()");
  if (asked.batch * asked.m * asked.n * asked.k == 0) return;
  const GemmCall call = with_fp8_operands_in_order(asked);
  check(call, multiply(call, plan_for(call), call.c), "cublasLtMatmul");
}

const Gemm::Plan& Gemm::plan_for(const GemmCall& call) {
  const GemmKey key = key_of(call);
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  return plans_.emplace(key, plan(call)).first->second;
}

Gemm::Plan Gemm::plan(const GemmCall& call) {
  Plan plan{GemmProblem(call)};
  const Candidates possible = candidates(call, plan.problem);
  plan.algorithm = possible.list.front().algo;
  plan.workspace = possible.list.front().workspaceSize;
  if (call.fastest_algorithm) keep_fastest(call, possible, plan);
  return plan;
}

// At least one. Entries whose state is another than success say nothing.
Gemm::Candidates Gemm::candidates(const GemmCall& call, const GemmProblem& p) {
  const auto preference = make_preference(call);
  Candidates possible;
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_.get(), p.operation.get(), p.first.get(), p.second.get(), p.result.get(),
      p.result.get(), preference.get(), kCandidates, possible.list.data(), &found);
  check(call, status, "cublasLtMatmulAlgoGetHeuristic");
  const auto end = std::remove_if(
      possible.list.begin(), possible.list.begin() + found,
      [](const cublasLtMatmulHeuristicResult_t& c) { return c.state != CUBLAS_STATUS_SUCCESS; });
  possible.count = static_cast<std::size_t>(end - possible.list.begin());
  if (possible.count == 0) refuse(call, CUBLAS_STATUS_NOT_SUPPORTED);
  return possible;
}

// Candidates write where it does no harm: over c when c's old value does not count, else into
// memory of their own, and where there is none the first choice stays.
void Gemm::keep_fastest(const GemmCall& call, const Candidates& candidates, Plan& plan) {
  DeviceMemory aside;
  const bool harmless = call.beta == 0.0F || aside.try_reserve(result_bytes(call));
  if (!harmless) return;
  void* result = call.beta == 0.0F ? call.c : aside.data();
  float best = std::numeric_limits<float>::infinity();
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < candidates.count; ++i) {
    plan.algorithm = candidates.list[i].algo;
    plan.workspace = candidates.list[i].workspaceSize;
    const float time = milliseconds(call, plan, result);
    if (time >= best) continue;
    best = time;
    chosen = i;
  }
  plan.algorithm = candidates.list[chosen].algo;
  plan.workspace = candidates.list[chosen].workspaceSize;
}

// Milliseconds of the fastest of kTimedRuns after one warm-up run; infinite if the algorithm
// refuses the call.
float Gemm::milliseconds(const GemmCall& call, const Plan& plan, void* result) {
  float best = std::numeric_limits<float>::infinity();
  if (multiply(call, plan, result) != CUBLAS_STATUS_SUCCESS) return best;
  const Event begin, end;
  for (int i = 0; i < kTimedRuns; ++i) {
    begin.record();
    CUBLAS_CHECK(multiply(call, plan, result));
    end.record();
    best = std::min(best, end.milliseconds_since(begin));
  }
  return best;
}

cublasStatus_t Gemm::multiply(const GemmCall& call, const Plan& plan, void* result) {
  const GemmProblem& p = plan.problem;
  return cublasLtMatmul(handle_.get(), p.operation.get(), &call.alpha, call.b, p.first.get(),
                        call.a, p.second.get(), &call.beta, call.c, p.result.get(), result,
                        p.result.get(), &plan.algorithm, workspace_.data(), plan.workspace,
                        kStream);
}

GemmCall Gemm::with_fp8_operands_in_order(const GemmCall& call) {
  if (call.precision != Precision::fp8) return call;
  if (call.m % kFp8Multiple != 0 || call.n % kFp8Multiple != 0 || call.k % kFp8Multiple != 0) {
    throw UnsupportedCall(
        fmt::format("{}: edges must be multiples of {}", words(call), kFp8Multiple));
  }
  const bool any_order = capability_.major == 10;  // data-centre Blackwell
  GemmCall ordered = call;
  if (any_order) return ordered;
  if (call.transpose_a) {
    ordered_a_.reserve(static_cast<std::size_t>(call.batch * call.m * call.k));
    transpose_bytes(call.a, ordered_a_.data(), call.k, call.m, call.batch, call.stride_a);
    ordered.a = ordered_a_.data();
    ordered.stride_a = call.m * call.k;
    ordered.transpose_a = false;
  }
  if (!call.transpose_b) {
    ordered_b_.reserve(static_cast<std::size_t>(call.batch * call.k * call.n));
    transpose_bytes(call.b, ordered_b_.data(), call.k, call.n, call.batch, call.stride_b);
    ordered.b = ordered_b_.data();
    ordered.stride_b = call.k * call.n;
    ordered.transpose_b = true;
  }
  return ordered;
}

}  // namespace meshwright::calibrate::cuda
