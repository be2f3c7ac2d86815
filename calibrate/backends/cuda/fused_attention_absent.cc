// SPDX-License-Identifier: Apache-2.0
// A build without cuDNN's headers.
#include "calibrate/backends/cuda/fused_attention.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {
namespace {

class NoFusedAttention final : public FusedAttention {
 public:
  [[nodiscard]] std::string why_not(const AttentionCall& /*call*/) override {
    return "cuDNN: this program was built without its headers";
  }
  void run(const AttentionCall& call) override { throw SystemError(why_not(call)); }
};

}  // namespace

std::unique_ptr<FusedAttention> make_fused_attention() {
  return std::make_unique<NoFusedAttention>();
}
std::string cudnn_version() { return ""; }

}  // namespace meshwright::calibrate::cuda
