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
  return described([](Record<planner::ServiceHour>& r) {
    using R = planner::ServiceHour;
    r.about("The service in one hour; the list begins with hour 0.");
    r.row<&R::requests_per_second>("Mean of the hour.");
    r.row<&R::peak_requests_per_second>("Largest of the hour.");
    r.row<&R::replicas>(IntRange{.low = 0}, "That the largest rate needs.");
    r.row<&R::held_replicas>(IntRange{.low = 0},
                             "That have GPUs: also those that start, and those that stay.");
    r.row<&R::ttft>(nullable(), "Mean time to first token at the largest rate.");
    r.row<&R::tpot>(nullable(), "Mean time per output token at the largest rate.");
    r.row<&R::ttft_at_percentile>(nullable(), "Null: means are asked.");
    r.row<&R::tpot_at_percentile>(nullable(), "Null: means are asked.");
    r.row<&R::load>("Mean rate over what the held replicas serve.");
    r.named("ServiceHour").all_required();
  });
}

// Rows of a service that meets its targets.
const Record<SharedServiceFacts>& shared_deployment_record() {
  return described([](Record<SharedServiceFacts>& r) {
    using R = SharedServiceFacts;
    r.row<&R::replica>("Layout of a replica.");
    r.row<&R::deployment>("At the peak.");
    r.row<&R::gpus_of_replica>(IntRange{.low = 0});
    r.row<&R::gpus_of_host>(IntRange{.low = 0},
                            "GPUs change between service and training in whole hosts.");
    r.row<&R::rate_of_replica>("requests_per_second_of_replica", "Within the targets, of means.");
    r.row<&R::lead_hours>(IntRange{.low = 0},
                          "Hours before its first request at which a replica gets its GPUs.");
    r.row<&R::hours>(service_hour_record);
    r.row<&R::smallest_gpus>(
        nullable(),
        "Of the smallest cluster that does both within the limits; null: none was found.");
    r.row<&R::most_gpus>(IntRange{.low = 0}, "The largest cluster that the search may evaluate.");
    r.row<&R::hosts_not_tried>(
        IntRange{.low = 0}, "Sizes just below the smallest cluster that were not tried, in hosts.");
    r.row<&R::searched_gpus>("Counts of the training for which layouts were searched.");
  });
}

const Record<SharedServiceFacts>& shared_service_record() {
  return described([](Record<SharedServiceFacts>& r) {
    using R = SharedServiceFacts;
    r.about("The service on one cluster.");
    r.row<&R::cluster>("As it was asked for.");
    r.row<&R::cluster_name>("As its file says.");
    r.row<&R::device>();
    r.row<&R::meets>("Whether a deployment meets the targets.");
    r.row<&R::reason>("Why none does; empty: one does.");
    r.row<&R::times_over_target>(
        nullable(), "Larger of time / target of the nearest deployment; null: one meets them.");
    r.rows_of(
        shared_deployment_record(), [](auto& service) -> auto& { return service; },
        [](const R& service) { return service.meets; });
    r.named("SharedService").all_required();
    r.check([](const R& service, const ObjectReader& reader) {
      if (service.meets) check_hours(service.hours.size(), reader);
    });
  });
}

const Record<planner::SharedHour>& shared_hour_record() {
  return described([](Record<planner::SharedHour>& r) {
    using R = planner::SharedHour;
    r.about("GPUs of one hour; they add up to the cluster's.");
    r.row<&R::service_gpus>(IntRange{.low = 0}, "Whole hosts of the service.");
    r.row<&R::training_gpus>(IntRange{.low = 0});
    r.row<&R::spare_gpus>(IntRange{.low = 0}, "Reserved for failures of the training.");
    r.row<&R::free_gpus>(IntRange{.low = 0}, "Neither serve nor train.");
    r.named("SharedHour").all_required();
  });
}

const Record<planner::SharedShares>& shared_shares_record() {
  return described([](Record<planner::SharedShares>& r) {
    using R = planner::SharedShares;
    r.about("Shares of the cluster's GPU-hours; they add up to 1.");
    r.rows<&R::service, &R::training, &R::spare, &R::free>();
    r.named("SharedShares").all_required();
  });
}

