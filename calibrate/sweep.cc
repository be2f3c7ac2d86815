// SPDX-License-Identifier: Apache-2.0
#include "calibrate/sweep.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "calibrate/bench/kernel_bench.h"
#include "sim/collective/collective.h"
#include "sim/kernel_time/gemm_model.h"

namespace meshwright::calibrate {
namespace {

// Share of a rank's memory for the two arrays of one copy, or for one GEMM.
constexpr double kBenchMemoryShare = 1.0 / 8.0;
// Larger than any cache that one core may have to itself; a short budget does with less.
constexpr Bytes kLargeCopy = mebibytes(256), kSmallestCopy = mebibytes(64);
constexpr double kLargeCopyBudget = 30.0;  // seconds
constexpr std::int64_t kEssentialEdge = 256;
// Between two messages of one kind a step touches more than a cache holds, so that each is received
// where no cache has its place. Smaller ones take their latency.
constexpr Bytes kLeastCold = kibibytes(256);
constexpr double kSustainedBudget = 30.0;  // seconds; less has no time for seconds of one product
// A model's collectives come in hundreds of sizes; the grid interpolates the lighter ones.
constexpr std::size_t kMostDemands = 64;

constexpr std::array kCollectiveOrder{Collective::all_reduce, Collective::send_recv,
                                      Collective::all_gather, Collective::reduce_scatter,
                                      Collective::all_to_all, Collective::broadcast};

constexpr std::array kOverlappedCollectives{Collective::all_reduce, Collective::reduce_scatter,
                                            Collective::all_gather, Collective::all_to_all};

// Only to order points of different kinds: what a core, or a GPU with its links, roughly reaches.
struct NominalRates {
  FlopsPerSecond products;
  BytesPerSecond memory, link;
  Seconds call;
};
NominalRates nominal_rates(DeviceKind kind) {
  if (kind == DeviceKind::gpu) {
    return {teraflops_per_second(300), gigabytes_per_second(2000), gigabytes_per_second(100),
            microseconds(20)};
  }
  return {teraflops_per_second(0.1), gigabytes_per_second(10), gigabytes_per_second(2),
          microseconds(10)};
}

// Of one call.
Seconds nominal_time(const GemmDemand& demand, const NominalRates& rates) {
  const GemmShape& shape = demand.variant.shape;
  // Products of few rows read their weights.
  return std::max(gemm_flops(shape) / rates.products,
                  gemm_traffic(shape, Precision::bf16) / rates.memory);
}
Seconds nominal_time(const CollectiveDemand& demand, const NominalRates& rates) {
  return rates.call +
         demand.payload * bus_factor(demand.collective, demand.group_size) / rates.link;
}

MeasuredPoint point_of(Subject subject, Bytes amount) {
  return {.subject = std::move(subject), .amount = amount};
}

MeasuredPoint gemm_point(const GemmVariant& variant, Precision precision) {
  return point_of(timed::Gemm{{precision, variant}}, gemm_memory(variant.shape, precision));
}

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
  return point_of(timed::CollectiveCall{call}, amount);
}

class SweepPlanner {
 public:
  SweepPlanner(const Workload& workload, const std::vector<GroupShape>& shapes,
               const SweepLimits& limits)
      : workload_(workload), shapes_(shapes), limits_(limits) {}

  std::vector<MeasuredPoint> plan() {
    add_memory();
    const std::vector<Precision> precisions = measured_precisions(workload_, limits_);
    const std::span<const Precision> all(precisions);
    add_gemm({.shape = {1, kEssentialEdge, kEssentialEdge, kEssentialEdge}}, all);
    add_gemm({.shape = {1, 512, 512, 512}}, all);
    add_serving();
    add_kernels();
    for (const MeasuredPoint& point : library_points(workload_, limits_)) add(point);
    add_model_and_grid(all.first(std::min<std::size_t>(1, all.size())));
    add_sustained(all);
    add_collectives(1);
    add_model_and_grid(all.subspan(std::min<std::size_t>(1, all.size())));
    if (points_.size() > kMostPoints) points_.resize(kMostPoints);
    return std::move(points_);
  }

