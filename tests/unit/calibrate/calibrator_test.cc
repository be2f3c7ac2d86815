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

MeasuredPoint product_of_edge(std::int64_t edge) {
  MeasuredPoint p;
  p.subject = timed::Gemm{{Precision::fp32, {.shape = {1, edge, edge, edge}}}};
  p.amount = bytes(12.0 * static_cast<double>(edge * edge));
  return p;
}

// Multiplies, but refuses products of edge 48, and gives a zero for those of 32.
class PickyDevice : public IdleCompute {
 public:
  int asked_for_48 = 0;
  void gemm(const GemmCall& c) override {
    if (c.m == 48) {
      ++asked_for_48;
      throw UnsupportedCall("no fp32 GEMM of 48");
    }
    IdleCompute::gemm(c);
    const auto* a = static_cast<const float*>(c.a);
    const auto* b = static_cast<const float*>(c.b);
    auto* out = static_cast<float*>(c.c);
    for (std::int64_t i = 0; i < c.m * c.n && c.m != 32; ++i) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < c.k; ++k) {
        sum +=
            static_cast<double>(a[i / c.n * c.k + k]) * static_cast<double>(b[k * c.n + i % c.n]);
      }
      out[i] = static_cast<float>(sum);
    }
  }
};

struct Calibrated {
  Profile profile;
  std::vector<std::string> warnings, begun, dropped;
};
Calibrated calibrated(PickyDevice& compute, CalibrationOptions options) {
  compute.description.memory = compute.description.free_memory = gibibytes(8);
  Alone world;
  options.budget_seconds = 5.0;
  options.only = {{product_of_edge(48), product_of_edge(32), product_of_edge(16)}};
  Calibrated result;
  CalibrationEvents events;
  events.warning = [&](const std::string& text) { result.warnings.push_back(text); };
  events.begun = [&](const MeasuredPoint& p) { result.begun.push_back(p.label()); };
  events.dropped = [&](const MeasuredPoint& p, const std::string& reason) {
    result.dropped.push_back(p.label() + ": " + reason);
  };
  result.profile = run_calibration(compute, world, options, events);
  return result;
}

TEST(Calibrator, WhatALibraryLacksOrComputesWrongIsDroppedAndTheOthersAreMeasured) {
  PickyDevice compute;
  const Calibrated result = calibrated(compute, {});
  ASSERT_EQ(result.profile.points.size(), 1U);
  EXPECT_EQ(result.profile.points[0].label(), product_of_edge(16).label());
  ASSERT_EQ(result.profile.dropped.size(), 2U);
  EXPECT_EQ(result.profile.dropped[0], "gemm fp32 (48 x 48 x 48): no fp32 GEMM of 48");
  EXPECT_THAT(result.profile.dropped[1], HasSubstr("gemm fp32 (32 x 32 x 32): wrong result: "));
  EXPECT_EQ(result.dropped, result.profile.dropped);
  EXPECT_EQ(result.begun.size(), 3U);
  EXPECT_THAT(result.warnings, Contains("not measured: " + result.profile.dropped[0]));
  EXPECT_EQ(compute.asked_for_48, 1);
}

// What a journal has given up is listed, too, so that the exit code stays 1 until it is measured.
TEST(Calibrator, WhatAnEarlierRunGaveUpIsNotTriedAgain) {
  PickyDevice compute;
  CalibrationOptions options;
  options.given_up = [](const MeasuredPoint& p) {
    return std::string(p.label() == product_of_edge(48).label() ? "ended two runs" : "");
  };
  const Calibrated result = calibrated(compute, options);
  EXPECT_EQ(compute.asked_for_48, 0);
  EXPECT_EQ(result.begun.size(), 2U);
  EXPECT_THAT(result.profile.dropped, Contains("gemm fp32 (48 x 48 x 48): ended two runs"));
  EXPECT_EQ(result.dropped.size(), 1U);  // that one is in the journal
}

// The library's first choice takes 4 us, its fastest algorithm 3.
class ChoosingDevice : public PickyDevice {
 public:
  [[nodiscard]] bool chooses_algorithms() const override { return true; }
  void gemm(const GemmCall& c) override {
    product_seconds = c.fastest_algorithm ? 3e-6 : 4e-6;
    PickyDevice::gemm(c);
  }
};

TEST(Calibrator, ThePriceIsTheFirstAlgorithmsAndTheFastestIsKeptNextToIt) {
  ChoosingDevice compute;
  const Calibrated result = calibrated(compute, {});
  ASSERT_EQ(result.profile.points.size(), 1U);
  const MeasuredPoint& point = result.profile.points[0];
  EXPECT_NEAR(point.time().value(), 4e-6, 1e-12);
  EXPECT_NEAR(point.as<timed::Gemm>()->fastest.value(), 3e-6, 1e-12);
  const GemmPoint& priced = only_device(result.profile.cluster).gemm.at(0).points.at(0);
  EXPECT_NEAR(priced.time.value(), 4e-6, 1e-12);
}

TEST(Calibrator, WithoutAChoiceThereIsNoFastestAlgorithm) {
  PickyDevice compute;
  const Calibrated result = calibrated(compute, {});
  EXPECT_EQ(result.profile.points.at(0).as<timed::Gemm>()->fastest, seconds(0));
}

}  // namespace
}  // namespace meshwright::calibrate