// Rows of a cluster on which both are possible.
const Record<SharedRowFacts>& shared_run_record() {
  return described([](Record<SharedRowFacts>& r) {
    using R = SharedRowFacts;
    r.row<&R::rule>("training_rule", planner::kTrainingGpusNames,
                    "The rule that was taken: elastic only where it ends earlier than fixed.");
    r.row<&R::training_gpus>(IntRange{.low = 0}, "In most hours.");
    r.row<&R::global_batch>(IntRange{.low = 0});
    r.row<&R::layout>("Of the training in most hours; brief name.");
    r.row<&R::step>("step_s", step_range_record, "Its step.");
    r.row<&R::mfu>("Of that step.");
    r.row<&R::goodput>(kind::fraction(true), "Of a run on that count.");
    r.row<&R::resizes>(IntRange{.low = 0}, "Changes of the training's count in a period.");
    r.row<&R::lost_to_resizes>("lost_to_resizes_s", "In a period.");
    r.row<&R::days>(quantiles_record, "Of the training.");
    r.row<&R::done>(nullable(date_quantiles_record), "Null: no start is stated.");
    r.row<&R::cost>(nullable(quantiles_record),
                    "Of all GPUs while the training lasts; null: no price is stated.");
    r.row<&R::energy_mwh>(nullable(quantiles_record), "Of all GPUs while the training lasts.");
    r.row<&R::power_mw_high>(nullable(), "All GPUs at their highest power.");
    r.row<&R::shares>(shared_shares_record);
    r.row<&R::service_load>("Mean rate over what the held replicas serve.");
    r.row<&R::service_cost_per_day>(nullable(), "Of the service's hosts.");
    r.row<&R::million_tokens>("cost_per_million_tokens", nullable(),
                              "Of the service: its hosts over its prompts and answers.");
    r.row<&R::hours>(shared_hour_record, "From hour 0 of the period on.");
  });
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
  return described([](Record<SharedRowFacts>& r) {
    using R = SharedRowFacts;
    r.about("The training and the service on a cluster of one size.");
    r.row<&R::id>(kSharedRowIdAbout);
    r.row<&R::cluster>("As it was asked for.");
    r.row<&R::gpus>("Of the whole cluster.");
    r.row<&R::asked>("False: found as the smallest.");
    r.row<&R::recommended>();
    r.row<&R::fits>("Whether both are possible; else reason says why not.");
    r.row<&R::reason>("Empty: both are possible.");
    r.row<&R::limits>("Limits that fail.");
    r.rows_of(
        shared_run_record(), [](auto& row) -> auto& { return row; },
        [](const R& row) { return row.fits; });
    r.named("SharedRow").all_required();
    r.check(check_shared_row);
  });
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
  return described([](Record<SharedCapacity>& r) {
    using R = SharedCapacity;
    r.about(
        "A training and a service on one cluster: GPUs by hour, days, cost, and the smallest "
        "cluster. p10, p50, p90: quantiles.");
    r.row<&R::train_tokens>();
    r.row<&R::device_kind>(kDeviceKindNames);
    r.row<&R::start>(nullable(), "First day of the training.");
    r.row<&R::period_hours>("After which the hours repeat.");
    r.row<&R::headline>("The decision in one line.");
    r.row<&R::verdict>();
    r.row<&R::recommended>(nullable(), kSharedRowIdAbout);
    r.row<&R::closest>(nullable(), "Where no row meets all limits: the one that comes nearest.");
    r.row<&R::limits>(capacity_limits_record);
    r.row<&R::prices>(nullable(capacity_prices_record));
    r.row<&R::currency>("Of every cost.");
    r.row<&R::services>(shared_service_record, "One a cluster.");
    r.row<&R::rows>(shared_row_record, "By cluster and size.");
    r.row<&R::rules>("By which the GPUs are shared.");
    r.row<&R::assumptions>("Values that the job does not state.");
    r.row<&R::not_included>();
    r.named("SharedCapacity").all_required();
  });
}

const Record<SharedCapacityFile>& shared_capacity_file_record() {
  return described([](Record<SharedCapacityFile>& r) {
    using R = SharedCapacityFile;
    r.about("What meshwright capacity --out writes for a job with a service.");
    r.file_of({std::string(kSharedCapacitySchema)}, true);
    add_origin(r);
    r.row<&R::model>(model_record, "That is trained.");
    r.row<&R::job>(job_record);
    r.row<&R::service>(planner::service_record, "As the job file says.");
    r.row<&R::notes>("What was not measured, or is used in part.");
    r.written_if([](const R& file) { return !file.notes.empty(); });
    r.row<&R::shared_capacity>(shared_capacity_record);
    r.all_required();
  });
}

}  // namespace meshwright::reports
