// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/shared_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "planner/capacity/limits.h"
#include "planner/search/training_cost.h"
#include "planner/shared_cluster/replicas_by_hour.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::planner {
namespace {

constexpr double kKilowattsOfAMegawatt = 1000.0, kTokensOfAMillion = 1e6;

// The training of each hour, on its count; null: it does not train.
using RunsByHour = std::vector<const CapacityRow*>;

// What a training on these runs takes.
struct TrainingTime {
  Quantiles days{};
  int resizes = 0;
  double lost_hours = 0.0;  // in a period
};

int gpus_of(const CapacityRow* run) { return run == nullptr ? 0 : run->gpus; }

std::optional<TrainingTime> training_time(const RunsByHour& runs) {
  TrainingTime time;
  std::vector<double> resizes(runs.size(), 0.0);
  for (std::size_t h = 0; h < runs.size(); ++h) {
    const CapacityRow* before = runs[(h + runs.size() - 1) % runs.size()];
    if (gpus_of(runs[h]) == gpus_of(before)) continue;
    ++time.resizes;
    if (runs[h] == nullptr) continue;
    resizes[h] = resize_time(runs[h]->run.disruption).value() / kSecondsPerHour;
  }
  const std::vector<double> lost = lost_by_hour(resizes);
  time.lost_hours = std::accumulate(lost.begin(), lost.end(), 0.0);
  for (double Quantiles::*quantile : {&Quantiles::p10, &Quantiles::p50, &Quantiles::p90}) {
    std::vector<ElasticHour> hours;
    for (std::size_t h = 0; h < runs.size(); ++h) {
      hours.push_back({runs[h] == nullptr ? 0.0 : runs[h]->run.days.*quantile, lost[h]});
    }
    const auto days = elastic_days(hours);
    if (!days) return std::nullopt;
    time.days.*quantile = *days;
  }
  return time;
}

// The same count in every hour: the one of the hour that leaves fewest hosts.
RunsByHour fixed_runs(TrainingCounts& counts, const std::vector<int>& free, bool exact) {
  const CapacityRow* run = counts.within(*std::min_element(free.begin(), free.end()), exact);
  return RunsByHour(free.size(), run);
}

RunsByHour elastic_runs(TrainingCounts& counts, const std::vector<int>& free) {
  RunsByHour runs;
  for (const int hosts : free) runs.push_back(hosts > 0 ? counts.within(hosts, false) : nullptr);
  return runs;
}

// The run on which most hours train; null: none does.
const CapacityRow* usual_run(const RunsByHour& runs) {
  const CapacityRow* usual = nullptr;
  std::ptrdiff_t most = 0;
  for (const CapacityRow* run : runs) {
    const auto hours = std::count(runs.begin(), runs.end(), run);
    if (run == nullptr || hours <= most) continue;
    usual = run;
    most = hours;
  }
  return usual;
}

struct HourHosts {
  int all = 0, service = 0;  // hosts
};

SharedHour shared_hour_of(const TrainingCounts& counts, const HourHosts& hosts,
                          const CapacityRow* run) {
  const int each = counts.host_gpus();
  SharedHour hour{.service_gpus = hosts.service * each, .training_gpus = gpus_of(run)};
  hour.spare_gpus = run == nullptr ? 0 : counts.spare_hosts(run->gpus / each) * each;
  hour.free_gpus = hosts.all * each - hour.service_gpus - hour.training_gpus - hour.spare_gpus;
  return hour;
}

SharedShares shares_of(const SharedRow& row) {
  const double all = static_cast<double>(row.gpus) * static_cast<double>(row.hours.size());
  SharedShares shares;
  for (const SharedHour& hour : row.hours) {
    shares.service += hour.service_gpus / all;
    shares.training += hour.training_gpus / all;
    shares.spare += hour.spare_gpus / all;
    shares.free += hour.free_gpus / all;
  }
  return shares;
}

// All GPUs are paid for as long as the training lasts.
std::optional<Quantiles> cost_of(const SharedRow& row) {
  const TrainingRun& run = row.training.run;
  if (!run.cost || !run.cost_parts) return std::nullopt;
  const int paid = row.training.gpus + run.cost_parts->spare_gpus();
  return scaled_quantiles(*run.cost,
                          static_cast<double>(row.gpus) / paid * row.days.p50 / run.days.p50);
}

// Mean power of the hosts that do not train, in kW with the site's share.
double kilowatts_beside_training(const SharedInputs& in, const SharedRow& row, double kilowatts) {
  const PowerOptions& power = in.question.options.power;
  const double waiting = waiting_over_busy(power);
  double sum = 0.0;
  for (std::size_t h = 0; h < row.hours.size(); ++h) {
    const SharedHour& hour = row.hours[h];
    sum += hour.service_gpus * power_at_load(kilowatts, waiting, in.service.hours[h].load) +
           (hour.spare_gpus + hour.free_gpus) * power_at_load(kilowatts, waiting, 0.0);
  }
  return sum / static_cast<double>(row.hours.size()) * power.pue.value;
}

// Mean power of the training over the hours, from the energy of a run on each count.
double kilowatts_of_training(const RunsByHour& runs) {
  double sum = 0.0;
  for (const CapacityRow* run : runs) {
    if (run == nullptr || !run->run.energy_mwh) continue;
    sum += run->run.energy_mwh->p50 * kKilowattsOfAMegawatt / (run->run.days.p50 * kHoursOfADay);
  }
  return sum / static_cast<double>(runs.size());
}

void fill_shared_energy(const SharedInputs& in, SharedRow& row, const RunsByHour& runs) {
  const auto& training = row.training.run.energy_mwh;
  if (!row.training.kilowatts || !training) return;
  const double kilowatts = kilowatts_of_training(runs) +
                           kilowatts_beside_training(in, row, row.training.kilowatts->value);
  const double mwh = kilowatts * kHoursOfADay * row.days.p50 / kKilowattsOfAMegawatt;
  // Days, power and PUE have the same errors for all GPUs.
  row.energy_mwh = scaled_quantiles(*training, mwh / training->p50);
  row.megawatts_high = row.gpus * row.training.kilowatts->high *
                       in.question.options.power.pue.high / kKilowattsOfAMegawatt;
}

void fill_service(const SharedInputs& in, SharedRow& row) {
  const double hours = static_cast<double>(row.hours.size());
  double gpu_hours = 0.0, tokens = 0.0, load = 0.0;
  for (std::size_t h = 0; h < row.hours.size(); ++h) {
    const ServiceHour& served = in.service.hours[h];
    gpu_hours += row.hours[h].service_gpus;
    tokens += served.requests_per_second * kSecondsPerHour * (in.options.isl + in.options.osl);
    load += served.load;
  }
  row.service_load = load / hours;
  if (!row.training.price) return;
  const double price = row.training.price->value;
  row.service_cost_per_day = gpu_hours * price * kHoursOfADay / hours;
  if (tokens > 0.0) row.million_tokens = cost_per_million_tokens(gpu_hours, price, tokens);
}

// Of the whole cluster, by the rules of a capacity row.
std::vector<std::string> broken_limits_of(const SharedInputs& in, const SharedRow& row) {
  CapacityRow whole{.cluster_case = row.cluster_case, .gpus = row.gpus};
  whole.run.days = row.days;
  whole.run.cost = row.cost;
  whole.run.megawatts_high = row.megawatts_high;
  return broken_limits(whole, in.question);
}

// The runs that end first.
struct Chosen {
  RunsByHour runs{};
  TrainingTime time{};
  TrainingGpus rule = TrainingGpus::fixed;
};

std::optional<Chosen> chosen_runs(const SharedInputs& in, TrainingCounts& counts,
                                  const std::vector<int>& free, bool exact) {
  std::optional<Chosen> best;
  const auto consider = [&](RunsByHour runs, TrainingGpus rule) {
    const auto time = training_time(runs);
    if (time && (!best || time->days.p50 < best->time.days.p50)) {
      best = Chosen{std::move(runs), *time, rule};
    }
  };
  // The fixed one last: its reason is the one to tell where nothing is possible.
  if (in.options.training_gpus == TrainingGpus::elastic) {
    consider(elastic_runs(counts, free), TrainingGpus::elastic);
  }
  consider(fixed_runs(counts, free, exact), TrainingGpus::fixed);
  return best;
}

std::string no_training_reason(const SharedInputs& in, const TrainingCounts& counts, int least) {
  const Cluster& cluster = in.question.clusters[in.cluster_case].cluster;
  const int gpus = std::max(0, least) * counts.host_gpus();
  return fmt::format("the service leaves {} {} for the training in its busiest hour: {}", gpus,
                     device_noun(cluster, gpus), counts.reason());
}

}  // namespace

