// SPDX-License-Identifier: Apache-2.0
// Measures a machine: all ranks work at once, as a job would, and the slowest one counts.
//
// calibrate/sweep.h chooses the points and their order. Each result is checked before its time
// counts: a wrong one drops its point, and the others go on. Each point is passed on at once. A
// point that is noisy twice is kept and flagged. The times of all ranks and links are compared, and
// slow ones are named.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/measure/measurement.h"
#include "calibrate/profile/profile.h"
#include "calibrate/sweep.h"

namespace meshwright::calibrate {

struct CalibrationOptions {
  double budget_seconds = 60.0;  // of measuring; what does not fit is left out, with a note
  Workload workload{};  // GEMMs and collectives of a model; measured before the general grid
  Bytes largest_payload = gibibytes(1);  // or what memory and budget allow
  MeasureOptions measure{};
  std::optional<std::vector<MeasuredPoint>> only{};  // these instead of a sweep
  std::optional<Cluster> onto{};  // numbers that are not measured stay those of this cluster
  // Points of an earlier, interrupted run of the same calibration. They are not measured again, and
  // their time counts. Only those of rank 0 are read.
  std::vector<MeasuredPoint> known{};
  double used_seconds = 0.0;  // seconds of the budget that an earlier run used
  // Why an earlier run had no time of this point, so that it is not tried again; empty: it may be.
  // Only rank 0 is asked.
  std::function<std::string(const MeasuredPoint&)> given_up = [](const MeasuredPoint&) {
    return std::string();
  };
};

// Called on rank 0 only.
struct CalibrationEvents {
  // `used`: seconds of the budget.
  // The point is about to be measured.
  std::function<void(const MeasuredPoint&)> begun = [](const MeasuredPoint&) {};
  // It has no time: a library refused it, or computed something wrong.
  std::function<void(const MeasuredPoint&, const std::string& reason)> dropped =
      [](const MeasuredPoint&, const std::string&) {};
  std::function<void(const MeasuredPoint&, double used)> point = [](const MeasuredPoint&, double) {
  };
  // done of total points, seconds used; `next` is about to be measured.
  std::function<void(std::size_t done, std::size_t total, double used, const std::string& next)>
      progress = [](std::size_t, std::size_t, double, const std::string&) {};
  std::function<void(const std::string&)> warning = [](const std::string&) {};
};

// Collective over `world`. Rank 0's profile is complete but for tool version and command. What a
// library refuses, and what a device or a collective computes wrong, is in its `dropped` list.
Profile run_calibration(Compute& compute, Communicator& world, const CalibrationOptions& options,
                        const CalibrationEvents& events);

}  // namespace meshwright::calibrate
