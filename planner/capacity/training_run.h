// SPDX-License-Identifier: Apache-2.0
// Days, money and energy of a training run from the time of its steps, with their intervals.
//
// Power follows the load: devices draw one share of a node's rating while they compute, another
// while they wait.
//
// Seven inputs are uncertain, each a log-normal factor with its 90 % interval: the step, the rate
// of failures, the time of a restart, the storage's bandwidth, the price, the power and the PUE.
// The step has one error for all steps and phases, which does not average out, and a width of its
// own on each side. The times of failures are uncertain as well, and average out over a long run.
// All are varied together on a fixed lattice: no random numbers.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/capacity/goodput.h"
#include "planner/capacity/options.h"
#include "sim/hardware/cluster.h"
#include "sim/model/model.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct Quantiles {
  double p10 = 0.0, p50 = 0.0, p90 = 0.0;
};

// Steps that are alike: their number and one's time with its 90 % interval.
struct RunPhase {
  double steps = 0.0;
  Seconds step_time, step_time_low, step_time_high;
  double load = 1.0;  // share of the step in which devices compute
};

struct CheckpointPlan {
  Bytes size;
  Seconds pause, persist, load;
  Seconds interval, young_interval;
};

// Median cost = (gpus + spare_gpus()) x hours x price x range_factor.
struct CostParts {
  int gpus = 0, spare_nodes = 0;
  double hours = 0.0;  // median elapsed time
  double price = 0.0;  // of a GPU-hour
  // The median of a product is not the product of the medians where ranges are wider above than
  // below; 1 where the price has no range.
  double range_factor = 1.0;

  [[nodiscard]] int spare_gpus() const;
  [[nodiscard]] double without_ranges() const { return (gpus + spare_gpus()) * hours * price; }
};

struct TrainingRun {
  CheckpointPlan checkpoint;
  Disruption disruption;                // at the expected rate of failures
  TimeParts time;                       // likewise, with the step as predicted
  AddedTime added;                      // shares of the steps' time that come on top of it
  std::optional<double> meta_ettr;      // where Meta's form holds
  int spare_nodes = 0;                  // of eight GPUs
  Quantiles days, gpu_hours;            // hours of the GPUs that train, spares not counted
  Quantiles failures;                   // expected number, over what the rate may be
  std::optional<Quantiles> cost;        // spares counted
  std::optional<CostParts> cost_parts;  // there with `cost`
  std::optional<Quantiles> energy_mwh, co2_tonnes;
  // While it trains, at the highest power and PUE, and while it waits for a restart.
  std::optional<double> megawatts, megawatts_high, megawatts_waiting;
  double load = 1.0;  // share of the steps in which devices compute
};

// The price of a GPU-hour: of the cluster by its name in `prices`, else of its device, else the
// cluster's own; nothing: none is stated.
std::optional<Ranged> price_of(const PriceList& prices, const std::string& name,
                               const Cluster& cluster);
// While it computes, with a device's share of its node; nothing: its power is not stated.
std::optional<Ranged> kilowatts_per_gpu(const PowerOptions& power, const Cluster& cluster);
// P(load) = busy x (w + (1 - w) load), w: what waiting draws of what computing does.
double power_at_load(double busy, double waiting_over_busy, double load);
// w of these options.
double waiting_over_busy(const PowerOptions& power);

// kWh = GPU-hours x kW x PUE.
double energy_kwh(double gpu_hours, double kilowatts, double pue);

CheckpointPlan checkpoint_plan(const Model& model, const Job& job, int gpus,
                               const CapacityOptions& options, Seconds longest_step);

// What a failure costs this many GPUs.
Disruption disruption_of(const CheckpointPlan& checkpoint, const FailureOptions& failures,
                         int gpus);
// Evaluation and the wait for the slowest node, as shares of the steps' time.
AddedTime added_time_of(const CapacityOptions& options, int gpus);

// Days of each part of the elapsed time over what the inputs may be. When failures come is not
// varied: it moves the end, and no part of it in particular.
struct TimeRanges {
  Quantiles productive;
  std::array<Quantiles, kLostTimeNames.size()> lost{};
  [[nodiscard]] const Quantiles& operator[](LostTime kind) const {
    return lost[static_cast<std::size_t>(kind)];
  }
};
// `run` is of these phases, options and GPUs.
TimeRanges time_ranges(const TrainingRun& run, const std::vector<RunPhase>& phases,
                       const CapacityOptions& options, int gpus);

// `cluster` has the GPUs of the run.
TrainingRun training_run(const Scenario& scenario, const std::vector<RunPhase>& phases,
                         const CapacityOptions& options, const std::optional<Ranged>& price);

}  // namespace meshwright::planner
