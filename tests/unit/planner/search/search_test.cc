// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "planner/search/pareto.h"
#include "planner/search/rejection.h"
#include "planner/search/search_layouts.h"
#include "planner/search/space.h"
#include "planner/search/space_defaults.h"
#include "sim/base/error.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"
#include "sim/layout/stages.h"
#include "sim/schedule/traits.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

SearchOptions options_of(int top) {
  SearchOptions options;
  options.top = top;
  return options;
}

// Every layout of the space, estimated one by one; near-duplicates dropped in each pipeline
// setting.
std::vector<Candidate> brute_force(const Scenario& s, const SearchSpace& asked, bool uneven,
                                   SearchStatistics& statistics) {
  std::vector<Candidate> all;
  statistics = {};
  const SearchSpace space = with_recompute_modules(asked, s.model, s.job);
  for (const ParallelSizes& sizes : parallel_sizes_of(s, asked, uneven)) {
    for (const Layout& setting : pipeline_settings(s.model, s.job, asked, sizes)) {
      std::vector<Candidate> fitting;
      for (const Layout& layout : layouts_of(space, setting)) {
        const Outcome outcome = estimate(s, layout);
        ++statistics.enumerated;
        const bool legal = !check_layout(s.model, s.job, layout, devices_of(s.cluster)).has_value();
        statistics.legal += legal ? 1 : 0;
        const auto* found = std::get_if<Estimate>(&outcome);
        if (found == nullptr) continue;
        ++statistics.fitting;
        fitting.push_back({layout, found->step_time, found->peak_memory()});
      }
      for (const Candidate& c : without_near_duplicates(fitting)) all.push_back(c);
    }
  }
  std::stable_sort(all.begin(), all.end(), better);
  return all;
}

struct SmallSpace {
  int num_layers;
  double gib;  // of a device
};
class SearchBesideBruteForce : public ::testing::TestWithParam<SmallSpace> {};

TEST_P(SearchBesideBruteForce, FindsTheSameFastestLayoutsAndParetoSet) {
  const Cluster cluster = small_cluster(2, GetParam().gib);
  Model model = small_model();
  model.num_layers = GetParam().num_layers;
  const Scenario s{model, cluster, small_job()};
  SearchStatistics statistics, of_wide;
  const std::vector<Candidate> usual = brute_force(s, {}, false, statistics);
  // A layout with rare settings that is 1 % faster than all others brings these among the fastest.
  const std::vector<Candidate> wide = brute_force(s, with_host({}, s), true, of_wide);
  const bool rare = wide.front().step_time <= usual.front().step_time * 0.99;
  const std::vector<Candidate>& all = rare ? wide : usual;
  const Plan plan = search(s, options_of(7));

  EXPECT_EQ(plan.statistics.enumerated, statistics.enumerated);
  EXPECT_EQ(plan.statistics.legal, statistics.legal);
  EXPECT_EQ(plan.statistics.fitting, statistics.fitting);
  ASSERT_GE(plan.ranked.size(), std::min<std::size_t>(7, all.size()));
  for (std::size_t i = 0; i < std::min<std::size_t>(7, all.size()); ++i) {
    EXPECT_EQ(plan.ranked[i].layout, all[i].layout) << short_name(all[i].layout);
    EXPECT_EQ(plan.ranked[i].step_time, all[i].step_time);
  }
  for (const std::size_t i : plan.pareto) {
    const Candidate mine{plan.ranked[i].layout, plan.ranked[i].step_time,
                         plan.ranked[i].peak_memory()};
    EXPECT_TRUE(std::none_of(usual.begin(), usual.end(),
                             [&](const Candidate& other) { return dominates(other, mine); }))
        << short_name(mine.layout) << " is dominated";
  }
  for (const Candidate& c : usual) {
    const bool covered = std::any_of(plan.pareto.begin(), plan.pareto.end(), [&](std::size_t i) {
      return plan.ranked[i].step_time <= c.step_time &&
             plan.ranked[i].peak_memory() <= c.peak_memory;
    });
    EXPECT_TRUE(covered) << short_name(c.layout) << " is missing";
  }
}

// 80 GiB: memory refuses nothing that is small; 5 GiB: memory refuses much. 13 layers divide over
// no stages: lists of chunks are looked at.
INSTANTIATE_TEST_SUITE_P(Memory, SearchBesideBruteForce,
                         ::testing::Values(SmallSpace{8, 80.0}, SmallSpace{8, 5.0},
                                           SmallSpace{13, 80.0}, SmallSpace{13, 5.0}));

