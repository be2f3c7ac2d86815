// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrator.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "calibrate/agenda.h"
#include "calibrate/bench/pair_bench.h"
#include "calibrate/calibrated_machine.h"
#include "calibrate/fit/fit_check.h"
#include "calibrate/launch/rank_hosts.h"
#include "calibrate/measure/other_programs.h"
#include "calibrate/measure/speed_track.h"
#include "calibrate/measure/subjects.h"
#include "calibrate/point_measurer.h"
#include "calibrate/profile/onto.h"
#include "calibrate/profile/system_noise.h"
#include "calibrate/service_check.h"
#include "calibrate/step_check.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {
namespace {

constexpr double kMemoryShare = 1.0 / 8.0;  // of a rank's memory, for one message
constexpr int kMostPairRounds = 7;
constexpr double kSlowdownWorthSaying = 0.05;  // of a host's speed
constexpr std::size_t kLooksPerStep = 2;

std::string loaded_words(const std::optional<OtherProgram>& other, double slowdown) {
  if (!other && slowdown == 1.0) return "";
  std::string words = other ? other_program_words(*other) + " while this host was measured"
                            : "ranks waited for their cores";
  if (slowdown > 1.0) {
    words += fmt::format(": times of kernels and steps are {:.2f} times those of an idle host",
                         slowdown);
  }
  return words + "; calibrate again when it is idle";
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
        hosts_(hosts_of(world)),
        node_of_rank_(node_numbers(hosts_)),
        shapes_(group_shapes(node_of_rank_, is_gpu())),
        measurer_(compute, world, options.measure, shapes_),
        rank_times_(hosts_, local_numbers(node_of_rank_)),
        look_times_(hosts_, local_numbers(node_of_rank_)) {}

  Profile run() {
    Profile profile;
    profile.created = utc_now();
    profile.machine = describe_machine();
    refuse_shared_devices(world_, device_);
    if (options_.onto) check_onto(*options_.onto, measured_cluster(slots(), device_, profile));
    if (!same_nccl_variables(world_, profile.machine)) {
      note("ranks have different NCCL_* variables; rank 0's are in the profile");
    }
    warn_if_busy(profile.machine);
    start_ = steady_clock_seconds() - options_.used_seconds;
    OtherPrograms others(world_);
    const double share = share_with_core(core_waits(), [&] { measure_all(profile); });
    slowdown_ = world_.host_max(1.0 / share);
    if (slowdown_ < 1.0 + kSlowdownWorthSaying) slowdown_ = 1.0;
    const auto other = others.since_last();
    if (!is_gpu()) note_if_any(loaded_words(other, slowdown_));
    compare_ranks(profile);
    finish(profile);
    return profile;
  }

 private:
  // On a GPU the host's cores are not what is timed.
  [[nodiscard]] Clock core_waits() const {
    return is_gpu() ? Clock{} : options_.measure.core_waits;
  }
  [[nodiscard]] double used() const { return steady_clock_seconds() - start_; }

  void measure_all(Profile& profile) {
    // They are of this machine, asked for again or not. Only rank 0 makes a profile.
    profile.points = options_.known;
    const std::vector<MeasuredPoint> tasks = all_points();
    const std::vector<double> shares = step_shares(options_.workload, tasks, device_.device_kind());
    Agenda agenda(options_, tasks, shares);
    make_step_checks();
    std::size_t finished = 0;
    if (world_.rank() == 0) {
      finished = agenda.pass_over_known();
      pass_over_given_up(agenda, tasks);
    }
    for (Decision next = decide(agenda, profile.points); !next.stop;
         next = decide(agenda, profile.points)) {
      const MeasuredPoint& task = tasks[next.point];
      if (world_.rank() == 0) events_.progress(finished++, tasks.size(), used(), task.label());
      look_if_due(tasks);
      if (world_.rank() == 0) events_.begun(task);
      const double before = used();
      const auto result = measurer_.measured(task, {next.limit, next.target_error}, rank_times_);
      const auto* point = std::get_if<MeasuredPoint>(&result);
      agenda.done(next.point, used() - before, point != nullptr);
      if (point == nullptr) {
        leave_out(task, std::get<Unmeasured>(result));
        continue;
      }
      profile.points.push_back(*point);
      measured_at_.push_back((before + used()) / 2.0);
      if (world_.rank() == 0) events_.point(profile.points.back(), used());
    }
    look_if_due(tasks);
    finish_step_checks();
    if (world_.rank() == 0) {
      note_if_any(agenda.left_out());
      too_long_ = agenda.too_long();
    }
    if (!options_.only) profile.not_measured = not_measured(tasks, profile.points);
  }

  // Rank 0 alone: what it lists decides the exit code.
  void pass_over_given_up(Agenda& agenda, const std::vector<MeasuredPoint>& tasks) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const std::string reason = options_.given_up(tasks[i]);
      if (reason.empty()) continue;
      agenda.done(i, 0.0, false);
      drop(tasks[i], reason);
    }
  }

  void leave_out(const MeasuredPoint& task, const Unmeasured& why) {
    if (!why.is_fault) {
      note(fmt::format("{}: not measured, {}", task.label(), why.reason));
      return;
    }
    drop(task, why.reason);
    if (world_.rank() == 0) events_.dropped(task, why.reason);
  }

  void drop(const MeasuredPoint& task, const std::string& reason) {
    dropped_.push_back(fmt::format("{}: {}", task.label(), reason));
    if (world_.rank() == 0) events_.warning("not measured: " + dropped_.back());
  }

  // Of an earlier run that was ended.
  [[nodiscard]] bool is_known(const MeasuredPoint& step) {
    double known = 0.0;
    for (const MeasuredPoint& p : options_.known) {
      if (same_subject(p, step)) known = 1.0;
    }
    world_.host_broadcast(&known, sizeof known, 0);
    return known != 0.0;
  }

  // The model's own steps, on cores: what the points do not say of them.
  void make_step_checks() {
    if (is_gpu() || options_.only) return;
    for (const StepDemand& step : options_.workload.steps) {
      if (is_known(step_passes(step).back())) continue;
      checks_.push_back(std::make_unique<StepCheck>(step, compute_, world_, core_waits()));
    }
    for (const ServiceDemand& service : options_.workload.services) {
      if (is_known(served_steps(service).back())) continue;
      checks_.push_back(std::make_unique<ServiceCheck>(service, compute_, world_, core_waits()));
    }
  }

  // Sizes of a micro-batch and of a replica take turns.
  void run_next_step() {
    if (!checks_.empty()) checks_[next_check_++ % checks_.size()]->run();
  }

  void finish_step_checks() {
    for (const auto& check : checks_) {
      while (!check->has_enough()) check->run();
    }
  }

  // A core's speed moves by the second, by what its neighbours do. A small product whose operands
  // all stay in the cache tells it, before a point whenever a second has passed.
  void look_if_due(const std::vector<MeasuredPoint>& tasks) {
    constexpr double kBetween = 1.0;
    constexpr Patience kLook{.seconds = 0.02};
    if (is_gpu() || options_.only) return;
    double due =
        world_.rank() == 0 && (speed_.empty() || used() - last_look_ >= kBetween) ? 1.0 : 0.0;
    world_.host_broadcast(&due, sizeof due, 0);
    const auto essential = std::find_if(tasks.begin(), tasks.end(), [](const MeasuredPoint& p) {
      return p.is<timed::Gemm>() && is_essential(p);
    });
    if (due == 0.0 || essential == tasks.end()) return;
    MeasuredPoint reference = *essential;
    product_of(reference.subject)->variant.fresh = {.a = true, .b = true, .c = true};
    const auto result = measurer_.measured(reference, kLook, look_times_);
    last_look_ = used();
    if (const auto* point = std::get_if<MeasuredPoint>(&result)) {
      speed_.add(last_look_, point->time().value());
    }
    if (speed_.count() % kLooksPerStep == 0) run_next_step();
  }

  // Times as they would have been at the median speed, with the mean share of other programs. Of an
  // earlier run's points the speed is not known.
  void divide_drift_out(Profile& profile) {
    const std::size_t earlier = profile.points.size() - measured_at_.size();
    for (std::size_t i = 0; i < measured_at_.size(); ++i) {
      MeasuredPoint& point = profile.points[earlier + i];
      const double shared = is_of_one_core(point) ? slowdown_ : 1.0;
      scale(point.measurement, shared / speed_.slowdown_at(measured_at_[i]));
    }
    if (speed_.most() - speed_.least() < kSlowdownWorthSaying) return;
    note(
        fmt::format("this host's speed moved while it was measured: a product took {:.2f} to "
                    "{:.2f} of its median time; "
                    "times are those at the median",
                    speed_.least(), speed_.most()));
  }

  std::vector<MeasuredPoint> all_points() {
    if (options_.only) return *options_.only;
    const Bytes memory = least_free_memory(world_, device_);
    return planned_points(
        options_.workload, shapes_,
        {.memory = memory,
         .device = device_.device_kind(),
         .budget_seconds = options_.budget_seconds,
         .largest_payload = std::min(options_.largest_payload, memory * kMemoryShare),
         .supports = [this](Precision precision) { return compute_.supports(precision); },
         .library = library_abilities(compute_, world_)});
  }

  // Rank 0's clock, and what it knows, decide for all.
  Decision decide(Agenda& agenda, const std::vector<MeasuredPoint>& points) {
    Decision decision;
    if (world_.rank() == 0) decision = agenda.next(points, used());
    world_.host_broadcast(&decision, sizeof decision, 0);
    return decision;
  }

  [[nodiscard]] bool is_gpu() const { return device_.device_kind() == DeviceKind::gpu; }

  void note(const std::string& text) {
    notes_.push_back(text);
    if (world_.rank() == 0) events_.warning(text);
  }

  void note_if_any(const std::string& text) {
    if (!text.empty()) note(text);
  }

  // Half a core's worth of other work is normal on a desktop.
  void warn_if_busy(const MachineDescription& machine) {
    if (machine.load_average <= 0.5 * machine.cores) return;
    note(
        fmt::format("the machine is loaded (load average {:.1f} on {} cores), so times will be too "
                    "long and noisy. Stop other programs and calibrate again",
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

  [[nodiscard]] RankSlots slots() const {
    return {.num_nodes = 1 + *std::max_element(node_of_rank_.begin(), node_of_rank_.end()),
            .num_ranks = world_.size()};
  }

  void finish(Profile& profile) {
    if (!options_.known.empty()) {
      note(fmt::format("{} points are of an earlier run that was ended", options_.known.size()));
    }
    if (world_.rank() == 0) divide_drift_out(profile);
    for (const auto& check : checks_) {
      for (const MeasuredPoint& point : check->points()) {
        profile.points.push_back(point);
        scale(profile.points.back().measurement, slowdown_);
        if (world_.rank() == 0) events_.point(profile.points.back(), used());
      }
    }
    note_if_any(noisy_words(profile.points));
    if (!is_gpu()) {
      const int ranks = world_.size();
      note_if_any(system_noise_words(system_noise(profile.points, ranks), ranks));
    }
    note_if_any(neighbours_words(profile.points));
    note_if_any(throttled_words(profile.points));
    if (compute_.expired_holds() > 0) {
      note(
          fmt::format("the device did not wait for its queue in {} samples: short kernels of these "
                      "were timed at the host's launch rate",
                      compute_.expired_holds()));
    }
    note_if_any(too_long_);
    Cluster cluster = measured_cluster(slots(), device_, profile);
    if (options_.onto) {
      profile.onto = options_.onto->name;
      cluster = put_onto(*options_.onto, cluster);
    }
    profile.num_ranks = world_.size();
    if (world_.rank() == 0) {
      only_device(cluster).step_remainders.clear();
      Assembled assembled = assemble(profile.points, cluster);
      for (const StepDemand& step : options_.workload.steps) {
        predict_operators(step, assembled.cluster, profile.points);
      }
      const ServingCluster serving{assembled.cluster, assembled.inference};
      for (const ServiceDemand& service : options_.workload.services) {
        predict_parts(service, serving, profile.points);
      }
      if (!checks_.empty()) assembled = assemble(profile.points, std::move(cluster));
      profile.cluster = std::move(assembled.cluster);
      profile.fits = std::move(assembled.fits);
      profile.inference = std::move(assembled.inference);
      for (const std::string& words : faster_than_peak(only_device(profile.cluster))) note(words);
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
    profile.dropped = dropped_;
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
  PointMeasurer measurer_;
  RankTimes rank_times_;
  std::vector<std::string> notes_, dropped_;
  double start_ = 0.0;
  double slowdown_ = 1.0;  // of cores that other programs use, too
  std::string too_long_;
  SpeedTrack speed_;
  RankTimes look_times_;
  double last_look_ = 0.0;
  std::vector<std::unique_ptr<WholeStep>> checks_;
  std::size_t next_check_ = 0;
  std::vector<double> measured_at_;  // seconds of the budget, of this run's points
};

}  // namespace

Profile run_calibration(Compute& compute, Communicator& world, const CalibrationOptions& options,
                        const CalibrationEvents& events) {
  return Calibrator(compute, world, options, events).run();
}

}  // namespace meshwright::calibrate