Seconds resize_time(const Disruption& d) { return d.save_pause + d.persist + d.restart + d.load; }

std::vector<double> lost_by_hour(const std::vector<double>& resize_hours) {
  std::vector<double> lost(resize_hours.size(), 0.0);
  double open = 0.0;  // of changes that have not ended
  // The first pass finds what the last hour leaves to the first.
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t h = 0; h < lost.size(); ++h) {
      open += resize_hours[h];
      lost[h] = std::min(1.0, open);
      open -= lost[h];
    }
  }
  return lost;
}

std::optional<double> elastic_days(const std::vector<ElasticHour>& hours) {
  double trained = 0.0;  // share of the run in a period
  for (const ElasticHour& hour : hours) {
    if (hour.days > 0.0) trained += (1.0 - hour.lost_hours) / (kHoursOfADay * hour.days);
  }
  if (trained <= 0.0) return std::nullopt;
  return static_cast<double>(hours.size()) / kHoursOfADay / trained;
}

double cost_per_million_tokens(double gpu_hours, double price, double tokens) {
  return gpu_hours * price / tokens * kTokensOfAMillion;
}

Quantiles scaled_quantiles(const Quantiles& q, double factor) {
  return {q.p10 * factor, q.p50 * factor, q.p90 * factor};
}

