// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/training_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

Ranged exactly(double value) { return stated(value); }

// Nothing is uncertain, and failures are so rare that none comes.
CapacityOptions certain() {
  CapacityOptions options;
  options.failures.per_thousand_node_days = exactly(1e-9);
  options.failures.detection_seconds = exactly(120.0);
  options.failures.restart_seconds = exactly(0.0);
  options.checkpoint.storage_gb_per_s_per_node = exactly(1.0);
  options.checkpoint.pause_seconds = exactly(0.0);
  options.power.kilowatts_per_gpu = exactly(0.969);
  return options;
}

RunPhase phase(double steps, double step, double spread = 0.0) {
  return {steps, seconds(step), seconds(step * std::exp(-1.6448536 * spread)),
          seconds(step * std::exp(1.6448536 * spread))};
}

TrainingRun run_of(const std::vector<RunPhase>& phases, const CapacityOptions& options,
                   const std::optional<Ranged>& price = {}) {
  return training_run({small_model(), small_cluster(2048, 80), small_job()}, phases, options,
                      price);
}

// 5.798e6 s: 405.85e9 parameters, 15.6e12 tokens, 6 N D = 3.80e25 FLOPs over 16,384 x 400e12 a
// second are 5.797e6 s = 67.1 days = 26.4 M GPU-hours; at 2.5 a GPU-hour 66.0 M.
TEST(TrainingRun, DaysHoursAndMoneyOfLlama3At400Teraflops) {
  const double seconds_in_all = 6.0 * 405.85e9 * 15.6e12 / (16384 * 400e12);
  const TrainingRun run = run_of({phase(1e6, seconds_in_all / 1e6)}, certain(), exactly(2.5));
  EXPECT_NEAR(run.days.p50, 67.1, 0.05);
  EXPECT_NEAR(run.gpu_hours.p50 / 1e6, 26.4, 0.05);
  EXPECT_NEAR(run.cost->p50, run.gpu_hours.p50 * 2.5, 1.0);
  EXPECT_NEAR(run.days.p10, run.days.p90, 1e-3);
}

// 30.84 M GPU-hours at 0.969 kW (0.76 x 10.2 kW / 8) are 29.9 GWh before cooling; 700 W each 21.6.
TEST(TrainingRun, EnergyOfLlama3sHours) {
  EXPECT_NEAR(energy_kwh(30.84e6, 0.76 * 10.2 / 8, 1.0) / 1e6, 29.9, 0.05);
  EXPECT_NEAR(energy_kwh(30.84e6, 0.7, 1.0) / 1e6, 21.6, 0.05);
  EXPECT_NEAR(energy_kwh(1.0, 1.0, 1.2), 1.2, 1e-12);
}

// 700 W x 1.82 x 0.76 = 0.968 kW.
TEST(TrainingRun, PowerIsOfTheNodesRating) {
  Cluster cluster = small_cluster(1, 80);
  EXPECT_FALSE(kilowatts_per_gpu({}, cluster));
  cluster.device.power_watts = 700.0;
  const auto power = kilowatts_per_gpu({}, cluster);
  EXPECT_NEAR(power->value, 0.968, 0.001);
  EXPECT_LT(power->low, power->value);
}

// A log-normal step of 10 %: its 10th and 90th centile are exp(-+1.2816 x 0.1) of the middle. One
// error for all steps: two phases have the same width as one.
TEST(TrainingRun, TheStepsErrorDoesNotAverageOut) {
  const TrainingRun one = run_of({phase(1e6, 6.0, 0.1)}, certain());
  const TrainingRun two = run_of({phase(5e5, 6.0, 0.1), phase(5e5, 6.0, 0.1)}, certain());
  EXPECT_NEAR(std::log(one.days.p90 / one.days.p50), 0.128, 0.002);
  EXPECT_NEAR(std::log(one.days.p10 / one.days.p50), -0.128, 0.002);
  EXPECT_NEAR(two.days.p90, one.days.p90, 1e-9 * one.days.p90);
}

