// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrator.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "calibrate/bench/overlap_bench.h"
#include "calibrate/bench/pair_bench.h"
#include "calibrate/bench/point_bench.h"
#include "calibrate/budget.h"
#include "calibrate/calibrated_machine.h"
#include "calibrate/fit/fit_check.h"
#include "calibrate/launch/rank_hosts.h"
#include "calibrate/launch/rank_progress.h"
#include "calibrate/measure/rank_times.h"
#include "calibrate/measure/subjects.h"
#include "calibrate/profile/onto.h"
#include "sim/base/error.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {
namespace {

constexpr double kShortestPoint = 0.02, kLongestPoint = 1.0;  // seconds
constexpr double kGpuSample = 3e-3, kSustainedSeconds = 1.0;
// A point may take this much more than an even share: most stop early, when they are steady.
constexpr double kGenerous = 2.0;
// Of the budget: a collective that is expected to take more than this is left out.
constexpr double kLargestShare = 1.0 / 60.0;
constexpr double kMemoryShare = 1.0 / 8.0;  // of a rank's memory, for one message
constexpr int kMostPairRounds = 7;

// What rank 0 decides to measure next.
struct Decision {
  std::size_t point = 0;
  double limit = 0.0;  // seconds
  bool stop = false;   // there is no point
};

class Calibrator {
 public:
  Calibrator(Compute& compute, Communicator& world, const CalibrationOptions& options,
             const CalibrationEvents& events)
      : compute_(compute),
        world_(world),
        options_(options),
        events_(events),
        device_(compute.describe()),
        hosts_(hosts_of(world)),
        node_of_rank_(node_numbers(hosts_)),
        shapes_(group_shapes(node_of_rank_, is_gpu())),
        groups_(shapes_.size()),
        is_made_(shapes_.size()),
        rank_times_(hosts_, local_numbers(node_of_rank_)) {}

  Profile run() {
    Profile profile;
    profile.created = utc_now();
    profile.machine = describe_machine();
    refuse_shared_devices(world_, device_);
    if (options_.onto) check_onto(*options_.onto, measured_cluster(seats(), device_, profile));
    if (!same_nccl_variables(world_, profile.machine)) {
      note("ranks have different NCCL_* variables; rank 0's are in the profile");
    }
    warn_if_busy(profile.machine);
    start_ = steady_clock_seconds() - options_.used_seconds;
    measure_all(profile);
    compare_ranks(profile);
    finish(profile);
    return profile;
  }

 private:
  [[nodiscard]] double used() const { return steady_clock_seconds() - start_; }

  void measure_all(Profile& profile) {
    // They are of this machine, asked for again or not. Only rank 0 makes a profile.
    profile.points = options_.known;
    const std::vector<MeasuredPoint> tasks = all_points();
    Budget budget(tasks);
    std::size_t finished = 0;
    if (world_.rank() == 0) finished = pass_over_known(tasks, budget);
    for (Decision next = decide(tasks, profile.points, budget); !next.stop;
         next = decide(tasks, profile.points, budget)) {
      const MeasuredPoint& task = tasks[next.point];
      if (world_.rank() == 0) events_.progress(finished++, tasks.size(), used(), task.label());
      const double before = used();
      const std::optional<MeasuredPoint> point = measured(task, next.limit);
      budget.done(next.point, used() - before, point.has_value());
      if (!point) continue;
      profile.points.push_back(*point);
      if (world_.rank() == 0) events_.point(profile.points.back(), used());
    }
    if (!options_.only) profile.not_measured = not_measured(tasks, profile.points);
  }

