// SPDX-License-Identifier: Apache-2.0
// Observations as JSON and back.
#include "sim/base/trial_mode.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"
#include "sim/json/result_records.h"
#include "sim/layout/short_name.h"
#include "sim/step/terms.h"

namespace meshwright {
namespace {

const Record<ObservedTerm>& observed_term_record() {
  return described([](Record<ObservedTerm>& r) {
    r.about("A part of the step's time.");
    r.named("ObservedTerm");
    r.row<&ObservedTerm::kind>("name", kTermNames, "The part.");
    r.row<&ObservedTerm::time>("seconds",
                               "Median over steps, of the rank that waited least for others.");
    r.all_required();
  });
}

const Record<CountedTransfer>& counted_transfer_record() {
  return described([](Record<CountedTransfer>& r) {
    r.about("A transfer as rank 0 counted it.");
    r.named("CountedTransfer");
    r.rows_of(transfer_record());
    r.row<&CountedTransfer::time>("measured_seconds", "All calls of a step, waiting included.");
  });
}

const Record<OtherProgram>& other_program_record() {
  return described([](Record<OtherProgram>& r) {
    r.about("Another program that ran on the cores of a trial.");
    r.named("OtherProgram");
    r.row<&OtherProgram::name>();
    r.row<&OtherProgram::cores>("Core seconds a second.");
    r.row<&OtherProgram::core>(IntRange{.low = -1}, "Last seen on; -1: it used several.");
    r.all_required();
  });
}

// A time that an older file does not say is the median's.
void add_step_times(Record<Observation>& r) {
  using O = Observation;
  const auto time = kind::base_amount<Seconds>();
  r.row<&O::step_time>("Median over steps of the slowest rank.").required();
  const auto add = [&](Seconds O::*member, std::string_view key, std::string_view about) {
    r.row(member, key, time, about).absent_in_older_files();
    r.default_from([member](O& o) { o.*member = o.step_time; });
  };
  add(&O::step_time_p10, "step_time_p10_seconds", "10 % of the steps are as fast.");
  add(&O::step_time_p90, "step_time_p90_seconds", "90 % of the steps are as fast.");
  add(&O::step_time_min, "step_time_min_seconds", "The fastest step.");
  r.row<&O::step_time_drift>(NumberRange{.low = -1.0},
                             "Median of the later half of the steps over the earlier's, less 1.")
      .absent_in_older_files();
  r.derived<double>("step_time_error", kind::number(), "Standard error of the median, as a share.",
                    step_time_error);
  r.row<&O::host_time_ratio>(
      "Time of a reference around the steps over its time in the device's profile.");
  r.row<&O::host_time_reference>(kHostTimeReferenceNames, "What the ratio was taken with.")
      .omitted_at_default();
  r.row<&O::other_program>(
      other_program_record,
      "Program outside the trial that used most of the cores; absent: none used much.");
  r.row<&O::runs>("2: the first run was noisy; this is the less noisy one.").omitted_at_default();
  r.derived<bool>("noisy", kind::flag(), "Median and ranking may be the host's.", is_noisy);
}

Record<Observation> make_observation_record() {
  using O = Observation;
  constexpr IntRange kFromZero{.low = 0};
  Record<O> r("What happened when a layout was executed.");
  r.named("Observation");
  r.derived<std::string>("short_name", kind::text(), "The plan's layout in a line.",
                         [](const O& o) { return short_name(o.layout); });
  r.row<&O::layout>(layout_record, "The plan's layout.").required();
  r.row<&O::run_layout>(layout_record, "What the ranks at hand could run of it.")
      .absent_in_older_files();
  r.default_from([](O& o) { o.run_layout = o.layout; });
  r.row<&O::run_layers>(kFromZero, "Layers that were run.").required();
  r.row<&O::run_num_moe_experts>(kFromZero,
                                 "Experts of a layer that were run; default: the model's.")
      .omitted_at_default();
  r.row<&O::run_global_batch_size>(kFromZero, "Sequences of a step that were run; 0: the job's.")
      .absent_in_older_files();
  r.row<&O::run_precision>(kPrecisionNames, "Number format that was run; default: the job's.");
  r.row<&O::ranks>(kFromZero, "Ranks that ran it.").required();
  r.row<&O::steps>(kFromZero, "Steps that were timed.").required();
  r.row<&O::complete>("Everything of the plan's layout was run.").absent_in_older_files();
  r.row<&O::not_run>("What was not, in words.").absent_in_older_files();
  add_step_times(r);
  r.row<&O::terms>(observed_term_record, "Parts of the step's time.").absent_in_older_files();
  r.row<&O::counted>(counted_transfer_record, "What rank 0 counted, by collective.")
      .absent_in_older_files();
  r.row<&O::peak_memory>("The most that the trial had in use on a rank.").absent_in_older_files();
  r.row<&O::loss>(kAnyNumber, "Loss after the last step.").absent_in_older_files();
  r.row<&O::device>("\"cpu\" or \"cuda\".").absent_in_older_files();
  r.row<&O::mode>(kTrialModeNames, "What was run.").absent_in_older_files();
  r.row<&O::tokens_per_second>("Tokens of all ranks a second; 0: not measured.")
      .absent_in_older_files();
  r.row<&O::failure>("Why the run ended early; empty: it did not.").absent_in_older_files();
  return r;
}

}  // namespace

const Record<Observation>& observation_record() {
  static const Record<Observation> record = make_observation_record();
  return record;
}

Observation observation_from_json(const Json& json, const std::string& file,
                                  const std::string& pointer) {
  return observation_record().read(json, file, pointer);
}

Json to_json(const Observation& observation) { return observation_record().write(observation); }

}  // namespace meshwright