// 20 % below and 80 % above at 90 %: the 10th and 90th centile are at exp(1.2816 / 1.6449 x ln) of
// the middle, 0.8404 and 1.5808 of it.
TEST(TrainingRun, ASkewedIntervalStaysSkewed) {
  RunPhase skewed{1e6, seconds(6.0), seconds(4.8), seconds(10.8)};
  const TrainingRun run = run_of({skewed}, certain());
  EXPECT_NEAR(run.days.p10 / run.days.p50, 0.8404, 0.002);
  EXPECT_NEAR(run.days.p90 / run.days.p50, 1.5808, 0.006);
}

// What arrivals add shrinks with the root of the run's length.
TEST(TrainingRun, ArrivalsAverageOut) {
  CapacityOptions options = certain();
  options.failures = {};
  options.checkpoint = {};
  options.failures.per_thousand_node_days = exactly(4.0);
  options.failures.detection_seconds = exactly(120.0);
  options.failures.restart_seconds = exactly(480.0);
  options.checkpoint.storage_gb_per_s_per_node = exactly(1.0);
  const auto width = [&](double steps) {
    const TrainingRun run = run_of({phase(steps, 6.0)}, options);
    return (run.days.p90 - run.days.p10) / run.days.p50;
  };
  EXPECT_NEAR(width(1e5) / width(4e5), 2.0, 0.1);
}

TEST(TrainingRun, AnUncertainRateWidensTheRange) {
  CapacityOptions options;
  const TrainingRun wide = run_of({phase(1e6, 6.0)}, options);
  options.failures.per_thousand_node_days = exactly(4.0);
  const TrainingRun narrow = run_of({phase(1e6, 6.0)}, options);
  EXPECT_GT(wide.days.p90, narrow.days.p90);
  EXPECT_LT(wide.days.p10, narrow.days.p10);
  EXPECT_NEAR(wide.days.p50 / narrow.days.p50, 1.0, 0.002);
  // The middle of the range is the run whose parts are listed.
  EXPECT_NEAR(wide.days.p50 / (wide.time.elapsed.value() / 86400.0), 1.0, 0.002);
}

// Restarts of 5 to 20 minutes widen the range of days, and a PUE of 1.1 to 1.5 that of the energy
// alone.
TEST(TrainingRun, RestartsAndThePueHaveRanges) {
  CapacityOptions options;
  options.power.kilowatts_per_gpu = exactly(0.969);
  const TrainingRun wide = run_of({phase(1e6, 6.0)}, options);
  options.power.pue = exactly(1.2);
  const TrainingRun cool = run_of({phase(1e6, 6.0)}, options);
  EXPECT_GT(wide.energy_mwh->p90, cool.energy_mwh->p90);
  EXPECT_EQ(wide.days.p90, cool.days.p90);
  options.failures.detection_seconds = exactly(120.0);
  options.failures.restart_seconds = exactly(480.0);
  const TrainingRun narrow = run_of({phase(1e6, 6.0)}, options);
  EXPECT_GT(wide.days.p90, narrow.days.p90);
  EXPECT_LT(wide.days.p10, narrow.days.p10);
}

TEST(TrainingRun, StatedSparesAreThoseThatArePaid) {
  CapacityOptions options;
  options.failures.spare_nodes = 0;
  const TrainingRun run = run_of({phase(1e6, 6.0)}, options, exactly(1.0));
  EXPECT_EQ(run.spare_nodes, 0);
  EXPECT_NEAR(run.cost->p50 / run.gpu_hours.p50, 1.0, 1e-12);
}

