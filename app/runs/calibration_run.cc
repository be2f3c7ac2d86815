// SPDX-License-Identifier: Apache-2.0
#include "app/runs/calibration_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/output_file.h"
#include "app/files/point_journal.h"
#include "app/files/profile_files.h"
#include "app/runs/rank_machine.h"
#include "calibrate/backends/backend.h"
#include "calibrate/launch/rank_hosts.h"
#include "calibrate/measure/core_wait.h"
#include "calibrate/profile/drift.h"
#include "calibrate/profile/profile_json.h"
#include "calibrate/service_check.h"
#include "calibrate/step_check.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"

namespace meshwright::app {
namespace {

constexpr double kProgressEvery = 2.0;  // seconds

class SweepProgress {
 public:
  void show(std::size_t done, std::size_t total, double used, double budget,
            const std::string& next) {
    if (done > 0 && used - shown_at_ < kProgressEvery) return;
    shown_at_ = used;
    const double share = static_cast<double>(done) / static_cast<double>(total);
    const double even = done > 0 ? used / share - used : budget;
    say("calibrate: {:3.0f} %, {:.0f} s used, about {:.0f} s left: {}\n", 100.0 * share, used,
        std::min(even, std::max(0.0, budget - used)), next);
  }

 private:
  double shown_at_ = 0.0;
};

void print_rates(const Cluster& cluster) {
  const Device& device = only_device(cluster);
  print("{} x {}, {} GB/s memory, {} us per kernel launch\n", cluster.num_gpus(), device.name,
        number_text(device.memory_bandwidth.value() / 1e9, 3),
        number_text(device.kernel_launch.value() * 1e6, 3));
  for (const GemmModel& model : device.gemm) {
    print("GEMM {}: {} GFLOP/s at best over {} shapes, model within {:.0f} %\n",
          name_of(model.precision), number_text(model.peak.value() / 1e9), model.points.size(),
          100.0 * model.relative_spread);
  }
  for (const KernelRate& rate : device.kernels) {
    print("kernel {}: {} GB/s ± {:.0f} %\n", rate.kernel, number_text(rate.rate.value() / 1e9, 3),
          100.0 * rate.relative_spread);
  }
}

void print_curves(const Link& link) {
  for (const CollectiveCurve& curve : link.curves) {
    const CollectivePoint& least = curve.points.front();
    const CollectivePoint& most = curve.points.back();
    print("{} over {} ranks: {} us at {:.0f} KiB, {} GB/s at {} MiB\n", name_of(curve.collective),
          curve.group_size, number_text(least.time.value() * 1e6, 3), least.payload / kibibytes(1),
          number_text((most.payload / most.time).value() / 1e9, 3),
          number_text(most.payload / mebibytes(1)));
  }
}

void write_profile(calibrate::Profile& profile, const CalibrationRun& run,
                   calibrate::Backend& compute, calibrate::Backend& network) {
  profile.tool_version = run.origin.tool_version;
  profile.command = run.origin.command;
  profile.machine.details.emplace_back(compute.name() + "_libraries", compute.libraries());
  profile.machine.details.emplace_back(network.name() + "_libraries", network.libraries());
  write_file_atomically(run.out, calibrate::to_json(profile).dump() + "\n");
  if (run.out == "-") return;
  print_rates(profile.cluster);
  print_curves(profile.cluster.intra_node);
  print_curves(profile.cluster.inter_node);
  for (const calibrate::StepDemand& step : run.options.workload.steps) {
    const std::string words = calibrate::remainder_words(step, profile.points);
    if (!words.empty()) print("{}\n", words);
  }
  for (const calibrate::ServiceDemand& service : run.options.workload.services) {
    const std::string words = calibrate::remainder_words(service, profile.points);
    if (!words.empty()) print("{}\n", words);
  }
  if (!profile.not_measured.empty()) {
    const std::string missing = fmt::format("{}", fmt::join(profile.not_measured, ", "));
    print("NOT MEASURED: {}\n", missing);
  }
  for (const std::string& point : profile.dropped) print("DROPPED: {}\n", point);
  print("{} points, {} notes, in {}\nnext: {}\n", profile.points.size(), profile.notes.size(),
        run.out, run.next);
}

// Rank 0's part around the measuring: the journal, progress and warnings.
class Chronicle {
 public:
  Chronicle(const CalibrationRun& run, const JournalOwner& owner) : run_(run) {
    const std::string path = partial_file(run.out);
    std::string refused;
    content_ = read_journal(path, owner, refused);
    if (!refused.empty()) {
      say("warning: {} {}; ignoring it and starting a new file\n", path, refused);
    }
    if (!content_.points.empty()) {
      say("calibrate: continuing after {} points in {}\n", content_.points.size(), path);
    }
    journal_ = std::make_unique<PointJournal>(path, owner, content_);
  }

