// SPDX-License-Identifier: Apache-2.0
// Options of a capacity question other than model, clusters and job: failures, checkpoints, power,
// prices, limits. Each number that nobody states has a default with its source.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/calendar.h"
#include "sim/base/units.h"

namespace meshwright::planner {

// A number, its 90 % interval (equal ends: exact), and who says so.
struct Ranged {
  double value = 0.0, low = 0.0, high = 0.0;
  std::string basis = "assumed";  // stated, measured, fitted, datasheet, assumed
  std::string source{};
  bool operator==(const Ranged&) const = default;
};
// Stated by the user, without an interval.
Ranged stated(double value);
// The interval keeps its width.
Ranged times(Ranged ranged, double factor);
// One standard deviation of its logarithm.
double log_deviation(const Ranged& ranged);

struct FailureOptions {
  Ranged per_thousand_node_days{
      4.0, 2.3, 6.5, "measured",
      "nodes of eight GPUs of three fleets: 2.34 and 6.50 (Meta RSC-2 and RSC-1, arXiv 2410.21680, "
      "read second hand), 3.79 (Llama 3, 419 unplanned interruptions in 54 days of 2,048 nodes, "
      "arXiv 2407.21783)"};
  Ranged detection_seconds{120.0, 60.0, 240.0, "assumed",
                           "part of a restart of 10 minutes; the public range is 5 to 20 minutes "
                           "(Meta; FT-HSDP 10, then 3)"};
  // One error for detection and restart: a fleet that is slow in one is slow in the other.
  Ranged restart_seconds{480.0, 240.0, 960.0, "assumed", "the rest of these 10 minutes"};
  Ranged repair_days{1.0, 1.0, 1.0, "assumed", "no public number"};
  Ranged spares_target{0.99, 0.99, 0.99, "assumed", "spares are enough 99 % of the time"};
  std::optional<int> spare_nodes;  // reserved; else those that the target needs
  int independent_replicas = 1;    // groups that fail alone and are filled again while others train
  Ranged catch_up_seconds{0.0, 0.0, 0.0, "assumed", "all replicas wait while one is filled again"};
  bool operator==(const FailureOptions&) const = default;
};

struct CheckpointOptions {
  bool asynchronous = true;  // saved to the host, then written while training goes on
  Ranged pause_seconds{
      10.0, 10.0, 10.0, "assumed",
      "an asynchronous save: 6.3 s for 7B with PyTorch's DCP (IBM), below 1 s with "
      "ByteCheckpoint, seconds with MegaScale"};
  Ranged storage_gb_per_s_per_node{
      1.0, 0.25, 2.0, "assumed",
      "of eight GPUs, both ways; Llama 3: 2 TB/s sustained for 2,048 nodes (arXiv 2407.21783); 523 "
      "checkpoints of 504 B200 reached 16 % of the storage's write bandwidth (read second hand)"};
  bool with_16_bit_weights = true;        // beside the optimizer's fp32, as Megatron-Core saves
  std::optional<double> persist_seconds;  // measured; else bytes over the storage's bandwidth
  std::optional<double> load_seconds;
  std::optional<double> interval_seconds;  // else the best for the failures that are expected
  bool operator==(const CheckpointOptions&) const = default;
};

struct PowerOptions {
  std::optional<Ranged> kilowatts_per_gpu;  // with its share of node and network
  Ranged node_over_devices{1.82, 1.4, 2.0, "datasheet",
                           "rating of a node over its devices': DGX H100 10.2 kW over 8 x 700 W; "
                           "DGX A100 2.03, DGX B200 1.79, GB200 NVL72 about 1.4"};
  // Of a node's rating while its devices compute, and while they wait: for communication, in a
  // pipeline bubble, during a restart.
  Ranged share_of_rating{0.76, 0.65, 0.85, "fitted",
                         "8 x H100 in heavy training, one node (arXiv 2412.08602, 2506.14551)"};
  Ranged waiting_share{
      0.35, 0.23, 0.5, "assumed",
      "no public number of a node that waits; an H100 that decodes with the smallest batch draws "
      "159 of 700 W (InferenceX#828), and fans, CPUs and network idle less"};
  Ranged pue{
      1.2, 1.1, 1.5, "assumed",
      "power of the site over that of its machines: new large sites are near 1.1, older ones "
      "near 1.5; state your site's"};
  std::optional<Ranged> kg_co2_per_kwh;
  bool operator==(const PowerOptions&) const = default;
};

struct Price {
  std::string cluster;  // a name of configs/clusters, or
  std::string device;   // a device's name
  Ranged per_gpu_hour;
  bool operator==(const Price&) const = default;
};
struct PriceList {
  std::string name, date, source;
  std::string currency = "USD";
  bool example = false;
  std::vector<Price> prices;
  bool operator==(const PriceList&) const = default;
};

struct CapacityLimits {
  std::optional<double> deadline_days;  // compared with the P90
  std::optional<Date> deadline;         // likewise, its last day included; needs a start
  std::optional<double> budget;         // likewise
  std::optional<double> max_megawatts;  // at the highest share of the rating
  std::optional<int> max_gpus;
  bool operator==(const CapacityLimits&) const = default;
};

// Training until so many tokens of the whole run; the last phase goes to the end.
struct BatchPhase {
  double until_tokens = 0.0;
  int global_batch_size = 0;
  int seq_length = 0;
  bool operator==(const BatchPhase&) const = default;
};

// A run that somebody made, to hold a row against. What is not stated stays empty.
struct ReferenceRun {
  std::string name, source;
  int gpus = 0;
  double gpu_hours = 0.0;
  std::string layout;                  // as --layout says it
  std::optional<double> step_seconds;  // of the batch that most tokens are trained with
  std::optional<double> goodput, model_flops_utilization, mean_time_between_hours;
  bool operator==(const ReferenceRun&) const = default;
};

struct CapacityOptions {
  FailureOptions failures;
  CheckpointOptions checkpoint;
  PowerOptions power;
  PriceList prices;
  CapacityLimits limits;
  std::vector<BatchPhase> schedule;
  double evaluation_share = 0.0;  // of training time, added to it
  // One standard deviation of a node's step time, beyond what the step holds: the slowest of N
  // nodes makes all of them wait.
  Ranged step_time_spread{0.0, 0.0, 0.0, "assumed",
                          "none beyond the slowest device that the step itself holds"};
  std::optional<Date> start;
  std::optional<double> lead_time_days;  // from the order to the first day of the run
  std::optional<double> day_worth;       // of a day that the run ends earlier, in the currency
  double step_factor = 1.0;              // measured over predicted step, as the user expects it
  std::optional<ReferenceRun> reference;
  bool operator==(const CapacityOptions&) const = default;
};

}  // namespace meshwright::planner
