// SPDX-License-Identifier: Apache-2.0
#include "calibrate/grid.h"

#include <algorithm>

namespace meshwright::calibrate {
namespace {

// Activations were just written; a weight and what a layer leaves were not.
constexpr FreshOperands kOfForward{.a = true};

}  // namespace

std::vector<GemmVariant> general_gemms(DeviceKind kind) {
  // A core reaches its rate at a few hundred; a GPU needs thousands to fill it.
  const std::int64_t scale = kind == DeviceKind::gpu ? 4 : 1;
  std::vector<GemmVariant> gemms;
  for (const std::int64_t m : {128, 512, 2048}) {
    for (const std::int64_t n : {128, 512, 2048}) {
      for (const std::int64_t k : {128, 512, 2048}) {
        gemms.push_back({.shape = {1, m * scale, n * scale, k * scale}, .fresh = kOfForward});
      }
    }
  }
  for (const std::int64_t m : {1, 8, 32})
    gemms.push_back({.shape = {1, m, 1024, 1024}, .fresh = kOfForward});
  gemms.push_back({.shape = {1, 1024 * scale, 1024 * scale, 1024 * scale}, .fresh = kOfForward});
  std::stable_sort(gemms.begin(), gemms.end(), [](const GemmVariant& a, const GemmVariant& b) {
    return gemm_flops(a.shape) > gemm_flops(b.shape);
  });
  return gemms;
}

std::vector<Product> overlapped_products(DeviceKind kind, Precision precision) {
  if (kind == DeviceKind::cpu) return {{precision, {.shape = {1, 512, 512, 512}}}};
  return {{precision, {.shape = {1, 4096, 4096, 4096}}},
          {precision, {.shape = {1, 512, 4096, 4096}}},
          {precision, {.shape = {1, 2048, 2048, 16384}}}};
}

std::vector<Bytes> payloads(Bytes largest) {
  std::vector<Bytes> sizes;
  for (Bytes size = kibibytes(1); size <= largest; size *= 2.0) sizes.push_back(size);
  return sizes;
}

Bytes whole_payload(Bytes payload, int group_size) {
  const auto per_rank =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(payload.value()) / 4 / group_size);
  return bytes(4.0 * static_cast<double>(per_rank * group_size));
}

}  // namespace meshwright::calibrate
