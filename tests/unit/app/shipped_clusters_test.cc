// SPDX-License-Identifier: Apache-2.0
// Every cluster that is shipped can be drawn, listed and planned for, as it is and at another size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "app/files.h"
#include "planner/search/search.h"
#include "reports/cluster_text.h"

namespace meshwright {
namespace {

class ShippedClusters : public testing::TestWithParam<std::string> {};

TEST_P(ShippedClusters, AreDrawnWithTheSourceOfEveryNumber) {
  const Cluster cluster = app::load_cluster(GetParam());
  EXPECT_THAT(reports::cluster_tree(cluster), testing::HasSubstr(cluster.intra_node.name));
  EXPECT_GT(reports::cluster_numbers_table(cluster).rows.size(), 10U);
}

TEST_P(ShippedClusters, HaveALayoutForASmallModelOnTwoNodes) {
  const Cluster shipped = app::load_cluster(GetParam());
  const Cluster two_nodes = scaled_to(shipped, 2 * shipped.gpus_per_node);
  const Model model = app::load_model("gpt2-xl");
  Job job = app::load_job("pretrain-4k");
  job.seq_length = 1024;
  job.global_batch_size = 4 * static_cast<int>(two_nodes.num_gpus());
  const planner::Plan plan = planner::search({model, two_nodes, job}, {});
  ASSERT_FALSE(plan.ranked.empty());
  EXPECT_GT(plan.ranked.front().model_flops_utilization, 0.05);
  EXPECT_LT(plan.ranked.front().model_flops_utilization, 0.9);
}

std::vector<std::string> shipped_clusters() {
  std::vector<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(app::configs_directory() + "/clusters")) {
    names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Shipped, ShippedClusters, testing::ValuesIn(shipped_clusters()),
                         [](const testing::TestParamInfo<std::string>& cluster) {
                           std::string name = cluster.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace meshwright
