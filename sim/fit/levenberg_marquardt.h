// SPDX-License-Identifier: Apache-2.0
// Least squares by Levenberg-Marquardt (Nocedal and Wright, Numerical Optimization, 10.3):
//   minimise sum_i rho(r_i(x)) + 1/2 sum_k w_k (x_k - start_k)^2
// with rho(r) = r^2 / 2, or Huber's, which grows as a straight line beyond a bound. Derivatives are
// central differences.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace meshwright {

struct LeastSquaresProblem {
  std::function<std::vector<double>(std::span<const double>)> residuals;
  std::vector<double> start;          // start values of the parameters
  std::vector<double> prior_weights;  // w: 1 / variance around the start; empty: no prior
  double huber_bound = std::numeric_limits<double>::infinity();  // a residual
};

struct LeastSquaresOptions {
  int most_steps = 200;        // limit of iterations
  double difference = 1e-6;    // relative change of a parameter for the numerical derivative
  double convergence = 1e-12;  // relative change of the objective
};

struct LeastSquaresSolution {
  std::vector<double> parameters;
  std::vector<double> residuals;  // residuals at the solution
  // Variances of the parameters if residuals have variance 1: the diagonal of (J^T W J + prior)^-1,
  // where W are the residuals' weights under rho.
  std::vector<double> variances;
  bool converged = false;
};

LeastSquaresSolution levenberg_marquardt(const LeastSquaresProblem& problem,
                                         const LeastSquaresOptions& options = {});

}  // namespace meshwright
