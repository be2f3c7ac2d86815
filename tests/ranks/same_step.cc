// SPDX-License-Identifier: Apache-2.0
#include "tests/ranks/same_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "calibrate/trial/trial.h"
#include "sim/layout/short_name.h"
#include "tests/ranks/one_queue_communicator.h"

namespace meshwright::calibrate {

Machine::Machine()
    : compute(open_backend("cpu").make_compute(0)),
      world(open_backend("mpi").make_world(*compute)) {
  const char* network = std::getenv("MESHWRIGHT_TEST_NETWORK");
  if (network == nullptr) return;
  EXPECT_STREQ(network, "one_queue");
  world = std::make_unique<OneQueueCommunicator>(std::move(world));
}

Machine& machine() {
  static Machine m;
  return m;
}

std::vector<float> downloaded(const float* device, std::int64_t count) {
  std::vector<float> host(static_cast<std::size_t>(count));
  machine().compute->download(host.data(), device, host.size() * sizeof(float));
  machine().compute->synchronize();
  return host;
}

std::map<std::string, Tensors> tensors_of(const TrialStep& step) {
  std::map<std::string, Tensors> all;
  for (const Parameter& p : step.store().parameters()) {
    all[p.name] = {downloaded(p.gradient, p.count()), downloaded(p.weight, p.count())};
  }
  return all;
}

double largest(const std::vector<float>& values) {
  double most = 0.0;
  for (const float v : values) most = std::max(most, std::abs(static_cast<double>(v)));
  return most;
}

Reference reference(const Model& model, const Job& job, const StepOptions& options) {
  Machine& m = machine();
  const auto alone = m.world->split(m.world->rank(), 0);
  TrialStep step(model, job, Layout{}, *m.compute, *alone, options);
  Reference r;
  step.run();
  r.loss = step.loss();
  r.after_first = tensors_of(step);
  step.run();
  step.run();
  r.later_loss = step.loss();
  r.after_third = tensors_of(step);
  return r;
}

namespace {

// Where `counts` says so of an entry of the whole tensor.
template <typename Counts>
Difference difference(const Parameter& p, const std::vector<float>& slice,
                      const std::vector<float>& whole, const Counts& counts) {
  const double scale = largest(whole);
  Difference found;
  for (std::size_t i = 0; i < slice.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const auto at =
        static_cast<std::size_t>(p.global_row(index) * p.blocks * p.cols + p.global_col(index));
    if (!counts(at)) continue;
    ++found.compared;
    const double relative = std::abs(static_cast<double>(slice[i]) - whole.at(at)) / scale;
    const bool number = std::isfinite(relative);
    found.worst =
        std::max(found.worst, number ? relative : std::numeric_limits<double>::infinity());
  }
  return found;
}

}  // namespace

Difference gradient_difference(const Parameter& p, const Reference& alone) {
  return difference(p, downloaded(p.gradient, p.count()), alone.after_first.at(p.name).gradient,
                    [](std::size_t) { return true; });
}

// Adam divides a gradient by its size, so where a gradient is zero but for rounding (a key's bias
// moves no softmax) its step is noise, in one rank's run as in another's. Entries below a
// hundredth of the tensor's largest are left out: of some slices (queries beside their values) all.
Difference weight_difference(const Parameter& p, const std::map<std::string, Tensors>& alone,
                             const Reference& reference) {
  const std::vector<float>& gradient = reference.after_first.at(p.name).gradient;
  const double least = 1e-2 * largest(gradient);
  return difference(
      p, downloaded(p.weight, p.count()), alone.at(p.name).weight,
      [&](std::size_t at) { return std::abs(static_cast<double>(gradient[at])) >= least; });
}

namespace {

void expect_weights(const ParameterStore& store, const Reference& alone) {
  std::size_t compared = 0;
  std::int64_t all = 0;
  for (const Parameter& p : store.parameters()) {
    const Difference found = weight_difference(p, alone.after_third, alone);
    EXPECT_LE(found.worst, kWeightTolerance) << "weight of " << p.name;
    compared += found.compared;
    all += p.count();
  }
  if (all == 0) return;  // an empty chunk, or a head without a vocabulary
  EXPECT_GT(10 * compared, static_cast<std::size_t>(all)) << "too few weights were compared";
}

}  // namespace

void expect_same_step(const Model& model, const Job& job, const Layout& layout,
                      const StepOptions& options) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  Machine& m = machine();
  ASSERT_EQ(trial_unsupported(model, job, layout), "");
  const Reference alone = reference(model, job, options);
  TrialStep step(model, job, layout, *m.compute, *m.world, options);
  step.run();
  if (step.has_loss()) {
    EXPECT_NEAR(step.loss(), alone.loss, kTolerance * alone.loss);
  }
  const bool whole_gradients = layout.zero_stage == 0;  // ZeRO leaves each rank its shard's sum
  for (const Parameter& p : step.store().parameters()) {
    if (!whole_gradients) break;
    EXPECT_GT(largest(alone.after_first.at(p.name).gradient), 0.0) << p.name;
    EXPECT_LE(gradient_difference(p, alone).worst, kTolerance) << "gradient of " << p.name;
  }
  step.run();
  step.run();
  if (step.has_loss()) {
    EXPECT_NEAR(step.loss(), alone.later_loss, kTolerance * alone.later_loss);
  }
  step.gather_weights();
  expect_weights(step.store(), alone);
}

}  // namespace meshwright::calibrate
