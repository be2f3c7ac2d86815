// SPDX-License-Identifier: Apache-2.0
// Numbers to measure with: normally distributed, since zeros draw less power and let a GPU clock
// higher (a GEMM of zeros is some 15 % faster than one of normal numbers), and multiples of 1/64
// within +-4, which fp32, tf32, bf16 and fp16 all hold exactly, so that references are exact too.
#pragma once

#include <cstddef>
#include <vector>

#include "calibrate/bench/bench.h"

namespace meshwright::calibrate {

// `count` numbers; the same `stream` gives the same numbers.
std::vector<float> sample_numbers(std::size_t count, unsigned stream);

// Uploaded as fp32.
void fill_with_sample(Compute& compute, const DeviceArray& array, unsigned stream);

std::vector<float> downloaded(Compute& compute, const float* from, std::size_t count);

}  // namespace meshwright::calibrate
