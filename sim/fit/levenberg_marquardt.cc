// SPDX-License-Identifier: Apache-2.0
#include "sim/fit/levenberg_marquardt.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace meshwright {
namespace {

constexpr double kFirstDamping = 1e-3;
constexpr double kDampingFactor = 10.0;
constexpr double kLeastDamping = 1e-12;
constexpr double kMostDamping = 1e12;  // no direction helps any more

std::vector<double> values_of(const Eigen::VectorXd& v) { return {v.begin(), v.end()}; }

Eigen::VectorXd vector_of(const std::vector<double>& v) {
  return Eigen::Map<const Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(v.size()));
}

class Solver {
 public:
  Solver(const LeastSquaresProblem& problem, const LeastSquaresOptions& options)
      : problem_(problem),
        options_(options),
        start_(vector_of(problem.start)),
        prior_(problem.prior_weights.empty() ? Eigen::VectorXd::Zero(start_.size())
                                             : vector_of(problem.prior_weights)) {}

  [[nodiscard]] LeastSquaresSolution solve() {
    move_to(start_, residuals(start_));
    const bool converged = descend();
    const Eigen::MatrixXd inverse = normal_.completeOrthogonalDecomposition().pseudoInverse();
    return {values_of(x_), values_of(residuals_), values_of(inverse.diagonal()), converged};
  }

 private:
  // Tells whether it ended before the steps did.
  bool descend() {
    double damping = kFirstDamping;
    for (int step = 0; step < options_.most_steps; ++step) {
      Eigen::MatrixXd damped = normal_;
      damped.diagonal() += damping * (normal_.diagonal().array() + 1e-12).matrix();
      const Eigen::VectorXd tried = x_ - damped.ldlt().solve(gradient_);
      const Eigen::VectorXd tried_residuals = residuals(tried);
      const double before = objective(x_, residuals_);
      const double after = objective(tried, tried_residuals);
      if (!(after < before)) {
        damping *= kDampingFactor;
        if (damping > kMostDamping) return true;
        continue;
      }
      move_to(tried, tried_residuals);
      damping = std::max(kLeastDamping, damping / kDampingFactor);
      if (before - after <= options_.convergence * before) return true;
    }
    return false;
  }

  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& x) const {
    return vector_of(problem_.residuals({x.data(), static_cast<std::size_t>(x.size())}));
  }

  [[nodiscard]] double objective(const Eigen::VectorXd& x, const Eigen::VectorXd& residuals) const {
    const double bound = problem_.huber_bound;
    double sum = 0.0;
    for (const double residual : residuals) {
      const double r = std::abs(residual);
      sum += r <= bound ? 0.5 * r * r : bound * (r - 0.5 * bound);
    }
    return sum + 0.5 * (prior_.array() * (x - start_).array().square()).sum();
  }

  void move_to(const Eigen::VectorXd& x, const Eigen::VectorXd& at_x) {
    x_ = x;
    residuals_ = at_x;
    Eigen::MatrixXd jacobian(residuals_.size(), x.size());
    for (Eigen::Index k = 0; k < x.size(); ++k) {
      Eigen::VectorXd up = x, down = x;
      up[k] += options_.difference;
      down[k] -= options_.difference;
      jacobian.col(k) = (residuals(up) - residuals(down)) / (2.0 * options_.difference);
    }
    // Iteratively re-weighted: rho'(r) / r.
    const double bound = problem_.huber_bound;
    const Eigen::VectorXd weights = residuals_.unaryExpr(
        [bound](double r) { return std::abs(r) <= bound ? 1.0 : bound / std::abs(r); });
    normal_ = jacobian.transpose() * weights.asDiagonal() * jacobian;
    normal_.diagonal() += prior_;
    gradient_ =
        jacobian.transpose() * weights.asDiagonal() * residuals_ + prior_.cwiseProduct(x - start_);
  }

  const LeastSquaresProblem& problem_;
  LeastSquaresOptions options_;
  Eigen::VectorXd start_, prior_;
  Eigen::VectorXd x_, residuals_, gradient_;
  Eigen::MatrixXd normal_;
};

}  // namespace

LeastSquaresSolution levenberg_marquardt(const LeastSquaresProblem& problem,
                                         const LeastSquaresOptions& options) {
  return Solver(problem, options).solve();
}

}  // namespace meshwright
