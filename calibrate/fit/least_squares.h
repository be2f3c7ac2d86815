// SPDX-License-Identifier: Apache-2.0
// Positive parameters of a positive model, by least squares on logarithms: what is minimised is the
// relative error, so a microsecond and a second count alike.
//
// Over the parameters' logarithms (sim/fit/levenberg_marquardt.h). Covariance of the
// log-parameters: s^2 (J^T J)^-1 with s^2 = RSS / (n - p).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace meshwright::calibrate {

// Parameters that the data push to nothing are 0, with no error.
struct LogFit {
  std::vector<double> parameters;
  std::vector<double> standard_errors;  // of the parameters, same units
  double relative_spread = 0.0;         // of the residuals, one standard deviation
  std::size_t points = 0;               // number of fitted points
  bool converged = false;
};

// model(parameters, i) predicts observed[i]. Needs more points than parameters.
LogFit fit_log_space(std::vector<double> start,
                     const std::function<double(std::span<const double>, std::size_t)>& model,
                     std::span<const double> observed);

}  // namespace meshwright::calibrate
