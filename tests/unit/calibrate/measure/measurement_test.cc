// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/measurement.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/calibrate/alone.h"
#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

// Time moves only when work is done, by the next duration of the script (its last one for ever).
class Script {
 public:
  explicit Script(std::vector<double> durations) : durations_(std::move(durations)) {}
  Clock clock() {
    return [this] { return now_; };
  }
  std::function<void(int)> work() {
    return [this](int repetitions) {
      for (int i = 0; i < repetitions; ++i) {
        now_ += durations_[std::min(next_, durations_.size() - 1)];
        ++next_;
        ++calls_;
      }
    };
  }
  [[nodiscard]] int calls() const { return calls_; }

 private:
  std::vector<double> durations_;
  double now_ = 0.0;
  std::size_t next_ = 0;
  int calls_ = 0;
};

// 1..11: median 6, p10 = 2, p90 = 10, spread 8 / (2.563 * 6).
TEST(Summary, HasMedianPercentilesAndASpread) {
  const Summary s = summarise({11, 1, 10, 2, 9, 3, 8, 4, 7, 5, 6});
  EXPECT_DOUBLE_EQ(s.median.value(), 6.0);
  EXPECT_DOUBLE_EQ(s.min.value(), 1.0);
  EXPECT_DOUBLE_EQ(s.p10.value(), 2.0);
  EXPECT_DOUBLE_EQ(s.p90.value(), 10.0);
  EXPECT_EQ(s.count, 11);
  EXPECT_DOUBLE_EQ(s.relative_spread, 8.0 / (2.563 * 6.0));
}

TEST(Summary, OfOneSampleHasNoSpread) {
  EXPECT_DOUBLE_EQ(summarise({3.0}).median.value(), 3.0);
  EXPECT_DOUBLE_EQ(summarise({3.0}).relative_spread, 0.0);
}

TEST(Measurement, WarmUpIsNotCounted) {
  Alone ranks;
  Script script({5.0, 5.0, 1.0});
  const Measurement m = measure(ranks, host_timer(script.clock()), script.work(), {});
  EXPECT_DOUBLE_EQ(m.summary.median.value(), 1.0);
  EXPECT_DOUBLE_EQ(m.summary.p90.value(), 1.0);
  EXPECT_FALSE(m.noisy);
}

// 1 us of work and samples of at least 50 us: 50 repetitions, and the time is still that of one.
TEST(Measurement, ShortWorkIsRepeatedWithinASample) {
  Alone ranks;
  Script script({1e-6});
  MeasureOptions options;
  options.stop.max_samples = 10;
  options.stop.min_seconds = 1.0;
  const Measurement m = measure(ranks, host_timer(script.clock()), script.work(), options);
  EXPECT_NEAR(m.repetitions, 50, 1);                   // 50e-6 / 1e-6 may round either way
  EXPECT_NEAR(m.summary.median.value(), 1e-6, 1e-15);  // sums of 1e-6 round
  EXPECT_EQ(script.calls(), 2 + 11 * m.repetitions);   // one more sample says that 50 are enough
  EXPECT_EQ(m.stopped, StopReason::enough_samples);
}

// A call alone takes 5 us, of many each 1 us: the first guess of 10 calls for 50 us would be 10 us.
TEST(Measurement, ASampleIsAsLongAsAskedForAlsoWhereTheFirstCallIsSlow) {
  Alone ranks;
  double now = 0.0;
  const auto work = [&](int repetitions) { now += 4e-6 + 1e-6 * repetitions; };
  MeasureOptions options;
  options.stop.max_samples = 5;
  const Measurement m = measure(ranks, host_timer([&] { return now; }), work, options);
  EXPECT_GE(m.repetitions, 36);  // 10 calls took 14 us, 1.4 each: 50 / 1.4
}

