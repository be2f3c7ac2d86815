// SPDX-License-Identifier: Apache-2.0
#include "reports/records/shared_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "planner/shared_cluster/service_options_json.h"
#include "sim/json/input_records.h"

namespace meshwright::reports {
namespace {

constexpr std::string_view kSharedRowIdAbout = "Of a row: cluster/gpus.";

// The chart and the tables rely on whole hours of a day or a week.
void check_hours(std::size_t hours, const ObjectReader& reader) {
  if (hours == std::size_t{planner::kHoursOfADay} || hours == std::size_t{planner::kHoursOfAWeek}) {
    return;
  }
  reader.fail("hours", fmt::format("must be 24 hours, or the 168 of a week (got {})", hours));
}

const Record<planner::ServiceHour>& service_hour_record() {
  static const Record<planner::ServiceHour> record = [] {
    using R = planner::ServiceHour;
    const auto time = kind::nullable(kind::base_amount<Seconds>());
    Record<R> r("The service in one hour; the list begins with hour 0.");
    r.row(&R::requests_per_second, "requests_per_second", kind::number(), "Mean of the hour.");
    r.row(&R::peak_requests_per_second, "peak_requests_per_second", kind::number(),
          "Largest of the hour.");
    r.row(&R::replicas, "replicas", kind::integer({.low = 0}), "That the largest rate needs.");
    r.row(&R::held_replicas, "held_replicas", kind::integer({.low = 0}),
          "That have GPUs: also those that start, and those that stay.");
    r.row(&R::ttft, "ttft_seconds", time, "Mean time to first token at the largest rate.");
    r.row(&R::tpot, "tpot_seconds", time, "Mean time per output token at the largest rate.");
    r.row(&R::ttft_at_percentile, "ttft_at_percentile_seconds", time, "Null: means are asked.");
    r.row(&R::tpot_at_percentile, "tpot_at_percentile_seconds", time, "Null: means are asked.");
    r.row(&R::load, "load", kind::number(), "Mean rate over what the held replicas serve.");
    return r.named("ServiceHour").all_required();
  }();
  return record;
}

// Rows of a service that meets its targets.
const Record<SharedServiceFacts>& shared_deployment_record() {
  static const Record<SharedServiceFacts> record = [] {
    using R = SharedServiceFacts;
    Record<R> r("");
    r.row(&R::replica, "replica", kind::text(), "Layout of a replica.");
    r.row(&R::deployment, "deployment", kind::text(), "At the peak.");
    r.row(&R::gpus_of_replica, "gpus_of_replica", kind::integer({.low = 0}), "");
    r.row(&R::gpus_of_host, "gpus_of_host", kind::integer({.low = 0}),
          "GPUs change between service and training in whole hosts.");
    r.row(&R::rate_of_replica, "requests_per_second_of_replica", kind::number(),
          "Within the targets, of means.");
    r.row(&R::lead_hours, "lead_hours", kind::integer({.low = 0}),
          "Hours before its first request at which a replica gets its GPUs.");
    r.row(&R::hours, "hours", kind::list(service_hour_record), "");
    r.row(&R::smallest_gpus, "smallest_gpus", kind::nullable(kind::integer()),
          "Of the smallest cluster that does both within the limits; null: none was found.");
    r.row(&R::most_gpus, "most_gpus", kind::integer({.low = 0}),
          "The largest cluster that the search may evaluate.");
    r.row(&R::hosts_not_tried, "hosts_not_tried", kind::integer({.low = 0}),
          "Sizes just below the smallest cluster that were not tried, in hosts.");
    r.row(&R::searched_gpus, "searched_gpus", kind::integers(),
          "Counts of the training for which layouts were searched.");
    return r;
  }();
  return record;
}

const Record<SharedServiceFacts>& shared_service_record() {
  static const Record<SharedServiceFacts> record = [] {
    using R = SharedServiceFacts;
    Record<R> r("The service on one cluster.");
    r.row(&R::cluster, "cluster", kind::text(), "As it was asked for.");
    r.row(&R::cluster_name, "cluster_name", kind::text(), "As its file says.");
    r.row(&R::device, "device", kind::text(), "");
    r.row(&R::meets, "meets", kind::flag(), "Whether a deployment meets the targets.");
    r.row(&R::reason, "reason", kind::text(), "Why none does; empty: one does.");
    r.row(&R::times_over_target, "times_over_target", kind::nullable(kind::number()),
          "Larger of time / target of the nearest deployment; null: one meets them.");
    r.rows_of(
        shared_deployment_record(), [](auto& service) -> auto& { return service; },
        [](const R& service) { return service.meets; });
    r.named("SharedService").all_required();
    return r.check([](const R& service, const ObjectReader& reader) {
      if (service.meets) check_hours(service.hours.size(), reader);
    });
  }();
  return record;
}

const Record<planner::SharedHour>& shared_hour_record() {
  static const Record<planner::SharedHour> record = [] {
    using R = planner::SharedHour;
    const auto count = kind::integer({.low = 0});
    Record<R> r("GPUs of one hour; they add up to the cluster's.");
    r.row(&R::service_gpus, "service_gpus", count, "Whole hosts of the service.");
    r.row(&R::training_gpus, "training_gpus", count, "");
    r.row(&R::spare_gpus, "spare_gpus", count, "Reserved for failures of the training.");
    r.row(&R::free_gpus, "free_gpus", count, "Neither serve nor train.");
    return r.named("SharedHour").all_required();
  }();
  return record;
}

const Record<planner::SharedShares>& shared_shares_record() {
  static const Record<planner::SharedShares> record = [] {
    using R = planner::SharedShares;
    Record<R> r("Shares of the cluster's GPU-hours; they add up to 1.");
    r.row(&R::service, "service", kind::number(), "");
    r.row(&R::training, "training", kind::number(), "");
    r.row(&R::spare, "spare", kind::number(), "");
    r.row(&R::free, "free", kind::number(), "");
    return r.named("SharedShares").all_required();
  }();
  return record;
}

// Rows of a cluster on which both are possible.
const Record<SharedRowFacts>& shared_run_record() {
  static const Record<SharedRowFacts> record = [] {
    using R = SharedRowFacts;
    const auto quantiles = kind::nullable(kind::object(quantiles_record));
    const auto number = kind::nullable(kind::number());
    Record<R> r("");
    r.row(&R::rule, "training_rule", kind::choice(planner::kTrainingGpusNames),
          "The rule that was taken: elastic only where it ends earlier than fixed.");
    r.row(&R::training_gpus, "training_gpus", kind::integer({.low = 0}), "In most hours.");
    r.row(&R::global_batch, "global_batch", kind::integer({.low = 0}), "");
    r.row(&R::layout, "layout", kind::text(), "Of the training in most hours; brief name.");
    r.row(&R::step, "step_s", kind::object(step_range_record), "Its step.");
    r.row(&R::mfu, "mfu", kind::number(), "Of that step.");
    r.row(&R::goodput, "goodput", kind::fraction(true), "Of a run on that count.");
    r.row(&R::resizes, "resizes", kind::integer({.low = 0}),
          "Changes of the training's count in a period.");
    r.row(&R::lost_to_resizes, "lost_to_resizes_s", kind::base_amount<Seconds>(), "In a period.");
    r.row(&R::days, "days", kind::object(quantiles_record), "Of the training.");
    r.row(&R::done, "done", kind::nullable(kind::object(date_quantiles_record)),
          "Null: no start is stated.");
    r.row(&R::cost, "cost", quantiles,
          "Of all GPUs while the training lasts; null: no price is stated.");
    r.row(&R::energy_mwh, "energy_mwh", quantiles, "Of all GPUs while the training lasts.");
    r.row(&R::power_mw_high, "power_mw_high", number, "All GPUs at their highest power.");
    r.row(&R::shares, "shares", kind::object(shared_shares_record), "");
    r.row(&R::service_load, "service_load", kind::number(),
          "Mean rate over what the held replicas serve.");
    r.row(&R::service_cost_per_day, "service_cost_per_day", number, "Of the service's hosts.");
    r.row(&R::million_tokens, "cost_per_million_tokens", number,
          "Of the service: its hosts over its prompts and answers.");
    r.row(&R::hours, "hours", kind::list(shared_hour_record), "From hour 0 of the period on.");
    return r;
  }();
  return record;
}

void check_shared_row(const SharedRowFacts& row, const ObjectReader& reader) {
  if (!row.fits) return;
  check_hours(row.hours.size(), reader);
  for (const planner::SharedHour& hour : row.hours) {
    const std::int64_t sum =
        std::int64_t{hour.service_gpus} + hour.training_gpus + hour.spare_gpus + hour.free_gpus;
    if (sum == row.gpus) continue;
    reader.fail("hours", fmt::format("must add up to the cluster's {} GPUs in each hour (got {})",
                                     row.gpus, sum));
  }
}

const Record<SharedRowFacts>& shared_row_record() {
  static const Record<SharedRowFacts> record = [] {
    using R = SharedRowFacts;
    Record<R> r("The training and the service on a cluster of one size.");
    r.row(&R::id, "id", kind::text(), kSharedRowIdAbout);
    r.row(&R::cluster, "cluster", kind::text(), "As it was asked for.");
    r.row(&R::gpus, "gpus", kind::integer(), "Of the whole cluster.");
    r.row(&R::asked, "asked", kind::flag(), "False: found as the smallest.");
    r.row(&R::recommended, "recommended", kind::flag(), "");
    r.row(&R::fits, "fits", kind::flag(), "Whether both are possible; else reason says why not.");
    r.row(&R::reason, "reason", kind::text(), "Empty: both are possible.");
    r.row(&R::limits, "limits", kind::texts(), "Limits that fail.");
    r.rows_of(
        shared_run_record(), [](auto& row) -> auto& { return row; },
        [](const R& row) { return row.fits; });
    r.named("SharedRow").all_required();
    return r.check(check_shared_row);
  }();
  return record;
}

}  // namespace

const SharedRowFacts* SharedCapacity::front() const {
  for (const auto* id : {&recommended, &closest}) {
    if (!*id) continue;
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.id == **id; });
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

const SharedServiceFacts* SharedCapacity::service_of(const SharedRowFacts& row) const {
  const auto found = std::find_if(services.begin(), services.end(), [&](const auto& service) {
    return service.cluster == row.cluster;
  });
  return found == services.end() ? nullptr : &*found;
}

const Record<SharedCapacity>& shared_capacity_record() {
  static const Record<SharedCapacity> record = [] {
    using R = SharedCapacity;
    const auto id = kind::nullable(kind::text());
    Record<R> r(
        "A training and a service on one cluster: GPUs by hour, days, cost, and the smallest "
        "cluster. p10, p50, p90: quantiles.");
    r.row(&R::train_tokens, "train_tokens", kind::number(), "");
    r.row(&R::device_kind, "device_kind", kind::choice(kDeviceKindNames), "");
    r.row(&R::start, "start", kind::nullable(kind::text()), "First day of the training.");
    r.row(&R::period_hours, "period_hours", kind::integer(), "After which the hours repeat.");
    r.row(&R::headline, "headline", kind::text(), "The decision in one line.");
    r.row(&R::verdict, "verdict", kind::text(), "");
    r.row(&R::recommended, "recommended", id, kSharedRowIdAbout);
    r.row(&R::closest, "closest", id, "Where no row meets all limits: the one that comes nearest.");
    r.row(&R::limits, "limits", kind::object(capacity_limits_record), "");
    r.row(&R::prices, "prices", kind::nullable(kind::object(capacity_prices_record)), "");
    r.row(&R::currency, "currency", kind::text(), "Of every cost.");
    r.row(&R::services, "services", kind::list(shared_service_record), "One a cluster.");
    r.row(&R::rows, "rows", kind::list(shared_row_record), "By cluster and size.");
    r.row(&R::rules, "rules", kind::texts(), "By which the GPUs are shared.");
    r.row(&R::assumptions, "assumptions", kind::texts(), "Values that the job does not state.");
    r.row(&R::not_included, "not_included", kind::texts(), "");
    return r.named("SharedCapacity").all_required();
  }();
  return record;
}

const Record<SharedCapacityFile>& shared_capacity_file_record() {
  static const Record<SharedCapacityFile> record = [] {
    using R = SharedCapacityFile;
    Record<R> r("What meshwright capacity --out writes for a job with a service.");
    r.file_of({std::string(kSharedCapacitySchema)}, true);
    r.rows_of(
        origin_record(), [](auto& file) -> auto& { return file.origin; });
    r.row(&R::model, "model", kind::object(model_record), "That is trained.");
    r.row(&R::job, "job", kind::object(job_record), "");
    r.row(&R::service, "service", kind::object(planner::service_record), "As the job file says.");
    r.row(&R::notes, "notes", kind::texts(), "What was not measured, or is used in part.");
    r.written_if([](const R& file) { return !file.notes.empty(); });
    r.row(&R::shared_capacity, "shared_capacity", kind::object(shared_capacity_record), "");
    return r.all_required();
  }();
  return record;
}

}  // namespace meshwright::reports
