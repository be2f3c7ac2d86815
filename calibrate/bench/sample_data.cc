// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/sample_data.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace meshwright::calibrate {
namespace {

// A prime, so that rows of a matrix do not repeat each other.
constexpr std::size_t kTableSize = 65'537;

const std::vector<float>& table() {
  static const std::vector<float> numbers = [] {
    std::mt19937_64 generator(20'240'601);
    std::normal_distribution<double> normal;
    std::vector<float> result(kTableSize);
    for (float& x : result) {
      x = static_cast<float>(std::clamp(std::round(normal(generator) * 64.0) / 64.0, -4.0, 4.0));
    }
    return result;
  }();
  return numbers;
}

}  // namespace

std::vector<float> sample_numbers(std::size_t count, unsigned stream) {
  const std::vector<float>& source = table();
  std::vector<float> result(count);
  std::size_t from = (static_cast<std::size_t>(stream) * 7919U) % kTableSize;
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min(count - done, kTableSize - from);
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), part,
                result.begin() + static_cast<std::ptrdiff_t>(done));
    done += part;
    from = 0;
  }
  return result;
}

void fill_with_sample(Compute& compute, const DeviceArray& array, unsigned stream) {
  const std::vector<float> numbers = sample_numbers(array.bytes() / sizeof(float), stream);
  compute.upload(array.data(), numbers.data(), numbers.size() * sizeof(float));
}

std::vector<float> downloaded(Compute& compute, const float* from, std::size_t count) {
  std::vector<float> result(count);
  compute.synchronize();
  compute.download(result.data(), from, count * sizeof(float));
  return result;
}

}  // namespace meshwright::calibrate