// 7 layers over 4 stages: of all lists with up to 3 layers on each of the first three stages none
// is more than 2 % faster than the best of the few that the search looks at.
TEST(Search, ListsOfChunksAreAsGoodAsAllLists) {
  Model model = small_model();
  model.num_layers = 7;
  const Cluster cluster = small_cluster(1, 80);
  SearchOptions options = options_of(1);
  options.space[&Layout::pipeline_parallel_size] = {4};
  options.space[&Layout::tensor_parallel_size] = {2};
  options.space[&Layout::micro_batch_size] = {1};
  const Seconds found = search({model, cluster, small_job()}, options).ranked.front().step_time;
  for (int number = 0; number < 4 * 4 * 4; ++number) {
    std::vector<ChunkItems> chunks(4);
    int left = 7;
    for (std::size_t c = 0; c < 3; ++c) left -= chunks[c].num_layers = number >> (2 * c) & 3;
    if (left < 0) continue;
    chunks.front().embedding = chunks.back().loss = true;
    chunks.back().num_layers = left;
    options.space[&Layout::pipeline_layout].push_back(PipelineLayout::of(chunks));
  }
  const Plan all = search({model, cluster, small_job()}, options);
  EXPECT_LE(found / all.ranked.front().step_time, 1.02) << short_name(all.ranked.front().layout);
}

TEST(Search, CountsAddUp) {
  const Plan plan = search({small_model(), small_cluster(2, 5), small_job()}, options_of(3));
  std::int64_t rejected = 0, too_large = 0;
  for (const Rejection& r : plan.rejections) {
    rejected += r.count;
    if (r.rule == Rule::memory_capacity) too_large = r.count;
  }
  EXPECT_GT(too_large, 0);
  EXPECT_EQ(plan.statistics.enumerated, plan.statistics.fitting + rejected);
  EXPECT_EQ(plan.statistics.legal, plan.statistics.fitting + too_large);
}

TEST(Search, DoesNotDependOnTheNumberOfThreads) {
  const auto with_threads = [](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    return search({small_model(), small_cluster(2, 5), small_job()}, options_of(20));
  };
  const Plan one = with_threads(1);
  const Plan four = with_threads(4);
  ASSERT_EQ(one.ranked.size(), four.ranked.size());
  for (std::size_t i = 0; i < one.ranked.size(); ++i) {
    EXPECT_EQ(one.ranked[i].layout, four.ranked[i].layout);
    EXPECT_EQ(one.ranked[i].step_time, four.ranked[i].step_time);
  }
  EXPECT_EQ(one.pareto, four.pareto);
  ASSERT_EQ(one.rejections.size(), four.rejections.size());
  for (std::size_t i = 0; i < one.rejections.size(); ++i) {
    EXPECT_EQ(one.rejections[i].sentence, four.rejections[i].sentence);
    EXPECT_EQ(one.rejections[i].nearest.layout, four.rejections[i].nearest.layout);
    EXPECT_EQ(one.rejections[i].smallest_change, four.rejections[i].smallest_change);
  }
}

// Every axis that the space knows, where the small model allows it.
SearchSpace wide_space(PipelineSchedule schedule) {
  SearchSpace space;
  space[&Layout::tensor_parallel_size] = {1, 2, 4};
  space[&Layout::pipeline_parallel_size] = {1, 2, 4};
  space[&Layout::context_parallel_size] = {1, 2};
  space[&Layout::micro_batch_size] = {1, 4};
  space[&Layout::schedule] = {schedule};
  space.stage_splits = {{}, {.num_layers_in_first_pipeline_stage = 2}};
  space[&Layout::cp_comm_type] = {ContextParallelAlgorithm::p2p, ContextParallelAlgorithm::a2a};
  space[&Layout::recompute_num_layers] = {0, 1};
  space[&Layout::zero_shard_size] = {0, 2};
  for (const auto& order : kLauncherRankOrderNames)
    space[&Layout::rank_order].push_back(order.value);
  space[&Layout::overlap_grad_reduce] = {true, false};
  space[&Layout::overlap_param_gather] = {true, false};
  space[&Layout::overlap_p2p_comm] = {true, false};
  space[&Layout::tp_comm_overlap] = {true, false};
  space[&Layout::scatter_gather_p2p] = {true, false};
  space[&Layout::optimizer_offload] = {true, false};
  space[&Layout::cpu_offloading_num_layers] = {0, 1};
  space[&Layout::recompute_modules] = {{kRecomputeCoreAttention}, {kRecomputeMlp}};
  space[&Layout::offload_modules] = {{}, {kOffloadQkvLinear | kOffloadCoreAttention}};
  return space;
}

class WideSpace : public ::testing::TestWithParam<PipelineSchedule> {};

