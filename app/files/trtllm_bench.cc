// SPDX-License-Identifier: Apache-2.0
#include "app/files/trtllm_bench.h"

#include <algorithm>
#include <cmath>

namespace meshwright::app {
namespace {

constexpr double kMostRequests = 4096, kMostTokens = 32768;
constexpr int kLeastBatch = 64, kLeastTokens = 2048;

int up_to(double value, int step) { return step * static_cast<int>(std::ceil(value / step)); }

}  // namespace

BenchLimits trtllm_bench_limits(double requests, double input, double output, int stages) {
  const double batch = std::min(requests, kMostRequests) / stages;
  const double tokens = std::min(batch * (1.0 + input / output), kMostTokens);
  const int batch_step = batch < 256 ? 32 : (batch < 1024 ? 128 : 256);
  const int token_step = tokens < 4096 ? 256 : (tokens < 8192 ? 512 : 1024);
  const int most = std::max(kLeastBatch, up_to(batch, batch_step));
  return {most, std::max({kLeastTokens, up_to(tokens, token_step),
                          static_cast<int>(std::ceil(input)) + most})};
}

}  // namespace meshwright::app
