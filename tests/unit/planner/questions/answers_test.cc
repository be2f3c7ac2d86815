// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "planner/questions/explanation.h"
#include "planner/search/choice.h"
#include "planner/search/contenders.h"
#include "planner/search/rejection.h"
#include "sim/base/error.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

using testing::HasSubstr;

SearchOptions search_options() {
  SearchOptions options;
  options.top = 20;
  return options;
}

// 64 devices of 8 GiB: several layouts are near each other.
Plan small_plan() {
  return search({small_model(), small_cluster(8, 8), small_job()}, search_options());
}

TEST(Contenders, BeginWithTheWinnerAndHoldNoLayoutTwice) {
  const Plan plan = small_plan();
  const std::vector<Layout> layouts = contenders_of(plan, search_options());
  ASSERT_FALSE(layouts.empty());
  EXPECT_EQ(layouts.front(), plan.ranked.front().layout);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(layouts[i] == layouts[j]);
  }
}

// Runner-ups that are slower than the winner with these probabilities.
Confidence confidence_with(double best, double regret, const std::vector<double>& slower) {
  Confidence c;
  c.probability_best = best;
  c.expected_regret = regret;
  for (const double probability : slower) {
    AgainstRunnerUp& against = c.against.emplace_back();
    against.rank = c.against.size();
    against.probability_winner_is_faster = probability;
  }
  return c;
}

// A loss below 0.5 % of a step is settled. A runner-up faster with 25 % probability ties.
TEST(Confidence, TheSentenceSaysWhatTies) {
  EXPECT_EQ(sentence_of(confidence_with(1.0, 0.0, {})), "");
  EXPECT_EQ(sentence_of(confidence_with(0.97, 0.001, {0.98})),
            "Settled. Layout #1 is the fastest of 2 contenders with 97 % probability. Choosing it "
            "costs 0.1 % of a step on average.");
  EXPECT_EQ(
      sentence_of(confidence_with(0.4, 0.05, {0.74, 0.76, 0.7})),
      "Open. Layout #1 is the fastest of 4 contenders with 40 % probability. Choosing it costs "
      "5 % of a step on average. Layouts #2, #4 tie with it: each is faster with 25 % "
      "probability or more.");
}

TEST(Sensitivity, TurnsTheWinnerBothWaysAndSortsBySwing) {
  const Plan plan = small_plan();
  const auto all = sensitivity(plan, contenders_of(plan, search_options()), 0.0);
  ASSERT_FALSE(all.empty());
  const Seconds today = plan.ranked.front().step_time;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Sensitivity& s = all[i];
    // One standard deviation of the logarithm down; as much up, or to the physical limit.
    EXPECT_NEAR(s.low.factor, std::exp(-s.relative_spread), 1e-12);
    EXPECT_LE(s.high.factor, std::exp(s.relative_spread));
    EXPECT_EQ(s.capped, s.high.factor < std::exp(s.relative_spread));
    EXPECT_LE(std::min(s.low.step_time, s.high.step_time), today) << text_of(s.parameter).name;
    EXPECT_GE(std::max(s.low.step_time, s.high.step_time), today) << text_of(s.parameter).name;
    EXPECT_LE(s.low.best_step_time, s.low.step_time);
    if (i > 0) {
      EXPECT_LE(s.swing(), all[i - 1].swing());
    }
  }
}

// A GEMM at 0.97 of the peak with a spread of 20 %: exp(0.2) = 1.221 would be 1.18 of the peak.
TEST(Sensitivity, TurnsNoInputBeyondPhysics) {
  Plan plan = small_plan();
  plan.cluster.device.gemm.front().sustained_fraction = 0.97;
  plan.cluster.device.gemm.front().relative_spread = 0.2;
  const auto all = sensitivity(plan, {plan.ranked.front().layout}, 0.0);
  const auto gemm = std::find_if(all.begin(), all.end(), [](const Sensitivity& s) {
    return s.parameter == WhatIfParameter::gemm_efficiency;
  });
  ASSERT_NE(gemm, all.end());
  EXPECT_TRUE(gemm->capped);
  EXPECT_NEAR(gemm->high.value, 1.0, 1e-12);
  EXPECT_NEAR(gemm->low.value, 0.97 * 0.8187308, 1e-6);
}