// (512 + 2 x 8) GPUs x 100 h x 2.5 = 132,000.
TEST(TrainingRun, CostIsAProductOfItsParts) {
  const CostParts parts{.gpus = 512, .spare_nodes = 2, .hours = 100.0, .price = 2.5};
  EXPECT_EQ(parts.spare_gpus(), 16);
  EXPECT_DOUBLE_EQ(parts.without_ranges(), 132'000.0);
  EXPECT_FALSE(run_of({phase(1e6, 6.0)}, {}).cost_parts);
  const TrainingRun stated_price = run_of({phase(1e6, 6.0, 0.1)}, {}, exactly(2.5));
  EXPECT_NEAR(stated_price.cost_parts->range_factor, 1.0, 1e-12);
  const TrainingRun ranged = run_of({phase(1e6, 6.0, 0.1)}, {}, Ranged{2.5, 2.0, 3.5, "", ""});
  EXPECT_NEAR(ranged.cost_parts->without_ranges() * ranged.cost_parts->range_factor,
              ranged.cost->p50, 1e-6 * ranged.cost->p50);
  EXPECT_DOUBLE_EQ(ranged.cost_parts->price, 2.5);
}

TEST(TrainingRun, SparesAreBought) {
  const TrainingRun run = run_of({phase(1e6, 6.0)}, {}, exactly(1.0));
  EXPECT_EQ(run.spare_nodes, 16);
  EXPECT_NEAR(run.cost->p50 / run.gpu_hours.p50, 1.0 + 16.0 * 8 / 16384, 1e-9);
}

TEST(TrainingRun, AClustersNameComesBeforeItsDevice) {
  PriceList list;
  list.prices = {{"", "device", exactly(2.0)}, {"mine", "", exactly(3.0)}};
  Cluster cluster = small_cluster(1, 80);
  cluster.price_per_gpu_hour = 9.0;
  EXPECT_EQ(price_of(list, "mine", cluster)->value, 3.0);
  EXPECT_EQ(price_of(list, "other", cluster)->value, 2.0);
  EXPECT_EQ(price_of({}, "other", cluster)->value, 9.0);
  cluster.price_per_gpu_hour.reset();
  EXPECT_FALSE(price_of({}, "other", cluster));
}

// A checkpoint of 14 bytes a parameter over 1 GB/s a node of eight; one is written before the next
// begins.
TEST(TrainingRun, CheckpointsAreWrittenInTheBackground) {
  CapacityOptions options;
  const CheckpointPlan plan = checkpoint_plan(small_model(), small_job(), 16, options, seconds(1));
  EXPECT_NEAR(plan.persist.value(), plan.size.value() / 2e9, 1e-9);
  EXPECT_EQ(plan.pause.value(), 10.0);
  options.checkpoint.asynchronous = false;
  const CheckpointPlan waiting =
      checkpoint_plan(small_model(), small_job(), 16, options, seconds(1));
  EXPECT_EQ(waiting.pause.value(), plan.persist.value());
  EXPECT_EQ(waiting.persist.value(), 0.0);
  options.checkpoint.interval_seconds = 0.5;
  EXPECT_EQ(checkpoint_plan(small_model(), small_job(), 16, options, seconds(7)).interval.value(),
            7.0);
}

// Waiting draws w = 0.35 / 0.76 = 0.4605 of what computing does. A step that computes for half its
// time draws 0.4605 + 0.5395 / 2 = 0.7303 of it.
TEST(TrainingRun, PowerFollowsTheLoad) {
  EXPECT_NEAR(waiting_over_busy({}), 0.4605, 1e-4);
  EXPECT_NEAR(power_at_load(1.0, 0.4605, 0.5), 0.73025, 1e-5);
  EXPECT_EQ(power_at_load(2.0, 0.4605, 1.0), 2.0);
  RunPhase busy = phase(1e6, 6.0);
  RunPhase idle = busy;
  idle.load = 0.5;
  const TrainingRun a = run_of({busy}, certain());
  const TrainingRun b = run_of({idle}, certain());
  ASSERT_TRUE(a.megawatts && b.megawatts);
  EXPECT_NEAR(*b.megawatts / *a.megawatts, 0.73, 0.001);
  EXPECT_LT(b.energy_mwh->p50, a.energy_mwh->p50);
  EXPECT_LT(*a.megawatts_waiting, *b.megawatts);
}

}  // namespace
}  // namespace meshwright::planner