 private:
  void add(const MeasuredPoint& point) {
    const bool known = std::any_of(points_.begin(), points_.end(),
                                   [&](const MeasuredPoint& p) { return same_subject(p, point); });
    if (!known) points_.push_back(point);
  }

  void add_model_and_grid(std::span<const Precision> precisions) {
    add_demands(precisions);
    add_collectives(0);
    add_overlaps();
    for (const GemmVariant& variant : general_gemms(limits_.device)) {
      add_gemm(variant, precisions);
    }
  }

  void add_memory() {
    const Bytes affordable = std::clamp(kLargeCopy * (limits_.budget_seconds / kLargeCopyBudget),
                                        kSmallestCopy, kLargeCopy);
    const Bytes size = std::min(affordable, limits_.memory * (kBenchMemoryShare / 2.0));
    add(point_of(timed::KernelLaunch{}, bytes(12)));
    // A core runs what it launches.
    if (limits_.device == DeviceKind::gpu) add(point_of(timed::HostLaunch{}, bytes(12)));
    add(point_of(timed::MemoryCopy{}, size * 2.0));
    for (const HostDirection direction :
         {HostDirection::to_device, HostDirection::to_host, HostDirection::both}) {
      // Host and device memory of a CPU core are the same.
      const bool apart = limits_.device == DeviceKind::gpu;
      if (direction != HostDirection::to_device && !apart) continue;
      add(point_of(timed::HostLink{direction}, size));
    }
  }

  // The largest product of each format: it draws the most power. Clocks settle within a second.
  void add_sustained(std::span<const Precision> precisions) {
    if (limits_.device == DeviceKind::cpu || limits_.budget_seconds < kSustainedBudget) return;
    for (const Precision precision : precisions) {
      GemmVariant largest;
      for (const GemmVariant& variant : general_gemms(limits_.device)) {
        if (gemm_flops(variant.shape) <= gemm_flops(largest.shape)) continue;
        if (fits(variant.shape, precision)) largest = variant;
      }
      if (gemm_flops(largest.shape).value() <= 0.0) continue;
      MeasuredPoint point = gemm_point(largest, precision);
      add(point);
      point.subject = timed::SustainedGemm{{precision, largest}};
      add(point);
    }
  }

  void add_kernels() {
    std::vector<KernelSizes> sizes = workload_.kernels;
    if (sizes.empty()) {
      sizes = {KernelSizes{},
               KernelSizes{.positions = 512, .hidden = 1024, .ffn = 4096, .heads = 16}};
    }
    for (const KernelSizes& size : sizes) {
      for (const KernelCase& c : kernel_cases(size)) {
        if (c.traffic > limits_.memory * kBenchMemoryShare) continue;
        const auto& names = workload_.kernel_names;
        if (!names.empty() && names.find(c.kernel) == names.end()) continue;
        add(point_of(timed::Kernel{std::string(c.kernel), c.launches, size}, c.traffic));
      }
    }
  }

  void add_serving() {
    for (const EngineStepShape& shape : workload_.engine_steps) {
      add(point_of(timed::EngineStep{shape}, bytes(4.0 * static_cast<double>(shape.vocab))));
    }
    for (const PagedAttentionShape& shape : workload_.paged_attentions) {
      const Bytes read = paged_attention_bytes(shape, 4.0);
      if (read > limits_.memory * kBenchMemoryShare) continue;
      add(point_of(timed::PagedAttention{shape}, read));
    }
    if (shapes_.empty()) return;
    for (const CacheCopyShape& shape : workload_.cache_copies) {
      const Bytes sent = cache_copy_bytes(shape, 4.0);
      if (sent > std::min(limits_.memory * kBenchMemoryShare, limits_.largest_payload)) continue;
      add(point_of(timed::CacheCopy{shape}, sent));
    }
  }