// 0.7 of the peak: 1 / 0.7 = 1.428571..., 1.42858 is the six digits above it; 1.4287 is more than
// rounding.
TEST(WhatIf, ThePeakWrittenWithSixDigitsIsNotBeyondIt) {
  Scenario scenario = small_plan();
  scenario.cluster.device.gemm.front().sustained_fraction = 0.7;
  EXPECT_NO_THROW(changes_from_text("gemm_efficiency=1.42858x", scenario));
  EXPECT_THROW(changes_from_text("gemm_efficiency=1.4287x", scenario), InputError);
}

// The machine's own runs state the spread of a layout; otherwise it would be a mean over several
// spreads.
TEST(Confidence, ProbabilitiesFollowTheDifferences) {
  Plan plan = small_plan();
  plan.cluster.framework.name = plan.cluster.fit.framework = "fitted";
  plan.cluster.fit.learnt_runs = 5;
  plan.cluster.fit.relative_spread = 0.02;
  const Confidence c = confidence(plan);
  ASSERT_EQ(c.against.size(), 9U);
  double worst = 1.0;
  for (const AgainstRunnerUp& a : c.against) {
    EXPECT_EQ(a.difference, plan.ranked[a.rank].step_time - plan.ranked.front().step_time);
    EXPECT_GE(a.probability_winner_is_faster, 0.5);
    worst = std::min(worst, a.probability_winner_is_faster);
    // Phi(difference / deviation), the arithmetic of the header.
    if (a.deviation.value() > 0.0) {
      const double z = a.difference / a.deviation;
      EXPECT_NEAR(a.probability_winner_is_faster, std::erfc(-z / std::sqrt(2.0)) / 2.0, 1e-12);
    }
  }
  // No likelier to beat all than to beat the strongest; the lattice is good to a hundredth.
  EXPECT_LE(c.probability_best, worst + 0.01);
  EXPECT_GT(c.probability_best, 0.0);
}

// The step's own deviation is many times that of a difference between layouts of equal shapes.
TEST(Confidence, SharedErrorsCancel) {
  const Plan plan = small_plan();
  const Confidence c = confidence(plan);
  const double own = c.relative_deviation * plan.ranked.front().step_time.value();
  double smallest = own;
  for (const AgainstRunnerUp& a : c.against) smallest = std::min(smallest, a.deviation.value());
  EXPECT_LT(smallest, 0.5 * own);
}

TEST(Confidence, ProposesTheWinnerBesideEachRunnerUpWorthARun) {
  Cluster unsure = small_cluster(8, 8);
  unsure.device.gemm.front().relative_spread = 0.5;
  unsure.intra_node.relative_spread = unsure.inter_node.relative_spread = 0.5;
  const Plan plan = search({small_model(), unsure, small_job()}, search_options());
  const Confidence c = confidence(plan);
  ASSERT_GT(c.proposed_runs.size(), 1U);
  EXPECT_EQ(c.proposed_runs.front().rank, 0U);
  for (std::size_t i = 1; i < c.proposed_runs.size(); ++i) {
    const AgainstRunnerUp& a = c.against[c.proposed_runs[i].rank - 1];
    EXPECT_EQ(a.runs_to_settle, c.proposed_runs[i].runs);
    EXPECT_LE(a.runs_to_settle, c.proposed_runs.front().runs);
    EXPECT_LT(a.probability_winner_is_faster, 0.95);
  }
}

TEST(Confidence, MeasuredSpreadIsSharedLessThanADatasheets) {
  EXPECT_DOUBLE_EQ(shared_variance(Provenance::measured), 0.5);
  EXPECT_DOUBLE_EQ(shared_variance(Provenance::datasheet), 0.9);
}

TEST(Crossovers, AnExactOneStandsInTheWholeSpace) {
  const Plan plan = small_plan();
  CrossoverOptions options;
  options.affordable_layouts = 1'000'000'000;
  const auto all =
      crossovers(plan, search_options(), contenders_of(plan, search_options()), options);
  ASSERT_FALSE(all.empty());
  const Scenario& base = plan;
  for (const Crossover& c : all) {
    EXPECT_TRUE(c.exact) << text_of(c.parameter).name;
    if (c.parameter == WhatIfParameter::global_batch_size || !c.winner_fits) continue;
    // Just before the flip no layout of the space saves more than what matters.
    const double before = std::pow(c.factor, 0.999);
    const Scenario near = scaled(base, c.parameter, before);
    const Plan there = search(near, search_options());
    const auto winner = best_of(near, {plan.ranked.front().layout}, 0.0);
    ASSERT_TRUE(winner);
    EXPECT_LT(1.0 - there.ranked.front().step_time / winner->step_time, 0.02)
        << text_of(c.parameter).name;
  }
}

