// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/goodput.h"

#include <gtest/gtest.h>

#include <cmath>

#include "planner/capacity/checkpoint.h"
#include "planner/capacity/failures.h"
#include "tests/unit/planner/capacity/training_simulation.h"

namespace meshwright::planner {
namespace {

Seconds between(int nodes, double per_thousand) {
  return mean_time_between_failures(nodes * kGpusOfAReportedNode, per_thousand);
}

double meta(int nodes, double rate, double pause, double recovery, double interval) {
  return meta_ettr(between(nodes, rate), seconds(pause), seconds(recovery), seconds(interval));
}

// Sentences of arXiv 2410.21680. 2,000 nodes at 6.5 fail each 6,646 s; a save each 5 minutes that
// pauses nothing, 5 minutes of restart: 1 - (300 + 150) / 6,646 = 0.932, the paper 0.93.
TEST(Goodput, MetasFormGivesThePapersNumbers) {
  EXPECT_NEAR(meta(2000, 6.5, 0, 300, 300), 0.9323, 0.0001);
  EXPECT_NEAR(meta(2000, 6.5, 0, 300, 3600), 0.6840, 0.0001);
  // "over 0.9" on 2,048 and 4,096 GPUs with a save an hour.
  EXPECT_NEAR(meta(256, 6.5, 0, 300, 3600), 0.9596, 0.0001);
  EXPECT_NEAR(meta(512, 6.5, 0, 300, 3600), 0.9191, 0.0001);
  // "Either gives 0.9": a save that pauses 10 s, or a rate of 1.
  const Seconds often = young_interval(seconds(10), between(1500, 6.5));
  EXPECT_NEAR(meta(1500, 6.5, 10, 300, often.value()), 0.9205, 0.0001);
  const Seconds seldom = young_interval(seconds(300), between(1500, 1.0));
  EXPECT_NEAR(meta(1500, 1.0, 300, 300, seldom.value()), 0.8979, 0.0001);
  // 100,000 GPUs at the lower rate, two minutes each.
  EXPECT_NEAR(meta(12500, 2.34, 0, 120, 120), 0.9391, 0.0001);
}

// 131,072 GPUs at 6.5: a failure each 811 s, restarts of 20 minutes: Meta's form says less than
// nothing.
TEST(Goodput, MetasFormIsRefusedWhereFailuresComeTooOften) {
  const Seconds m = between(16384, 6.5);
  const Seconds interval = young_interval(seconds(60), m);
  EXPECT_NEAR(meta_ettr(m, seconds(60), seconds(1200), interval), -0.563, 0.001);
  EXPECT_FALSE(meta_ettr_holds(m));
  EXPECT_NEAR(renewal_ettr(m, seconds(60), seconds(1200), interval), 0.267, 0.001);
  EXPECT_TRUE(meta_ettr_holds(between(2048, 3.79)));
}

// tau = 471.8 s, M = 11,131 s: 471.8 / (11,731 x (exp(481.8 / 11,131) - 1)) = 0.9092.
TEST(Goodput, RenewalForm) {
  const Seconds m = between(2048, 3.79);
  const Seconds interval = young_interval(seconds(10), m);
  EXPECT_NEAR(renewal_ettr(m, seconds(10), seconds(600), interval), 0.9092, 0.0001);
  EXPECT_NEAR(meta_ettr(m, seconds(10), seconds(600), interval), 0.9057, 0.0001);
  EXPECT_NEAR(meta(2048, 3.79, 60, 600, young_interval(seconds(60), m).value()), 0.8501, 0.0001);
  EXPECT_NEAR(meta(2048, 3.79, 300, 1200, young_interval(seconds(300), m).value()), 0.6954, 0.0001);
}

Disruption disruption(double m, double pause, double persist, double recovery) {
  return {.mean_time_between = seconds(m),
          .save_pause = seconds(pause),
          .persist = seconds(persist),
          .detection = seconds(recovery / 4),
          .restart = seconds(recovery / 2),
          .load = seconds(recovery / 4),
          .replicas = 1,
          .catch_up = seconds(0)};
}

TEST(Goodput, SimulationWithinTwoPercent) {
  const std::vector<std::pair<Disruption, double>> cases{
      {disruption(11131, 10, 0, 600), 472},   {disruption(11131, 300, 0, 1200), 2584},
      {disruption(811, 60, 0, 1200), 312},    {disruption(50000, 10, 20, 600), 1000},
      {disruption(11131, 10, 120, 600), 472}, {disruption(6646, 1, 30, 300), 300}};
  for (const auto& [d, interval] : cases) {
    const Seconds productive = seconds(interval * 40'000);
    const SimulatedRun run = simulate_training(d, seconds(interval), productive, 7);
    const TimeParts parts = time_parts(productive, d, seconds(interval));
    const double simulated = productive.value() / run.elapsed;
    EXPECT_NEAR(ettr(d, seconds(interval)) / simulated, 1.0, 0.02) << d.mean_time_between.value();
    EXPECT_NEAR(parts.failures / run.failures, 1.0, 0.04);
    if (!meta_ettr_holds(d.mean_time_between) || d.persist.value() > 0.0) continue;
    const double meta_form =
        meta_ettr(d.mean_time_between, d.save_pause, d.recovery(), seconds(interval));
    EXPECT_NEAR(meta_form / simulated, 1.0, 0.05);
  }
}

// A month, simulated a hundred times: how far the elapsed times lie from each other.
TEST(Goodput, ArrivalsSpreadAsTheSimulationDoes) {
  const Disruption d = disruption(11131, 10, 0, 600);
  const Seconds productive = seconds(30 * 86400);
  double sum = 0.0;
  double squares = 0.0;
  constexpr int kRuns = 400;
  for (int seed = 0; seed < kRuns; ++seed) {
    const double elapsed =
        simulate_training(d, seconds(472), productive, static_cast<unsigned>(seed)).elapsed;
    sum += elapsed;
    squares += elapsed * elapsed;
  }
  const double mean = sum / kRuns;
  const double deviation = std::sqrt(squares / kRuns - mean * mean);
  EXPECT_NEAR(time_parts(productive, d, seconds(472)).deviation.value() / deviation, 1.0, 0.1);
}

TEST(Goodput, PartsAddUpToTheElapsedTime) {
  for (const int replicas : {1, 16}) {
    Disruption d = disruption(811, 60, 30, 1200);
    d.replicas = replicas;
    d.catch_up = seconds(20);
    const TimeParts parts = time_parts(seconds(1e7), d, seconds(312), {0.03, 0.02});
    Seconds sum = parts.productive;
    for (const Seconds lost : parts.lost) {
      sum += lost;
      EXPECT_GE(lost.value(), 0.0);
    }
    EXPECT_NEAR(sum / parts.elapsed, 1.0, 1e-9);
    const Seconds trained = parts.productive * 1.05;
    const Seconds whole = trained / ettr(d, seconds(312)) + d.restart;
    EXPECT_NEAR(parts.elapsed / whole, 1.0, 1e-9);
  }
}

TEST(Goodput, OneReplicaThatFailsAloneIsTheRestartsShare) {
  const Disruption d = disruption(11131, 10, 0, 600);
  const TimeParts parts = time_parts(seconds(1e8), d, seconds(472));
  const Seconds restarts = parts[LostTime::infrastructure_recovery_from_disruption] +
                           parts[LostTime::unproductive_checkpoint_restore_time];
  const Seconds up = parts.elapsed - parts[LostTime::program_startup];
  EXPECT_NEAR(replica_loss(d.mean_time_between, d.recovery(), 1), restarts / up, 1e-9);
}

TEST(Goodput, ReplicasThatFailAloneAsSimulated) {
  Disruption d = disruption(811, 0, 0, 1200);
  d.replicas = 16;
  const double simulated = simulate_replicas(d, 3e7, 11);
  EXPECT_NEAR(ettr(d, seconds(1e9)) / simulated, 1.0, 0.02);
}

TEST(Goodput, OftenerFailuresNeverTrainMore) {
  double before = 1.0;
  for (const double m : {1e9, 1e6, 1e5, 1e4, 1e3}) {
    const double now = ettr(disruption(m, 10, 5, 600), seconds(600));
    EXPECT_LT(now, before);
    before = now;
  }
}

// c(8) = 1.424 and c(64) = 2.344 (order statistics): 64 and 512 GPUs are 8 and 64 nodes of eight.
TEST(Goodput, AllWaitForTheSlowestNode) {
  EXPECT_NEAR(slowest_node_share(64, 0.01), 0.01424, 1e-5);
  EXPECT_NEAR(slowest_node_share(512, 0.01), 0.02344, 1e-5);
  EXPECT_EQ(slowest_node_share(8, 0.01), 0.0);  // one node waits for nobody
  Disruption none;
  none.mean_time_between = seconds(1e12);
  const TimeParts parts = time_parts(seconds(1e6), none, seconds(600), {0.0, 0.02344});
  EXPECT_NEAR(parts[LostTime::step_time_deviation].value(), 23440.0, 1e-6);
}

}  // namespace
}  // namespace meshwright::planner
