// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "sim/base/error.h"
#include "tests/device/both_devices.h"

namespace meshwright::calibrate {
namespace {

class Gpu : public OnBothDevices {};

TEST_F(Gpu, DescribesItself) {
  const DeviceDescription d = gpu_->describe();
  EXPECT_EQ(d.kind, "cuda");
  EXPECT_FALSE(d.name.empty());
  EXPECT_GT(d.memory, gibibytes(1));
  EXPECT_GT(d.num_multiprocessors, 1);
  EXPECT_THAT(d.details, testing::Contains(testing::Key("compute_capability")));
  EXPECT_LE(d.free_memory, d.memory);
  EXPECT_GT(d.free_memory, bytes(0));
}

TEST_F(Gpu, CopiesAndClears) {
  const Floats numbers = values(1000, 1);
  const DeviceArray first(*gpu_, 4000), second(*gpu_, 4000);
  gpu_->upload(first.data(), numbers.data(), 4000);
  gpu_->copy(second.data(), first.data(), 4000);
  gpu_->fill_zero(second.data(), 2000);
  Floats back(1000);
  gpu_->download(back.data(), second.data(), 4000);
  EXPECT_EQ(back[499], 0.0F);
  EXPECT_EQ(back[500], numbers[500]);
}

// A trial whose device is full goes on with such memory (calibrate/trial/ranks/arena.h).
TEST_F(Gpu, PinnedMemoryOfTheHostStandsInForDeviceMemory) {
  const Floats numbers = values(1000, 1);
  auto* pinned = static_cast<float*>(gpu_->allocate_host(4000));
  const DeviceArray device(*gpu_, 4000);
  gpu_->upload(pinned, numbers.data(), 4000);
  gpu_->add(pinned, pinned, pinned, 1000);
  gpu_->copy(device.data(), pinned, 4000);
  gpu_->copy_rows(pinned, 20, static_cast<const float*>(device.data()), 10, 50, 10);
  gpu_->fill_zero(pinned + 990, 40);
  Floats back(1000);
  gpu_->download(back.data(), pinned, 4000);
  EXPECT_EQ(back[0], 2.0F * numbers[0]);
  EXPECT_EQ(back[49 * 20 + 9], 2.0F * numbers[499]);
  EXPECT_EQ(back[999], 0.0F);
  gpu_->release_host(pinned);
}

TEST_F(Gpu, MoreMemoryThanThereIsIsASystemErrorAndTheNextCallWorks) {
  EXPECT_THROW((void)gpu_->allocate(std::size_t{1} << 50U), SystemError);
  gpu_->release(gpu_->allocate(1024));
  gpu_->synchronize();
}

}  // namespace
}  // namespace meshwright::calibrate
