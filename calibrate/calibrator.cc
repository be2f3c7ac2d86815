// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/bench/collective_bench.h"
#include "calibrate/bench/memory_bench.h"
#include "sim/error.h"
#include "sim/names.h"

namespace meshwright::calibrate {
namespace {

// Of a rank's memory, for one copy bench's two arrays or one GEMM.
constexpr double kMemoryShare = 1.0 / 8.0;
// Larger than any cache that one core may have to itself.
constexpr Bytes kLargeCopy = mebibytes(256);
constexpr double kShortestPoint = 0.02, kLongestPoint = 1.0;  // seconds
// A point may take this much more than an even share: most stop early, when they are steady.
constexpr double kGenerous = 2.0;

struct Task {
  MeasuredPoint point;                             // what, without its measurement
  std::function<std::unique_ptr<Bench>()> make{};  // null on a rank that waits
};

constexpr std::array kCollectiveOrder{Collective::all_reduce, Collective::send_recv,
                                      Collective::all_gather, Collective::reduce_scatter,
                                      Collective::all_to_all, Collective::broadcast};

std::vector<std::string> hosts_of(Communicator& world) {
  constexpr std::size_t kLength = 256;
  std::string mine = world.host();
  mine.resize(kLength);
  std::vector<char> all(kLength * static_cast<std::size_t>(world.size()));
  world.host_gather(mine.data(), all.data(), kLength);
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < all.size(); at += kLength) hosts.emplace_back(all.data() + at);
  return hosts;
}

class Calibrator {
 public:
  Calibrator(Compute& compute, Communicator& world, const CalibrationOptions& options,
             const CalibrationEvents& events)
      : compute_(compute),
        world_(world),
        options_(options),
        events_(events),
        device_(compute.describe()),
        node_of_rank_(node_numbers(hosts_of(world))) {
    for (const GroupPlan& plan : group_plans(node_of_rank_)) {
      const int color = plan.color_of_rank[static_cast<std::size_t>(world.rank())];
      groups_.push_back(world.split(color < 0 ? world.size() : color, world.rank()));
      plans_.push_back(plan);
    }
  }

  Profile run() {
    Profile profile;
    profile.created = utc_now();
    profile.machine = describe_machine();
    warn_if_busy(profile.machine);
    const double start = steady_clock_seconds();
    const std::vector<Task> tasks = all_tasks();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const double used = steady_clock_seconds() - start;
      const double limit = point_limit(used, tasks.size() - i);
      if (limit <= 0.0) {
        left_out(tasks.size() - i, tasks[i].point.label());
        break;
      }
      if (world_.rank() == 0) events_.progress(i, tasks.size(), used, tasks[i].point.label());
      profile.points.push_back(measured(tasks[i], limit));
      if (world_.rank() == 0) events_.point(profile.points.back());
    }
    finish(profile);
    return profile;
  }

 private:
  // Rank 0's clock decides for all; 0 when the budget is used up.
  double point_limit(double used, std::size_t left) {
    const double remaining = options_.budget_seconds - used;
    double limit = std::clamp(kGenerous * remaining / static_cast<double>(left), kShortestPoint,
                              kLongestPoint);
    if (remaining <= 0.0) limit = 0.0;
    world_.host_broadcast(&limit, sizeof limit, 0);
    return limit;
  }

  MeasuredPoint measured(const Task& task, double limit) {
    MeasuredPoint point = task.point;
    const std::unique_ptr<Bench> bench = task.make ? task.make() : nullptr;
    check(bench.get());
    MeasureOptions options = options_.measure;
    options.stop.max_seconds = limit;
    options.stop.min_seconds = std::min(options.stop.min_seconds, limit / 4.0);
    const auto work = [&](int repetitions) {
      if (bench) bench->run(repetitions);
    };
    point.measurement = measure(world_, steady_clock_seconds, work, options);
    scale(point.measurement.summary, bench ? 1.0 / bench->units() : 1.0);
    note_noise(point);
    return point;
  }

