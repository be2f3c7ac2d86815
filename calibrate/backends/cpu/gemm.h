// SPDX-License-Identifier: Apache-2.0
// Matrix products on one core. One of gemm_onednn.cc and gemm_eigen.cc is compiled.
#pragma once

#include <memory>
#include <string>

#include "calibrate/backends/compute.h"

namespace meshwright::calibrate::cpu {

class Gemm {
 public:
  Gemm() = default;
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;
  virtual ~Gemm() = default;

  [[nodiscard]] virtual bool supports(Precision precision) const = 0;
  virtual void run(const GemmCall& call) = 0;
};

std::unique_ptr<Gemm> make_gemm();
// "oneDNN 2.6.3"
std::string gemm_library();

}  // namespace meshwright::calibrate::cpu
