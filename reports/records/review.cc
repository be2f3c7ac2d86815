// SPDX-License-Identifier: Apache-2.0
#include "reports/records/review.h"

#include "sim/json/input_records.h"
#include "sim/json/result_records.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

const Record<FilePlace>& file_place_record() {
  return described([](Record<FilePlace>& r) {
    using R = FilePlace;
    r.about("A place in a file.");
    r.row<&R::file>("The file.");
    r.row<&R::line>(IntRange{.low = 0}, "From 1; 0: nowhere in particular.");
    r.named("FilePlace").all_required();
  });
}

const Record<LaunchFact>& launch_fact_record() {
  return described([](Record<LaunchFact>& r) {
    using R = LaunchFact;
    r.about("A value that the launch says, or an assumed value for what it does not say.");
    r.row<&R::field>("Our name of it.");
    r.row<&R::value>("Its value.");
    r.row<&R::said>("As it is typed; of an assumption, why.");
    r.row<&R::place>(file_place_record, "Where it is typed.");
    r.named("LaunchFact").all_required();
  });
}

const Record<NotUnderstood>& not_understood_record() {
  return described([](Record<NotUnderstood>& r) {
    using R = NotUnderstood;
    r.about("What the launch says and the prediction does not know.");
    r.row<&R::said>("As it is typed.");
    r.row<&R::why>("Why it is left out.");
    r.row<&R::place>(file_place_record, "Where it is typed.");
    r.row<&R::effect>("What it may change: memory, sizes, cost ...; unknown; none.");
    r.all_required();
  });
}

const Record<EnvironmentNote>& environment_note_record() {
  return described([](Record<EnvironmentNote>& r) {
    using R = EnvironmentNote;
    r.about("A variable of the environment that changes time or memory.");
    r.row<&R::name>("Its name.");
    r.row<&R::value>("Its value.");
    r.row<&R::effect>("What it does.");
    r.row<&R::slows>("It is a first suspect of a slow run.");
    r.row<&R::place>(file_place_record, "Where it is set.");
    r.all_required();
  });
}

const Record<LaunchFacts>& launch_facts_record() {
  return described([](Record<LaunchFacts>& r) {
    using R = LaunchFacts;
    r.about("What the launch says.");
    r.row<&R::target>("The launcher.");
    r.row<&R::framework>("Its name in configs/frameworks; empty: none fits.");
    r.row<&R::read>(launch_fact_record, "What was read.");
    r.row<&R::assumed>(launch_fact_record, "What it does not say.");
    r.row<&R::not_understood>(not_understood_record,
                              "What was not understood, or is not modelled.");
    r.row<&R::harmless>("Options that change neither time nor memory.");
    r.row<&R::environment>(environment_note_record,
                           "Variables that change time or memory; their effect is not predicted.");
    r.all_required();
  });
}

const Record<LogFacts>& log_facts_record() {
  static const Record<LogFacts> record = [] {
    using R = LogFacts;
    const auto timed = [](const R& log) { return log.step_time.has_value(); };
    Record<R> r("What a log measured.");
    const auto add_count = [&](int R::*member, std::string_view key, std::string_view about) {
      r.row(member, key, kind::integer({.low = 0}), about).only_if(timed);
    };
    r.row<&R::out_of_memory>("The run ended out of memory.").required();
    r.row<&R::step_time>("step_seconds", "Median of the steps.");
    r.row<&R::p10>("step_seconds_p10", "10 % of the steps are as fast.");
    r.row<&R::p90>("step_seconds_p90", "90 % of the steps are as fast.");
    add_count(&R::steps, "steps", "Steps that count.");
    add_count(&R::warm_up_steps, "warm_up_steps", "Steps of warm-up, which do not.");
    add_count(&R::steps_of_other_batches, "steps_of_other_batches",
              "Steps of other batches, which do not.");
    add_count(&R::restarts, "restarts", "How often the run began again.");
    r.row<&R::peak_memory>("As the framework prints it.");
    r.row<&R::software>("Whose lines were read.").only_if(timed);
    r.row<&R::other_memory>(
        "Peak that is not compared: reserved where the prediction is of allocated memory, or the "
        "other way round.");
    r.derived("timers_seconds",
              {{"type", "object"}, {"additionalProperties", kind::number().schema()}},
              "Megatron-LM's timers, by its names.", [](const R& log) {
                Json timers;
                for (const auto& [name, seconds] : log.timers) timers[name] = seconds.value();
                return timers;
              });
    return r;
  }();
  return record;
}

