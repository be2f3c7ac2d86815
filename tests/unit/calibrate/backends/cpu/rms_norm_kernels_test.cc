// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/backends/cpu/kernels.h"
#include "tests/unit/calibrate/backends/cpu/values.h"

namespace meshwright::calibrate::cpu {
namespace {

constexpr std::int64_t kRows = 3;
constexpr std::int64_t kCols = 37;  // not a multiple of any vector width

std::vector<double> reference_row(const std::vector<double>& x, const std::vector<float>& gamma) {
  double square = 0.0;
  for (const double v : x) square += v * v / static_cast<double>(x.size());
  std::vector<double> y(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    y[j] = x[j] / std::sqrt(square + 1e-5) * static_cast<double>(gamma[j]);
  }
  return y;
}

TEST(RmsNormKernels, ForwardIsTheDefinitionAndBackwardItsCentralDifferences) {
  const auto x = values(kRows * kCols, 1), gamma = values(kCols, 2), dy = values(kRows * kCols, 4);
  std::vector<float> y(x.size()), rstd(kRows), dx(x.size()), dgamma(kCols, 1.0F);
  rms_norm_forward(x.data(), gamma.data(), y.data(), rstd.data(), kRows, kCols);
  rms_norm_backward(dy.data(), x.data(), gamma.data(), rstd.data(), dx.data(), dgamma.data(), kRows,
                    kCols);
  std::vector<double> expected_dgamma(kCols, 1.0);  // added to what is there
  constexpr double kStep = 1e-5;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const auto first = static_cast<std::size_t>(i * kCols);
    const std::vector<double> row(x.begin() + i * kCols, x.begin() + (i + 1) * kCols);
    const auto exact = reference_row(row, gamma);
    for (std::size_t j = 0; j < row.size(); ++j) {
      auto up = row, down = row;
      up[j] += kStep;
      down[j] -= kStep;
      const auto y_up = reference_row(up, gamma), y_down = reference_row(down, gamma);
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
