// SPDX-License-Identifier: Apache-2.0
// Every cluster that is shipped can be drawn, listed and planned for, as it is and at another size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "app/files/config_names.h"
#include "app/files/files.h"
#include "planner/search/search.h"
#include "reports/tables/cluster_text.h"
#include "sim/json/records.h"
#include "tests/unit/app/run_program.h"
#include "tests/unit/error_of.h"

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

TEST_P(ShippedClusters, CopiedElsewhereIsTheSameCluster) {
  const test::TemporaryFolder folder;
  const std::string file =
      folder.write("mine.json", test::content_of(test::config("clusters/" + GetParam() + ".json")));
  const Cluster copied = app::load_cluster(file);
  EXPECT_EQ(copied, app::load_cluster(GetParam()));
  Job job = app::load_job("pretrain-4k");
  job.seq_length = 1024;
  job.global_batch_size = 4 * copied.num_gpus();
  const planner::Plan plan = planner::search(
      {app::load_model("gpt2-xl"), scaled_to(copied, copied.gpus_per_node), job}, {});
  EXPECT_FALSE(plan.ranked.empty());
}

std::string error_with_device(const test::TemporaryFolder& folder, const std::string& device) {
  Json cluster = Json::parse(test::content_of(test::config("clusters/h100-8.json")));
  cluster["device"] = device;
  const std::string file = folder.write("mine.json", cluster.dump());
  return test::run_program({"cluster", "show", file}).err;
}

TEST(ClusterParts, AMissingOneNamesThePlacesAndTheCure) {
  const test::TemporaryFolder folder;
  for (const char* device : {"../hardware/h100-sxm-80gbb.json", "h100-sxm-80gbb"}) {
    const std::string error = error_with_device(folder, device);
    EXPECT_THAT(error, testing::HasSubstr("/device"));
    EXPECT_THAT(error, testing::HasSubstr(
                           "there is no file " +
                           std::filesystem::path(folder.path(device)).lexically_normal().string()));
    EXPECT_THAT(error, testing::HasSubstr("configs/hardware has no h100-sxm-80gbb"));
    EXPECT_THAT(error, testing::HasSubstr("use h100-sxm-80gb"));
  }
}

// The file beside the cluster comes before the shipped one of the same name.
TEST(ClusterParts, AFileBesideTheClusterComesFirst) {
  const test::TemporaryFolder folder;
  Json device = Json::parse(test::content_of(test::config("hardware/h100-sxm-80gb.json")));
  device["name"] = "mine";
  folder.write("h100-sxm-80gb.json", device.dump());
  Json cluster = Json::parse(test::content_of(test::config("clusters/h100-8.json")));
  cluster["device"] = "h100-sxm-80gb.json";
  EXPECT_EQ(only_device(app::load_cluster(folder.write("mine.json", cluster.dump()))).name, "mine");
}

class NewClusters : public testing::TestWithParam<std::string> {};

// Written, read, planned on and written again; each field stands behind a comment.
TEST_P(NewClusters, AreReadAsWrittenAndExplainEveryField) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path("mine.json");
  const test::ProgramResult made =
      test::run_program({"cluster", "new", "--device", GetParam(), "--gpus-per-node", "8",
                         "--num-nodes", "2", "--nics", "4", "--nic-gbit", "200", "--out", file});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Cluster cluster = app::load_cluster(file);
  EXPECT_EQ(cluster.num_gpus(), 16);
  EXPECT_EQ(cluster.nics_per_node, 4);
  EXPECT_DOUBLE_EQ(cluster.inter_node.bandwidth.value(), 200e9 / 8 * 4 / 8);  // 12.5 GB/s a device
  EXPECT_EQ(cluster_from_json(to_json(cluster), "again.json"), cluster);

  std::istringstream lines(test::content_of(file));
  std::string before;
  int fields = 0;
  for (std::string line; std::getline(lines, line); before = line) {
    EXPECT_LE(line.size(), line.find("//") == std::string::npos ? 400U : 105U) << line;
    if (!line.starts_with(" ") || line.find("\": ") == std::string::npos) continue;
    if (line.find("//") != std::string::npos) continue;
    ++fields;
    EXPECT_THAT(before, testing::ContainsRegex("^ *// .+[.]$")) << line;
  }
  EXPECT_GE(fields, 30);

  if (GetParam() != "v100-sxm-32gb") {  // without bf16
    const test::ProgramResult plan =
        test::run_program({"plan", "--model", "gpt2-xl", "--cluster", file, "--seq-length", "1024",
                           "--global-batch-size", "64", "--top", "1", "--ranking-only"});
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
  }
  const test::ProgramResult again =
      test::run_program({"cluster", "new", "--device", GetParam(), "--out", file});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, testing::HasSubstr("already exists; expected a new file name"));
}

INSTANTIATE_TEST_SUITE_P(Devices, NewClusters, testing::ValuesIn(app::config_names("hardware")),
                         [](const testing::TestParamInfo<std::string>& device) {
                           std::string name = device.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

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
