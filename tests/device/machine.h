// SPDX-License-Identifier: Apache-2.0
// This rank's GPU and the NCCL world, opened once; NCCL tells itself of its environment only once.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "calibrate/backends/backend.h"
#include "calibrate/launch/rank_place.h"

namespace meshwright::calibrate {

struct GpuMachine {
  std::unique_ptr<Compute> compute;
  std::unique_ptr<Communicator> world;
};

inline std::string why_no_gpu() { return open_backend("nccl").unavailable(); }

// Only where why_no_gpu() is empty.
inline GpuMachine& gpu_machine() {
  static GpuMachine machine = [] {
    const auto place = find_rank_place(process_environment());
    GpuMachine m;
    m.compute = open_backend("cuda").make_compute(place ? place->local_rank : 0);
    m.world = open_backend("nccl").make_world(*m.compute);
    return m;
  }();
  return machine;
}

class OnGpuRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
  }
};

}  // namespace meshwright::calibrate