// The device works a microsecond a product; what the host does meanwhile is no part of it. 3 ms
// are 3,000 products.
TEST(Measurement, TheDevicesOwnMarksEncloseTheWorkAlone) {
  Alone ranks;
  IdleCompute compute;
  MeasureOptions options;
  options.shortest_sample = 3e-3;
  options.stop.max_samples = 5;
  const auto work = [&](int repetitions) {
    for (int i = 0; i < repetitions; ++i) compute.gemm({});
  };
  const Measurement m = measure(ranks, device_timer(compute), work, options);
  EXPECT_NEAR(m.summary.median.value(), 1e-6, 1e-12);
  EXPECT_NEAR(m.repetitions, 3000, 1);
  // Nothing but products stands between two marks.
  int products = -1;
  for (const std::string& what : compute.asked) {
    if (what == "gemm") {
      ASSERT_GE(products, 0) << "a product outside of the marks";
      ++products;
    } else {
      ASSERT_EQ(what, "mark");
      products = products < 0 ? 0 : -1;
    }
  }
}

// Ten samples of 3 ms are 30 ms: a warm-up of a second is 334 of them before the first that counts.
TEST(Measurement, ALongWarmUpRunsWholeSamplesWithoutAPause) {
  Alone ranks;
  Script script({1e-3});
  MeasureOptions options;
  options.shortest_sample = 3e-3;
  options.warmup_seconds = 1.0;
  options.stop.max_samples = 5;
  const Measurement m = measure(ranks, host_timer(script.clock()), script.work(), options);
  EXPECT_NEAR(script.calls(), 2 + 3 + 334 * 3 + 5 * 3, 3);
  EXPECT_EQ(m.summary.count, 5);
}

// Of each second of work 0.75 were another program's.
TEST(Measurement, WhatAThreadWaitsForItsCoreIsLeftOut) {
  Alone ranks;
  Script script({1.0});
  const Clock clock = script.clock();
  MeasureOptions options;
  options.core_waits = [&] { return 0.75 * clock(); };
  options.stop.max_samples = 5;
  const Measurement m = measure(ranks, host_timer(clock), script.work(), options);
  EXPECT_NEAR(m.summary.median.value(), 0.25, 1e-12);
}

TEST(Measurement, TheSlowestRankCounts) {
  Alone ranks;
  ranks.slowest_ = 4.0;
  Script script({1.0});
  EXPECT_DOUBLE_EQ(
      measure(ranks, host_timer(script.clock()), script.work(), {}).summary.median.value(), 4.0);
}

MeasureOptions five_samples() {
  MeasureOptions options;
  options.stop.min_samples = 5;
  options.stop.max_samples = 5;
  return options;
}

// Two warm-ups, then 1, 2, 1, 2, ... for five samples (spread about 39 %): measured again, now
// steady, and the steady one is kept.
TEST(Measurement, ANoisyPointIsMeasuredAgainAndTheCalmerOneKept) {
  Alone ranks;
  Script script({1, 1, 1, 2, 1, 2, 1, 1.5});
  const Measurement m = measure(ranks, host_timer(script.clock()), script.work(), five_samples());
  EXPECT_TRUE(m.repeated);
  EXPECT_FALSE(m.noisy);
  EXPECT_DOUBLE_EQ(m.summary.median.value(), 1.5);
}

// Two warm-ups; then 1, 2, 1, 2, 1 s, noisy; two warm-ups; then five of 1 s, kept. What a step has
// to expect is the mean of all ten, 1.2 s.
TEST(Measurement, TheMeanIsOfBothAttempts) {
  Alone ranks;
  Script script({1, 1, 1, 2, 1, 2, 1, 1});
  const Measurement m = measure(ranks, host_timer(script.clock()), script.work(), five_samples());
  EXPECT_DOUBLE_EQ(m.summary.median.value(), 1.0);
  EXPECT_DOUBLE_EQ(m.mean.value(), 1.2);
  EXPECT_DOUBLE_EQ(m.rank_mean.value(), 1.2);
}

// This rank takes 1 s, the slowest 4.
TEST(Measurement, ARanksOwnMeanIsKeptBesideTheSlowestRanks) {
  Alone ranks;
  ranks.slowest_ = 4.0;
  Script script({1.0});
  const Measurement m = measure(ranks, host_timer(script.clock()), script.work(), {});
  EXPECT_DOUBLE_EQ(m.mean.value(), 4.0);
  EXPECT_DOUBLE_EQ(m.rank_mean.value(), 1.0);
}

TEST(Measurement, APointThatIsNoisyTwiceIsFlagged) {
  Alone ranks;
  Script script({1, 1, 1, 2, 1, 2, 1, 1, 1, 2, 1, 2, 1, 2});
  const Measurement m = measure(ranks, host_timer(script.clock()), script.work(), five_samples());
  EXPECT_TRUE(m.repeated);
  EXPECT_TRUE(m.noisy);
}

