// SPDX-License-Identifier: Apache-2.0
#include "sim/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace meshwright {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

double quantile(std::vector<double> values, double share) {
  const auto n = static_cast<double>(values.size());
  const double rank = std::clamp(std::ceil(share * n), 1.0, n) - 1.0;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

double trimmed_root_mean_square(std::vector<double> values) {
  constexpr std::size_t kFewest = 5;
  std::sort(values.begin(), values.end());
  const std::size_t off = values.size() < kFewest ? 0 : (values.size() + 9) / 10;
  double sum = 0.0;
  for (std::size_t i = off; i < values.size() - off; ++i) sum += values[i] * values[i];
  return values.empty() ? 0.0 : std::sqrt(sum / static_cast<double>(values.size() - 2 * off));
}

double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0.0;
  const double middle = mean(values);
  double sum = 0.0;
  for (const double v : values) sum += (v - middle) * (v - middle);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

}  // namespace meshwright