  void add_gemm(const GemmVariant& variant, std::span<const Precision> precisions) {
    for (const Precision precision : precisions) {
      if (fits(variant.shape, precision) && multiplies(variant.shape, precision)) {
        add(gemm_point(variant, precision));
      }
    }
  }

  [[nodiscard]] bool fits(const GemmShape& shape, Precision precision) const {
    // One product may take a hundredth of the budget, at a rate that any core or GPU reaches.
    const FlopsPerSecond slow =
        nominal_rates(limits_.device).products / (limits_.device == DeviceKind::gpu ? 6.0 : 2.0);
    return gemm_memory(shape, precision) <= limits_.memory * kBenchMemoryShare &&
           gemm_flops(shape) / slow <= seconds(limits_.budget_seconds / 100.0);
  }

  // fp8 units take whole tiles of 16 (cuBLASLt's rule for its fp8 kernels).
  [[nodiscard]] bool multiplies(const GemmShape& s, Precision precision) const {
    const bool whole_tiles = s.m % 16 == 0 && s.n % 16 == 0 && s.k % 16 == 0;
    return limits_.supports(precision) && (precision != Precision::fp8 || whole_tiles);
  }

  // Products and collectives of the model, by their share of a step.
  void add_demands(std::span<const Precision> precisions) {
    struct Demand {
      double influence = 0.0;  // seconds a step at nominal rates
      GemmDemand gemm{};
      CollectiveDemand collective{};
    };
    const NominalRates rates = nominal_rates(limits_.device);
    std::vector<Demand> demands;
    for (const GemmDemand& d : summed_gemms()) {
      demands.push_back({(nominal_time(d, rates) * d.calls).value(), d, {}});
    }
    for (const CollectiveDemand& d : summed_collectives()) {
      demands.push_back({(nominal_time(d, rates) * d.calls).value(), {{}, 0.0}, d});
    }
    std::stable_sort(demands.begin(), demands.end(),
                     [](const Demand& a, const Demand& b) { return a.influence > b.influence; });
    for (const Demand& d : demands) {
      if (d.gemm.calls > 0.0) {
        add_gemm(d.gemm.variant, precisions);
      } else {
        add_collective(d.collective);
      }
    }
  }

  [[nodiscard]] std::vector<GemmDemand> summed_gemms() const {
    using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool, bool,
                           FreshOperands, double>;
    std::map<Key, GemmDemand> sums;
    for (const GemmDemand& d : workload_.gemms) {
      const GemmVariant& v = d.variant;
      const Key key{v.shape.batch, v.shape.m,     v.shape.n,
                    v.shape.k,     v.transpose_a, v.transpose_b,
                    v.accumulate,  v.fresh,       v.reused_after.value()};
      GemmDemand& sum = sums.try_emplace(key, GemmDemand{v, 0.0}).first->second;
      sum.calls += d.calls;
    }
    std::vector<GemmDemand> result;
    for (const auto& [key, demand] : sums) result.push_back(demand);
    return result;
  }

