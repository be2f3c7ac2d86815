// SPDX-License-Identifier: Apache-2.0
// On this machine's own cores, below a sysfs of the test's own.
#include "calibrate/backends/cuda/host_node.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace meshwright::calibrate::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) cores.push_back(i);
  }
  return cores;
}

class HostNode : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(sysfs_); }
  void TearDown() override { std::filesystem::remove_all(sysfs_); }
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = sysfs_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }

  std::string sysfs_ = testing::TempDir() + "host_node_test_sysfs";
};

TEST_F(HostNode, ListsOfSysfsAreRead) {
  EXPECT_THAT(numbers_in_list("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(numbers_in_list("5"), ElementsAre(5));
  EXPECT_THAT(numbers_in_list(""), IsEmpty());
  EXPECT_THAT(numbers_in_list("0-x"), IsEmpty());
  EXPECT_THAT(numbers_in_list("0-9999999"), IsEmpty());
}

// CUDA writes the address in capitals.
TEST_F(HostNode, IsTheOneOfThePciDevice) {
  write("/bus/pci/devices/0000:3b:00.0/numa_node", "1");
  write("/bus/pci/devices/0000:3c:00.0/numa_node", "-1");
  EXPECT_EQ(node_of_device("0000:3B:00.0", sysfs_), 1);
  EXPECT_EQ(node_of_device("0000:3C:00.0", sysfs_), kAnyNode);
  EXPECT_EQ(node_of_device("0000:FF:00.0", sysfs_), kAnyNode);
}

TEST_F(HostNode, AThreadRunsOnItsCoresForAWhileAndThenWhereItMayAgain) {
  const std::vector<int> before = allowed_cores();
  write("/devices/system/node/node1/cpulist", fmt::format("{}", before.back()));
  EXPECT_EQ(pinned_memory_words(1, sysfs_), "node 1");
  {
    const CoresOfNode there(1, sysfs_);
    EXPECT_THAT(allowed_cores(), ElementsAre(before.back()));
  }
  EXPECT_EQ(allowed_cores(), before);
}

// A launcher bound the rank to the other socket, or the node is not known.
TEST_F(HostNode, WithoutAUsableCoreThereNothingIsMoved) {
  const std::vector<int> before = allowed_cores();
  write("/devices/system/node/node1/cpulist", fmt::format("{}", CPU_SETSIZE - 1));
  for (const int node : {1, 7, kAnyNode}) {
    const CoresOfNode there(node, sysfs_);
    EXPECT_EQ(allowed_cores(), before);
    EXPECT_THAT(pinned_memory_words(node, sysfs_), testing::StartsWith("any node"));
  }
}

}  // namespace
}  // namespace meshwright::calibrate::cuda