// The search puts each layout together from two sides; evaluate() looks at it alone. Two schedules
// that share their costs with others wait for the night.
TEST_P(WideSpace, SearchAndEvaluateAgreeToTheLastBitOnEveryLayout) {
  const bool by_night =
      GetParam() == PipelineSchedule::gpipe || GetParam() == PipelineSchedule::zb_h1;
  if (by_night && std::getenv("MESHWRIGHT_NIGHTLY") == nullptr) GTEST_SKIP() << "in the night";
  const Model model = small_model();
  const Job job = small_job();
  const Cluster cluster = small_cluster(2, 4);
  SearchOptions options = options_of(200);
  options.space = wide_space(GetParam());
  const Plan plan = search({model, cluster, job}, options);

  CostTable table({model, cluster, job});
  SearchStatistics statistics;
  std::vector<std::int64_t> rejected(all_rules().size());
  Candidate fastest;
  for (const ParallelSizes& sizes :
       parallel_sizes_of({model, cluster, small_job()}, options.space)) {
    for (const Layout& setting : pipeline_settings(model, job, options.space, sizes)) {
      for (const Layout& layout : layouts_of(options.space, setting)) {
        ++statistics.enumerated;
        const Evaluation one = evaluate(table, layout);
        if (one.violation) {
          ++rejected[static_cast<std::size_t>(one.violation->rule)];
          continue;
        }
        ++statistics.fitting;
        const Candidate candidate{layout, one.step_time, one.peak_memory};
        if (statistics.fitting == 1 || better(candidate, fastest)) fastest = candidate;
      }
    }
  }
  EXPECT_EQ(plan.statistics.enumerated, statistics.enumerated);
  EXPECT_EQ(plan.statistics.fitting, statistics.fitting);
  for (const Rejection& r : plan.rejections) {
    EXPECT_EQ(r.count, rejected[static_cast<std::size_t>(r.rule)]) << rule_text(r.rule).name;
  }
  ASSERT_FALSE(plan.ranked.empty());
  EXPECT_EQ(plan.ranked.front().layout, fastest.layout);
  for (const Estimate& estimate : plan.ranked) {
    const Evaluation one = evaluate(table, estimate.layout);
    EXPECT_EQ(estimate.step_time, one.step_time);
    EXPECT_EQ(estimate.peak_memory(), one.peak_memory);
  }
}

