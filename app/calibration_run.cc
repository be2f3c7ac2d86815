// SPDX-License-Identifier: Apache-2.0
#include "app/calibration_run.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "app/commands/inputs.h"
#include "app/files.h"
#include "app/generated/paths.h"
#include "app/program.h"
#include "calibrate/backends/module.h"
#include "calibrate/profile_json.h"
#include "calibrate/rank_failure.h"
#include "sim/error.h"
#include "sim/names.h"

namespace meshwright::app {
namespace {

constexpr double kProgressEvery = 2.0;  // seconds

// Points on disk as they come: a run that dies leaves what it had.
class PartialFile {
 public:
  explicit PartialFile(std::string path) : path_(std::move(path)), file_(path_, std::ios::trunc) {
    if (!file_) throw InputError("--out", "", "cannot write " + path_);
  }
  void add(const calibrate::MeasuredPoint& point) {
    file_ << calibrate::to_json(point).dump() << '\n' << std::flush;
  }
  void remove() {
    file_.close();
    std::filesystem::remove(path_);
  }

 private:
  std::string path_;
  std::ofstream file_;
};

class Progress {
 public:
  void show(std::size_t done, std::size_t total, double used, double budget,
            const std::string& next) {
    if (done > 0 && used - shown_at_ < kProgressEvery) return;
    shown_at_ = used;
    const double share = static_cast<double>(done) / static_cast<double>(total);
    const double even = done > 0 ? used / share - used : budget;
    fmt::print(stderr, "calibrate: {:3.0f} %, {:.0f} s used, about {:.0f} s left: {}\n",
               100.0 * share, used, std::min(even, std::max(0.0, budget - used)), next);
  }

 private:
  double shown_at_ = 0.0;
};

void print_rates(const Cluster& cluster) {
  const Device& device = cluster.device;
  fmt::print("{} x {}, {:.3g} GB/s memory, {:.3g} us a kernel\n", cluster.num_gpus(), device.name,
             device.memory_bandwidth.value() / 1e9, device.kernel_launch.value() * 1e6);
  for (const GemmModel& model : device.gemm) {
    fmt::print("GEMM {}: {:.4g} GFLOP/s at best over {} shapes, model within {:.0f} %\n",
               name_of(model.precision), model.peak.value() / 1e9, model.points.size(),
               100.0 * model.relative_spread);
  }
  for (const KernelRate& rate : device.kernels) {
    fmt::print("kernel {}: {:.3g} GB/s +- {:.0f} %\n", rate.kernel, rate.rate.value() / 1e9,
               100.0 * rate.relative_spread);
  }
}

void print_curves(const Link& link) {
  for (const CollectiveCurve& curve : link.curves) {
    const CollectivePoint& least = curve.points.front();
    const CollectivePoint& most = curve.points.back();
    fmt::print("{} over {} ranks: {:.3g} us at {:.0f} KiB, {:.3g} GB/s at {:.4g} MiB\n",
               name_of(curve.collective), curve.group_size, least.time.value() * 1e6,
               least.payload / kibibytes(1), (most.payload / most.time).value() / 1e9,
               most.payload / mebibytes(1));
  }
}

void write_profile(calibrate::Profile& profile, const CalibrationRun& run,
                   calibrate::Module& compute, calibrate::Module& network) {
  profile.tool_version = kVersion;
  profile.command = this_command();
  profile.machine.details.emplace_back(compute.name() + "_libraries", compute.libraries());
  profile.machine.details.emplace_back(network.name() + "_libraries", network.libraries());
  write_file_atomically(run.out, calibrate::to_json(profile).dump() + "\n");
  if (run.out == "-") return;
  print_rates(profile.cluster);
  print_curves(profile.cluster.intra_node);
  print_curves(profile.cluster.inter_node);
  fmt::print("{} points, {} notes, in {}\nnext: {}\n", profile.points.size(), profile.notes.size(),
             run.out, run.next);
}

void measure(const CalibrationRun& run, calibrate::Module& compute_module,
             calibrate::Module& network, calibrate::Compute& compute,
             calibrate::Communicator& world) {
  calibrate::CalibrationEvents events;
  std::unique_ptr<PartialFile> partial;
  Progress progress;
  if (world.rank() == 0) {
    partial = std::make_unique<PartialFile>(partial_file(run.out));
    events.point = [&](const calibrate::MeasuredPoint& point) { partial->add(point); };
    events.progress = [&](std::size_t done, std::size_t total, double used,
                          const std::string& next) {
      progress.show(done, total, used, run.options.budget_seconds, next);
    };
    events.warning = [](const std::string& text) { fmt::print(stderr, "warning: {}\n", text); };
  }
  calibrate::Profile profile = calibrate::run_calibration(compute, world, run.options, events);
  if (world.rank() != 0) return;
  write_profile(profile, run, compute_module, network);
  partial->remove();
}

}  // namespace

std::string partial_file(const std::string& out) {
  return (out == "-" ? std::string("profile.json") : out) + ".partial.jsonl";
}

int run_calibration_rank(const CalibrationRun& run, const calibrate::RankPlace& place) {
  calibrate::Module& compute_module = calibrate::open_module(run.backend);
  const std::string reason = compute_module.unavailable();
  if (!reason.empty()) throw SystemError("backend " + run.backend + ": " + reason);
  const auto compute = compute_module.make_compute(place.local_rank);
  calibrate::Module& network =
      calibrate::open_module(calibrate::communication_module(run.backend, place.size));
  const auto world = network.make_world(*compute);
  try {
    measure(run, compute_module, network, *compute, *world);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n",
               calibrate::rank_failure_line(world->rank(), world->host(), error.what()));
    world->abort(kSystemFailure);
  }
  return kDone;
}

}  // namespace meshwright::app