  [[nodiscard]] const JournalContent& earlier() const { return content_; }
  [[nodiscard]] PointJournal& journal() { return *journal_; }

  calibrate::CalibrationEvents events() {
    calibrate::CalibrationEvents events;
    events.begun = [this](const calibrate::MeasuredPoint& point) { journal_->begin(point); };
    events.dropped = [this](const calibrate::MeasuredPoint& point, const std::string& reason) {
      journal_->drop(point, reason);
    };
    events.point = [this](const calibrate::MeasuredPoint& point, double used) {
      keep(point, used);
    };
    events.progress = [this](std::size_t done, std::size_t total, double used,
                             const std::string& next) {
      progress_.show(done, total, used, run_.options.budget_seconds, next);
    };
    events.warning = [](const std::string& text) { say("warning: {}\n", text); };
    return events;
  }

 private:
  // A disk that is full for a while costs no measurement; that it is full is said once.
  void keep(const calibrate::MeasuredPoint& point, double used) {
    const std::string error = journal_->add(point, used);
    if (error.empty() || warned_) return;
    warned_ = true;
    say("warning: {}: cannot be written: {}; measuring continues, but the points since "
        "then would be lost if it stopped now\n",
        partial_file(run_.out), error);
  }

  const CalibrationRun& run_;
  JournalContent content_;
  std::unique_ptr<PointJournal> journal_;
  bool warned_ = false;
  SweepProgress progress_;
};

calibrate::CalibrationOptions options_of(const CalibrationRun& run) {
  calibrate::CalibrationOptions options = run.options;
  options.measure.core_waits = calibrate::seconds_without_core;
  return options;
}

// Tells whether no point was dropped; all ranks know.
bool calibrate_machine(const CalibrationRun& run, RankMachine& machine) {
  auto& [compute_backend, network, compute, world] = machine;
  const JournalOwner owner{compute.describe().name, run.backend, calibrate::hosts_of(world)};
  calibrate::CalibrationOptions options = options_of(run);
  calibrate::CalibrationEvents events;
  std::unique_ptr<Chronicle> chronicle;
  if (world.rank() == 0) {
    chronicle = std::make_unique<Chronicle>(run, owner);
    events = chronicle->events();
    options.known = chronicle->earlier().points;
    options.used_seconds = chronicle->earlier().used_seconds;
    options.given_up = [&](const calibrate::MeasuredPoint& point) {
      return chronicle->earlier().given_up(point);
    };
  }
  calibrate::Profile profile = calibrate::run_calibration(compute, world, options, events);
  if (world.rank() == 0) {
    write_profile(profile, run, compute_backend, network);
    chronicle->journal().remove();
  }
  bool is_whole = profile.dropped.empty();
  world.host_broadcast(&is_whole, sizeof is_whole, 0);
  return is_whole;
}

void print_drift(const calibrate::DriftReport& report) {
  for (const calibrate::GroupDrift& d : report.groups) {
    print("{:30} new / old time {:.3f}, noise {:.0f} %, {} points{}\n", d.group, d.time_ratio,
          100.0 * d.noise, d.points, d.drifted ? ": DRIFTED" : "");
  }
  print("{}\n", report.sentence());
}

// Tells whether the profile holds; all ranks know.
bool check_machine(const CalibrationRun& run, calibrate::Compute& compute,
                   calibrate::Communicator& world) {
  const calibrate::Profile before = load_profile(run.check);
  calibrate::CalibrationOptions options = options_of(run);
  options.only = calibrate::drift_sample(before.points);
  SweepProgress progress;
  calibrate::CalibrationEvents events;
  if (world.rank() == 0) {
    events.progress = [&](std::size_t done, std::size_t total, double used,
                          const std::string& next) {
      progress.show(done, total, used, options.budget_seconds, next);
    };
    events.warning = [](const std::string& text) { say("warning: {}\n", text); };
  }
  const calibrate::Profile again = calibrate::run_calibration(compute, world, options, events);
  const auto report = calibrate::compare_points(before.points, again.points, run.max_drift);
  bool holds = report.holds();
  if (world.rank() == 0) print_drift(report);
  world.host_broadcast(&holds, sizeof holds, 0);
  return holds;
}

}  // namespace

std::string partial_file(const std::string& out) {
  return (is_kept(out) ? out : std::string("profile.json")) + ".partial.jsonl";
}

int run_calibration_rank(const CalibrationRun& run, const calibrate::RankPlace& place, bool ours) {
  return on_rank_machine(run.backend, place, run.rank_timeout, [&](RankMachine& machine) {
    if (run.check.empty()) {
      if (calibrate_machine(run, machine)) return kDone;
      return ours ? kRankDroppedPoints : kGateFailed;
    }
    if (check_machine(run, machine.compute, machine.world)) return kDone;
    return ours ? kRankSawDrift : kGateFailed;
  });
}

}  // namespace meshwright::app
