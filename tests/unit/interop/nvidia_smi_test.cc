// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NvidiaSmi, ListsDevicesInSeveralForms) {
  const std::pair<const char*, int> texts[] = {
      {"GPU 0: NVIDIA A40 (UUID: GPU-aa)\nGPU 1: NVIDIA A40 (UUID: GPU-bb)\n", 2},
      {"GPU 0,1,2,3: NVIDIA A40\nGPU 0,1,2,3 Compute Capability: 8.6\n", 4},
      {"    Product Name                          : NVIDIA A40\n    Product Brand : NVIDIA\n", 1},
      {"name, memory.total [MiB]\nNVIDIA A40, 46068 MiB\nNVIDIA A40, 46068 MiB\n", 2},
      {"| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |\n"
       "|   0  NVIDIA A40                     On  | 00000000:31:00.0 Off |                    0 |\n"
       "|   1  NVIDIA A40                     On  | 00000000:4B:00.0 Off |                    0 |\n"
       "|    0   N/A  N/A     12345      C   python                            1024MiB |\n",
       2}};
  for (const auto& [text, count] : texts) {
    const ClusterFacts facts = read_cluster_facts(text, "smi.txt");
    EXPECT_THAT(facts.devices, ElementsAre("NVIDIA A40")) << text;
    EXPECT_EQ(facts.gpus_per_host, count) << text;
  }
}

TEST(NvidiaSmi, ATablesCutNameIsTheWholeOne) {
  EXPECT_THAT(gpu_names_in("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n"
                           "|   0  NVIDIA H100 80GB H...  On  | 00000000:18:00.0 Off | 0 |\n"),
              ElementsAre("NVIDIA H100 80GB HBM3"));
}

TEST(NvidiaSmi, RocmsProductsAreRead) {
  const ClusterFacts facts = read_cluster_facts(
      "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X\nGPU[1]\t\t: Card Series: \t\tAMD Instinct "
      "MI300X\n",
      "rocm.txt");
  EXPECT_THAT(facts.devices, ElementsAre("AMD Instinct MI300X"));
  EXPECT_EQ(facts.gpus_per_host, 2);
}

TEST(NvidiaSmi, SeveralKindsAreRefused) {
  EXPECT_THAT(error_of([] {
                read_cluster_facts("GPU 0: NVIDIA A40 (UUID: a)\nGPU 1: NVIDIA L40S (UUID: b)\n",
                                   "smi.txt");
              }),
              HasSubstr("several kinds of devices: NVIDIA A40, NVIDIA L40S"));
}

}  // namespace
}  // namespace meshwright::interop
