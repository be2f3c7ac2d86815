// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/calibrate/alone.h"
#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A device of which an array of more than 4 MiB does not fit.
class SmallDevice : public IdleCompute {
 public:
  void* allocate(std::size_t size) override {
    if (size > (std::size_t{4} << 20U)) throw OutOfMemory("cannot allocate");
    return IdleCompute::allocate(size);
  }
};

MeasuredPoint copy_of(double mebibyte) {
  MeasuredPoint p;
  p.subject = timed::MemoryCopy{};
  p.amount = mebibytes(2.0 * mebibyte);  // read and written
  return p;
}

TEST(Calibrator, APointThatDoesNotFitIsLeftOutWithANoteAndTheOthersAreMeasured) {
  SmallDevice compute;
  compute.description.memory = compute.description.free_memory = gibibytes(8);
  Alone world;
  CalibrationOptions options;
  options.budget_seconds = 5.0;
  options.only = {{copy_of(8.0), copy_of(1.0)}};
  std::vector<std::string> warnings;
  CalibrationEvents events;
  events.warning = [&](const std::string& text) { warnings.push_back(text); };
  const Profile profile = run_calibration(compute, world, options, events);
  ASSERT_EQ(profile.points.size(), 1U);
  EXPECT_EQ(profile.points[0].amount, mebibytes(2.0));
  EXPECT_THAT(warnings, Contains(HasSubstr("not measured, a device has not enough free memory")));
  EXPECT_THAT(profile.notes, Contains(HasSubstr(copy_of(8.0).label())));
}

}  // namespace
}  // namespace meshwright::calibrate
