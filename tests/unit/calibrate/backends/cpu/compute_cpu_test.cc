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
