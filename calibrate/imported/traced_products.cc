// SPDX-License-Identifier: Apache-2.0
#include "calibrate/imported/traced_products.h"

#include <array>
#include <utility>

#include "calibrate/imported/lines.h"
#include "sim/base/statistics.h"
#include "sim/base/text.h"

namespace meshwright::calibrate {
namespace {

constexpr double kMostTracedSize = 1e12;

std::vector<std::int64_t> sizes_of(const Json& list) {
  std::vector<std::int64_t> sizes;
  if (!list.is_array()) return sizes;
  for (const auto& size : list) {
    if (!size.is_number()) return {};
    const double value = size.get<double>();
    if (value < 1.0 || value > kMostTracedSize) return {};
    sizes.push_back(static_cast<std::int64_t>(value));
  }
  return sizes;
}

// The letter behind "nvjet_", or behind its "sm100_", is the format of the operands: nvjet_hsh,
// nvjet_tst, nvjet_qqtst.
std::optional<Precision> nvjet_precision(const std::string& name) {
  std::size_t at = name.find("nvjet_");
  if (at == std::string::npos) return std::nullopt;
  at += 6;
  if (name.compare(at, 2, "sm") == 0) at = name.find('_', at) + 1;
  switch (at < name.size() ? name[at] : ' ') {
    case 'h':
      return Precision::fp16;
    case 't':
      return Precision::bf16;
    case 'q':
      return Precision::fp8;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::size_t> first_factor(const std::string& name) {
  if (name == "aten::mm" || name == "aten::bmm" || name == "aten::_scaled_mm") return 0;
  if (name == "aten::addmm" || name == "aten::baddbmm") return 1;
  return std::nullopt;
}

std::optional<GemmShape> traced_shape(const std::string& name, const Json& dims) {
  const auto first = first_factor(name);
  if (!first || !dims.is_array() || dims.size() < *first + 2) return std::nullopt;
  const std::vector<std::int64_t> a = sizes_of(dims[*first]), b = sizes_of(dims[*first + 1]);
  const std::size_t rank = a.size();
  if (rank != b.size() || rank < 2 || rank > 3 || a[rank - 1] != b[rank - 2]) return std::nullopt;
  if (rank == 3 && a[0] != b[0]) return std::nullopt;
  return GemmShape{rank == 3 ? a[0] : 1, a[rank - 2], b[rank - 1], a[rank - 1]};
}

bool is_gemm_kernel(const std::string& name) {
  const std::string plain = lower_case(name);
  for (const char* part : {"gemm", "nvjet", "cutlass", "xmma", "cijk_", "triton_tem", "_mm_"}) {
    if (contains(plain, part)) return true;
  }
  return false;
}

std::optional<Precision> kernel_precision(const std::string& name) {
  const std::string plain = lower_case(name);
  if (const auto precision = nvjet_precision(plain)) return precision;
  constexpr std::array kMarks{
      std::pair{"e4m3", Precision::fp8},      std::pair{"e5m2", Precision::fp8},
      std::pair{"fp8", Precision::fp8},       std::pair{"bf16", Precision::bf16},
      std::pair{"bfloat16", Precision::bf16}, std::pair{"tf32", Precision::tf32},
      std::pair{"f16", Precision::fp16},      std::pair{"fp16", Precision::fp16},
      std::pair{"half", Precision::fp16},     std::pair{"h16816gemm", Precision::fp16},
      std::pair{"hgemm", Precision::fp16},    std::pair{"s1688gemm", Precision::tf32},
      std::pair{"sgemm", Precision::fp32}};
  for (const auto& [mark, precision] : kMarks) {
    if (contains(plain, mark)) return precision;
  }
  return std::nullopt;
}

void ProductTimes::add(Precision precision, const GemmShape& shape, Seconds time) {
  seconds_[{precision, shape.batch, shape.m, shape.n, shape.k}].push_back(time.value());
}

void ProductTimes::write_points(Imported& result) const {
  for (const auto& [key, times] : seconds_) {
    const auto& [precision, batch, m, n, k] = key;
    Product product{precision, {}};
    product.variant.shape = {batch, m, n, k};
    MeasuredPoint point;
    point.subject = timed::Gemm{product};
    point.amount = gemm_bytes(product);
    point.measurement = told(seconds(upper_median(times)));
    result.points.push_back(std::move(point));
  }
}

}  // namespace meshwright::calibrate
