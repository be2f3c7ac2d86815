// SPDX-License-Identifier: Apache-2.0
#include "sim/step/stage.h"

#include <gtest/gtest.h>

#include "sim/memory/activation_memory.h"
#include "tests/unit/sim/volume/volume_fixture.h"

namespace meshwright {
namespace {

using volume_test::small_job;
using volume_test::small_model;

// There after the forward pass and back before the backward pass: twice the layers' activations.
TEST(OffloadTime, MovesTheLayersActivationsThereAndBack) {
  Device device;
  device.host_link = gigabytes_per_second(25);
  Layout layout;
  EXPECT_EQ(offload_time(small_model(), small_job(), layout, device), seconds(0));
  const Bytes layer = layer_activation_bytes(small_model(), {}, small_job(), layout, false);
  layout.cpu_offloading_num_layers = 3;
  EXPECT_NEAR(offload_time(small_model(), small_job(), layout, device).value(),
              2 * 3 * layer.value() / 25e9, 1e-15);
}

TEST(OffloadCost, IsWhatSticksOutBesideTheCompute) {
  EXPECT_EQ(offload_cost(seconds(5), seconds(3)).time, seconds(2));
  EXPECT_EQ(offload_cost(seconds(3), seconds(5)).time, seconds(0));
}

}  // namespace
}  // namespace meshwright
