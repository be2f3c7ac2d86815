// SPDX-License-Identifier: Apache-2.0
// The trial's step on all ranks of the test against the same step on one rank: loss, gradients,
// weights.
//
// Tolerance: sums of up to 4 * 128 fp32 numbers in another order differ by a few units of 2^-24
// = 6e-8 of the largest partial sum; a matrix's gradient passes at most 8 layers of such sums.
// 2e-5 of the tensor's largest entry leaves room for that and for no missing term: without any one
// call between the ranks a test fails (omitted_transfer_test.cc).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/backends/backend.h"
#include "calibrate/trial/trial_step.h"
#include "tests/ranks/small_models.h"

namespace meshwright::calibrate {

inline constexpr double kTolerance = 2e-5;
// Three steps of 1e-3 move a weight by up to a seventh of the largest (0.02 for biases); a gradient
// that is 100 times smaller than the tensor's largest is 100 times less exact.
inline constexpr double kWeightTolerance = 1e-4;
inline constexpr StepOptions kOptions{.learning_rate = 1e-3F, .seed = 7, .poison_memory = true};

// The process's device and world, opened once: MPI's, or one with NCCL's semantics where
// MESHWRIGHT_TEST_NETWORK is "one_queue".
struct Machine {
  Machine();
  std::unique_ptr<Compute> compute;
  std::unique_ptr<Communicator> world;
};
Machine& machine();

struct Tensors {
  std::vector<float> gradient, weight;
};
std::vector<float> downloaded(const float* device, std::int64_t count);
std::map<std::string, Tensors> tensors_of(const TrialStep& step);
double largest(const std::vector<float>& values);

// One rank alone: every tensor whole.
struct Reference {
  double loss = 0.0, later_loss = 0.0;  // of the first and the third step
  std::map<std::string, Tensors> after_first, after_third;
};
Reference reference(const Model& model, const Job& job, const StepOptions& options = kOptions);

// Difference between a slice of a tensor and the whole one: the largest difference over the whole
// one's largest entry, or infinite if something is not a number. Only entries count whose gradient
// is at least `least` of the tensor's largest gradient.
struct Difference {
  double worst = 0.0;
  std::size_t compared = 0;
};
Difference gradient_difference(const Parameter& p, const Reference& alone);
Difference weight_difference(const Parameter& p, const std::map<std::string, Tensors>& alone,
                             const Reference& reference);

void expect_same_step(const Model& model, const Job& job, const Layout& layout,
                      const StepOptions& options = kOptions);

}  // namespace meshwright::calibrate
