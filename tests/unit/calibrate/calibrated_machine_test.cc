// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrated_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tests/unit/calibrate/alone.h"

namespace meshwright::calibrate {
namespace {

MeasuredPoint spread_point(double spread, bool noisy) {
  MeasuredPoint p;
  p.measurement.noisy = noisy;
  p.measurement.summary.relative_spread = spread;
  return p;
}

// Two ranks that say the same of themselves.
class Twins : public Alone {
 public:
  [[nodiscard]] int size() const override { return 2; }
  void host_gather(const void* in, void* out, std::size_t bytes) override {
    std::memcpy(out, in, bytes);
    std::memcpy(static_cast<char*>(out) + bytes, in, bytes);
  }
};

// --gpus-per-task=1 would hide the other GPUs from NCCL.
TEST(SharedDevices, TheAdviceForSrunKeepsAllGpusVisible) {
  Twins world;
  DeviceDescription device;
  device.kind = "cuda";
  device.details = {{"pci_bus_id", "0000:17:00.0"}};
  try {
    refuse_shared_devices(world, device);
    FAIL() << "two ranks took turns on one GPU";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.hint(), testing::HasSubstr("--gpus-per-node=8 --gpu-bind=none"));
    EXPECT_THAT(error.hint(), testing::HasSubstr("not --gpus-per-task"));
  }
}

// Points that one rank plans and another does not would leave them in different collectives.
TEST(LeastFreeMemory, IsThatOfTheFullestDevice) {
  Alone world;
  world.slowest_ = -gibibytes(70).value();  // of another rank, with its sign turned
  DeviceDescription device;
  device.free_memory = gibibytes(79);
  EXPECT_EQ(least_free_memory(world, device), gibibytes(70));
  device.free_memory = gibibytes(60);
  EXPECT_EQ(least_free_memory(world, device), gibibytes(60));
}

TEST(NoisyWords, AreOneSentenceForAllPoints) {
  const std::string words =
      noisy_words({spread_point(0.2, true), spread_point(0.01, false), spread_point(0.43, true)});
  EXPECT_EQ(words.rfind("2 of 3 points were measured twice and differ still", 0), 0U) << words;
  EXPECT_NE(words.find("by 43 %"), std::string::npos) << words;
}

TEST(NoisyWords, AreNoneOfAQuietMachine) {
  EXPECT_EQ(noisy_words({spread_point(0.01, false)}), "");
}

}  // namespace
}  // namespace meshwright::calibrate