  // Every rank learns of a wrong result, so that all of them end.
  void check(Bench* bench) {
    const std::string wrong = bench == nullptr ? "" : bench->check();
    if (!wrong.empty()) throw SystemError("wrong result: " + wrong);
    world_.barrier();
  }

  static void scale(Summary& summary, double factor) {
    for (Seconds* time : {&summary.median, &summary.min, &summary.p10, &summary.p90}) {
      *time *= factor;
    }
  }

  void note(const std::string& text) {
    notes_.push_back(text);
    if (world_.rank() == 0) events_.warning(text);
  }

  void note_noise(const MeasuredPoint& point) {
    const Measurement& m = point.measurement;
    if (!m.noisy) return;
    note(
        fmt::format("{}: measured twice and still noisy, {:.0f} % spread: other programs on this "
                    "machine, or more ranks than cores; --budget gives more samples",
                    point.label(), 100.0 * m.summary.relative_spread));
  }

  void left_out(std::size_t count, const std::string& first) {
    note(
        fmt::format("the budget of {:.0f} s was used up with {} points left out, from {} on; they "
                    "will be interpolated; --budget gives more time",
                    options_.budget_seconds, count, first));
  }

  // Half a core's worth of other work is normal on a desktop.
  void warn_if_busy(const MachineDescription& machine) {
    if (machine.load_average <= 0.5 * machine.cores) return;
    note(
        fmt::format("the machine is busy (load average {:.1f} on {} cores), times will be too long "
                    "and noisy; stop other programs and calibrate again",
                    machine.load_average, machine.cores));
  }

  std::vector<Task> all_tasks() {
    std::vector<Task> tasks;
    add_memory(tasks);
    // However short the budget, a profile has some rate for each number format.
    add_gemms(tasks, {{.shape = {1, 256, 256, 256}}, {.shape = {1, 512, 512, 512}}});
    add_kernels(tasks);
    add_gemms(tasks, ordered_gemms(options_.workload.gemms));
    add_collectives(tasks);
    add_gemms(tasks, general_gemms(device_.num_multiprocessors));
    return tasks;
  }

  [[nodiscard]] MeasuredPoint of_kind(PointKind kind, Bytes amount) const {
    MeasuredPoint point;
    point.kind = kind;
    point.amount = amount;
    return point;
  }

  void add_memory(std::vector<Task>& tasks) {
    const Bytes size = std::min(kLargeCopy, device_.memory * (kMemoryShare / 2.0));
    tasks.push_back({of_kind(PointKind::kernel_launch, bytes(12)),
                     [this] { return make_launch_bench(compute_); }});
    tasks.push_back({of_kind(PointKind::memory_copy, size * 2.0),
                     [this, size] { return make_copy_bench(compute_, size); }});
    tasks.push_back({of_kind(PointKind::host_link, size),
                     [this, size] { return make_upload_bench(compute_, size); }});
  }

  void add_kernels(std::vector<Task>& tasks) {
    std::vector<KernelSizes> sizes = options_.workload.kernels;
    if (sizes.empty())
      sizes = {KernelSizes{},
               KernelSizes{.positions = 512, .hidden = 1024, .ffn = 4096, .heads = 16}};
    for (const KernelSizes& size : sizes) {
      for (const KernelCase& c : kernel_cases(size)) {
        if (c.traffic > device_.memory * kMemoryShare) continue;
        MeasuredPoint point = of_kind(PointKind::kernel, c.traffic);
        point.kernel = c.kernel;
        point.launches = c.launches;
        tasks.push_back({point, [this, size, kernel = c.kernel] {
                           return make_kernel_bench(compute_, kernel, size);
                         }});
      }
    }
  }

