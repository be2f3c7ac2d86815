// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {
namespace {

std::string size_text(Bytes amount) {
  const double kib = amount / kibibytes(1);
  return kib < 1024.0 ? fmt::format("{:.4g} KiB", kib) : fmt::format("{:.4g} MiB", kib / 1024.0);
}

// ", 2 a node, 4 groups at once"
std::string seats_text(const MeasuredPoint& p) {
  std::string text;
  if (p.tier == Tier::inter_node && p.ranks_per_node > 0) {
    text += fmt::format(", {} a node", p.ranks_per_node);
  }
  if (p.stride > 1) text += fmt::format(", every {}th", p.stride);
  if (p.groups_per_node > 1) text += fmt::format(", {} groups a node at once", p.groups_per_node);
  return text;
}

// "attention backward 2 x 16 heads of 128, 8192 positions"
std::string attention_label(const AttentionShape& s) {
  return fmt::format("attention {} {} x {} heads of {}, {} positions{}",
                     s.backward ? "backward" : "forward", s.batch, s.heads, s.head_dim, s.positions,
                     s.causal ? "" : ", not causal");
}

auto shape_key(const MeasuredPoint& p) {
  return std::make_tuple(p.precision, p.shape.batch, p.shape.m, p.shape.n, p.shape.k, p.transpose_a,
                         p.transpose_b, p.accumulate);
}

auto group_key(const MeasuredPoint& p) {
  return std::make_tuple(p.collective, p.tier, p.group_size, p.ranks_per_node, p.groups_per_node,
                         p.stride);
}

}  // namespace

std::string MeasuredPoint::label() const {
  switch (kind) {
    case PointKind::gemm:
    case PointKind::sustained_gemm: {
      const std::string batch = shape.batch > 1 ? fmt::format("{} x ", shape.batch) : "";
      return fmt::format("{} {} {}({} x {} x {})", name_of(kind), name_of(precision), batch,
                         shape.m, shape.n, shape.k);
    }
    case PointKind::attention:
      return attention_label(attention.value_or(AttentionShape{}));
    case PointKind::host_link:
      return fmt::format("host_link {} {}", name_of(direction), size_text(amount));
    case PointKind::kernel:
      return fmt::format("kernel {} {}", kernel, size_text(amount));
    case PointKind::collective:
      return fmt::format("{} {} over {} ranks{}", name_of(collective), size_text(amount),
                         group_size, seats_text(*this));
    case PointKind::overlap:
      return fmt::format("gemm {} ({} x {} x {}) beside {} {} over {} ranks", name_of(precision),
                         shape.m, shape.n, shape.k, name_of(collective), size_text(amount),
                         group_size);
    default:
      return fmt::format("{} {}", name_of(kind), size_text(amount));
  }
}

bool same_subject(const MeasuredPoint& a, const MeasuredPoint& b) {
  if (a.kind != b.kind || a.amount != b.amount) return false;
  switch (a.kind) {
    case PointKind::gemm:
    case PointKind::sustained_gemm:
      return shape_key(a) == shape_key(b);
    case PointKind::host_link:
      return a.direction == b.direction;
    case PointKind::attention:
      return a.attention == b.attention && a.precision == b.precision;
    case PointKind::kernel:
      return a.kernel == b.kernel && a.sizes == b.sizes;
    case PointKind::collective:
      return group_key(a) == group_key(b);
    case PointKind::overlap:
      return shape_key(a) == shape_key(b) && group_key(a) == group_key(b);
    case PointKind::memory_copy:
    case PointKind::kernel_launch:
      break;
  }
  return true;
}

double MeasuredPoint::overlap_slowdown() const {
  return std::clamp((time() - product_alone) / collective_alone, 0.0, 1.0);
}

}  // namespace meshwright::calibrate