// A host that takes 4 us to launch what the device does in 1 us. Launched work runs when the device
// is free and not held; a mark comes when all before it is done.
class LaunchBound : public IdleCompute {
 public:
  double host_now = 0.0;
  int held = 0, let_go_calls = 0;

  void gemm(const GemmCall&) override {
    host_now += 4e-6;
    queue(1e-6);
  }
  void hold() override {
    is_held_ = true;
    ++held;
  }
  void let_go() override {
    ++let_go_calls;
    is_held_ = false;
    device_now = std::max(device_now, host_now);
    for (const double work : queue_) {
      device_now += work;
      if (work == 0.0) times_.push_back(device_now);
    }
    queue_.clear();
  }
  Mark mark() override {
    queue(0.0);
    return marks_++;
  }
  [[nodiscard]] double seconds_between(Mark from, Mark to) override {
    return times_.at(to) - times_.at(from);
  }
  void forget_marks() override {
    times_.clear();
    marks_ = 0;
  }

 private:
  // A mark is work of no length.
  void queue(double work) {
    queue_.push_back(work);
    if (!is_held_) let_go();
  }

  bool is_held_ = false;
  std::vector<double> queue_;
  std::vector<double> times_;
  std::size_t marks_ = 0;
};

std::function<void(int)> products_on(LaunchBound& compute) {
  return [&compute](int repetitions) {
    for (int i = 0; i < repetitions; ++i) compute.gemm({});
  };
}

MeasureOptions of_held_work() {
  MeasureOptions options;
  options.shortest_sample = 3e-3;
  options.most_repetitions = kMostHeldCalls;
  options.stop.max_samples = 5;
  return options;
}

// Products end 4 us after each other, and the mark before them is as late as the one after them.
TEST(Measurement, ShortWorkOfADeviceThatIsNotHeldTakesWhatItsLaunchTakes) {
  Alone ranks;
  LaunchBound compute;
  const Measurement m = measure(ranks, device_timer(compute), products_on(compute), of_held_work());
  EXPECT_EQ(m.repetitions, kMostHeldCalls);
  EXPECT_NEAR(m.summary.median.value(), 4e-6, 1e-12);
}

TEST(Measurement, AHeldDeviceRunsItsWholeQueueAtItsOwnPace) {
  Alone ranks;
  LaunchBound compute;
  const Measurement m =
      measure(ranks, held_device_timer(compute, ranks), products_on(compute), of_held_work());
  EXPECT_EQ(m.repetitions, kMostHeldCalls);
  EXPECT_NEAR(m.summary.median.value(), 1e-6, 1e-12);
  EXPECT_GT(compute.held, 5);
  EXPECT_GE(compute.let_go_calls, compute.held);
}

TEST(Measurement, AnErrorLetsTheDeviceGo) {
  Alone ranks;
  LaunchBound compute;
  const auto fails = [](int) { throw UnsupportedCall("no such product"); };
  EXPECT_THROW(measure(ranks, held_device_timer(compute, ranks), fails, {}), UnsupportedCall);
  EXPECT_EQ(compute.held, 1);
  EXPECT_EQ(compute.let_go_calls, 1);
}

// The host had to wait for the device, until that went on by itself.
class Impatient : public LaunchBound {
 public:
  [[nodiscard]] int expired_holds() const override { return held; }
};

TEST(Measurement, ADeviceWhoseHoldExpiredIsNotHeldAgain) {
  Alone ranks;
  Impatient compute;
  const Measurement m =
      measure(ranks, held_device_timer(compute, ranks), products_on(compute), of_held_work());
  EXPECT_EQ(compute.held, 1);
  EXPECT_NEAR(m.summary.median.value(), 4e-6, 1e-12);
}

TEST(Measurement, TheHostsLaunchIsTimedByTheHost) {
  Alone ranks;
  LaunchBound compute;
  const Timer timer = queueing_timer(compute, [&] { return compute.host_now; });
  const Measurement m = measure(ranks, timer, products_on(compute), of_held_work());
  EXPECT_NEAR(m.summary.median.value(), 4e-6, 1e-12);
}

}  // namespace
}  // namespace meshwright::calibrate