  void add_gemms(std::vector<Task>& tasks, const std::vector<GemmVariant>& variants) {
    for (const GemmVariant& variant : variants) {
      for (const Precision precision : options_.workload.precisions) {
        const bool known = std::any_of(tasks.begin(), tasks.end(), [&](const Task& t) {
          return is(t.point, variant, precision);
        });
        const bool fits = gemm_memory(variant.shape, precision) <= device_.memory * kMemoryShare &&
                          gemm_flops(variant.shape) <= largest_product();
        if (known || !fits || !multiplies(variant.shape, precision)) continue;
        MeasuredPoint point = of_kind(PointKind::gemm, gemm_memory(variant.shape, precision));
        point.precision = precision;
        point.shape = variant.shape;
        point.transpose_a = variant.transpose_a;
        point.transpose_b = variant.transpose_b;
        point.accumulate = variant.accumulate;
        tasks.push_back({point, [this, variant, precision] {
                           return make_gemm_bench(compute_, variant, precision);
                         }});
      }
    }
  }

  // fp8 units take whole tiles of 16 (cuBLASLt's rule for its fp8 kernels).
  [[nodiscard]] bool multiplies(const GemmShape& s, Precision precision) const {
    const bool whole_tiles = s.m % 16 == 0 && s.n % 16 == 0 && s.k % 16 == 0;
    return compute_.supports(precision) && (precision != Precision::fp8 || whole_tiles);
  }

  // One product may take a hundredth of the budget, at a rate that any core or GPU reaches.
  [[nodiscard]] Flops largest_product() const {
    const double rate = device_.num_multiprocessors > 1 ? 5e13 : 5e10;
    return flops(rate * options_.budget_seconds / 100.0);
  }

  static bool is(const MeasuredPoint& p, const GemmVariant& v, Precision precision) {
    const GemmVariant other{p.shape, p.transpose_a, p.transpose_b, p.accumulate};
    return p.kind == PointKind::gemm && p.precision == precision && other == v;
  }

  void add_collectives(std::vector<Task>& tasks) {
    for (const Collective collective : kCollectiveOrder) {
      for (std::size_t g = 0; g < plans_.size(); ++g) {
        if (collective == Collective::send_recv && plans_[g].group_size != 2) continue;
        add_curve(tasks, collective, g);
      }
    }
  }

  void add_curve(std::vector<Task>& tasks, Collective collective, std::size_t g) {
    const GroupPlan& plan = plans_[g];
    for (const Bytes size : payloads(options_.largest_payload)) {
      const Bytes whole = whole_payload(size, plan.group_size);
      MeasuredPoint point = of_kind(PointKind::collective, whole);
      point.collective = collective;
      point.tier = plan.tier;
      point.group_size = plan.group_size;
      Task task{point};
      if (plan.color_of_rank[static_cast<std::size_t>(world_.rank())] >= 0) {
        task.make = [this, g, collective, whole] {
          return make_collective_bench(compute_, *groups_[g], collective, whole);
        };
      }
      tasks.push_back(std::move(task));
    }
  }

  void finish(Profile& profile) {
    Cluster cluster;
    cluster.name = profile.machine.host;
    cluster.source = "measured " + profile.created;
    cluster.num_nodes = 1 + *std::max_element(node_of_rank_.begin(), node_of_rank_.end());
    cluster.gpus_per_node = world_.size() / cluster.num_nodes;
    cluster.device.name = device_.name;
    cluster.device.source = cluster.source;
    cluster.device.num_multiprocessors = device_.num_multiprocessors;
    cluster.device.memory = device_.memory;
    cluster.intra_node.name = device_.kind == "cpu" ? "shared memory" : "device links";
    cluster.inter_node.name = "network";
    Assembled assembled = assemble(profile.points, std::move(cluster));
    profile.cluster = std::move(assembled.cluster);
    profile.fits = std::move(assembled.fits);
    profile.notes = notes_;
    profile.machine.details = device_.details;
  }

  Compute& compute_;
  Communicator& world_;
  const CalibrationOptions& options_;
  const CalibrationEvents& events_;
  DeviceDescription device_;
  std::vector<int> node_of_rank_;
  std::vector<GroupPlan> plans_;
  std::vector<std::unique_ptr<Communicator>> groups_;
  std::vector<std::string> notes_;
};

}  // namespace

Profile run_calibration(Compute& compute, Communicator& world, const CalibrationOptions& options,
                        const CalibrationEvents& events) {
  return Calibrator(compute, world, options, events).run();
}

}  // namespace meshwright::calibrate