std::vector<int> service_hosts(const SharedInputs& in, int host_gpus) {
  std::vector<int> hosts;
  for (const ServiceHour& hour : in.service.hours) {
    hosts.push_back(hosts_for_replicas(hour.held_replicas, in.service.gpus_of_replica, host_gpus));
  }
  return hosts;
}

SharedRow shared_row(const SharedInputs& in, TrainingCounts& counts, int hosts, bool exact) {
  const int each = counts.host_gpus();
  const std::vector<int> serving = service_hosts(in, each);
  SharedRow row{.cluster_case = in.cluster_case, .gpus = hosts * each};
  const int most = *std::max_element(serving.begin(), serving.end());
  if (most > hosts) {
    const Cluster& cluster = in.question.clusters[in.cluster_case].cluster;
    row.reason = fmt::format("the service alone needs {} {} in its busiest hour, of {}",
                             most * each, device_noun(cluster, most * each), row.gpus);
    return row;
  }
  std::vector<int> free;
  for (const int taken : serving) free.push_back(hosts - taken);
  const auto chosen = chosen_runs(in, counts, free, exact);
  if (!chosen) {
    row.reason = no_training_reason(in, counts, hosts - most);
    return row;
  }
  for (std::size_t h = 0; h < serving.size(); ++h) {
    row.hours.push_back(shared_hour_of(counts, {hosts, serving[h]}, chosen->runs[h]));
  }
  row.training_gpus = chosen->rule;
  row.resizes = chosen->time.resizes;
  row.lost_to_resizes = seconds(chosen->time.lost_hours * kSecondsPerHour);
  row.days = chosen->time.days;
  row.training = *usual_run(chosen->runs);
  row.shares = shares_of(row);
  row.cost = cost_of(row);
  fill_shared_energy(in, row, chosen->runs);
  fill_service(in, row);
  row.broken_limits = broken_limits_of(in, row);
  return row;
}

}  // namespace meshwright::planner