TEST(Crossovers, TheWinnerStopsFittingWhereItsMemoryEnds) {
  // A device with a fifth more memory than the fastest layout needs: a quarter of it is too little.
  const double needed = in_gibibytes(small_plan().ranked.front().peak_memory());
  const Plan plan =
      search({small_model(), small_cluster(8, 1.2 * needed), small_job()}, search_options());
  const auto all = crossovers(plan, search_options(), contenders_of(plan, search_options()));
  const auto memory = std::find_if(all.begin(), all.end(), [](const Crossover& c) {
    return c.parameter == WhatIfParameter::memory_capacity && c.below;
  });
  ASSERT_NE(memory, all.end());
  const Scenario& base = plan;
  const auto fits = [&](double factor) {
    const Scenario s = scaled(base, WhatIfParameter::memory_capacity, factor);
    return best_of(s, {plan.ranked.front().layout}, 0.0).has_value();
  };
  EXPECT_TRUE(fits(memory->factor * 1.001));
  EXPECT_FALSE(fits(memory->factor * 0.999));
}

// Between rank 1 and each other layout of the ranking, explain finds what plan reports, at the same
// value; among them the memory below which rank 1 no longer fits.
TEST(Crossovers, ExplainFindsWhatThePlanReports) {
  // With a host to move activations to, memory would decide nothing.
  SearchOptions options = search_options();
  options.space[&Layout::optimizer_offload] = {false};
  int found_memory = 0;
  int found_all = 0;
  for (const double memory_gib : {4.0, 6.0, 8.0, 20.0}) {
    for (const int nodes : {2, 8}) {
      const Plan plan =
          search({small_model(), small_cluster(nodes, memory_gib), small_job()}, options);
      ASSERT_FALSE(plan.ranked.empty());
      const Estimate& winner = plan.ranked.front();
      for (const Crossover& c : crossovers(plan, options, contenders_of(plan, options))) {
        const auto rival = std::find_if(plan.ranked.begin(), plan.ranked.end(),
                                        [&](const Estimate& e) { return e.layout == c.layout; });
        if (rival == plan.ranked.end()) continue;
        const Explanation e = explanation(plan, options, *rival, winner);
        const auto same =
            std::find_if(e.overtakes.begin(), e.overtakes.end(), [&](const Crossover& other) {
              return other.parameter == c.parameter && other.below == c.below;
            });
        ASSERT_NE(same, e.overtakes.end()) << sentence_of(c);
        EXPECT_NEAR(same->at / c.at, 1.0, 1e-4) << sentence_of(c);
        ++found_all;
        if (c.parameter == WhatIfParameter::memory_capacity) ++found_memory;
      }
    }
  }
  EXPECT_GT(found_all, 4);
  EXPECT_GT(found_memory, 2);
}

// Two layouts of which the rival needs 3 % less: a device with 1 % less than the winner needs is
// enough for the rival alone, and neither fits at half of it.
TEST(Crossovers, OfTwoThatNearlyNeedTheSameMemoryIsFound) {
  Plan plan = small_plan();
  const Estimate winner = plan.ranked.front();
  Layout layout = winner.layout;
  layout.recompute_granularity = RecomputeGranularity::full;
  layout.recompute_num_layers = 1;
  const Estimate rival = std::get<Estimate>(estimate(plan, layout));
  ASSERT_LT(rival.peak_memory(), winner.peak_memory());
  plan.cluster.device.memory = winner.peak_memory() * 1.02;
  const Explanation e = explanation(plan, {}, rival, winner);
  const auto memory = std::find_if(e.overtakes.begin(), e.overtakes.end(), [](const Crossover& c) {
    return c.parameter == WhatIfParameter::memory_capacity;
  });
  ASSERT_NE(memory, e.overtakes.end());
  EXPECT_NEAR(memory->at, in_gibibytes(winner.peak_memory()), 1e-4);
  EXPECT_THAT(explanation_text(e, "rank 1"), HasSubstr("of memory per device"));
  EXPECT_THAT(sentence_of(*memory), HasSubstr("no longer fits"));
}

