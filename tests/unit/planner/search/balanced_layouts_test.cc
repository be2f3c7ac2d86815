// SPDX-License-Identifier: Apache-2.0
#include "planner/search/balanced_layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/search/space.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

Model of_layers(int num_layers, int mtp_num_layers) {
  Model model = small_model();
  model.num_layers = num_layers;
  model.mtp_num_layers = mtp_num_layers;
  return model;
}

std::vector<std::string> texts(const std::vector<PipelineLayout>& lists) {
  std::vector<std::string> found;
  for (const PipelineLayout list : lists) found.emplace_back(list.text());
  return found;
}

// The lists of NVIDIA's recipes, whose layers are all alike: multi-token prediction and two losses
// weigh three to four layers, one loss one to two.
TEST(BalancedLayouts, FindTheRecipes) {
  const PartWeights v3{.mtp = 1.1, .loss = 2.5};
  const PartWeights k2{.loss = 1.6};
  const auto of = [&](const Model& model, const PartWeights& weights, int stages, int chunks) {
    std::vector<PipelineLayout> lists = balanced_layouts(model, weights, stages);
    std::erase_if(lists, [&](PipelineLayout list) { return list.num_chunks() != stages * chunks; });
    return texts(lists);
  };
  EXPECT_THAT(of(of_layers(61, 1), v3, 8, 4), Contains("Et|(tt|)*30mL"));
  EXPECT_THAT(of(of_layers(61, 1), v3, 16, 2), Contains("Et|(tt|)*30mL"));
  EXPECT_THAT(of(of_layers(61, 1), v3, 4, 4), Contains("Et*4|(t*4|)*14tmL"));
  EXPECT_THAT(of(of_layers(61, 1), v3, 8, 2), Contains("Et*4|(t*4|)*14tmL"));
  EXPECT_THAT(of(of_layers(61, 1), v3, 16, 1), Contains("Et*4|(t*4|)*14tmL"));
  EXPECT_THAT(of(of_layers(61, 0), k2, 16, 2), Contains("Et|(tt|)*30L"));
  EXPECT_THAT(of(of_layers(61, 0), k2, 4, 4), Contains("Et*4|(t*4|)*14tL"));
}

// 7 layers and a loss that weighs 1 over 2 stages: 4 and 3 + 1.
TEST(BalancedLayouts, StagesTakeTheSameTime) {
  EXPECT_THAT(texts(balanced_layouts(of_layers(7, 0), {.loss = 1.0}, 2)), Contains("Et*4|t*3L"));
}

// 9 layers over 2 stages: the first holds two micro-batches, the last one, so that a layer weighs
// 2 and 1.5 there: 4 x 2 against 5 x 1.5.
TEST(BalancedLayouts, LayersWeighMoreWhereMoreMicroBatchesAreHeld) {
  EXPECT_THAT(texts(balanced_layouts(of_layers(9, 0), {}, 2)), Contains("Et*4|t*5L"));
}

// The first two of 6 layers take half as long: 0.5 + 0.5 + 1 + 1 on stage 0, 1 + 1 and the loss on
// stage 1.
TEST(BalancedLayouts, FirstLayersOfAnotherKindWeighTheirOwn) {
  const PartWeights weights{.first_layers = 0.5, .num_first_layers = 2, .loss = 1.0};
  EXPECT_THAT(texts(balanced_layouts(of_layers(6, 0), weights, 2)), Contains("Et*4|ttL"));
}

TEST(BalancedLayouts, HoldEachLayerOnce) {
  const Model model = of_layers(61, 1);
  for (const int stages : {2, 3, 4, 8, 16, 32, 60}) {
    for (const PipelineLayout list :
         balanced_layouts(model, {.embedding = 0.1, .mtp = 1.2, .loss = 9.0}, stages)) {
      int layers = 0;
      for (const ChunkItems& chunk : list.chunks()) {
        EXPECT_GE(chunk.num_layers, 0);
        layers += chunk.num_layers;
      }
      EXPECT_EQ(layers, 61) << list.text();
      EXPECT_EQ(list.num_chunks() % stages, 0);
    }
  }
}

// Where layers divide, with or without embedding and loss, a search looks at no list.
TEST(BalancedLayouts, AreForLayersThatDoNotDivide) {
  SearchSpace space;
  const auto lists = [&](int num_layers, int stages) {
    space[&Layout::pipeline_parallel_size] = {stages};
    space[&Layout::tensor_parallel_size] = {1};
    return parallel_sizes_of({of_layers(num_layers, 0), small_cluster(1, 80), small_job()}, space)
        .at(0)
        .pipeline_layouts;
  };
  EXPECT_THAT(lists(8, 4), IsEmpty());
  EXPECT_THAT(lists(14, 4), IsEmpty());  // (14 + 2) / 4
  EXPECT_THAT(lists(61, 4), Not(IsEmpty()));
  EXPECT_THAT(lists(44, 4), Not(IsEmpty()));  // 11 a stage: no 2 to 8 chunks
  space.stage_splits = {{}};
  EXPECT_THAT(lists(61, 4), IsEmpty());
}

TEST(Space, NamedListsSayTheirChunks) {
  SearchSpace space;
  space[&Layout::pipeline_layout] = {
      std::get<PipelineLayout>(read_pipeline_layout("Et|t|(tt|)*3L")),
      std::get<PipelineLayout>(read_pipeline_layout("Ett|t*6L"))};
  const auto settings = pipeline_settings(small_model(), small_job(), space, {.pipeline = 2});
  ASSERT_GE(settings.size(), 2U);
  EXPECT_EQ(settings.front().virtual_pipeline_parallel_size, 3);
  EXPECT_EQ(settings.front().schedule, PipelineSchedule::interleaved);
  EXPECT_EQ(settings.back().virtual_pipeline_parallel_size, 1);
  EXPECT_EQ(settings.back().schedule, PipelineSchedule::one_f_one_b);
  space[&Layout::virtual_pipeline_parallel_size] = {1};
  for (const Layout& layout :
       pipeline_settings(small_model(), small_job(), space, {.pipeline = 2})) {
    EXPECT_EQ(layout.pipeline_layout.num_chunks(), 2);
  }
}

}  // namespace
}  // namespace meshwright::planner