TEST_P(WideSpace, BoundsChangeNoAnswer) {
  SearchOptions options = options_of(25);
  options.space = wide_space(GetParam());
  for (const double gib : {80.0, 4.0, 2.0, 0.1}) {
    const auto run = [&](bool bounds) {
      options.branch_and_bound = bounds;
      return search({small_model(), small_cluster(2, gib), small_job()}, options);
    };
    const Plan all = run(false);
    const Plan bounded = run(true);
    EXPECT_EQ(all.statistics.fitting, bounded.statistics.fitting);
    ASSERT_EQ(all.ranked.size(), bounded.ranked.size());
    for (std::size_t i = 0; i < all.ranked.size(); ++i) {
      EXPECT_EQ(all.ranked[i].layout, bounded.ranked[i].layout);
    }
    EXPECT_EQ(all.pareto, bounded.pareto);
    ASSERT_EQ(all.rejections.size(), bounded.rejections.size());
    for (std::size_t i = 0; i < all.rejections.size(); ++i) {
      EXPECT_EQ(all.rejections[i].count, bounded.rejections[i].count);
      EXPECT_EQ(all.rejections[i].nearest.layout, bounded.rejections[i].nearest.layout);
    }
    ASSERT_EQ(all.closest.size(), bounded.closest.size());
    for (std::size_t i = 0; i < all.closest.size(); ++i) {
      EXPECT_EQ(all.closest[i].nearest.layout, bounded.closest[i].nearest.layout);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, WideSpace,
                         ::testing::Values(PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b,
                                           PipelineSchedule::interleaved, PipelineSchedule::zb_h1,
                                           PipelineSchedule::zb_v, PipelineSchedule::dualpipe,
                                           PipelineSchedule::dualpipe_v));

// 13 layers on 4 stages, and 12, whose 3 a stage have no halves: every schedule of the registry
// finds a division, by lists of layers or, where the framework takes none, by shorter ends.
TEST(Search, UnevenStagesRunUnderEverySchedule) {
  for (const int layers : {12, 13}) {
    for (const ScheduleTraits* t : pipeline_schedules) {
      Scenario scenario{small_model(), small_cluster(1, 80), small_job()};
      scenario.model.num_layers = layers;
      SearchOptions options = options_of(1);
      options.space[&Layout::schedule] = {t->schedule};
      options.space[&Layout::pipeline_parallel_size] = {4};
      const Plan plan = search(scenario, options);
      ASSERT_FALSE(plan.ranked.empty()) << name_of(t->schedule) << " " << layers;
      int held = 0;
      for (const Stage& stage : pipeline_stages(scenario.model, plan.ranked.front().layout)) {
        held += stage.num_layers();
      }
      EXPECT_EQ(held, t->mirrored() ? 2 * layers : layers) << name_of(t->schedule);
      auto& reasons = scenario.cluster.framework.limits.reasons;
      reasons[static_cast<std::size_t>(Unsupported::pipeline_layout)] = "it takes no lists";
      const Plan without = search(scenario, options);
      if (t->fewest_chunks > 1 && !t->mirrored()) continue;
      ASSERT_FALSE(without.ranked.empty()) << name_of(t->schedule) << " " << layers;
      EXPECT_FALSE(without.ranked.front().layout.pipeline_layout);
    }
  }
}

// A framework's own schedules are searched unasked: the fastest is that of the two searches.
TEST(Search, GoesThroughTheFrameworksSchedules) {
  Scenario scenario{small_model(), small_cluster(1, 80), small_job()};
  SearchOptions options = options_of(1);
  options.space[&Layout::pipeline_parallel_size] = {4};
  const auto fastest = [&](std::vector<PipelineSchedule> asked) {
    options.space[&Layout::schedule] = std::move(asked);
    return search(scenario, options).ranked.front().step_time;
  };
  constexpr auto kOwn = PipelineSchedule::zb_h2;
  const Seconds plain = fastest({PipelineSchedule::one_f_one_b});
  const Seconds own = fastest({kOwn});
  ASSERT_LT(own, plain);
  auto& has = scenario.cluster.framework.pipeline.schedules;
  has[static_cast<std::size_t>(PipelineSchedule::one_f_one_b)] = true;
  has[static_cast<std::size_t>(kOwn)] = true;
  EXPECT_EQ(fastest({}), own);
}

TEST(Search, HeadroomIsLeftFree) {
  SearchOptions options = options_of(5);
  options.memory_headroom = 0.25;
  const Plan plan = search({small_model(), small_cluster(1, 16), small_job()}, options);
  ASSERT_FALSE(plan.ranked.empty());
  EXPECT_EQ(plan.cluster.device.memory, gibibytes(16));
  for (const Estimate& e : plan.ranked) EXPECT_LE(e.peak_memory(), gibibytes(12));
  options.memory_headroom = 1.0;
  EXPECT_THROW(search({small_model(), small_cluster(1, 16), small_job()}, options), InputError);
}

TEST(Search, NamesTheClosestWhenNothingFits) {
  const Plan plan = search({small_model(), small_cluster(1, 0.1), small_job()}, options_of(5));
  EXPECT_TRUE(plan.ranked.empty());
  ASSERT_EQ(plan.closest.size(), 3U);
  EXPECT_LE(plan.closest[0].nearest.violation.needed, plan.closest[1].nearest.violation.needed);
  EXPECT_FALSE(plan.notes.empty());
}

TEST(Search, ASpaceThatDoesNotMultiplyToTheGpusIsEmptyAndSaysSo) {
  SearchOptions options = options_of(5);
  options.space[&Layout::tensor_parallel_size] = {3};
  const Plan plan = search({small_model(), small_cluster(1, 80), small_job()}, options);
  EXPECT_EQ(plan.statistics.enumerated, 0);
  ASSERT_EQ(plan.notes.size(), 1U);
}

// Layouts that a search with less memory found need not be evaluated again: the front is the same.
TEST(Search, KnownLayoutsChangeTheWorkAndNotTheFront) {
  int faster = 0;  // where a larger layout beats all that fit
  for (const double memory_gib : {1.0, 1.5, 2.0, 3.0, 6.0}) {
    const Scenario s{small_model(), small_cluster(8, memory_gib), small_job()};
    const SearchOptions options = options_of(1);
    const Bytes today = usable_memory(s, options);
    const std::vector<Candidate> known = search_layouts(s, options, today).pareto.items();
    if (known.empty()) continue;
    const auto all = search_layouts(s, options, today * 4.0).pareto.items();
    const auto seeded = search_layouts(s, options, today * 4.0, {today, known}).pareto.items();
    ASSERT_EQ(seeded.size(), all.size());
    if (all.front().step_time < known.front().step_time) ++faster;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(seeded[i].step_time, all[i].step_time);
      EXPECT_EQ(seeded[i].peak_memory, all[i].peak_memory);
    }
  }
  EXPECT_GT(faster, 0);
}

// Its bounds look at no memory.
TEST(Search, TheFastestAloneIsTheFirstOfAll) {
  for (const double memory_gib : {4.0, 8.0, 80.0}) {
    const Scenario s{small_model(), small_cluster(8, memory_gib), small_job()};
    const SearchOptions options = options_of(1);
    const auto found = fastest_layout(s, options, usable_memory(s, options));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->step_time, search(s, options).ranked.front().step_time);
  }
}

}  // namespace
}  // namespace meshwright::planner
