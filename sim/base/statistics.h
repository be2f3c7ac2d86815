// SPDX-License-Identifier: Apache-2.0
// Means, deviations and quantiles of series that are not empty, and quantiles of distributions.
#pragma once

#include <vector>

namespace meshwright {

double mean(const std::vector<double>& values);
// Root of the sum of squares about the mean over n - 1; of one value 0.
double standard_deviation(const std::vector<double>& values);
// The same over n: of the values themselves, not of what they are a sample of.
double population_deviation(const std::vector<double>& values);
double root_mean_square(const std::vector<double>& values);
// Root of the mean square without the largest and the smallest tenth, of five values and more at
// least one each; of fewer values the root mean square.
double trimmed_root_mean_square(std::vector<double> values);

// For an even count, the mean of the two in the middle.
double median(std::vector<double> values);
// For an even count, the larger of the two in the middle: a measured value.
double upper_median(std::vector<double> values);
// The smallest value that at least this share of the values does not exceed.
double quantile(std::vector<double> values, double share);
// Linear between the values beside place share x (n - 1), as NumPy's default.
double interpolated_quantile(std::vector<double> values, double share);
// The lower of those two values.
double lower_quantile(std::vector<double> values, double share);
// The smallest value that one more of the same kind exceeds with at most probability 1 - share,
// whatever they are distributed like (split conformal prediction): of rank share x (n + 1), rounded
// up; the largest where there are too few.
double conformal_quantile(std::vector<double> values, double share);

// Standard deviation of a normal over the median distance from its median.
inline constexpr double kDeviationOfMedianDistance = 1.4826;
// From the 10th to the 90th percentile of a normal, in standard deviations.
inline constexpr double kDecilesApart = 2.563;

// x with P(X <= x) = probability, of Student's and of the chi-squared distribution.
double student_quantile(double probability, double degrees);
double chi_squared_quantile(double probability, double degrees);

}  // namespace meshwright
