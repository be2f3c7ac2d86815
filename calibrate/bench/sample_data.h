// SPDX-License-Identifier: Apache-2.0
// Numbers for measurements, of fp8 apart. They are normally distributed: zeros draw less power, so
// a GPU clocks higher, and a GEMM of zeros is some 15 % faster. They are multiples of 1/64 within
// +-4, which fp32, tf32, bf16 and fp16 all hold exactly, so that references are also exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "calibrate/bench/bench.h"

namespace meshwright::calibrate {

// `count` numbers; the same `stream` gives the same numbers. They come again after a prime number
// of them.
std::vector<float> sample_numbers(std::size_t count, unsigned stream);
float sample_number(std::size_t index, unsigned stream);
std::size_t sample_period();

// The same for operands of fp8: numbers of e4m3, so that the conversion is exact. They are normal
// with a deviation of 104, as of a tensor that is scaled until its largest number (4.3 deviations)
// is the format's, 448. Each of the 8 mantissas has 9 to 17 % of them, and next to none is zero.
float fp8_sample_number(std::size_t index, unsigned stream);

// The number of e4m3 next to x, ties to even; beyond 448 it is 448 (OCP 8-bit floating point
// specification, 5.2 and 5.3).
float nearest_e4m3(double x);

// `count` numbers on the device that are `period` over and over: one upload, and copies on the
// device.
void fill_repeated(Compute& compute, float* to, std::size_t count,
                   const std::vector<float>& period);

// Uploaded as fp32.
void fill_with_sample(Compute& compute, const DeviceArray& array, unsigned stream);

// Numbers of 16 bits as what they are.
double from_bf16(std::uint16_t bits);
double from_fp16(std::uint16_t bits);

std::vector<float> downloaded(Compute& compute, const float* from, std::size_t count);

}  // namespace meshwright::calibrate
