// SPDX-License-Identifier: Apache-2.0
// The planner's answer for a training and a service as a record.
#include <fmt/format.h>

#include "planner/shared_cluster/replicas_by_hour.h"
#include "reports/records/shared_capacity.h"
#include "reports/text/shared_capacity_text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

std::string shared_id(const planner::SharedAnswer& answer, const planner::SharedRow& row) {
  return fmt::format("{}/{}", answer.question.training.clusters[row.cluster_case].name, row.gpus);
}

SharedServiceFacts shared_service_of(const planner::SharedAnswer& answer, std::size_t place) {
  const planner::SharedCluster& cluster = answer.clusters[place];
  const planner::ClusterCase& asked = answer.question.training.clusters[place];
  const planner::ServiceByHour& service = cluster.service;
  SharedServiceFacts facts{.cluster = asked.name,
                           .cluster_name = asked.cluster.name,
                           .device = only_device(asked.cluster).name,
                           .meets = service.meets(),
                           .reason = service.reason,
                           .times_over_target = service.times_over_target};
  if (!service.meets()) return facts;
  facts.replica = meshwright::short_name(service.peak.deployment.pool.options.layout);
  facts.deployment = planner::short_name(service.peak.deployment);
  facts.gpus_of_replica = service.gpus_of_replica;
  facts.gpus_of_host = planner::gpus_of_host(asked.cluster);
  facts.rate_of_replica = service.rate_of_replica;
  facts.lead_hours = service.lead_hours;
  facts.hours = service.hours;
  facts.searched_gpus = cluster.searched_gpus;
  if (!cluster.smallest) return facts;
  facts.most_gpus = cluster.smallest->most_gpus;
  facts.hosts_not_tried = cluster.smallest->hosts_not_tried;
  if (cluster.smallest->row) facts.smallest_gpus = cluster.smallest->row->gpus;
  return facts;
}

SharedRowFacts shared_row_of(const planner::SharedAnswer& answer, std::size_t place) {
  const planner::SharedRow& row = answer.rows[place];
  SharedRowFacts facts{.id = shared_id(answer, row),
                       .cluster = answer.question.training.clusters[row.cluster_case].name,
                       .gpus = row.gpus,
                       .asked = row.asked,
                       .recommended = answer.recommended == place,
                       .fits = row.fits(),
                       .reason = row.reason,
                       .limits = row.broken_limits};
  if (!row.fits()) return facts;
  const Estimate& estimate = row.training.main_phase().estimate;
  facts.rule = row.training_gpus;
  facts.training_gpus = row.training.gpus;
  facts.global_batch = row.training.global_batch_size;
  facts.layout = brief_name(estimate.layout);
  facts.step = {estimate.step_time_low, estimate.step_time, estimate.step_time_high};
  facts.mfu = estimate.model_flops_utilization;
  facts.goodput = row.training.run.time.goodput();
  facts.resizes = row.resizes;
  facts.lost_to_resizes = row.lost_to_resizes;
  facts.days = row.days;
  if (const auto& start = answer.question.training.options.start) {
    const auto at = [&](double days) {
      return planner::date_text(planner::last_day(*start, days));
    };
    facts.done = DateQuantiles{at(row.days.p10), at(row.days.p50), at(row.days.p90)};
  }
  facts.cost = row.cost;
  facts.energy_mwh = row.energy_mwh;
  facts.power_mw_high = row.megawatts_high;
  facts.shares = row.shares;
  facts.service_load = row.service_load;
  facts.service_cost_per_day = row.service_cost_per_day;
  facts.million_tokens = row.million_tokens;
  facts.hours = row.hours;
  return facts;
}

}  // namespace

SharedCapacity shared_capacity_of(const planner::SharedAnswer& answer) {
  const planner::CapacityQuestion& training = answer.question.training;
  const planner::CapacityOptions& options = training.options;
  SharedCapacity capacity{.train_tokens = training.tokens(),
                          .device_kind = training.device_kind(),
                          .period_hours = answer.question.service.load_curve.period_hours,
                          .headline = shared_headline(answer),
                          .verdict = shared_verdict(answer),
                          .limits = limit_facts_of(options.limits),
                          .prices = price_facts_of(options.prices),
                          .currency = options.prices.currency,
                          .rules = shared_rules(answer),
                          .assumptions = shared_assumptions(answer),
                          .not_included = left_out_of_sharing(answer)};
  if (options.start) capacity.start = planner::date_text(*options.start);
  for (std::size_t i = 0; i < answer.clusters.size(); ++i) {
    capacity.services.push_back(shared_service_of(answer, i));
  }
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    capacity.rows.push_back(shared_row_of(answer, i));
  }
  if (answer.recommended) capacity.recommended = capacity.rows[*answer.recommended].id;
  if (answer.closest) capacity.closest = capacity.rows[*answer.closest].id;
  return capacity;
}

SharedCapacityFile shared_capacity_file_of(const planner::SharedAnswer& answer,
                                           const Origin& origin) {
  const planner::CapacityQuestion& training = answer.question.training;
  SharedCapacityFile file{.origin = origin,
                          .model = training.model,
                          .job = training.clusters.front().job,
                          .service = answer.question.service,
                          .shared_capacity = shared_capacity_of(answer)};
  for (const planner::ClusterCase& asked : training.clusters) {
    if (!asked.note.empty()) file.notes.push_back(asked.note);
  }
  return file;
}

}  // namespace meshwright::reports
