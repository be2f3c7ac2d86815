// SPDX-License-Identifier: Apache-2.0
// Which share of the time a long job trains, and where the rest goes.
//
// ETTR (effective training time ratio) = productive time / elapsed time: goodput in Google's words.
// Failures are a Poisson process while the job runs; none happens during a restart; a failure loses
// what was trained since the last checkpoint that is on storage.
#pragma once

#include <array>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"

namespace meshwright::planner {

struct Disruption {
  Seconds mean_time_between;  // M, failures of the whole job
  Seconds save_pause;         // w: training stands
  Seconds persist;            // d: until a save can be loaded, in the background
  Seconds detection;
  Seconds restart;   // nodes replaced, processes and communicators up
  Seconds load;      // of the checkpoint
  int replicas = 1;  // that fail alone: the others train on
  Seconds catch_up;  // all wait while a replica that failed is filled again
  // u: from the failure to the first step.
  [[nodiscard]] Seconds recovery() const { return detection + restart + load; }
};

// E[ETTR] = (1 - (u + tau / 2) / M) / (1 + w / tau) (arXiv 2410.21680). Within 5 % of a Monte Carlo
// simulation where M is 0.1 day or more; below, it can be negative.
double meta_ettr(Seconds mean_time_between, Seconds save_pause, Seconds recovery, Seconds interval);
inline constexpr double kMetaValidSeconds = 0.1 * 86400.0;
constexpr bool meta_ettr_holds(Seconds mean_time_between) {
  return mean_time_between.value() >= kMetaValidSeconds;
}

// ETTR = tau / ((M + u) (exp((tau + w) / M) - 1)): a renewal process whose cycle is a segment of
// tau that is trained and saved without a failure (after Daly, "A higher order estimate of the
// optimum checkpoint interval", 2006).
double renewal_ettr(Seconds mean_time_between, Seconds save_pause, Seconds recovery,
                    Seconds interval);

// Share of the time that replicas which fail alone are away: u / (G M + u) for G of them. G = 1 is
// the restart's share of the renewal form.
double replica_loss(Seconds mean_time_between, Seconds recovery, int replicas);

// Of a job with all that Disruption says. One replica: renewal_ettr() with d added to u, for that
// much more is trained again after each failure. Several: (1 - replica_loss) / ((1 + w / tau) (1 +
// catch_up / M)), nothing trained again.
double ettr(const Disruption& disruption, Seconds interval);

// Lost time, by the names of Google's library (AI-Hypercomputer/ml-goodput-measurement 57092cf,
// BadputType), and its step-time deviation, which it counts beside them; data that loads in the
// background is no lost time.
enum class LostTime {
  tpu_initialization,
  training_prep,
  program_startup,
  data_loading_sync,
  unproductive_checkpoint_save_time,
  unproductive_checkpoint_restore_time,
  wasted_progress_from_disruption,
  infrastructure_recovery_from_disruption,
  custom_badput_events,
  step_time_deviation,
  other,
};
inline constexpr std::array kLostTimeNames{
    EnumName{LostTime::tpu_initialization, "tpu_initialization"},
    EnumName{LostTime::training_prep, "training_prep"},
    EnumName{LostTime::program_startup, "program_startup"},
    EnumName{LostTime::data_loading_sync, "data_loading_sync"},
    EnumName{LostTime::unproductive_checkpoint_save_time, "unproductive_checkpoint_save_time"},
    EnumName{LostTime::unproductive_checkpoint_restore_time,
             "unproductive_checkpoint_restore_time"},
    EnumName{LostTime::wasted_progress_from_disruption, "wasted_progress_from_disruption"},
    EnumName{LostTime::infrastructure_recovery_from_disruption,
             "infrastructure_recovery_from_disruption"},
    EnumName{LostTime::custom_badput_events, "custom_badput_events"},
    EnumName{LostTime::step_time_deviation, "step_time_deviation"},
    EnumName{LostTime::other, "other"}};
constexpr std::string_view name_of(LostTime v) { return name_in(kLostTimeNames, v); }

// Expected times of a run; they add up to `elapsed`.
struct TimeParts {
  Seconds elapsed, productive;
  std::array<Seconds, kLostTimeNames.size()> lost{};
  double failures = 0.0;  // expected
  Seconds deviation;      // of `elapsed`, by how many failures come and when
  [[nodiscard]] double goodput() const { return productive / elapsed; }
  Seconds& operator[](LostTime kind) { return lost[static_cast<std::size_t>(kind)]; }
  Seconds operator[](LostTime kind) const { return lost[static_cast<std::size_t>(kind)]; }
};

// Shares of the productive time that come on top of it, in which failures cost as much as in
// training: evaluation, and waiting for the slowest.
struct AddedTime {
  double custom = 0.0, step_time_deviation = 0.0;
  [[nodiscard]] double sum() const { return custom + step_time_deviation; }
};

// c(n) sigma: what n nodes whose steps spread by sigma, relative, wait for the slowest of them
// (order statistics; sim/kernel_time/slowest.h has c).
double slowest_node_share(int gpus, double relative_spread);

// A run that trains for `productive`, once started.
TimeParts time_parts(Seconds productive, const Disruption& disruption, Seconds interval,
                     const AddedTime& added = {});

}  // namespace meshwright::planner
