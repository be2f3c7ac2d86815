// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/sample_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace meshwright::calibrate {
namespace {

// A prime, so that rows of a matrix do not repeat each other.
constexpr std::size_t kTableSize = 65'537;
constexpr std::size_t kStreamsApart = 7919;

constexpr double kLargestE4m3 = 448.0;
constexpr int kSmallestExponent = -6;  // of a normal number; subnormals have its unit
constexpr int kMantissaBits = 3;
constexpr double kDeviation = kLargestE4m3 / 4.3;

// Normal numbers of deviation 1, each as `rounded` makes it.
std::vector<float> made_table(float (*rounded)(double)) {
  std::mt19937_64 generator(20'240'601);
  std::normal_distribution<double> normal;
  std::vector<float> result(kTableSize);
  for (float& x : result) x = rounded(normal(generator));
  return result;
}

const std::vector<float>& table() {
  static const std::vector<float> numbers = made_table([](double x) {
    return static_cast<float>(std::clamp(std::round(x * 64.0) / 64.0, -4.0, 4.0));
  });
  return numbers;
}

const std::vector<float>& fp8_table() {
  static const std::vector<float> numbers =
      made_table([](double x) { return nearest_e4m3(kDeviation * x); });
  return numbers;
}

std::size_t place(std::size_t index, unsigned stream) {
  return (static_cast<std::size_t>(stream) * kStreamsApart + index) % kTableSize;
}

}  // namespace

std::vector<float> sample_numbers(std::size_t count, unsigned stream) {
  const std::vector<float>& source = table();
  std::vector<float> result(count);
  std::size_t from = place(0, stream);
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min(count - done, kTableSize - from);
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), part,
                result.begin() + static_cast<std::ptrdiff_t>(done));
    done += part;
    from = 0;
  }
  return result;
}

float sample_number(std::size_t index, unsigned stream) { return table()[place(index, stream)]; }

float fp8_sample_number(std::size_t index, unsigned stream) {
  return fp8_table()[place(index, stream)];
}

float nearest_e4m3(double x) {
  const double size = std::abs(x);
  if (size >= kLargestE4m3) return static_cast<float>(std::copysign(kLargestE4m3, x));
  const int exponent = size > 0.0 ? std::max(std::ilogb(size), kSmallestExponent) : 0;
  const double unit = std::ldexp(1.0, exponent - kMantissaBits);
  return static_cast<float>(std::copysign(std::nearbyint(size / unit) * unit, x));
}

std::size_t sample_period() { return kTableSize; }

void fill_repeated(Compute& compute, float* to, std::size_t count,
                   const std::vector<float>& period) {
  std::size_t done = std::min(count, period.size());
  compute.upload(to, period.data(), done * sizeof(float));
  while (done < count) {
    const std::size_t part = std::min(done, count - done);
    compute.copy(to + done, to, part * sizeof(float));
    done += part;
  }
}

void fill_with_sample(Compute& compute, const DeviceArray& array, unsigned stream) {
  const std::size_t count = array.bytes() / sizeof(float);
  fill_repeated(compute, array.floats(), count,
                sample_numbers(std::min(count, kTableSize), stream));
}

double from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

double from_fp16(std::uint16_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = (bits >> 10U) & 0x1FU;
  const double fraction = (bits & 0x3FFU) / 1024.0;
  if (exponent == 0x1F) return sign * (fraction == 0.0 ? INFINITY : NAN);
  const bool normal = exponent != 0;
  return sign * std::ldexp((normal ? 1.0 : 0.0) + fraction, (normal ? exponent : 1) - 15);
}

std::vector<float> downloaded(Compute& compute, const float* from, std::size_t count) {
  std::vector<float> result(count);
  compute.synchronize();
  compute.download(result.data(), from, count * sizeof(float));
  return result;
}

}  // namespace meshwright::calibrate
