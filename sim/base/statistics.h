// SPDX-License-Identifier: Apache-2.0
// Means, medians and quantiles of series that are not empty.
#pragma once

#include <vector>

namespace meshwright {

double mean(const std::vector<double>& values);
// Of an even number the mean of the two in the middle.
double median(std::vector<double> values);
// The smallest value that at least this share of the values does not exceed.
double quantile(std::vector<double> values, double share);
// Root of the mean square without the largest and the smallest tenth, of five values and more at
// least one each; of fewer values the root mean square.
double trimmed_root_mean_square(std::vector<double> values);
// Root of the sum of squares about the mean over n - 1; of one value 0.
double standard_deviation(const std::vector<double>& values);

}  // namespace meshwright
