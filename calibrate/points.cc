// SPDX-License-Identifier: Apache-2.0
#include "calibrate/points.h"

#include <fmt/format.h>

#include "sim/names.h"

namespace meshwright::calibrate {
namespace {

std::string size_text(Bytes amount) {
  const double kib = amount / kibibytes(1);
  return kib < 1024.0 ? fmt::format("{:.4g} KiB", kib) : fmt::format("{:.4g} MiB", kib / 1024.0);
}

}  // namespace

std::string_view name_of(PointKind kind) {
  switch (kind) {
    case PointKind::gemm:
      return "gemm";
    case PointKind::kernel:
      return "kernel";
    case PointKind::memory_copy:
      return "memory_copy";
    case PointKind::host_link:
      return "host_link";
    case PointKind::kernel_launch:
      return "kernel_launch";
    case PointKind::collective:
      return "collective";
  }
  return "?";
}

std::string MeasuredPoint::label() const {
  switch (kind) {
    case PointKind::gemm: {
      const std::string batch = shape.batch > 1 ? fmt::format("{} x ", shape.batch) : "";
      return fmt::format("gemm {} {}({} x {} x {})", name_of(precision), batch, shape.m, shape.n,
                         shape.k);
    }
    case PointKind::kernel:
      return fmt::format("kernel {} {}", kernel, size_text(amount));
    case PointKind::collective:
      return fmt::format("{} {} over {} ranks", name_of(collective), size_text(amount), group_size);
    default:
      return fmt::format("{} {}", name_of(kind), size_text(amount));
  }
}

}  // namespace meshwright::calibrate
