// SPDX-License-Identifier: Apache-2.0
// A device that is held does nothing until it is let go, and goes on by itself in the end.
#include <chrono>
#include <thread>

#include "tests/device/both_devices.h"

namespace meshwright::calibrate {
namespace {

class Hold : public OnBothDevices {
 protected:
  void SetUp() override {
    OnBothDevices::SetUp();
    if (gpu_ == nullptr) return;
    numbers_ = std::make_unique<DeviceArray>(*gpu_, 3 * sizeof(float));
    gpu_->fill_zero(numbers_->data(), numbers_->bytes());
    add();  // loads the kernel, which a held device may not
    gpu_->synchronize();
  }
  void add() {
    float* x = numbers_->floats();
    gpu_->add(x, x + 1, x + 2, 1);
  }
  std::unique_ptr<DeviceArray> numbers_;
};

// The host asks for 100 additions and then sleeps for 20 ms: none of that is between the marks.
TEST_F(Hold, TheQueueRunsOnceItIsLetGo) {
  const int expired = gpu_->expired_holds();
  gpu_->hold();
  const auto begin = gpu_->mark();
  for (int i = 0; i < 100; ++i) add();
  const auto end = gpu_->mark();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gpu_->let_go();
  EXPECT_LT(gpu_->seconds_between(begin, end), 0.015);
  EXPECT_EQ(gpu_->expired_holds(), expired);
}

TEST_F(Hold, ADeviceThatNobodyLetsGoGoesOnByItself) {
  const int expired = gpu_->expired_holds();
  const auto start = std::chrono::steady_clock::now();
  gpu_->hold();
  add();
  gpu_->synchronize();
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
  EXPECT_GT(waited.count(), 0.5 * kLongestHold);
  EXPECT_LT(waited.count(), 10.0 * kLongestHold);
  EXPECT_EQ(gpu_->expired_holds(), expired + 1);
  gpu_->let_go();
}

}  // namespace
}  // namespace meshwright::calibrate
