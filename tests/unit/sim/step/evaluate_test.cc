// SPDX-License-Identifier: Apache-2.0
#include "sim/step/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"
#include "sim/layout/stages.h"
#include "sim/memory/memory.h"
#include "sim/schedule/traits.h"
#include "sim/step/estimate.h"
#include "sim/step/step_interval.h"
#include "sim/step/terms.h"
#include "sim/step/utilization.h"
#include "tests/unit/sim/layout/listed.h"
#include "tests/unit/sim/step/a100_nodes.h"
#include "tests/unit/small_gpt.h"

namespace meshwright {
namespace {

Cluster eight_devices() { return a100_nodes(1); }

Job job() {
  Job job;
  job.seq_length = 2048;
  job.global_batch_size = 32;
  return job;
}

Seconds sum(const Terms& terms) {
  Seconds total;
  for (const Term& term : terms) total += term.cost.time;
  return total;
}

Seconds term(const Evaluation& e, TermKind kind) {
  return e.terms[static_cast<std::size_t>(kind)].cost.time;
}

class EvaluateTest : public testing::Test {
 protected:
  Evaluation run(const Layout& layout) {
    const Model model = small_gpt();
    const Cluster cluster = eight_devices();
    const Job batch = job();
    CostTable table({model, cluster, batch});
    return evaluate(table, layout);
  }
};

Layout tensor_pipeline_data(int tp, int pp, int dp) {
  Layout layout;
  layout.tensor_parallel_size = tp;
  layout.pipeline_parallel_size = pp;
  layout.data_parallel_size = dp;
  return layout;
}

TEST_F(EvaluateTest, TermsAddUpToTheStep) {
  for (const Layout& layout : {tensor_pipeline_data(8, 1, 1), tensor_pipeline_data(1, 8, 1),
                               tensor_pipeline_data(1, 1, 8), tensor_pipeline_data(2, 2, 2)}) {
    const Evaluation found = run(layout);
    ASSERT_FALSE(found.violation);
    EXPECT_DOUBLE_EQ(sum(found.terms).value(), found.step_time.value());
  }
}

TEST_F(EvaluateTest, AnAxisOfSizeOneCostsNothing) {
  const Evaluation found = run(tensor_pipeline_data(1, 1, 8));
  EXPECT_EQ(term(found, TermKind::tensor_parallel_communication), seconds(0));
  EXPECT_EQ(term(found, TermKind::pipeline_communication), seconds(0));
  EXPECT_EQ(term(found, TermKind::pipeline_bubble), seconds(0));
  EXPECT_GT(term(found, TermKind::data_parallel_communication), seconds(0));
}

TEST_F(EvaluateTest, FullRecomputeAddsOneForwardOfTheLayers) {
  Layout layout = tensor_pipeline_data(1, 1, 8);
  layout.recompute_granularity = RecomputeGranularity::full;
  const Evaluation found = run(layout);
  // Everything but embedding and head runs again: more than half of the forward, not more than all
  // of it.
  EXPECT_GT(term(found, TermKind::recompute), term(found, TermKind::forward_compute) * 0.5);
  EXPECT_LT(term(found, TermKind::recompute), term(found, TermKind::forward_compute));
}

TEST_F(EvaluateTest, OverlappingGradientsIsNeverSlower) {
  Layout layout = tensor_pipeline_data(1, 1, 8);
  const Seconds serial = run(layout).step_time;
  layout.overlap_grad_reduce = true;
  EXPECT_LT(run(layout).step_time, serial);
}

TEST_F(EvaluateTest, AnIllegalLayoutNamesItsRule) {
  const Evaluation found = run(tensor_pipeline_data(3, 1, 1));
  ASSERT_TRUE(found.violation);
  EXPECT_EQ(found.violation->rule, rule_named("world_size_equals_gpus"));
}

TEST_F(EvaluateTest, AModelThatDoesNotFitSaysHowMuchItNeeds) {
  const Model model = small_gpt();
  Cluster cluster = eight_devices();
  cluster.device.memory = gibibytes(1);
  const Job batch = job();
  CostTable table({model, cluster, batch});
  const Evaluation found = evaluate(table, tensor_pipeline_data(1, 1, 8));
  ASSERT_TRUE(found.violation);
  EXPECT_EQ(found.violation->rule, Rule::memory_capacity);
  EXPECT_EQ(found.violation->available, gibibytes(1).value());
  EXPECT_GT(found.violation->needed, found.violation->available);
}

TEST_F(EvaluateTest, EstimateAndEvaluateAgreeToTheLastBit) {
  const Layout layout = tensor_pipeline_data(2, 2, 2);
  const Evaluation quick = run(layout);
  const Outcome outcome = estimate({small_gpt(), eight_devices(), job()}, layout);
  const auto& full = std::get<Estimate>(outcome);
  EXPECT_EQ(full.step_time, quick.step_time);
  EXPECT_EQ(full.peak_memory(), quick.peak_memory);
  EXPECT_LE(full.step_time_low, full.step_time);
  EXPECT_GE(full.step_time_high, full.step_time);
}

// 6 PFLOP in 2 s on 4 devices of 1 PFLOP/s each: 6 / (2 * 4) = 75 %.
TEST(ModelFlopsUtilization, IsTheShareOfWhatTheDevicesCouldHaveDone) {
  const FlopsPerSecond peak = teraflops_per_second(1000);
  EXPECT_DOUBLE_EQ(model_flops_utilization(flops(6e15), seconds(2), peak, 4), 0.75);
  EXPECT_EQ(model_flops_utilization(flops(6e15), seconds(2), flops_per_second(0), 4), 0.0);
}

TEST_F(EvaluateTest, TheIntervalIsTheRegimes) {
  Cluster cluster = eight_devices();
  const auto expect_spread = [&](const RegimeSpread& spread, IntervalRegime regime) {
    const Outcome outcome = estimate({small_gpt(), cluster, job()}, tensor_pipeline_data(2, 2, 2));
    const auto& found = std::get<Estimate>(outcome);
    const StepInterval expected =
        step_interval(found.step_time, spread, spread_of_parts(found.terms, found.step_time));
    EXPECT_EQ(found.interval_regime, regime);
    EXPECT_EQ(found.step_time_low, expected.low);
    EXPECT_EQ(found.step_time_high, expected.high);
  };
  const auto expect_shipped = [&](IntervalRegime regime) {
    expect_spread(shipped_spread(regime, false), regime);
  };
  expect_shipped(IntervalRegime::unknown_chip);
  cluster.device.gemm[0].provenance = Provenance::fitted;
  expect_shipped(IntervalRegime::unknown_software);  // nobody named it
  cluster.framework.name = cluster.fit.framework = "software-2030";
  expect_shipped(IntervalRegime::profiled_machine);
  cluster.fit.learnt_runs = 5;
  cluster.fit.relative_spread = 0.5;
  expect_spread({.own = 0.5}, IntervalRegime::profiled_machine);
}

TEST_F(EvaluateTest, TheTableRemembersWithoutMixingLayoutsUp) {
  // One table for many layouts gives what a fresh table gives for each.
  const Model model = small_gpt();
  const Cluster cluster = eight_devices();
  const Job batch = job();
  CostTable shared({model, cluster, batch});
  for (const int tp : {1, 2, 4, 8}) {
    for (const int mbs : {1, 2, 4}) {
      for (const bool sp : {false, true}) {
        Layout layout = tensor_pipeline_data(tp, 1, 8 / tp);
        layout.micro_batch_size = mbs;
        layout.sequence_parallel = sp && tp > 1;
        EXPECT_EQ(evaluate(shared, layout).step_time, run(layout).step_time);
      }
    }
  }
}

void expect_same_price(const Evaluation& a, const Evaluation& b) {
  EXPECT_EQ(a.violation.has_value(), b.violation.has_value());
  EXPECT_EQ(a.step_time, b.step_time);
  EXPECT_EQ(a.peak_memory, b.peak_memory);
}

TEST_F(EvaluateTest, AListThatSaysWhatOtherFieldsSayCostsTheSame) {
  Layout layout = tensor_pipeline_data(1, 4, 2);
  Layout list = layout;
  list.pipeline_layout = listed("Ett|tt|tt|ttL");
  expect_same_price(run(list), run(layout));
  layout.virtual_pipeline_parallel_size = list.virtual_pipeline_parallel_size = 2;
  layout.schedule = list.schedule = PipelineSchedule::interleaved;
  list.pipeline_layout = listed("Et|(t|)*6tL");
  expect_same_price(run(list), run(layout));
  // 8 layers, embedding and loss: 10 over 5 stages of 2 chunks.
  layout = tensor_pipeline_data(1, 5, 1);
  layout.virtual_pipeline_parallel_size = 2;
  layout.schedule = PipelineSchedule::interleaved;
  layout.account_for_embedding_in_pipeline_split = true;
  layout.account_for_loss_in_pipeline_split = true;
  list = layout;
  list.account_for_embedding_in_pipeline_split = list.account_for_loss_in_pipeline_split = false;
  list.pipeline_layout = listed("E|(t|)*8L");
  const Model model = small_gpt();
  const Cluster cluster = eight_devices();
  Job batch = job();
  batch.global_batch_size = 10;
  CostTable table({model, cluster, batch});
  expect_same_price(evaluate(table, list), evaluate(table, layout));
}

// Four of eight layers run again beside four that are kept: forward is as without, and the rest
// half of what running all of them again takes.
TEST_F(EvaluateTest, RecomputedLayersTakeThePlaceOfKeptOnes) {
  Layout layout = tensor_pipeline_data(1, 1, 8);
  const Evaluation none = run(layout);
  layout.recompute_granularity = RecomputeGranularity::full;
  const Evaluation all = run(layout);
  layout.recompute_method = RecomputeMethod::block;
  layout.recompute_num_layers = 4;
  const Evaluation half = run(layout);
  const auto near = [](Seconds found, Seconds expected) {
    EXPECT_NEAR(found / expected, 1.0, 1e-9);
  };
  near(term(half, TermKind::forward_compute), term(none, TermKind::forward_compute));
  near(term(half, TermKind::backward_compute), term(none, TermKind::backward_compute));
  near(term(half, TermKind::recompute), 0.5 * term(all, TermKind::recompute));
}

// A step waits for the optimizer of the fullest stage, be it the first or the last: six layers and
// a vocabulary's matrix in both.
TEST_F(EvaluateTest, TheFullestStagesOptimizerCounts) {
  Layout layout = tensor_pipeline_data(1, 2, 4);
  layout.pipeline_layout = listed("Et*6|ttL");
  const Seconds first = term(run(layout), TermKind::optimizer);
  layout.pipeline_layout = listed("Ett|t*6L");
  EXPECT_NEAR(first / term(run(layout), TermKind::optimizer), 1.0, 0.05);
}

// The framework's overhead of a micro-batch, 1 s, is the stage's: 16 micro-batches over four
// stages wait for 16 + 3 of it, those of two chunks a stage for no more.
TEST_F(EvaluateTest, ChunksShareTheOverheadOfAMicroBatch) {
  Layout layout = tensor_pipeline_data(1, 4, 2);
  const auto added = [&] {
    const Model model = small_gpt();
    const Job batch = job();
    Cluster cluster = eight_devices();
    CostTable without({model, cluster, batch});
    const Seconds before = evaluate(without, layout).step_time;
    cluster.framework.micro_batch_overhead = seconds(1);
    CostTable with({model, cluster, batch});
    return (evaluate(with, layout).step_time - before).value();
  };
  EXPECT_NEAR(added(), 19.0, 1e-6);
  layout.schedule = PipelineSchedule::interleaved;
  layout.virtual_pipeline_parallel_size = 2;
  EXPECT_GE(added(), 16.0 - 1e-6);
  EXPECT_LE(added(), 19.0);
}

// Layers moved from the fullest stage to the others: shorter, as its work is what a step waits for.
TEST_F(EvaluateTest, FewerLayersBesideTheLossMakeAShorterStep) {
  Layout layout = tensor_pipeline_data(1, 2, 4);
  layout.pipeline_layout = listed("Ett|t*6L");
  const Seconds late = run(layout).step_time;
  layout.pipeline_layout = listed("Et*4|t*4L");
  EXPECT_LT(run(layout).step_time, late);
}

// Multi-token prediction apart from the loss, or with it: the same parameters, once each.
TEST_F(EvaluateTest, MultiTokenPredictionIsHeldOnceWhereverItStands) {
  Model model = small_gpt();
  model.tied_embeddings = false;
  model.mtp_num_layers = 1;
  const auto parameters_of = [&](std::string_view text, int stages) {
    Layout layout = tensor_pipeline_data(1, stages, 1);
    layout.pipeline_layout = listed(text);
    double sum = 0.0;
    for (const Stage& stage : pipeline_stages(model, layout)) {
      sum += stage_parameters(model, job(), layout, stage).dense;
    }
    return sum;
  };
  EXPECT_DOUBLE_EQ(parameters_of("Et*4|t*4|m|L", 4), parameters_of("Et*4|t*4mL", 2));
  const Layout layout = [&] {
    Layout l = tensor_pipeline_data(1, 4, 2);
    l.pipeline_layout = listed("Et*4|t*4|m|L");
    return l;
  }();
  // The ledger: one message into the prediction's stage, two hidden states out of it.
  const Volume sent = volume(model, job(), layout);
  EXPECT_EQ(sent.stages[2].sent(Group::pipeline), 1.5 * sent.stages[1].sent(Group::pipeline));
}

// Every schedule, few and many micro-batches, also with stages of unequal size: no stage between
// those that were looked at holds more.
TEST_F(EvaluateTest, ThePeakIsTheLargestOfAllStages) {
  Model model = small_gpt();
  model.num_layers = 32;
  const Cluster cluster = eight_devices();
  std::set<PipelineSchedule> looked_at;
  for (const ScheduleTraits* schedule : pipeline_schedules) {
    for (const int first : {0, 1, 2, 11}) {
      for (const int batch : {4, 8, 16, 64}) {
        Job few = job();
        few.global_batch_size = batch;
        Layout layout = tensor_pipeline_data(1, 8, 1);
        layout.schedule = schedule->schedule;
        layout.virtual_pipeline_parallel_size = schedule->fewest_chunks;
        layout.num_layers_in_first_pipeline_stage = first;
        CostTable table({model, cluster, few});
        const Evaluation found = evaluate(table, layout);
        if (found.violation && found.violation->rule != Rule::memory_capacity) continue;
        looked_at.insert(schedule->schedule);
        Bytes most;
        const std::vector<Stage> stages = pipeline_stages(model, layout);
        for (std::size_t s = 0; s < stages.size(); ++s) {
          most = std::max(most,
                          stage_memory(model, few, layout, stages[s], static_cast<int>(s)).total());
        }
        EXPECT_EQ(found.peak_memory, most + outside_allocator(cluster.device, layout))
            << short_name(layout) << ", batch " << batch;
      }
    }
  }
  EXPECT_EQ(looked_at.size(), pipeline_schedules.size());
}

// DualPipe's two directions meet between stages 3 and 4 of 8: where layers keep only their inputs,
// those two hold more than the ends of the run of alike stages 1 to 6.
TEST_F(EvaluateTest, DualPipesMiddleStagesAreLookedAt) {
  Model model = small_gpt();
  model.num_layers = 80;
  Job many = job();
  many.global_batch_size = 64;
  Layout layout = tensor_pipeline_data(1, 8, 1);
  layout.schedule = PipelineSchedule::dualpipe;
  layout.virtual_pipeline_parallel_size = 2;
  layout.recompute_granularity = RecomputeGranularity::full;
  layout.overlap_p2p_comm = true;
  const Cluster cluster = eight_devices();
  CostTable table({model, cluster, many});
  const Evaluation found = evaluate(table, layout, MemoryLimit::reported);
  Bytes ends;
  Bytes middle;
  const std::vector<Stage> stages = pipeline_stages(model, layout);
  const auto held = [&](int s) {
    return stage_memory(model, many, layout, stages[static_cast<std::size_t>(s)], s).total();
  };
  for (const int s : {1, 6}) ends = std::max(ends, held(s));
  for (const int s : {3, 4}) middle = std::max(middle, held(s));
  EXPECT_LT(ends, middle);
  EXPECT_GE(found.peak_memory, middle + outside_allocator(cluster.device, layout));
}

TEST_F(EvaluateTest, MoreBandwidthIsNeverSlower) {
  const Model model = small_gpt();
  const Cluster slow = eight_devices();
  Cluster fast = slow;
  fast.intra_node.bandwidth *= 2.0;
  const Job batch = job();
  for (const Layout& layout : {tensor_pipeline_data(8, 1, 1), tensor_pipeline_data(2, 2, 2)}) {
    CostTable before({model, slow, batch});
    CostTable after({model, fast, batch});
    EXPECT_LE(evaluate(after, layout).step_time, evaluate(before, layout).step_time);
  }
}

}  // namespace
}  // namespace meshwright
