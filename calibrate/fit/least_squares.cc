// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/least_squares.h"

#include <Eigen/Dense>
#include <cmath>

#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

using Model = std::function<double(std::span<const double>, std::size_t)>;

constexpr int kMostSteps = 200;
constexpr double kDifference = 1e-6;  // of a log-parameter, for the numerical derivative
// A logarithm never reaches zero: what fell this far below its start is none.
constexpr double kVanished = 1e-12;
constexpr double kConverged = 1e-12;  // relative change of the sum of squares

class Problem {
 public:
  Problem(const Model& model, std::span<const double> observed)
      : model_(model), observed_(observed) {}

  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& logs) const {
    std::vector<double> parameters;
    for (const double value : logs) parameters.push_back(std::exp(value));
    Eigen::VectorXd result(observed_.size());
    for (std::size_t i = 0; i < observed_.size(); ++i) {
      result[static_cast<Eigen::Index>(i)] = std::log(model_(parameters, i) / observed_[i]);
    }
    return result;
  }

  [[nodiscard]] Eigen::MatrixXd jacobian(const Eigen::VectorXd& logs) const {
    Eigen::MatrixXd result(observed_.size(), logs.size());
    for (Eigen::Index p = 0; p < logs.size(); ++p) {
      Eigen::VectorXd up = logs, down = logs;
      up[p] += kDifference;
      down[p] -= kDifference;
      result.col(p) = (residuals(up) - residuals(down)) / (2.0 * kDifference);
    }
    return result;
  }

 private:
  const Model& model_;
  std::span<const double> observed_;
};

struct Minimum {
  Eigen::VectorXd logs;
  double squares = 0.0;
  bool converged = false;
};

Minimum minimise(const Problem& problem, Eigen::VectorXd logs) {
  double damping = 1e-3;
  double squares = problem.residuals(logs).squaredNorm();
  for (int step = 0; step < kMostSteps; ++step) {
    const Eigen::MatrixXd jacobian = problem.jacobian(logs);
    Eigen::MatrixXd normal = jacobian.transpose() * jacobian;
    const Eigen::VectorXd gradient = jacobian.transpose() * problem.residuals(logs);
    normal.diagonal() += damping * (normal.diagonal().array() + 1e-12).matrix();
    const Eigen::VectorXd tried = logs - normal.ldlt().solve(gradient);
    const double tried_squares = problem.residuals(tried).squaredNorm();
    if (!(tried_squares < squares)) {
      damping *= 10.0;
      if (damping > 1e12) return {logs, squares, true};  // no direction helps any more
      continue;
    }
    const bool small = squares - tried_squares <= kConverged * squares;
    logs = tried;
    squares = tried_squares;
    damping = std::max(1e-12, damping / 10.0);
    if (small) return {logs, squares, true};
  }
  return {logs, squares, false};
}

}  // namespace

LogFit fit_log_space(std::vector<double> start, const Model& model,
                     std::span<const double> observed) {
  invariant(observed.size() > start.size(), "a fit needs more points than parameters");
  Eigen::VectorXd logs(start.size());
  for (std::size_t p = 0; p < start.size(); ++p) {
    logs[static_cast<Eigen::Index>(p)] = std::log(start[p]);
  }
  const Problem problem(model, observed);
  const Minimum minimum = minimise(problem, logs);
  const Eigen::MatrixXd jacobian = problem.jacobian(minimum.logs);
  const double variance = minimum.squares / static_cast<double>(observed.size() - start.size());
  const Eigen::MatrixXd covariance =
      variance *
      (jacobian.transpose() * jacobian).completeOrthogonalDecomposition().pseudoInverse();
  LogFit fit;
  for (Eigen::Index p = 0; p < minimum.logs.size(); ++p) {
    const double value = std::exp(minimum.logs[p]);
    const bool vanished = value < kVanished * start[static_cast<std::size_t>(p)];
    fit.parameters.push_back(vanished ? 0.0 : value);
    fit.standard_errors.push_back(fit.parameters.back() * std::sqrt(covariance(p, p)));
  }
  fit.relative_spread = std::sqrt(variance);
  fit.points = observed.size();
  fit.converged = minimum.converged;
  return fit;
}

}  // namespace meshwright::calibrate
