// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/environment.h"

#include <gmock/gmock.h>

namespace meshwright::calibrate {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Environment, OnlyNcclsOwnVariablesAreKept) {
  EXPECT_THAT(nccl_variables({"HOME=/root", "NCCL_PROTO=Simple", "AWS_SECRET=x", "NCCL_ALGO=Ring",
                              "MY_NCCL_ALGO=Tree", "NCCL_DEBUG", "NCCL_IB_HCA=mlx5_0=1"}),
              ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_IB_HCA", "mlx5_0=1"),
                          Pair("NCCL_PROTO", "Simple")));
}

TEST(Environment, BytesThatAreNoTextDoNotReachAFile) {
  EXPECT_THAT(nccl_variables({"NCCL_TOPO_FILE=a\x1b[31m\xff"}),
              ElementsAre(Pair("NCCL_TOPO_FILE", "a?[31m?")));
}

}  // namespace
}  // namespace meshwright::calibrate
