// SPDX-License-Identifier: Apache-2.0
#include "calibrate/collective_points.h"

#include <algorithm>
#include <array>

namespace meshwright::calibrate {
namespace {

// Between two messages of one kind a step touches more than a cache holds, so that each is received
// where no cache has its place. Smaller ones take their latency.
constexpr Bytes kLeastCold = kibibytes(256);
constexpr std::size_t kCoarse = 3;  // every third doubling: factors of 8

constexpr std::array kCollectiveOrder{Collective::all_reduce, Collective::send_recv,
                                      Collective::all_gather, Collective::reduce_scatter,
                                      Collective::all_to_all, Collective::broadcast};

constexpr std::array kOverlappedCollectives{Collective::all_reduce, Collective::reduce_scatter,
                                            Collective::all_gather, Collective::all_to_all};

GroupCall call_in(const GroupShape& shape, Collective collective) {
  const Placement& place = shape.placement;
  return {.collective = collective,
          .tier = place.tier(),
          .group_size = place.group_size,
          .ranks_per_node = place.ranks_per_node,
          .groups_per_node = place.groups_per_node,
          .stride = shape.stride};
}

MeasuredPoint collective_point(Collective collective, const GroupShape& shape, Bytes payload) {
  const Bytes amount = whole_payload(payload, shape.placement.group_size);
  GroupCall call = call_in(shape, collective);
  call.cold = amount >= kLeastCold;
  return {.subject = timed::CollectiveCall{call}, .amount = amount};
}

std::vector<Bytes> coarse_payloads(Bytes largest) {
  const std::vector<Bytes> all = payloads(largest);
  std::vector<Bytes> sizes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % kCoarse == 0 || i + 1 == all.size()) sizes.push_back(all[i]);
  }
  return sizes;
}

// Enough to see whether neighbours have wires of their own, and how fast the others are.
bool is_for_strides(Collective collective, Bytes size, Grid grid) {
  return collective == Collective::all_reduce && grid == Grid::coarse && size >= mebibytes(1);
}

// Groups in which every rank works: of all ranks first, then those inside a node; of a core, which
// moves its own messages whoever it talks to, the first alone.
std::vector<const GroupShape*> working_shapes(const std::vector<GroupShape>& all,
                                              DeviceKind device) {
  std::vector<const GroupShape*> inside, shapes;
  const GroupShape* largest = nullptr;
  for (const GroupShape& s : all) {
    const auto waits = [](int color) { return color < 0; };
    if (std::any_of(s.color_of_rank.begin(), s.color_of_rank.end(), waits)) continue;
    const auto in_first = [](int color) { return color == 0; };
    if (std::all_of(s.color_of_rank.begin(), s.color_of_rank.end(), in_first)) largest = &s;
    if (s.placement.tier() == Tier::intra_node && s.stride == 1) inside.push_back(&s);
  }
  if (largest != nullptr) shapes.push_back(largest);
  if (device == DeviceKind::cpu) return shapes;
  for (const GroupShape* s : inside) {
    if (s != largest) shapes.push_back(s);
  }
  return shapes;
}

void add_overlap(std::vector<MeasuredPoint>& points, const GroupShape& shape, Collective collective,
                 Bytes payload, const Product& product) {
  points.push_back(
      {.subject = timed::Overlap{.product = product, .call = call_in(shape, collective)},
       .amount = whole_payload(payload, shape.placement.group_size)});
}

void add_copy_overlaps(std::vector<MeasuredPoint>& points, const std::vector<Product>& products,
                       const SweepLimits& limits) {
  const Bytes copy = std::min(mebibytes(64), limits.bench_memory() / 2.0);
  for (const HostDirection direction : {HostDirection::to_device, HostDirection::to_host}) {
    for (const Product& product : products) {
      points.push_back({.subject = timed::CopyOverlap{.product = product, .direction = direction},
                        .amount = copy});
    }
  }
}

}  // namespace

std::vector<MeasuredPoint> collective_points(const CollectiveDemand& demand,
                                             const std::vector<GroupShape>& shapes) {
  std::vector<MeasuredPoint> points;
  for (const GroupShape& shape : shapes) {
    if (shape.placement.group_size != demand.group_size || shape.stride > 1) continue;
    points.push_back(collective_point(demand.collective, shape, demand.payload));
  }
  return points;
}

std::vector<MeasuredPoint> collective_grid(Grid grid, const std::vector<GroupShape>& shapes,
                                           const SweepLimits& limits) {
  const std::vector<Bytes> sizes = grid == Grid::coarse ? coarse_payloads(limits.largest_payload)
                                                        : payloads(limits.largest_payload);
  std::vector<MeasuredPoint> points;
  for (const Collective collective : kCollectiveOrder) {
    for (const Bytes size : sizes) {
      for (const GroupShape& shape : shapes) {
        if (collective == Collective::send_recv && shape.placement.group_size != 2) continue;
        if (shape.stride > 1 && !is_for_strides(collective, size, grid)) continue;
        points.push_back(collective_point(collective, shape, size));
      }
    }
  }
  return points;
}

std::vector<MeasuredPoint> overlap_points(const std::vector<GroupShape>& shapes,
                                          const SweepLimits& limits) {
  const bool gpu = limits.device == DeviceKind::gpu;
  const Precision precision = gpu ? Precision::bf16 : Precision::fp32;
  if (!limits.supports(precision)) return {};
  const std::vector<Product> products = overlapped_products(limits.device, precision);
  const auto sizes =
      gpu ? std::array{mebibytes(16), mebibytes(128)} : std::array{kibibytes(256), mebibytes(2)};
  std::vector<MeasuredPoint> points;
  for (const GroupShape* shape : working_shapes(shapes, limits.device)) {
    for (const Collective collective : kOverlappedCollectives) {
      if (!gpu && collective != Collective::all_reduce) break;
      for (const Bytes size : sizes) {
        if (size > limits.largest_payload) continue;
        add_overlap(points, *shape, collective, size, products.front());
      }
    }
    if (sizes.front() > limits.largest_payload) continue;
    for (std::size_t i = 1; i < products.size(); ++i) {
      add_overlap(points, *shape, Collective::all_reduce, sizes.front(), products[i]);
    }
  }
  if (gpu) add_copy_overlaps(points, products, limits);
  return points;
}

}  // namespace meshwright::calibrate