  [[nodiscard]] std::vector<CollectiveDemand> summed_collectives() const {
    std::map<std::tuple<Collective, int, double>, CollectiveDemand> sums;
    for (const CollectiveDemand& d : workload_.collectives) {
      CollectiveDemand whole = d;
      whole.payload = whole_payload(d.payload, d.group_size);
      if (whole.payload < kibibytes(1) || whole.payload > limits_.largest_payload) continue;
      whole.calls = 0.0;
      const std::tuple key{d.collective, d.group_size, whole.payload.value()};
      sums.try_emplace(key, whole).first->second.calls += d.calls;
    }
    std::vector<CollectiveDemand> result;
    for (const auto& [key, demand] : sums) result.push_back(demand);
    std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
      return a.payload * a.calls > b.payload * b.calls;
    });
    if (result.size() > kMostDemands) result.resize(kMostDemands);
    return result;
  }

  void add_collective(const CollectiveDemand& demand) {
    for (const GroupShape& shape : shapes_) {
      if (shape.placement.group_size != demand.group_size || shape.stride > 1) continue;
      add(collective_point(demand.collective, shape, demand.payload));
    }
  }

  // Products beside what a step runs beside products: all-reduces, reduce-scatters and all-gathers
  // of gradients and weights over all ranks, those of tensor ranks inside a node, the all-to-alls
  // of experts, and copies of what is offloaded. A core moves its own messages whatever it
  // multiplies: one product beside one collective says it all.
  void add_overlaps() {
    const bool gpu = limits_.device == DeviceKind::gpu;
    const Precision precision = gpu ? Precision::bf16 : Precision::fp32;
    if (!limits_.supports(precision)) return;
    const std::vector<Product> products = overlapped_products(limits_.device, precision);
    const auto payloads =
        gpu ? std::array{mebibytes(16), mebibytes(128)} : std::array{kibibytes(256), mebibytes(2)};
    for (const GroupShape* shape : working_shapes()) {
      for (const Collective collective : kOverlappedCollectives) {
        if (!gpu && collective != Collective::all_reduce) break;
        for (const Bytes payload : payloads) {
          add_overlap(*shape, collective, payload, products.front());
        }
      }
      for (std::size_t i = 1; i < products.size(); ++i) {
        add_overlap(*shape, Collective::all_reduce, payloads.front(), products[i]);
      }
    }
    if (gpu) add_copy_overlaps(products);
  }

  void add_copy_overlaps(const std::vector<Product>& products) {
    const Bytes copy = std::min(mebibytes(64), limits_.memory * (kBenchMemoryShare / 2.0));
    for (const HostDirection direction : {HostDirection::to_device, HostDirection::to_host}) {
      for (const Product& product : products) {
        add(point_of(timed::CopyOverlap{.product = product, .direction = direction}, copy));
      }
    }
  }

  void add_overlap(const GroupShape& shape, Collective collective, Bytes payload,
                   const Product& product) {
    if (payload > limits_.largest_payload) return;
    add(point_of(timed::Overlap{.product = product, .call = call_in(shape, collective)},
                 whole_payload(payload, shape.placement.group_size)));
  }

  // Groups in which every rank works: of all ranks first, then those inside a node; of a core,
  // which moves its own messages whoever it talks to, the first alone.
  [[nodiscard]] std::vector<const GroupShape*> working_shapes() const {
    std::vector<const GroupShape*> inside, shapes;
    const GroupShape* largest = nullptr;
    for (const GroupShape& s : shapes_) {
      const auto waits = [](int color) { return color < 0; };
      if (std::any_of(s.color_of_rank.begin(), s.color_of_rank.end(), waits)) continue;
      const auto in_first = [](int color) { return color == 0; };
      if (std::all_of(s.color_of_rank.begin(), s.color_of_rank.end(), in_first)) largest = &s;
      if (s.placement.tier() == Tier::intra_node && s.stride == 1) inside.push_back(&s);
    }
    if (largest != nullptr) shapes.push_back(largest);
    if (limits_.device == DeviceKind::cpu) return shapes;
    for (const GroupShape* s : inside) {
      if (s != largest) shapes.push_back(s);
    }
    return shapes;
  }

  // Pass 0: every third doubling and the largest, the smallest and a large one first, so that a few
  // points say both latency and bandwidth; pass 1: the ones between.
  void add_collectives(int pass) {
    const std::vector<Bytes> sizes =
        pass == 0 ? coarse_payloads() : payloads(limits_.largest_payload);
    for (const Collective collective : kCollectiveOrder) {
      for (const Bytes size : sizes) {
        for (const GroupShape& shape : shapes_) {
          const Placement& place = shape.placement;
          if (collective == Collective::send_recv && place.group_size != 2) continue;
          if (shape.stride > 1 && !is_for_strides(collective, size, pass)) continue;
          add(collective_point(collective, shape, size));
        }
      }
    }
  }

  // Enough to see whether neighbours have wires of their own, and how fast the others are.
  static bool is_for_strides(Collective collective, Bytes size, int pass) {
    return collective == Collective::all_reduce && pass == 0 && size >= mebibytes(1);
  }

  [[nodiscard]] std::vector<Bytes> coarse_payloads() const {
    const std::vector<Bytes> all = payloads(limits_.largest_payload);
    std::vector<Bytes> sizes;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % kCoarse == 0 || i + 1 == all.size()) sizes.push_back(all[i]);
    }
    return sizes;
  }

  static constexpr std::size_t kCoarse = 3;  // every third doubling: factors of 8

  const Workload& workload_;
  const std::vector<GroupShape>& shapes_;
  const SweepLimits& limits_;
  std::vector<MeasuredPoint> points_;
};

}  // namespace