const Record<planner::Review>& violation_record() {
  return described([](Record<planner::Review>& r) {
    using R = planner::Review;
    r.about("The rule that the launched layout breaks.");
    r.derived<std::string>("rule", kind::text(), "Its name.", [](const R& review) {
      return std::string(rule_text(review.violation->rule).name);
    });
    r.row<&R::sentence>("How it is broken.");
    r.row<&R::smallest_change>("The change that makes the layout valid; empty: none was found.");
    r.all_required();
  });
}

const Record<planner::MeasuredPart>& measured_part_record() {
  return described([](Record<planner::MeasuredPart>& r) {
    using R = planner::MeasuredPart;
    r.about("A part of the step that was measured and predicted.");
    r.row<&R::name>("timer", "Megatron-LM's name of its timer.");
    r.row<&R::meaning>("The predicted terms that it is compared with.");
    r.row<&R::predicted>("Predicted.");
    r.row<&R::measured>("Measured.");
    r.all_required();
  });
}

const Record<SettingChange>& setting_change_record() {
  return described([](Record<SettingChange>& r) {
    using R = SettingChange;
    r.about("An option or key of the launcher that changes.");
    r.row<&R::name>("Its name.");
    r.row<&R::before>(nullable(), "Its value before; null: it is not said.");
    r.row<&R::after>(nullable(), "Its value after; null: it is not said.");
    r.all_required();
  });
}

struct BetterLaunch : planner::BetterLayout {
  bool compared = false;  // with the launched layout, which fits
  std::vector<SettingChange> changes{};
};

const Record<BetterLaunch>& better_launch_record() {
  static const Record<BetterLaunch> record = [] {
    using R = BetterLaunch;
    const auto compared = [](const R& better) { return better.compared; };
    const auto time = kind::base_amount<Seconds>();
    Record<R> r("A layout that is faster than the launched one, or fits where that does not.");
    const auto add_time = [&](Seconds Estimate::*member, std::string_view key,
                              std::string_view about) {
      r.row_at(
          [member](auto& better) -> auto& { return better.estimate.*member; }, key, about);
    };
    r.row_at(
        [](auto& better) -> auto& { return better.estimate.layout; }, "layout", layout_record,
        "The layout.");
    r.derived<std::string>("line", kind::text(), "The layout in a line.",
                           [](const R& better) { return short_name(better.estimate.layout); });
    r.row<&R::same_sizes>("Tensor, pipeline, context and expert sizes are as launched.");
    add_time(&Estimate::step_time, "step_seconds", "Predicted time of a step.");
    add_time(&Estimate::step_time_low, "step_seconds_low", "Begin of its 90 % interval.");
    add_time(&Estimate::step_time_high, "step_seconds_high", "End of its 90 % interval.");
    r.derived<Bytes>("peak_memory_bytes", kind::base_amount<Bytes>(),
                     "Memory of the stage with the highest use.",
                     [](const R& better) { return better.estimate.peak_memory(); });
    r.row<&R::predicted_ratio>("Its step over the launched one's.").only_if(compared);
    r.row<&R::probability_faster>(kind::fraction(true), "That it is faster than the launched one.")
        .only_if(compared);
    r.row<&R::expected_step>("expected_step_seconds", time,
                             "The measured step times the predicted ratio.")
        .only_if(compared);
    r.row<&R::changes>(setting_change_record, "In the launcher's words.");
    return r.all_required();
  }();
  return record;
}

std::vector<BetterLaunch> better_launches(const ReviewedRun& run) {
  std::vector<BetterLaunch> better;
  for (std::size_t i = 0; i < run.better.size(); ++i) {
    better.push_back({run.better[i], !run.violation, run.changes[i]});
  }
  return better;
}

// A row that is written where there is a value.
template <typename Owner, typename M>
void add_if_known(Record<ReviewedRun>& r, std::optional<M> Owner::*member, std::string_view key,
                  const Kind<M>& kind, std::string_view about) {
  r.row(member, key, kind::optional(kind), about).written_if([member](const ReviewedRun& run) {
    return (run.*member).has_value();
  });
}

