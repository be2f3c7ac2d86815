// SPDX-License-Identifier: Apache-2.0
#include "sim/base/statistics.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/base/error.h"

namespace meshwright {
namespace {

void check_not_empty(const std::vector<double>& values) {
  invariant(!values.empty(), "statistics of no values");
}

double value_of_rank(std::vector<double> values, std::size_t rank) {
  check_not_empty(values);
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// For a rank that counts from 1.
double value_of_rank_from_one(std::vector<double> values, double rank) {
  const auto n = static_cast<double>(values.size());
  return value_of_rank(std::move(values),
                       static_cast<std::size_t>(std::clamp(rank, 1.0, std::max(1.0, n))) - 1);
}

double squares_about_the_mean(const std::vector<double>& values) {
  const double middle = mean(values);
  double sum = 0.0;
  for (const double v : values) sum += (v - middle) * (v - middle);
  return sum;
}

}  // namespace

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0.0;
  return std::sqrt(squares_about_the_mean(values) / static_cast<double>(values.size() - 1));
}

double population_deviation(const std::vector<double>& values) {
  return std::sqrt(squares_about_the_mean(values) / static_cast<double>(values.size()));
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double trimmed_root_mean_square(std::vector<double> values) {
  constexpr std::size_t kFewest = 5;
  std::sort(values.begin(), values.end());
  const auto off =
      static_cast<std::ptrdiff_t>(values.size() < kFewest ? 0 : (values.size() + 9) / 10);
  return root_mean_square({values.begin() + off, values.end() - off});
}

double median(std::vector<double> values) {
  check_not_empty(values);
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

double upper_median(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  return value_of_rank(std::move(values), half);
}

double quantile(std::vector<double> values, double share) {
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  return value_of_rank_from_one(std::move(values), rank);
}

double interpolated_quantile(std::vector<double> values, double share) {
  check_not_empty(values);
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double lower_quantile(std::vector<double> values, double share) {
  const double place = share * (static_cast<double>(values.size()) - 1.0);
  return value_of_rank(std::move(values), static_cast<std::size_t>(place));
}

double conformal_quantile(std::vector<double> values, double share) {
  const double rank = std::ceil(share * (static_cast<double>(values.size()) + 1.0));
  return value_of_rank_from_one(std::move(values), rank);
}

double student_quantile(double probability, double degrees) {
  return boost::math::quantile(boost::math::students_t(degrees), probability);
}

double chi_squared_quantile(double probability, double degrees) {
  return boost::math::quantile(boost::math::chi_squared(degrees), probability);
}

}  // namespace meshwright