std::vector<MeasuredPoint> planned_points(const Workload& workload,
                                          const std::vector<GroupShape>& shapes,
                                          const SweepLimits& limits) {
  return SweepPlanner(workload, shapes, limits).plan();
}

std::vector<double> step_shares(const Workload& workload, const std::vector<MeasuredPoint>& points,
                                DeviceKind device) {
  const NominalRates rates = nominal_rates(device);
  double step = 0.0;
  std::vector<double> shares(points.size(), 0.0);
  const auto add = [&](double influence, const auto& is_it) {
    step += influence;
    const auto found = std::find_if(points.begin(), points.end(), is_it);
    if (found != points.end())
      shares[static_cast<std::size_t>(found - points.begin())] += influence;
  };
  for (const GemmDemand& d : workload.gemms) {
    add((nominal_time(d, rates) * d.calls).value(), [&](const MeasuredPoint& p) {
      const auto* gemm = p.as<timed::Gemm>();
      return gemm != nullptr && gemm->product.variant == d.variant;
    });
  }
  for (const CollectiveDemand& d : workload.collectives) {
    const Bytes payload = whole_payload(d.payload, d.group_size);
    add((nominal_time(d, rates) * d.calls).value(), [&](const MeasuredPoint& p) {
      const auto* call = p.as<timed::CollectiveCall>();
      return call != nullptr && call->call.collective == d.collective &&
             call->call.group_size == d.group_size && p.amount == payload;
    });
  }
  for (double& share : shares) share = step > 0.0 ? share / step : 0.0;
  return shares;
}

std::vector<Precision> measured_precisions(const Workload& workload, const SweepLimits& limits) {
  std::vector<Precision> wanted = workload.precisions;
  if (limits.device == DeviceKind::cpu) {
    wanted.insert(wanted.end(), {Precision::fp32, Precision::bf16});
  } else {
    wanted.push_back(Precision::bf16);
    const auto is_fp4 = [](Precision p) { return p == Precision::fp4; };
    const bool asks_fp8 =
        workload.precisions.empty() ||
        std::any_of(wanted.begin(), wanted.end(), is_fp4);  // nobody has an fp4 product
    if (asks_fp8) wanted.push_back(Precision::fp8);
  }
  std::vector<Precision> precisions;
  for (const Precision p : wanted) {
    const bool known = std::find(precisions.begin(), precisions.end(), p) != precisions.end();
    if (!known && limits.supports(p)) precisions.push_back(p);
  }
  return precisions;
}

bool is_essential(const MeasuredPoint& point) {
  if (const auto* gemm = point.as<timed::Gemm>()) {
    const GemmShape& s = gemm->product.variant.shape;
    return s.m == kEssentialEdge && s.n == kEssentialEdge && s.k == kEssentialEdge;
  }
  return point.is<timed::KernelLaunch>() || point.is<timed::MemoryCopy>();
}

}  // namespace meshwright::calibrate
