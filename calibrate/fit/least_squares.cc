// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/least_squares.h"

#include <cmath>

#include "sim/base/error.h"
#include "sim/fit/levenberg_marquardt.h"

namespace meshwright::calibrate {
namespace {

using LogModel = std::function<double(std::span<const double>, std::size_t)>;

// A logarithm never reaches zero: what fell this far below its start is none.
constexpr double kVanished = 1e-12;

std::vector<double> log_ratios(const LogModel& model, std::span<const double> logs,
                               std::span<const double> observed) {
  std::vector<double> parameters;
  for (const double value : logs) parameters.push_back(std::exp(value));
  std::vector<double> ratios;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    ratios.push_back(std::log(model(parameters, i) / observed[i]));
  }
  return ratios;
}

}  // namespace

LogFit fit_log_space(std::vector<double> start, const LogModel& model,
                     std::span<const double> observed) {
  invariant(observed.size() > start.size(), "a fit needs more points than parameters");
  LeastSquaresProblem problem;
  problem.residuals = [&](std::span<const double> logs) {
    return log_ratios(model, logs, observed);
  };
  for (const double value : start) problem.start.push_back(std::log(value));
  const LeastSquaresSolution minimum = levenberg_marquardt(problem);
  double squares = 0.0;
  for (const double residual : minimum.residuals) squares += residual * residual;
  const double variance = squares / static_cast<double>(observed.size() - start.size());
  LogFit fit;
  for (std::size_t p = 0; p < start.size(); ++p) {
    const double value = std::exp(minimum.parameters[p]);
    const bool vanished = value < kVanished * start[p];
    fit.parameters.push_back(vanished ? 0.0 : value);
    fit.standard_errors.push_back(fit.parameters.back() *
                                  std::sqrt(variance * minimum.variances[p]));
  }
  fit.relative_spread = std::sqrt(variance);
  fit.points = observed.size();
  fit.converged = minimum.converged;
  return fit;
}

}  // namespace meshwright::calibrate