TEST(WhatIf, ReadsFactorsPercentagesAndValues) {
  const Scenario base{small_model(), small_cluster(2, 80), small_job()};  // 25 GB/s between nodes
  const auto factor = [&](const std::string& value) {
    return changes_from_text("inter_node_bandwidth=" + value, base).front().factor;
  };
  EXPECT_DOUBLE_EQ(factor("0.5x"), 0.5);
  EXPECT_DOUBLE_EQ(factor("+20%"), 1.2);
  EXPECT_DOUBLE_EQ(factor("-20%"), 0.8);
  EXPECT_DOUBLE_EQ(factor("50"), 2.0);
  EXPECT_DOUBLE_EQ(factor("50GB/s"), 2.0);
  for (const std::string wrong : {"", "x", "0x", "-5x", "50GiB", "fast", "1xx"}) {
    EXPECT_THROW(factor(wrong), InputError) << wrong;
  }
  EXPECT_EQ(changes_from_text("global_batch_size=2x,memory_capacity=0.5x", base).size(), 2U);
}

TEST(WhatIf, IsTheSearchUnderTheChangedInput) {
  const Plan plan = small_plan();
  const WhatIf answer = what_if(plan, search_options(), "inter_node_bandwidth=0.25x");
  Cluster slower = plan.cluster;
  slower.inter_node.bandwidth *= 0.25;
  const Plan other = search({plan.model, slower, plan.job}, search_options());
  ASSERT_TRUE(answer.winner && answer.base_winner);
  EXPECT_EQ(answer.winner->layout, other.ranked.front().layout);
  EXPECT_EQ(answer.winner->step_time, other.ranked.front().step_time);
  EXPECT_GE(answer.base_winner->step_time, answer.winner->step_time);
  EXPECT_THAT(answer.sentence, HasSubstr("6.25 instead of 25 GB/s"));
}

// 1e9 tokens are ceil(1e9 / tokens a step) steps; a price twice as high doubles the cost alone.
TEST(WhatIf, OnThePriceSaysTheCost) {
  Cluster cluster = small_cluster(8, 8);
  cluster.price_per_gpu_hour = 2.0;
  Job job = small_job();
  job.train_tokens = 1e9;
  const Plan plan = search({small_model(), cluster, job}, search_options());
  const WhatIf answer = what_if(plan, search_options(), "price_per_gpu_hour=2x");
  ASSERT_TRUE(answer.needs && answer.needs->cost && answer.needs_today);
  EXPECT_EQ(answer.step_time_change, 0.0);
  EXPECT_NEAR(*answer.needs->cost, 2.0 * *answer.needs_today->cost, 1e-9 * *answer.needs->cost);
  EXPECT_THAT(answer.sentence, HasSubstr(", the best layout stays "));
  EXPECT_THAT(answer.sentence, HasSubstr(" A step still takes "));
  EXPECT_THAT(answer.sentence, HasSubstr(" The training's steps cost "));
}

TEST(Scaling, EachPointIsTheSearchOfItsCount) {
  const Scenario base{small_model(), small_cluster(1, 8), small_job()};
  const Scaling s = scaling(base, search_options(), {{8, 16, 32}, Objective::step_time, {}});
  ASSERT_EQ(s.points.size(), 3U);
  for (const ScalePoint& point : s.points) {
    const Plan plan =
        search({base.model, scaled_to(base.cluster, point.gpus), base.job}, search_options());
    ASSERT_TRUE(point.layout);
    EXPECT_EQ(*point.layout, plan.ranked.front().layout);
  }
  EXPECT_DOUBLE_EQ(s.points.front().efficiency, 1.0);
  // More devices are faster here, and cost more: the objective decides.
  EXPECT_EQ(*s.best, 2U);
  Scenario priced = base;
  priced.cluster.price_per_gpu_hour = 1.0;
  const Scaling cheap =
      scaling(priced, search_options(), {{8, 16, 32}, Objective::tokens_per_dollar, {}});
  for (const ScalePoint& point : cheap.points) {
    EXPECT_LE(point.objective, cheap.points[*cheap.best].objective);
  }
}