void add_fit(Record<ReviewedRun>& r) {
  using R = ReviewedRun;
  r.derived<bool>("fits", kind::flag(), "The launched layout obeys every rule.",
                  [](const R& run) { return !run.violation; });
  r.derived<bool>("uncertain", kind::flag(), "Its memory is too close to the limit to be sure.",
                  [](const R& run) { return is_close(run) || needs_fused_attention(run); });
  r.derived<std::vector<std::string>>("without", kind::texts(),
                                      "What may change the answer and is not in it.", left_out);
  add_if_known(r, &R::eager_peak, "eager_attention_peak_bytes", kind::base_amount<Bytes>(),
               "Memory with eager attention, where the launch does not say which attention runs.");
  r.row<&R::log_refused>("Why the log is another run's.").omitted_at_default();
  r.derived("violation", violation_record().schema(), "The rule that is broken.", [](const R& run) {
     return violation_record().write(run);
   }).written_if([](const R& run) { return run.violation.has_value(); });
}

void add_answers(Record<ReviewedRun>& r) {
  using R = ReviewedRun;
  add_if_known(r, &R::estimate, "estimate", kind::object(estimate_record),
               "What is predicted, unless a rule beside memory's is broken.");
  r.row<&R::printed_peak>("Predicted memory, as the framework prints it.")
      .only_if([](const R& run) { return run.estimate.has_value(); });
  r.row<&R::log>("measured", nullable(log_facts_record), "What the log says.");
  add_if_known(r, &R::step_error, "step_error", kind::number({.low = -1.0}),
               "Predicted over measured step, less 1.");
  r.row<&R::inside_interval>("The measured step is inside the 90 % interval.")
      .only_if([](const R& run) { return run.step_error.has_value(); });
  add_if_known(r, &R::memory_error, "memory_error", kind::number({.low = -1.0}),
               "Predicted over measured memory, less 1.");
  r.row<&R::parts>(measured_part_record, "Timers and what they measure.");
  r.derived<std::vector<BetterLaunch>>("better", kind::list(better_launch_record),
                                       "Better layouts, fastest first.", better_launches);
  r.row_at(
      [](auto& run) -> auto& { return run.statistics.enumerated; }, "layouts_searched",
      kind::count(), "Layouts that the search looked at.");
  r.derived("not_expressible",
            {{"type", "object"}, {"additionalProperties", kind::count().schema()}},
            "Faster layouts that the launcher cannot say, by why not.",
            [](const R& run) { return Json(run.not_expressible); });
  r.row<&R::changed_launch>(
      "The launch of the fastest, with its other lines unchanged; empty: none is better, or its "
      "files cannot say it.");
}

}  // namespace

const Record<ReviewedRun>& review_record() {
  return described([](Record<ReviewedRun>& r) {
    using R = ReviewedRun;
    r.about("A run that somebody has: does it fit, predicted and measured, and what is better.");
    r.file_of({"meshwright.review/1"}, true);
    add_origin(r);
    r.row<&R::launch>(launch_facts_record, "What the launch says.");
    r.row<&R::model>(model_record, "The model.");
    r.row<&R::cluster>(cluster_record, "The cluster, at the run's size.");
    r.row<&R::job>(job_record, "The job.");
    r.row<&R::layout>(layout_record, "The launched layout.");
    r.row<&R::notes>("What was not measured, is unproven, or is used in part.")
        .omitted_at_default();
    add_fit(r);
    add_answers(r);
    r.all_required();
  });
}

bool is_close(const ReviewedRun& run) {
  return run.estimate && run.estimate->memory_fit == MemoryFit::uncertain;
}

bool needs_fused_attention(const ReviewedRun& run) {
  return run.eager_peak && !run.violation &&
         *run.eager_peak > only_device(run.cluster).memory * (1.0 - kMemorySpread);
}

std::vector<std::string> left_out(const ReviewedRun& run) {
  std::vector<std::string> said;
  for (const NotUnderstood& item : run.launch.not_understood) {
    if (item.changes_answer()) said.push_back(item.said);
  }
  return said;
}

}  // namespace meshwright::reports
