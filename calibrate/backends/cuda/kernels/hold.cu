// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/compute.h"
#include "calibrate/backends/cuda/kernels/hold.h"
#include "calibrate/backends/cuda/kernels/launch.cuh"

namespace meshwright::calibrate::cuda {
namespace {

// PTX ISA, "Special Registers: %globaltimer": nanoseconds, all multiprocessors alike.
__device__ unsigned long long nanoseconds_now() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Reads past the caches (volatile): the host writes while this runs.
__global__ void hold_kernel(volatile HoldWords* words, std::uint32_t number,
                            unsigned long long longest) {
  const unsigned long long begin = nanoseconds_now();
  while (words->let_go < number) {
    if (nanoseconds_now() - begin < longest) continue;
    words->expired = words->expired + 1;
    __threadfence_system();
    return;
  }
}

}  // namespace

void start_hold(HoldWords* words, std::uint32_t number) {
  constexpr auto kLongest = static_cast<unsigned long long>(kLongestHold * 1e9);
  hold_kernel<<<1, 1, 0, kStream>>>(words, number, kLongest);
  check_launch();
}

}  // namespace meshwright::calibrate::cuda
