// SPDX-License-Identifier: Apache-2.0
#include "sim/step/step_interval.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/shipped_spreads.h"
#include "sim/operators/operators.h"
#include "sim/step/scenario.h"
#include "sim/step/utilization.h"

namespace meshwright {
namespace {

// hypot(0.3, 0.4) = 0.5: a half-width of 1.645 x 0.5 = 0.8225 about a bias of 0.1, so that
// 2 s become 2 exp(-0.7225) = 0.971 to 2 exp(0.9225) = 5.031.
TEST(StepInterval, IsTheRootOfTheSquaresAboutTheBias) {
  const StepInterval found = step_interval(seconds(2), {.bias = 0.1, .shared = 0.3, .own = 0.4});
  EXPECT_NEAR(found.low.value(), 0.971, 1e-3);
  EXPECT_NEAR(found.high.value(), 5.031, 1e-3);
}

// 1.645 x 0.2 = 0.329: the step's parts say more than 0.1 does.
TEST(StepInterval, IsNoNarrowerThanTheStepsParts) {
  const StepInterval found = step_interval(seconds(1), {.own = 0.1}, 0.2);
  EXPECT_NEAR(std::log(found.high.value()), 0.329, 1e-3);
  EXPECT_NEAR(std::log(found.low.value()), -0.329, 1e-3);
}

// exp(0.5 - 1.645 x 0.1) = 1.399 is past the step.
TEST(StepInterval, HoldsTheStepItself) {
  const StepInterval found = step_interval(seconds(1), {.bias = 0.5, .own = 0.1});
  EXPECT_EQ(found.low, seconds(1));
  EXPECT_NEAR(found.high.value(), std::exp(0.6645), 1e-9);
}

// No end lies below what the device can do, and none is moved past the step.
TEST(StepInterval, EndsAtWhatTheDeviceCanDo) {
  EXPECT_EQ(step_interval(seconds(1), {.own = 0.2}, 0.0, seconds(0.9)).low, seconds(0.9));
  EXPECT_EQ(step_interval(seconds(1), {.own = 0.2}, 0.0, seconds(1.2)).low, seconds(1));
  EXPECT_EQ(step_interval(seconds(1), {.own = 0.2}, 0.0, seconds(1.2)).high,
            step_interval(seconds(1), {.own = 0.2}).high);
}

Scenario one_linear_layer() {
  Scenario scenario;
  Model& model = scenario.model;
  model.num_layers = 1;
  model.hidden_size = model.ffn_hidden_size = 1024;
  model.num_attention_heads = model.num_query_groups = 8;
  model.kv_channels = 128;
  scenario.job.seq_length = 1024;
  scenario.job.global_batch_size = 4;
  GemmModel& gemm = scenario.cluster.device.gemm.emplace_back();
  gemm.peak = teraflops_per_second(100);
  gemm.sustained_fraction = 0.8;
  return scenario;
}

// 80 of 100 TFLOP/s for large GEMMs: a step at that rate has 80 % of the peak, on 2 devices as on
// one. A faster measured GEMM or attention kernel, or a factor fitted below 1, raises it.
TEST(LeastStepTime, IsTheModelsFlopsAtTheFastestRate) {
  Scenario scenario = one_linear_layer();
  const auto utilization = [&] {
    const Flops step = model_flops(scenario.model, scenario.job, true);
    return model_flops_utilization(step,
                                   least_step_time(step, scenario.cluster, Precision::bf16, 2),
                                   teraflops_per_second(100), 2);
  };
  EXPECT_NEAR(utilization(), 0.8, 1e-12);
  scenario.cluster.device.attention.emplace_back().forward_fraction = 0.85;
  EXPECT_NEAR(utilization(), 0.85, 1e-12);
  // 2 x 1,000^3 FLOPs in 2e9 / 90e12 s.
  scenario.cluster.device.gemm.front().points = {{1, 1000, 1000, 1000, seconds(2e9 / 90e12)}};
  EXPECT_NEAR(utilization(), 0.9, 1e-12);
  scenario.cluster.framework.gemm_time_factor = 0.96;
  EXPECT_NEAR(utilization(), 0.9 / 0.96, 1e-12);
  scenario.cluster.framework.gemm_time_factor = 1.2;
  EXPECT_NEAR(utilization(), 0.9, 1e-12);
}

// Terms of 3 and 2 s in 5, with 10 and 20 %: hypot(0.06, 0.08) = 0.1.
TEST(StepInterval, PartsErrIndependently) {
  Terms terms{};
  terms[0].cost = {seconds(3), 0.1, Provenance::measured};
  terms[1].cost = {seconds(2), 0.2, Provenance::measured};
  EXPECT_NEAR(spread_of_parts(terms, seconds(5)), 0.1, 1e-12);
}

// A measured machine is better known than a chip, and a chip under known software better than
// where one of the two is unknown.
TEST(ShippedSpread, GrowsWithWhatIsNotKnown) {
  for (const bool experts : {false, true}) {
    const auto width = [&](IntervalRegime regime) {
      const StepInterval found = step_interval(seconds(1), shipped_spread(regime, experts));
      return std::log(found.high / found.low);
    };
    const double known = width(IntervalRegime::known_chip);
    EXPECT_LT(width(IntervalRegime::profiled_machine), known);
    EXPECT_LT(known, width(IntervalRegime::unknown_software));
    EXPECT_LT(known, width(IntervalRegime::unknown_chip));
  }
}

// 4 s of 5 s are 20 % less, 6.5 s 30 % more.
TEST(StepInterval, SaysItsEndsOverTheStep) {
  EXPECT_EQ(relative_text({seconds(4), seconds(6.5)}, seconds(5)), "-20 to +30 %");
}

// Naming the software that a file only assumes makes it known, if it has published runs. For a chip
// without measurements naming changes nothing.
TEST(NamedSoftware, IsTheOneThatTheFileAssumes) {
  Cluster cluster;
  cluster.device.gemm.emplace_back().provenance = Provenance::fitted;
  cluster.framework.name = shipped::kComparedFrameworks.front();
  EXPECT_FALSE(with_named_software(cluster));
  cluster.framework_assumed = true;
  ASSERT_TRUE(with_named_software(cluster));
  EXPECT_EQ(interval_regime(*with_named_software(cluster)), IntervalRegime::known_chip);
  cluster.device.gemm[0].provenance = Provenance::assumed;
  EXPECT_FALSE(with_named_software(cluster));
  cluster.device.gemm[0].provenance = Provenance::fitted;
  cluster.framework.name = "software-2030";
  EXPECT_FALSE(with_named_software(cluster));
}

// Passes varied by 5, 8 and 12 %, median 8 %; the optimizer does not count. Own spread s becomes
// sqrt(s^2 + 0.08^2). A calibrated GPU has no such passes.
TEST(StepSpread, OfCoresHoldsTheMovementOfTheirHost) {
  Cluster cluster;
  Device& device = cluster.device;
  device.kind = DeviceKind::cpu;
  GemmModel& gemm = device.gemm.emplace_back();
  gemm.provenance = Provenance::fitted;
  gemm.points = {{1, 256, 256, 256, milliseconds(1), 0.0}};
  ASSERT_EQ(interval_regime(cluster), IntervalRegime::profiled_cores);
  const RegimeSpread quiet = step_spread(cluster, false);
  EXPECT_EQ(quiet.own, shipped_spread(IntervalRegime::profiled_cores, false).own);
  device.step_remainders = {{ComputePass::forward, 256, 0.0, 0.05},
                            {ComputePass::forward, 512, 0.0, 0.12},
                            {ComputePass::backward, 256, 0.0, 0.08},
                            {ComputePass::optimizer, 1, 0.0, 0.5}};
  EXPECT_NEAR(step_spread(cluster, false).own, std::sqrt(quiet.own * quiet.own + 0.0064), 1e-12);
  EXPECT_EQ(step_spread(cluster, false).shared, quiet.shared);
}

TEST(StepSpread, OfALearntMachineIsWhatItsRunsLeftOpen) {
  Cluster cluster;
  cluster.framework.name = cluster.fit.framework = "fitted";
  cluster.fit.relative_spread = 0.03;
  cluster.fit.learnt_runs = 5;
  EXPECT_EQ(step_spread(cluster, false).own, 0.03);
  EXPECT_EQ(step_spread(cluster, false).shared, 0.0);
}

}  // namespace
}  // namespace meshwright