TEST(Scaling, NoChoiceIsBeatenInAllFour) {
  const Scenario base{small_model(), small_cluster(1, 8), small_job()};
  const Scaling s = scaling(base, search_options(), {{8, 16, 32}, Objective::step_time, {}});
  ASSERT_FALSE(s.choices.empty());
  for (const Choice& a : s.choices) {
    for (const Choice& b : s.choices) {
      EXPECT_FALSE(a.step_time < b.step_time && a.peak_memory < b.peak_memory && a.gpus < b.gpus &&
                   a.gpu_seconds < b.gpu_seconds);
    }
  }
}

// The number of shown layouts is no input of any answer.
TEST(Answers, DoNotDependOnHowManyLayoutsAreShown) {
  const Scenario scenario{small_model(), small_cluster(8, 8), small_job()};
  const auto answered = [&](int top) {
    SearchOptions options = search_options();
    options.top = top;
    const ChosenPlan chosen = chosen_plan(scenario, options, Objective::step_time, {});
    return answers_of(chosen.plan, chosen.pool, options, {});
  };
  const Answers all = answered(10);
  EXPECT_LT(all.confidence.probability_best, 1.0);
  for (const int top : {1, 3, 100}) {
    const Answers other = answered(top);
    EXPECT_EQ(other.confidence.probability_best, all.confidence.probability_best) << top;
    EXPECT_EQ(other.confidence.expected_regret, all.confidence.expected_regret);
    EXPECT_EQ(other.confidence.against.size(), all.confidence.against.size());
    ASSERT_EQ(other.confidence.proposed_runs.size(), all.confidence.proposed_runs.size());
    for (std::size_t i = 0; i < all.confidence.proposed_runs.size(); ++i) {
      EXPECT_EQ(other.confidence.proposed_runs[i].rank, all.confidence.proposed_runs[i].rank);
      EXPECT_EQ(other.confidence.proposed_runs[i].runs, all.confidence.proposed_runs[i].runs);
    }
    ASSERT_EQ(other.sensitivity.size(), all.sensitivity.size());
    for (std::size_t i = 0; i < all.sensitivity.size(); ++i) {
      EXPECT_EQ(other.sensitivity[i].low.best, all.sensitivity[i].low.best);
      EXPECT_EQ(other.sensitivity[i].high.best, all.sensitivity[i].high.best);
    }
    ASSERT_EQ(other.crossovers.size(), all.crossovers.size());
    for (std::size_t i = 0; i < all.crossovers.size(); ++i) {
      EXPECT_EQ(sentence_of(other.crossovers[i]), sentence_of(all.crossovers[i]));
    }
    ASSERT_EQ(other.red_flags.size(), all.red_flags.size());
    for (std::size_t i = 0; i < all.red_flags.size(); ++i) {
      EXPECT_EQ(other.red_flags[i].sentence, all.red_flags[i].sentence);
    }
  }
}

// Each contender is as likely to be the faster one as the header says, up to the last one.
TEST(Confidence, ComparesThoseThatCouldWin) {
  const Plan plan = small_plan();
  ConfidenceOptions options;
  options.runner_ups = 19;
  const std::size_t all = confidence(plan, options).against.size();
  options.could_win = 0.2;
  const Confidence some = confidence(plan, options);
  ASSERT_FALSE(some.against.empty());
  EXPECT_LE(some.against.size(), all);
  EXPECT_GE(1.0 - some.against.back().probability_winner_is_faster, 0.15);
  options.could_win = 0.51;  // the winner's chance is a half or more beside each
  EXPECT_TRUE(confidence(plan, options).against.empty());
}

TEST(Answers, OfTheSamePlanAreTheSame) {
  const Plan plan = small_plan();
  AnswerOptions options;
  options.what_ifs = {"gemm_efficiency=1.1x"};
  const Answers a = answers_of(plan, plan, search_options(), options);
  const Answers b = answers_of(plan, plan, search_options(), options);
  EXPECT_EQ(a.confidence.probability_best, b.confidence.probability_best);
  ASSERT_EQ(a.crossovers.size(), b.crossovers.size());
  for (std::size_t i = 0; i < a.crossovers.size(); ++i) {
    EXPECT_EQ(sentence_of(a.crossovers[i]), sentence_of(b.crossovers[i]));
  }
  EXPECT_EQ(a.what_ifs.front().sentence, b.what_ifs.front().sentence);
}

}  // namespace
}  // namespace meshwright::planner
