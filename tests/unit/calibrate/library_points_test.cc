// SPDX-License-Identifier: Apache-2.0
#include "calibrate/library_points.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/sweep.h"
#include "tests/unit/calibrate/alone.h"
#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

SweepLimits gpu_with_everything() {
  SweepLimits limits{.memory = gibibytes(79), .device = DeviceKind::gpu, .budget_seconds = 300.0};
  limits.library.attends = [](const AttentionShape&, Precision) { return true; };
  limits.library.groups_products = [](Precision) { return true; };
  limits.library.casts_to_fp8 = true;
  return limits;
}

template <typename T>
std::int64_t num_of(const std::vector<MeasuredPoint>& points) {
  return std::count_if(points.begin(), points.end(),
                       [](const MeasuredPoint& p) { return p.is<T>(); });
}

TEST(LibraryPoints, AreNotPlannedWhereTheDeviceHasNone) {
  const SweepLimits limits{.memory = gibibytes(79), .device = DeviceKind::gpu};
  EXPECT_TRUE(library_points({}, limits).empty());
  IdleCompute compute;
  Alone world;
  const LibraryAbilities abilities = library_abilities(compute, world);
  EXPECT_FALSE(abilities.attends({}, Precision::bf16));
  EXPECT_FALSE(abilities.groups_products(Precision::bf16));
  EXPECT_FALSE(abilities.casts_to_fp8);
}

// Heads of 64 and 128 at 4 lengths, both passes: 16. Experts of 3 sizes. 4 casts of 2 sizes.
TEST(LibraryPoints, OfNoModelAreAGeneralGrid) {
  const auto points = library_points({}, gpu_with_everything());
  EXPECT_EQ(num_of<timed::Attention>(points), 16);
  EXPECT_EQ(num_of<timed::GroupedGemm>(points), 3);
  EXPECT_EQ(num_of<timed::Gemm>(points), 3);  // each batched, to compare with
  EXPECT_EQ(num_of<timed::Kernel>(points), 8);
  for (const MeasuredPoint& p : points) {
    const auto* attention = p.as<timed::Attention>();
    if (attention == nullptr) continue;
    EXPECT_EQ(attention->shape.batch * attention->shape.positions, 16'384);
    EXPECT_TRUE(p.source.empty());
  }
}

TEST(LibraryPoints, OfAModelAreItsOwnShapesFirst) {
  Workload workload;
  workload.attentions = {
      {.batch = 1, .heads = 8, .query_groups = 2, .positions = 6144, .head_dim = 96}};
  workload.gemms = {{{.shape = {4, 256, 512, 1024}}, 1.0}};
  workload.grouped_gemms = {{.shape = {4, 256, 512, 1024}}};
  const auto points = library_points(workload, gpu_with_everything());
  ASSERT_TRUE(points.front().is<timed::Attention>());
  EXPECT_EQ(points.front().as<timed::Attention>()->shape, workload.attentions.front());
  EXPECT_EQ(num_of<timed::Attention>(points), 10);  // 5 lengths, both passes
  EXPECT_EQ(num_of<timed::GroupedGemm>(points), 1);
}

TEST(LibraryPoints, CastsArePlannedForJobsThatQuantize) {
  Workload workload;
  workload.kernel_names = {"layer_norm"};
  EXPECT_EQ(num_of<timed::Kernel>(library_points(workload, gpu_with_everything())), 0);
  workload.kernel_names.emplace("quantize");
  EXPECT_EQ(num_of<timed::Kernel>(library_points(workload, gpu_with_everything())), 8);
  SweepLimits ampere = gpu_with_everything();
  ampere.supports = [](Precision p) { return p != Precision::fp8; };
  EXPECT_EQ(num_of<timed::Kernel>(library_points(workload, ampere)), 0);
}

// 100 tokens are no whole number of tiles of 64: the cast that transposes is left out.
TEST(LibraryPoints, CastsThatTransposeTakeWholeTiles) {
  Workload workload;
  workload.kernels = {{.positions = 100, .batch = 1, .hidden = 64}};
  EXPECT_EQ(num_of<timed::Kernel>(library_points(workload, gpu_with_everything())), 3);
}

TEST(AttentionDemand, IsAModelsShareOfOneTensorRank) {
  Model model;
  model.num_attention_heads = 32;
  model.num_query_groups = 4;
  model.kv_channels = 128;
  Job job;
  job.seq_length = 4096;
  Workload workload;
  add_attention_demand(workload, model, job, 8, 2);
  add_attention_demand(workload, model, job, 8, 2);
  ASSERT_EQ(workload.attentions.size(), 1U);
  EXPECT_EQ(workload.attentions[0],
            (AttentionShape{
                .batch = 2, .heads = 4, .query_groups = 1, .positions = 4096, .head_dim = 128}));
  model.mla.emplace();
  add_attention_demand(workload, model, job, 4, 2);
  EXPECT_EQ(workload.attentions.size(), 1U);
}

}  // namespace
}  // namespace meshwright::calibrate