  // What an earlier run measured, at about the time that it took.
  std::size_t pass_over_known(const std::vector<MeasuredPoint>& tasks, Budget& budget) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto known =
          std::find_if(options_.known.begin(), options_.known.end(),
                       [&](const MeasuredPoint& p) { return same_subject(p, tasks[i]); });
      if (known == options_.known.end()) continue;
      const Measurement& m = known->measurement;
      budget.done(i, m.summary.median.value() * m.summary.count * m.repetitions, true);
      ++count;
    }
    return count;
  }

  std::vector<MeasuredPoint> all_points() {
    if (options_.only) return *options_.only;
    return planned_points(
        options_.workload, shapes_,
        {.memory = device_.free_memory,
         .device = device_.device_kind(),
         .budget_seconds = options_.budget_seconds,
         .largest_payload = std::min(options_.largest_payload, device_.free_memory * kMemoryShare),
         .cache = device_.cache,
         .supports = [this](Precision precision) { return compute_.supports(precision); }});
  }

  // Rank 0's clock, and what it knows, decide for all.
  Decision decide(const std::vector<MeasuredPoint>& tasks, const std::vector<MeasuredPoint>& points,
                  Budget& budget) {
    Decision decision;
    if (world_.rank() == 0) decision = next_of(tasks, points, budget);
    world_.host_broadcast(&decision, sizeof decision, 0);
    return decision;
  }

  Decision next_of(const std::vector<MeasuredPoint>& tasks,
                   const std::vector<MeasuredPoint>& points, Budget& budget) {
    for (;;) {
      const double remaining = options_.budget_seconds - used();
      const bool check_is_over = options_.only && remaining <= 0.0;
      const auto next = check_is_over ? std::nullopt : budget.next(remaining > 0.0);
      if (!next) {
        left_out(tasks, budget);
        return {.stop = true};
      }
      if (budget.is_needed(*next) ||
          expected_seconds(tasks[*next], points) <= kLargestShare * options_.budget_seconds) {
        const double even = kGenerous * budget.even_share(*next, std::max(0.0, remaining));
        return {.point = *next, .limit = std::clamp(even, kShortestPoint, kLongestPoint)};
      }
      ++too_long_;
      budget.done(*next, 0.0, false);
    }
  }

  // Of all its samples, as much longer than the nearest smaller payload's as there is more to move.
  [[nodiscard]] double expected_seconds(const MeasuredPoint& task,
                                        const std::vector<MeasuredPoint>& points) const {
    if (task.kind != PointKind::collective) return 0.0;
    const MeasuredPoint* nearest = nullptr;
    for (const MeasuredPoint& p : points) {
      MeasuredPoint same_size = p;
      same_size.amount = task.amount;
      if (!same_subject(same_size, task) || p.amount > task.amount) continue;
      if (nearest == nullptr || p.amount > nearest->amount) nearest = &p;
    }
    if (nearest == nullptr) return 0.0;
    const int samples = options_.measure.warmup + options_.measure.stop.min_samples;
    return samples * (nearest->time() * (task.amount / nearest->amount)).value();
  }

  // This rank's group of this shape, null where it waits; made when first needed, by all ranks
  // together.
  Communicator* group_of(std::size_t shape) {
    if (!is_made_[shape]) {
      const int color = shapes_[shape].color_of_rank[static_cast<std::size_t>(world_.rank())];
      groups_[shape] = world_.split(color < 0 ? kNoGroup : color, world_.rank());
      is_made_[shape] = true;
    }
    return groups_[shape].get();
  }

  [[nodiscard]] std::size_t shape_of(const MeasuredPoint& point) const {
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const Placement& p = shapes_[i].placement;
      if (p.tier() == point.tier && p.group_size == point.group_size &&
          p.ranks_per_node == point.ranks_per_node && p.groups_per_node == point.groups_per_node &&
          shapes_[i].stride == point.stride) {
        return i;
      }
    }
    throw SystemError(fmt::format("{}: these ranks form no such groups", point.label()),
                      "start as many ranks on as many nodes as the profile was measured with");
  }

  // Null on a rank that waits.
  std::unique_ptr<Bench> bench_for(const MeasuredPoint& task) {
    if (task.kind != PointKind::collective) return make_point_bench(compute_, world_, task);
    Communicator* group = group_of(shape_of(task));
    return group == nullptr ? nullptr : make_point_bench(compute_, *group, task);
  }

  // Events tell a GPU's time to half a microsecond: samples of some milliseconds make that, and the
  // start of the first kernel, less than a thousandth.
  [[nodiscard]] MeasureOptions limited(double limit) const {
    MeasureOptions options = options_.measure;
    if (is_gpu()) options.shortest_sample = std::max(options.shortest_sample, kGpuSample);
    options.stop.max_seconds = limit;
    options.stop.min_seconds = std::min(options.stop.min_seconds, limit / 4.0);
    return options;
  }

  [[nodiscard]] MeasureOptions options_for(const MeasuredPoint& task, double limit) const {
    if (task.kind != PointKind::sustained_gemm) return limited(limit);
    MeasureOptions options = limited(kSustainedSeconds);
    options.warmup_seconds = kSustainedSeconds;
    return options;
  }

  [[nodiscard]] bool is_gpu() const { return device_.device_kind() == DeviceKind::gpu; }

  // Of all ranks' devices while they work: the least clock, the most power, all reasons.
  DeviceState state_at_work(Bench* bench, int repetitions) {
    if (!is_gpu()) return {};
    if (bench != nullptr) bench->start(repetitions);
    const DeviceState mine = compute_.state();
    compute_.synchronize();
    std::vector<DeviceState> all(static_cast<std::size_t>(world_.size()));
    world_.host_gather(&mine, all.data(), sizeof mine);
    return combined(all);
  }

  // Empty, on all ranks, where one of them has not the memory.
  std::optional<MeasuredPoint> measured(const MeasuredPoint& task, double limit) {
    if (task.kind == PointKind::overlap) return measured_overlap(task, limit);
    MeasuredPoint point = task;
    const Operation operation = operation_of(task);
    begin_operation(operation);
    std::unique_ptr<Bench> bench;
    if (!have_memory([&] { bench = bench_for(task); })) {
      note(fmt::format("{}: not measured, a device has not enough free memory", task.label()));
      return std::nullopt;
    }
    begin_operation(operation);
    check(bench.get());
    const auto work = [&](int repetitions) {
      begin_operation(operation);
      if (bench) bench->start(repetitions);
    };
    point.measurement = measure(world_, device_timer(compute_), work, options_for(task, limit));
    point.state = state_at_work(bench.get(), point.measurement.repetitions);
    point.in_cache = bench != nullptr && bench->is_warm();
    scale(point.measurement.summary, bench ? 1.0 / bench->units() : 1.0);
    rank_times_.add(point, gathered(world_, point.measurement.own_median.value()));
    if (task.kind == PointKind::collective && bench) {
      point.algorithm = group_of(shape_of(task))->chosen_algorithm();
    }
    return point;
  }

  // Collective, as what is made has to be.
  template <typename Make>
  bool have_memory(const Make& make) {
    double lacking = 0.0;
    try {
      make();
    } catch (const OutOfMemory&) {
      lacking = 1.0;
    }
    return world_.host_max(lacking) == 0.0;
  }

  MeasuredPoint measured_overlap(const MeasuredPoint& task, double limit) {
    Communicator* group = group_of(shape_of(task));
    invariant(group != nullptr, "an overlap over groups in which a rank waits");
    MeasuredPoint point = measure_overlap(compute_, world_, *group, task, limited(limit));
    return point;
  }

  static Operation operation_of(const MeasuredPoint& task) {
    return {.name = name_of(task.kind).data(),
            .amount = task.amount,
            .slow = slow_transfer(task.amount) +
                    (task.multiplies() ? slow_product(gemm_flops(task.shape)) : Seconds{})};
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

  void left_out(const std::vector<MeasuredPoint>& tasks, const Budget& budget) {
    const auto first = budget.next(true);
    if (!first) return;
    note(fmt::format(
        "the budget of {:.0f} s was used up with {} points left out, from {} on; they will be "
        "interpolated; --budget gives more time",
        options_.budget_seconds, budget.num_left(), tasks[*first].label()));
  }

  // Half a core's worth of other work is normal on a desktop.
  void warn_if_busy(const MachineDescription& machine) {
    if (machine.load_average <= 0.5 * machine.cores) return;
    note(
        fmt::format("the machine is busy (load average {:.1f} on {} cores), times will be too long "
                    "and noisy; stop other programs and calibrate again",
                    machine.load_average, machine.cores));
  }

  // With fewer than three ranks nobody can be told from the others.
  void compare_ranks(Profile& profile) {
    profile.ranks = rank_times_.speeds();
    if (world_.size() < 3 || options_.only) return;
    const Bytes message = device_.device_kind() == DeviceKind::gpu ? mebibytes(16) : mebibytes(1);
    const auto pairs =
        measure_pairs(compute_, world_, pair_rounds(node_of_rank_, kMostPairRounds), message);
    profile.stragglers = find_stragglers(profile.ranks, pairs);
    for (const Straggler& straggler : profile.stragglers) note(straggler.sentence);
  }

  [[nodiscard]] Seats seats() const {
    return {.num_nodes = 1 + *std::max_element(node_of_rank_.begin(), node_of_rank_.end()),
            .num_ranks = world_.size()};
  }

  void finish(Profile& profile) {
    if (!options_.known.empty()) {
      note(fmt::format("{} points are of an earlier run that was ended", options_.known.size()));
    }
    const std::string noisy = noisy_words(profile.points);
    if (!noisy.empty()) note(noisy);
    const std::string neighbours = neighbours_words(profile.points);
    if (!neighbours.empty()) note(neighbours);
    const std::string throttled = throttled_words(profile.points);
    if (!throttled.empty()) note(throttled);
    if (too_long_ > 0) {
      note(
          fmt::format("{} large collectives would each have taken more than {:.0f} % of the budget "
                      "and were left out; they will be extrapolated; --budget gives more time",
                      too_long_, 100.0 * kLargestShare));
    }
    Cluster cluster = measured_cluster(seats(), device_, profile);
    if (options_.onto) {
      profile.onto = options_.onto->name;
      cluster = put_onto(*options_.onto, cluster);
    }
    profile.num_ranks = world_.size();
    if (world_.rank() == 0) {
      Assembled assembled = assemble(profile.points, std::move(cluster));
      profile.cluster = std::move(assembled.cluster);
      profile.fits = std::move(assembled.fits);
      for (const std::string& words : faster_than_peak(profile.cluster.device)) note(words);
      for (const FitCheck& check : check_fits(profile.cluster)) {
        if (!check.describes() && !options_.only) note(check.sentence());
      }
    }
    if (!profile.not_measured.empty()) {
      const std::string instead =
          profile.onto.empty() ? "" : fmt::format(", as {} has it", profile.onto);
      note(fmt::format("not measured{}: {}; --budget gives more time", instead,
                       fmt::join(profile.not_measured, ", ")));
    }
    profile.notes = notes_;
    profile.machine.details = device_.details;
    const std::string nvls = reduction_in_switch(profile.points);
    if (!nvls.empty()) profile.machine.details.emplace_back("nvls", nvls);
  }

  Compute& compute_;
  Communicator& world_;
  const CalibrationOptions& options_;
  const CalibrationEvents& events_;
  DeviceDescription device_;
  std::vector<std::string> hosts_;
  std::vector<int> node_of_rank_;
  std::vector<GroupShape> shapes_;
  std::vector<std::unique_ptr<Communicator>> groups_;
  std::vector<bool> is_made_;
  RankTimes rank_times_;
  std::vector<std::string> notes_;
  double start_ = 0.0;
  int too_long_ = 0;
};

}  // namespace

Profile run_calibration(Compute& compute, Communicator& world, const CalibrationOptions& options,
                        const CalibrationEvents& events) {
  return Calibrator(compute, world, options, events).run();
}

}  // namespace meshwright::calibrate
