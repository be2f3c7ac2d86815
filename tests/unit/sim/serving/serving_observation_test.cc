// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/serving_observation.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(ServingObservation, AStepIsReadBackFromItsNumbers) {
  ObservedServingStep step;
  step.replica = 3;
  step.begin = seconds(1.5);
  step.time = seconds(0.25);
  step.step = {4, 400, 128, 2, 9000};
  step.kv_blocks = 33;
  step.sent = bytes(4096);
  step.bytes_as_said = false;
  const std::vector<double> numbers = numbers_of(step);
  EXPECT_EQ(numbers, (std::vector<double>{3, 1.5, 0.25, 4, 400, 128, 2, 9000, 33, 4096, 0}));
  ASSERT_EQ(numbers.size(), kServingStepNumbers);
  EXPECT_EQ(numbers_of(serving_step_of(numbers)), numbers);
}

TEST(ServingObservation, ARequestIsReadBackFromItsNumbers) {
  RequestTiming timing;
  timing.arrival = seconds(1);
  timing.first_token = seconds(2);
  timing.end = seconds(5);
  timing.input = 100;
  timing.output = 20;
  const std::vector<double> numbers = numbers_of(timing);
  EXPECT_EQ(numbers, (std::vector<double>{1, 2, 5, 100, 20}));
  ASSERT_EQ(numbers.size(), kRequestTimingNumbers);
  EXPECT_EQ(numbers_of(request_timing_of(numbers)), numbers);
}

}  // namespace
}  // namespace meshwright
