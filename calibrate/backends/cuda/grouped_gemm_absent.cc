// SPDX-License-Identifier: Apache-2.0
// A build with a CUDA Toolkit older than 12.5, whose cuBLAS has no grouped products.
#include "calibrate/backends/cuda/grouped_gemm.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {
namespace {

class NoGroupedGemm final : public GroupedGemm {
 public:
  [[nodiscard]] std::string why_not(Precision /*precision*/) override {
    return "cuBLAS: grouped products need a build with CUDA Toolkit 12.5 or later";
  }
  void run(const GroupedGemmCall& call) override { throw SystemError(why_not(call.precision)); }
};

}  // namespace

std::unique_ptr<GroupedGemm> make_grouped_gemm() { return std::make_unique<NoGroupedGemm>(); }

}  // namespace meshwright::calibrate::cuda
