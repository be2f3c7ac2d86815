// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <Eigen/Core>

#include "calibrate/backends/cpu/gemm.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cpu {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Matrix>;

template <typename A, typename B>
void multiply(const A& a, const B& b, float alpha, float beta, Eigen::Map<Matrix> c) {
  if (beta == 0.0F) {
    c.noalias() = alpha * a * b;
    return;
  }
  if (beta != 1.0F) c *= beta;
  c.noalias() += alpha * a * b;
}

class EigenGemm final : public Gemm {
 public:
  [[nodiscard]] bool supports(Precision precision) const override {
    return precision == Precision::fp32;
  }

  void run(const GemmCall& call) override {
    invariant(supports(call.precision), "this precision was not asked for with supports()");
    for (std::int64_t i = 0; i < call.batch; ++i) run_one(call, i);
  }

 private:
  static void run_one(const GemmCall& call, std::int64_t i) {
    const float* a = static_cast<const float*>(call.a) + i * call.stride_a;
    const float* b = static_cast<const float*>(call.b) + i * call.stride_b;
    const Eigen::Map<Matrix> c(static_cast<float*>(call.c) + i * call.stride_c, call.m, call.n);
    const ConstMap plain_a(a, call.m, call.k), stored_a(a, call.k, call.m);
    const ConstMap plain_b(b, call.k, call.n), stored_b(b, call.n, call.k);
    if (call.transpose_a && call.transpose_b) {
      multiply(stored_a.transpose(), stored_b.transpose(), call.alpha, call.beta, c);
    } else if (call.transpose_a) {
      multiply(stored_a.transpose(), plain_b, call.alpha, call.beta, c);
    } else if (call.transpose_b) {
      multiply(plain_a, stored_b.transpose(), call.alpha, call.beta, c);
    } else {
      multiply(plain_a, plain_b, call.alpha, call.beta, c);
    }
  }
};

}  // namespace

std::unique_ptr<Gemm> make_gemm() { return std::make_unique<EigenGemm>(); }

std::string gemm_library() {
  return fmt::format("Eigen {}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                     EIGEN_MINOR_VERSION);
}

}  // namespace meshwright::calibrate::cpu
