// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/calibrate/backends/cpu/one_core.h"
#include "tests/unit/calibrate/backends/cpu/values.h"

namespace meshwright::calibrate::cpu {
namespace {

constexpr std::int64_t kRmsRows = 3;
constexpr std::int64_t kRmsCols = 37;  // not a multiple of any vector width

std::vector<double> rms_norm_row(const std::vector<double>& x, const std::vector<float>& gamma) {
  double square = 0.0;
  for (const double v : x) square += v * v / static_cast<double>(x.size());
  std::vector<double> y(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    y[j] = x[j] / std::sqrt(square + 1e-5) * static_cast<double>(gamma[j]);
  }
  return y;
}

TEST(RmsNormKernels, ForwardIsTheDefinitionAndBackwardItsCentralDifferences) {
  const auto x = values(kRmsRows * kRmsCols, 1), gamma = values(kRmsCols, 2),
             dy = values(kRmsRows * kRmsCols, 4);
  std::vector<float> y(x.size()), rstd(kRmsRows), dx(x.size()), dgamma(kRmsCols, 1.0F);
  one_core().rms_norm_forward(x.data(), gamma.data(), y.data(), rstd.data(), kRmsRows, kRmsCols);
  one_core().rms_norm_backward(dy.data(), x.data(), gamma.data(), rstd.data(), dx.data(),
                               dgamma.data(), kRmsRows, kRmsCols);
  std::vector<double> expected_dgamma(kRmsCols, 1.0);  // added to what is there
  constexpr double kStep = 1e-5;
  for (std::int64_t i = 0; i < kRmsRows; ++i) {
    const auto first = static_cast<std::size_t>(i * kRmsCols);
    const std::vector<double> row(x.begin() + i * kRmsCols, x.begin() + (i + 1) * kRmsCols);
    const auto exact = rms_norm_row(row, gamma);
    for (std::size_t j = 0; j < row.size(); ++j) {
      auto up = row, down = row;
      up[j] += kStep;
      down[j] -= kStep;
      const auto y_up = rms_norm_row(up, gamma), y_down = rms_norm_row(down, gamma);
      double slope = 0.0;
      for (std::size_t l = 0; l < row.size(); ++l) {
        slope += static_cast<double>(dy[first + l]) * (y_up[l] - y_down[l]) / (2 * kStep);
      }
      ASSERT_NEAR(y[first + j], exact[j], 1e-5);
      ASSERT_NEAR(dx[first + j], slope, 1e-5);
      expected_dgamma[j] += static_cast<double>(dy[first + j]) * exact[j] / gamma[j];
    }
  }
  for (std::size_t j = 0; j < dgamma.size(); ++j) EXPECT_NEAR(dgamma[j], expected_dgamma[j], 1e-5);
}

}  // namespace
}  // namespace meshwright::calibrate::cpu
