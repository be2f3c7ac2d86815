// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/goodput.h"

#include <algorithm>
#include <cmath>

#include "planner/capacity/failures.h"
#include "sim/kernel_time/slowest.h"

namespace meshwright::planner {

double meta_ettr(Seconds mean_time_between, Seconds save_pause, Seconds recovery,
                 Seconds interval) {
  const double lost = (recovery + interval / 2.0) / mean_time_between;
  return (1.0 - lost) / (1.0 + save_pause / interval);
}

double renewal_ettr(Seconds mean_time_between, Seconds save_pause, Seconds recovery,
                    Seconds interval) {
  const double cycle = std::expm1((interval + save_pause) / mean_time_between);
  return interval / ((mean_time_between + recovery) * cycle);
}

double replica_loss(Seconds mean_time_between, Seconds recovery, int replicas) {
  return recovery / (mean_time_between * replicas + recovery);
}

double ettr(const Disruption& d, Seconds interval) {
  if (d.replicas == 1) {
    return renewal_ettr(d.mean_time_between, d.save_pause, d.recovery() + d.persist, interval);
  }
  return (1.0 - replica_loss(d.mean_time_between, d.recovery(), d.replicas)) /
         ((1.0 + d.save_pause / interval) * (1.0 + d.catch_up / d.mean_time_between));
}

namespace {

// Of a job that stops as a whole: failures = uptime / M, and uptime = segments + what was wasted.
void fill_whole(TimeParts& parts, const Disruption& d, Seconds trained, Seconds interval) {
  const Seconds save = d.save_pause * (trained / interval);
  const double segment = std::expm1((interval + d.save_pause) / d.mean_time_between);
  parts.failures = trained / interval * segment;
  parts[LostTime::wasted_progress_from_disruption] =
      d.mean_time_between * parts.failures - trained - save + d.persist * parts.failures;
  parts[LostTime::unproductive_checkpoint_save_time] = save;
  parts[LostTime::infrastructure_recovery_from_disruption] =
      (d.detection + d.restart) * parts.failures;
  parts[LostTime::unproductive_checkpoint_restore_time] = d.load * parts.failures;
  // A failure costs u and, anywhere in a segment, up to a segment's work.
  const Seconds whole = interval + d.save_pause;
  const double mean = (d.recovery() + d.persist + whole / 2.0).value();
  const double variance = whole.value() * whole.value() / 12.0;
  parts.deviation = seconds(std::sqrt(parts.failures * (mean * mean + variance)));
}

void fill_replicas(TimeParts& parts, const Disruption& d, Seconds trained, Seconds interval) {
  const Seconds save = d.save_pause * (trained / interval);
  parts.failures = (trained + save) / d.mean_time_between;
  const Seconds catch_up = d.catch_up * parts.failures;
  const double away = replica_loss(d.mean_time_between, d.recovery(), d.replicas);
  const Seconds recovery = (trained + save + catch_up) * (away / (1.0 - away));
  const double load = d.recovery().value() > 0.0 ? d.load / d.recovery() : 0.0;
  parts[LostTime::unproductive_checkpoint_save_time] = save;
  parts[LostTime::infrastructure_recovery_from_disruption] = recovery * (1.0 - load);
  parts[LostTime::unproductive_checkpoint_restore_time] = catch_up + recovery * load;
  const Seconds cost = d.recovery() / d.replicas + d.catch_up;
  parts.deviation = cost * std::sqrt(parts.failures);
}

}  // namespace

double slowest_node_share(int gpus, double relative_spread) {
  return expected_maximum(std::max(1, gpus / kGpusOfAReportedNode)) * relative_spread;
}

TimeParts time_parts(Seconds productive, const Disruption& disruption, Seconds interval,
                     const AddedTime& added) {
  TimeParts parts;
  parts.productive = productive;
  parts[LostTime::custom_badput_events] = productive * added.custom;
  parts[LostTime::step_time_deviation] = productive * added.step_time_deviation;
  const Seconds trained = productive * (1.0 + added.sum());
  if (disruption.replicas == 1) {
    fill_whole(parts, disruption, trained, interval);
  } else {
    fill_replicas(parts, disruption, trained, interval);
  }
  parts[LostTime::program_startup] = disruption.restart;
  parts.elapsed = productive;
  for (const Seconds part : parts.lost) parts.elapsed += part;
  return parts;
}

}  // namespace meshwright::planner
