// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/training_run.h"

#include <algorithm>
#include <cmath>

#include "planner/capacity/checkpoint.h"
#include "planner/capacity/failures.h"
#include "planner/search/normal.h"
#include "sim/base/quadrature.h"
#include "sim/base/statistics.h"

namespace meshwright::planner {

namespace {

constexpr double kZ90 = 1.6448536269514722;  // 90 % of a normal lie within this of its mean
constexpr double kSecondsPerDay = 86400.0;
constexpr double kHoursPerDay = 24.0;

// What is turned, each a dimension of the lattice.
enum LatticeAxis { kStep, kRate, kArrival, kPrice, kPower, kRecovery, kStorage, kPue, kNumAxes };

// Of the side on which z lies: an interval need not be as far below the step as above it.
double deviation_at(const RunPhase& phase, double z) {
  const Seconds end = z < 0.0 ? phase.step_time_low : phase.step_time_high;
  if (end.value() <= 0.0 || phase.step_time.value() <= 0.0) return 0.0;
  return std::max(0.0, std::log(end / phase.step_time) * (z < 0.0 ? -1.0 : 1.0)) / kZ90;
}

Quantiles quantiles_of(const std::vector<double>& values) {
  return {lower_quantile(values, 0.1), lower_quantile(values, 0.5), lower_quantile(values, 0.9)};
}

const NormalLattice& lattice() {
  static const NormalLattice points(kNumAxes);
  return points;
}

// One value a point of the lattice.
template <typename Function>
std::vector<double> over_lattice(const Function& value) {
  std::vector<double> values(static_cast<std::size_t>(lattice().size()));
  for (int i = 0; i < lattice().size(); ++i) values[static_cast<std::size_t>(i)] = value(i);
  return values;
}

double perturbed_value(const Ranged& ranged, int point, LatticeAxis axis) {
  return ranged.value * std::exp(log_deviation(ranged) * lattice().coordinate(point, axis));
}

Seconds productive_time(const std::vector<RunPhase>& phases, double z) {
  Seconds sum;
  for (const RunPhase& phase : phases) {
    sum += phase.step_time * phase.steps * std::exp(deviation_at(phase, z) * z);
  }
  return sum;
}

// Of the steps' time.
double mean_load_of(const std::vector<RunPhase>& phases) {
  Seconds all, busy;
  for (const RunPhase& phase : phases) {
    all += phase.step_time * phase.steps;
    busy += phase.step_time * phase.steps * phase.load;
  }
  return all.value() > 0.0 ? busy / all : 1.0;
}

// What the storage's bandwidth takes, and what is measured, does not move with it.
void scale_transfers(Disruption& disruption, const CheckpointOptions& asked, double factor) {
  if (!asked.load_seconds) disruption.load *= factor;
  if (asked.persist_seconds) return;
  if (asked.asynchronous) {
    disruption.persist *= factor;
  } else {
    disruption.save_pause *= factor;
  }
}

struct RunInputs {
  const std::vector<RunPhase>& phases;
  const CapacityOptions& options;
  int gpus = 0;
  AddedTime added{};
};

Disruption disruption_at(const TrainingRun& run, const RunInputs& in, int point) {
  const FailureOptions& failures = in.options.failures;
  Disruption disruption = run.disruption;
  disruption.mean_time_between = mean_time_between_failures(
      in.gpus, perturbed_value(failures.per_thousand_node_days, point, kRate));
  disruption.detection = seconds(perturbed_value(failures.detection_seconds, point, kRecovery));
  disruption.restart = seconds(perturbed_value(failures.restart_seconds, point, kRecovery));
  const CheckpointOptions& asked = in.options.checkpoint;
  const Ranged& bandwidth = asked.storage_gb_per_s_per_node;
  scale_transfers(disruption, asked, bandwidth.value / perturbed_value(bandwidth, point, kStorage));
  return disruption;
}

double days_at_point(const TrainingRun& run, const RunInputs& in, int point) {
  const Disruption disruption = disruption_at(run, in, point);
  const Seconds productive = productive_time(in.phases, lattice().coordinate(point, kStep));
  const Seconds trained = productive * (1.0 + in.added.sum());
  const Seconds expected = trained / ettr(disruption, run.checkpoint.interval) + disruption.restart;
  const Seconds elapsed = expected + run.time.deviation * lattice().coordinate(point, kArrival);
  return std::max(elapsed, trained).value() / kSecondsPerDay;
}

void fill_energy(TrainingRun& run, const std::vector<double>& gpu_hours, const Ranged& kilowatts,
                 const RunInputs& in) {
  const PowerOptions& power = in.options.power;
  constexpr double kPerMega = 1000.0;
  const double waiting = waiting_over_busy(power);
  const double training = power_at_load(1.0, waiting, run.load);
  const double goodput = run.time.goodput();
  const double mean = training * goodput + waiting * (1.0 - goodput);
  run.energy_mwh = quantiles_of(over_lattice([&](int i) {
    return energy_kwh(gpu_hours[static_cast<std::size_t>(i)],
                      mean * perturbed_value(kilowatts, i, kPower),
                      perturbed_value(power.pue, i, kPue)) /
           kPerMega;
  }));
  const double all = in.gpus * power.pue.value / kPerMega;
  run.megawatts = training * kilowatts.value * all;
  run.megawatts_high = kilowatts.high * in.gpus * power.pue.high / kPerMega;
  run.megawatts_waiting = waiting * kilowatts.value * all;
  if (!power.kg_co2_per_kwh) return;
  const double factor = power.kg_co2_per_kwh->value;  // kg a kWh is t a MWh
  run.co2_tonnes = Quantiles{run.energy_mwh->p10 * factor, run.energy_mwh->p50 * factor,
                             run.energy_mwh->p90 * factor};
}

}  // namespace

int CostParts::spare_gpus() const { return spare_nodes * kGpusOfAReportedNode; }

Ranged stated(double value) { return {value, value, value, "stated", ""}; }

Ranged times(Ranged ranged, double factor) {
  ranged.value *= factor;
  ranged.low *= factor;
  ranged.high *= factor;
  return ranged;
}

double log_deviation(const Ranged& ranged) {
  if (ranged.low <= 0.0 || ranged.high <= ranged.low) return 0.0;
  return std::log(ranged.high / ranged.low) / (2.0 * kZ90);
}

std::optional<Ranged> price_of(const PriceList& prices, const std::string& name,
                               const Cluster& cluster) {
  const Price* of_device = nullptr;
  for (const Price& price : prices.prices) {
    if (price.cluster == name && !name.empty()) return price.per_gpu_hour;
    if (!price.device.empty() && price.device == only_device(cluster).name) of_device = &price;
  }
  if (of_device != nullptr) return of_device->per_gpu_hour;
  if (cluster.price_per_gpu_hour) return stated(*cluster.price_per_gpu_hour);
  return std::nullopt;
}

std::optional<Ranged> kilowatts_per_gpu(const PowerOptions& power, const Cluster& cluster) {
  if (power.kilowatts_per_gpu) return power.kilowatts_per_gpu;
  if (!only_device(cluster).power_watts) return std::nullopt;
  // Which node it is and how busy are independent: their deviations add in squares.
  const double value = *only_device(cluster).power_watts / 1000.0 * power.node_over_devices.value *
                       power.share_of_rating.value;
  const double spread = std::exp(kZ90 * in_quadrature(log_deviation(power.node_over_devices),
                                                      log_deviation(power.share_of_rating)));
  return Ranged{value, value / spread, value * spread, power.share_of_rating.basis,
                power.share_of_rating.source};
}

double power_at_load(double busy, double waiting_over_busy, double load) {
  return busy * (waiting_over_busy + (1.0 - waiting_over_busy) * load);
}

double waiting_over_busy(const PowerOptions& power) {
  return std::min(1.0, power.waiting_share.value / power.share_of_rating.value);
}

double energy_kwh(double gpu_hours, double kilowatts, double pue) {
  return gpu_hours * kilowatts * pue;
}

CheckpointPlan checkpoint_plan(const Model& model, const Job& job, int gpus,
                               const CapacityOptions& options, Seconds longest_step) {
  const CheckpointOptions& asked = options.checkpoint;
  CheckpointPlan plan;
  plan.size = checkpoint_bytes(model, job, asked.with_16_bit_weights);
  const double nodes = static_cast<double>(gpus) / kGpusOfAReportedNode;
  const Seconds transfer =
      plan.size / (gigabytes_per_second(asked.storage_gb_per_s_per_node.value) * nodes);
  const Seconds written = asked.persist_seconds ? seconds(*asked.persist_seconds) : transfer;
  plan.load = asked.load_seconds ? seconds(*asked.load_seconds) : transfer;
  plan.pause = asked.asynchronous ? seconds(asked.pause_seconds.value) : written;
  plan.persist = asked.asynchronous ? written : seconds(0);
  const Seconds between =
      mean_time_between_failures(gpus, options.failures.per_thousand_node_days.value);
  plan.young_interval = young_interval(plan.pause, between);
  plan.interval = asked.interval_seconds ? seconds(*asked.interval_seconds)
                                         : renewal_interval(plan.pause, between);
  // One save is written before the next begins, and training stops between steps only.
  plan.interval = std::max({plan.interval, plan.persist, longest_step});
  return plan;
}

Disruption disruption_of(const CheckpointPlan& checkpoint, const FailureOptions& failures,
                         int gpus) {
  const double rate = failures.per_thousand_node_days.value;
  return {.mean_time_between = mean_time_between_failures(gpus, rate),
          .save_pause = checkpoint.pause,
          .persist = checkpoint.persist,
          .detection = seconds(failures.detection_seconds.value),
          .restart = seconds(failures.restart_seconds.value),
          .load = checkpoint.load,
          .replicas = failures.independent_replicas,
          .catch_up = seconds(failures.catch_up_seconds.value)};
}

AddedTime added_time_of(const CapacityOptions& options, int gpus) {
  return {options.evaluation_share, slowest_node_share(gpus, options.step_time_spread.value)};
}

TimeRanges time_ranges(const TrainingRun& run, const std::vector<RunPhase>& phases,
                       const CapacityOptions& options, int gpus) {
  const RunInputs in{phases, options, gpus, run.added};
  std::vector<TimeParts> points;
  for (int i = 0; i < lattice().size(); ++i) {
    const Seconds productive = productive_time(phases, lattice().coordinate(i, kStep));
    points.push_back(
        time_parts(productive, disruption_at(run, in, i), run.checkpoint.interval, run.added));
  }
  const auto days_of = [&](const auto& part) {
    std::vector<double> days;
    for (const TimeParts& point : points) days.push_back(part(point).value() / kSecondsPerDay);
    return quantiles_of(days);
  };
  TimeRanges ranges;
  ranges.productive = days_of([](const TimeParts& point) { return point.productive; });
  for (std::size_t kind = 0; kind < ranges.lost.size(); ++kind) {
    ranges.lost[kind] = days_of([kind](const TimeParts& point) { return point.lost[kind]; });
  }
  return ranges;
}

TrainingRun training_run(const Scenario& scenario, const std::vector<RunPhase>& phases,
                         const CapacityOptions& options, const std::optional<Ranged>& price) {
  const int gpus = scenario.cluster.num_gpus();
  const AddedTime added = added_time_of(options, gpus);
  const RunInputs in{phases, options, gpus, added};
  const FailureOptions& failures = options.failures;
  const double rate = failures.per_thousand_node_days.value;
  Seconds longest;
  for (const RunPhase& phase : phases) longest = std::max(longest, phase.step_time);
  TrainingRun run;
  run.checkpoint = checkpoint_plan(scenario.model, scenario.job, gpus, options, longest);
  run.disruption = disruption_of(run.checkpoint, failures, gpus);
  run.added = added;
  run.time =
      time_parts(productive_time(phases, 0.0), run.disruption, run.checkpoint.interval, added);
  run.load = mean_load_of(phases);
  if (meta_ettr_holds(run.disruption.mean_time_between) && failures.independent_replicas == 1) {
    run.meta_ettr = meta_ettr(run.disruption.mean_time_between, run.checkpoint.pause,
                              run.disruption.recovery(), run.checkpoint.interval);
  }
  run.spare_nodes = failures.spare_nodes.value_or(
      spare_nodes(gpus, rate, failures.repair_days.value, failures.spares_target.value));
  const std::vector<double> days = over_lattice([&](int i) { return days_at_point(run, in, i); });
  std::vector<double> gpu_hours = days;
  for (double& hours : gpu_hours) hours *= kHoursPerDay * gpus;
  run.days = quantiles_of(days);
  run.gpu_hours = quantiles_of(gpu_hours);
  const double per_rate = run.time.failures / rate;
  const Ranged& range = failures.per_thousand_node_days;
  const double spread = std::exp(1.2815515655446004 * log_deviation(range));
  run.failures = {per_rate * rate / spread, run.time.failures, per_rate * rate * spread};
  if (price) {
    CostParts parts{.gpus = gpus,
                    .spare_nodes = run.spare_nodes,
                    .hours = run.days.p50 * kHoursPerDay,
                    .price = price->value};
    const double spares = 1.0 + static_cast<double>(parts.spare_gpus()) / gpus;
    run.cost = quantiles_of(over_lattice([&](int i) {
      return gpu_hours[static_cast<std::size_t>(i)] * perturbed_value(*price, i, kPrice) * spares;
    }));
    parts.range_factor = run.cost->p50 / parts.without_ranges();
    run.cost_parts = parts;
  }
  if (const auto kilowatts = kilowatts_per_gpu(options.power, scenario.cluster)) {
    fill_energy(run, gpu_hours, *kilowatts, in);
  }
  return run;
}

}  // namespace meshwright::planner
