// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/calibrate/backends/cpu/one_core.h"
#include "tests/unit/calibrate/backends/cpu/values.h"

namespace meshwright::calibrate::cpu {
namespace {

constexpr std::int64_t kNormRows = 3;
constexpr std::int64_t kNormCols = 37;  // not a multiple of any vector width

std::size_t at(std::int64_t i, std::int64_t j) {
  return static_cast<std::size_t>(i * kNormCols + j);
}

struct Norm {
  std::vector<float> x = values(kNormRows * kNormCols, 1), gamma = values(kNormCols, 2),
                     beta = values(kNormCols, 3);
  std::vector<float> y = std::vector<float>(static_cast<std::size_t>(kNormRows * kNormCols));
  std::vector<float> mean = std::vector<float>(kNormRows), rstd = std::vector<float>(kNormRows);
  Norm() {
    one_core().layer_norm_forward(x.data(), gamma.data(), beta.data(), y.data(), mean.data(),
                                  rstd.data(), kNormRows, kNormCols);
  }
};

std::vector<double> layer_norm_row(const std::vector<double>& x, const std::vector<float>& gamma,
                                   const std::vector<float>& beta) {
  const double n = static_cast<double>(x.size());
  double mean = 0.0, variance = 0.0;
  for (const double v : x) mean += v / n;
  for (const double v : x) variance += (v - mean) * (v - mean) / n;
  std::vector<double> y(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    y[j] = (x[j] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(gamma[j]) +
           static_cast<double>(beta[j]);
  }
  return y;
}

std::vector<double> row(const std::vector<float>& x, std::int64_t i) {
  return {x.begin() + i * kNormCols, x.begin() + (i + 1) * kNormCols};
}

TEST(LayerNormKernels, ForwardEqualsTheDefinition) {
  const Norm norm;
  for (std::int64_t i = 0; i < kNormRows; ++i) {
    const auto expected = layer_norm_row(row(norm.x, i), norm.gamma, norm.beta);
    for (std::int64_t j = 0; j < kNormCols; ++j) {
      EXPECT_NEAR(norm.y[at(i, j)], expected[static_cast<std::size_t>(j)], 1e-5);
    }
  }
}

TEST(LayerNormKernels, BackwardEqualsCentralDifferencesOfTheDefinition) {
  const Norm norm;
  const auto dy = values(kNormRows * kNormCols, 4);
  std::vector<float> dx(dy.size()), dgamma(kNormCols, 1.0F), dbeta(kNormCols, 1.0F);
  one_core().layer_norm_backward(dy.data(), norm.x.data(), norm.gamma.data(), norm.mean.data(),
                                 norm.rstd.data(), dx.data(), dgamma.data(), dbeta.data(),
                                 kNormRows, kNormCols);
  constexpr double kStep = 1e-5;
  for (std::int64_t i = 0; i < kNormRows; ++i) {
    for (std::int64_t j = 0; j < kNormCols; ++j) {
      auto up = row(norm.x, i), down = up;
      up[static_cast<std::size_t>(j)] += kStep;
      down[static_cast<std::size_t>(j)] -= kStep;
      const auto y_up = layer_norm_row(up, norm.gamma, norm.beta);
      const auto y_down = layer_norm_row(down, norm.gamma, norm.beta);
      double expected = 0.0;
      for (std::size_t l = 0; l < y_up.size(); ++l) {
        expected += static_cast<double>(dy[at(i, 0) + l]) * (y_up[l] - y_down[l]) / (2 * kStep);
      }
      ASSERT_NEAR(dx[at(i, j)], expected, 1e-5);
    }
  }
}

TEST(LayerNormKernels, ParameterGradientsAreAddedToWhatIsThere) {
  const Norm norm;
  const auto dy = values(kNormRows * kNormCols, 4);
  std::vector<float> dx(dy.size()), dgamma(kNormCols, 1.0F), dbeta(kNormCols, 1.0F);
  one_core().layer_norm_backward(dy.data(), norm.x.data(), norm.gamma.data(), norm.mean.data(),
                                 norm.rstd.data(), dx.data(), dgamma.data(), dbeta.data(),
                                 kNormRows, kNormCols);
  for (std::int64_t j = 0; j < kNormCols; ++j) {
    double gamma = 1.0, beta = 1.0;
    for (std::int64_t i = 0; i < kNormRows; ++i) {
      const double d = dy[at(i, j)];
      const auto r = static_cast<std::size_t>(i);
      gamma += d * (static_cast<double>(norm.x[at(i, j)]) - norm.mean[r]) * norm.rstd[r];
      beta += d;
    }
    EXPECT_NEAR(dgamma[static_cast<std::size_t>(j)], gamma, 1e-5);
    EXPECT_NEAR(dbeta[static_cast<std::size_t>(j)], beta, 1e-5);
  }
}

}  // namespace
}  // namespace meshwright::calibrate::cpu
