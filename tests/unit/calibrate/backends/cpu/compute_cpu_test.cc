// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cpu/compute_cpu.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "sim/base/error.h"

namespace meshwright::calibrate::cpu {
namespace {

TEST(ComputeCpu, MemoryIsAlignedToACacheLineEvenWhenEmpty) {
  const auto compute = make_compute();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    void* p = compute->allocate(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0U);
    compute->release(p);
  }
}

TEST(ComputeCpu, DescribesItself) {
  const auto description = make_compute()->describe();
  EXPECT_EQ(description.kind, "cpu");
  EXPECT_FALSE(description.name.empty());
  EXPECT_GT(description.memory, mebibytes(64));
}

TEST(ComputeCpu, MultipliesFp32AndRefusesAFormatItWasNotAskedFor) {
  const auto compute = make_compute();
  EXPECT_TRUE(compute->supports(Precision::fp32));
  EXPECT_FALSE(compute->supports(Precision::fp8));
  float to = 0.0F;
  const float from = 1.0F;
  EXPECT_THROW(compute->convert(&to, Precision::fp8, &from, 1), std::logic_error);
}

// 8 bits: between 1 and 2 numbers are 2^-7 apart, halves go to the even one.
TEST(ComputeCpu, RoundsToBf16InPlaceAsItConvertsThereAndBack) {
  const auto compute = make_compute();
  constexpr float kLast = 0x1p-7F;
  const float from[4] = {1.0F + kLast / 2, 1.0F + 1.5F * kLast, -3.0F, 1.0F + 0.51F * kLast};
  const float expected[4] = {1.0F, 1.0F + 2.0F * kLast, -3.0F, 1.0F + kLast};
  float rounded[4] = {from[0], from[1], from[2], from[3]};
  compute->round(rounded, Precision::bf16, 4);
  std::uint16_t packed[4] = {};
  float back[4] = {};
  compute->convert(packed, Precision::bf16, from, 4);
  compute->widen(back, packed, Precision::bf16, 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(rounded[i], expected[i]) << i;
    EXPECT_EQ(back[i], expected[i]) << i;
  }
  EXPECT_THROW(compute->round(rounded, Precision::fp16, 4), std::logic_error);
}

TEST(ComputeCpu, CopiesAndClears) {
  const auto compute = make_compute();
  const std::int32_t host[2] = {3, 4};
  auto* device = static_cast<std::int32_t*>(compute->allocate(sizeof host));
  compute->upload(device, host, sizeof host);
  std::int32_t back[2] = {0, 0};
  compute->download(back, device, sizeof back);
  EXPECT_EQ(back[1], 4);
  compute->fill_zero(device, sizeof host);
  compute->copy(back, device, sizeof back);
  EXPECT_EQ(back[0], 0);
  compute->release(device);
}

}  // namespace
}  // namespace meshwright::calibrate::cpu
