// SPDX-License-Identifier: Apache-2.0
// What a calibration leaves behind: the measured machine as a Cluster that sim can use, and enough
// beside it to judge the numbers.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/fit.h"
#include "calibrate/measure/environment.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/stragglers.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/inference_rates.h"

namespace meshwright::calibrate {

struct Profile {
  std::string created;  // UTC
  std::string tool_version;
  std::string command;  // that made it
  MachineDescription machine;
  Cluster cluster;
  std::vector<MeasuredPoint> points;  // in the order of measurement
  std::vector<Fit> fits;
  std::vector<std::string> not_measured;  // and so modelled or unknown: "products in bf16"
  std::vector<std::string> dropped{};     // points that a library refused, or computed wrong
  std::vector<std::string> notes;         // points left out or noisy, a loaded machine
  std::vector<RankSpeed> ranks;           // every rank beside the median one
  std::vector<Straggler> stragglers;
  std::string onto{};  // the cluster that it was measured onto; empty: nothing was there before
  InferenceRates inference{};  // of the trial's engine, where it was measured
  int num_ranks = 0;           // that measured together; 0: not recorded (older profiles)
  bool operator==(const Profile&) const = default;
};

// The cluster of measured points: the device with its GEMM points and kernel rates, the links with
// their curves, and the models fitted to them. Several times of one shape (transposed operands) are
// averaged; their difference counts as spread. Numbers of `cluster` that no point measures stay: a
// datasheet's peak, attention, other kernels, latencies and reduction in the switch. Times of CPU
// cores include the system noise of all points (system_noise.h).
struct Assembled {
  Cluster cluster;
  std::vector<Fit> fits;
  InferenceRates inference{};
};
Assembled assemble(const std::vector<MeasuredPoint>& measured, Cluster cluster);

}  // namespace meshwright::calibrate
