// SPDX-License-Identifier: Apache-2.0
#include "planner/search/space_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "planner/search/space.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

using testing::HasSubstr;

std::vector<int> from_one_to(int last) {
  std::vector<int> sizes(static_cast<std::size_t>(last));
  std::iota(sizes.begin(), sizes.end(), 1);
  return sizes;
}

std::string search_error(const SearchOptions& options) {
  return error_of([&] { search({small_model(), small_cluster(2, 80), small_job()}, options); });
}

// 200 x 101 = 20,200 settings of a stage; 200 shards of the data-parallel side are beside them.
TEST(SpaceLimit, TheListsOfOneLevelMakeAtMostTwentyThousandCombinations) {
  SearchOptions options;
  options.space[&Layout::recompute_num_layers] = from_one_to(200);
  options.space[&Layout::cpu_offloading_num_layers] = from_one_to(100);
  options.space[&Layout::zero_shard_size] = from_one_to(200);
  EXPECT_NO_THROW(check_lists(options.space));
  options.space[&Layout::cpu_offloading_num_layers] = from_one_to(101);
  EXPECT_THAT(search_error(options),
              HasSubstr("--recompute-layers: too many combinations of sizes (got 20200"));
}

TEST(SpaceLimit, ThePipelineSettingsOfOneChoiceOfSizesAreAtMostAHundredThousand) {
  EXPECT_NO_THROW(check_pipeline_settings({}, 100'000));
  EXPECT_THROW(check_pipeline_settings({}, 100'001), InputError);
}

// Whether a space is refused depends on it alone: the same answer each time, on any machine.
TEST(SpaceLimit, ASpaceThatTakesTooLongIsRefusedWhateverTheMachine) {
  SearchOptions options;
  const std::string plan = search_error(options);
  EXPECT_EQ(plan, "");
  options.space[&Layout::micro_batch_size] = from_one_to(64);
  options.most_work = 2'000;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(search_error(options), HasSubstr("--mbs: the search space is too large: more"));
  }
  options.most_work = kMostSearchWork;
  EXPECT_EQ(search_error(options), "");
}

}  // namespace
}  // namespace meshwright::planner
