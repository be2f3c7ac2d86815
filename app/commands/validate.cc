// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/error_gate.h"
#include "app/commands/serving/trial_serving.h"
#include "app/commands/serving/validate_serving.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/observations.h"
#include "app/options/command.h"
#include "app/options/inputs.h"
#include "app/options/output.h"
#include "app/options/refit_options.h"
#include "planner/accuracy/learning.h"
#include "planner/accuracy/validation.h"
#include "reports/records/plan_file.h"
#include "reports/records/validation.h"
#include "reports/tables/tables.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/statistics.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

struct ValidateOptions {
  std::string plan, trials, cluster;
  std::string max_error;
  std::string refit_out;
  std::vector<std::string> fit;
  bool force = false;
  OutputOptions output;
};

// One row a measured term of each layout.
reports::Table term_errors(const planner::Validation& validation) {
  reports::Table table{"Terms",
                       {{"layout", "layout run", ""},
                        {"term", "term", ""},
                        {"predicted_ms", "predicted", "ms"},
                        {"measured_ms", "measured", "ms"},
                        {"error_percent", "error", "%", 3}},
                       {}};
  for (const planner::LayoutComparison& layout : validation.layouts) {
    for (const planner::TermComparison& term : layout.terms) {
      reports::Cell error;
      if (term.measured > seconds(0)) error = (term.predicted / term.measured - 1.0) * 100.0;
      table.rows.push_back({short_name(layout.observation.run_layout),
                            std::string(name_of(term.kind)), term.predicted / milliseconds(1),
                            term.measured / milliseconds(1), error});
    }
  }
  return table;
}

struct TimePairs {
  std::vector<double> predicted, measured, error_percent;
  void add(Seconds p, Seconds m) {
    predicted.push_back(p / milliseconds(1));
    measured.push_back(m / milliseconds(1));
    error_percent.push_back(std::abs(p / m - 1.0) * 100.0);
  }
};

// One row a term or transfer over all layouts that have it.
reports::Table over_all_layouts(const planner::Validation& validation) {
  std::map<std::string, TimePairs> rows;
  for (const planner::LayoutComparison& layout : validation.layouts) {
    for (const planner::TermComparison& t : layout.terms) {
      if (t.measured > seconds(0)) rows[std::string(name_of(t.kind))].add(t.predicted, t.measured);
    }
    for (const planner::TransferComparison& t : layout.transfers) {
      if (!(t.measured > seconds(0)) || !(t.predicted > seconds(0))) continue;
      rows[fmt::format("{}: {}", name_of(t.counted.group), t.counted.name)].add(t.predicted,
                                                                                t.measured);
    }
  }
  reports::Table table{"Over all layouts (medians)",
                       {{"term", "term or transfer", ""},
                        {"layouts", "layouts", ""},
                        {"predicted_ms", "predicted", "ms"},
                        {"measured_ms", "measured", "ms"},
                        {"absolute_error_percent", "absolute error", "%", 3}},
                       {}};
  for (const auto& [name, pairs] : rows) {
    table.rows.push_back({name, static_cast<double>(pairs.predicted.size()),
                          upper_median(pairs.predicted), upper_median(pairs.measured),
                          upper_median(pairs.error_percent)});
  }
  return table;
}

void print_what_was_run(const planner::Validation& validation) {
  for (const planner::LayoutComparison& layout : validation.layouts) {
    const Observation& o = layout.observation;
    if (is_noisy(o)) {
      say("{}: run on a loaded host: {} steps, {}\n", short_name(o.layout), o.steps,
          noise_words(o));
    }
    if (o.other_program) {
      say("{}: {}\n", short_name(o.layout), other_program_words(*o.other_program));
    }
    if (o.complete) continue;
    say("{}: run as {} with {} layers on {} ranks; extrapolated: {}\n", short_name(o.layout),
        short_name(o.run_layout), o.run_layers, o.ranks, fmt::join(o.not_run, "; "));
  }
  for (const std::string& skipped : validation.skipped) {
    say("skipped {}\n", skipped);
  }
}

// What the host's speed was taken with, over all layouts.
std::string reference_words(const planner::Validation& validation) {
  const bool by_steps =
      std::all_of(validation.layouts.begin(), validation.layouts.end(), [](const auto& comparison) {
        const Observation& o = comparison.observation;
        return !o.host_time_ratio || o.host_time_reference == HostTimeReference::model_step;
      });
  return by_steps ? "by a step of the model between the steps"
                  : "by products and kernels around each layout";
}

void say_cause(const planner::Validation& validation) {
  const auto cause = planner::largest_error_cause(validation);
  if (!cause) return;
  const bool too_long = cause->share_of_step > 0.0;
  const std::string share = number_text(100.0 * std::abs(cause->share_of_step), 2);
  if (cause->term) {
    say("Most of the error is in {}: predicted {} % of the step too {}.\n", name_of(*cause->term),
        share, too_long ? "long" : "short");
  } else {
    say("Most of the error is the host's speed: it became {} since it was calibrated, {} % of the "
        "step.\n",
        too_long ? "faster" : "slower", share);
  }
}

void say_verdict(const planner::Validation& validation) {
  const std::size_t all = validation.layouts.size();
  const auto count = [&](const auto& holds) {
    return std::count_if(validation.layouts.begin(), validation.layouts.end(), holds);
  };
  say("step time  median error {} %, worst {} %, {} of {} in the 90 % interval\n",
      number_text(100.0 * validation.median_absolute_error, 3),
      number_text(100.0 * validation.worst_absolute_error, 3),
      count([](const planner::LayoutComparison& c) { return c.inside_interval; }), all);
  if (const auto error = validation.median_absolute_error_at_host_speed) {
    say("           corrected for host speed: median error {} %, worst {} %, {} of {} in the "
        "interval ({})\n",
        number_text(100.0 * *error, 3),
        number_text(100.0 * validation.worst_absolute_error_at_host_speed.value_or(0.0), 3),
        count([](const planner::LayoutComparison& c) {
          return c.at_host_speed && c.at_host_speed->inside_interval;
        }),
        count([](const planner::LayoutComparison& c) { return c.at_host_speed.has_value(); }),
        reference_words(validation));
  }
  say("ranking    the layout predicted fastest runs {} % slower than the fastest run{}\n",
      number_text(100.0 * validation.regret, 3),
      all >= 3 ? fmt::format(", Kendall tau {}", number_text(validation.kendall_tau, 3)) : "");
  if (const auto regret = validation.regret_at_host_speed; regret && all >= 2) {
    say("           corrected for host speed: {} % slower than the fastest run\n",
        number_text(100.0 * *regret, 3));
  }
  say("memory     median error {} %\n",
      number_text(100.0 * validation.median_absolute_memory_error, 3));
  say("bytes      as predicted in {} of {} layouts\n",
      count([](const planner::LayoutComparison& c) { return c.same_bytes; }), all);
  say_cause(validation);
}

int validation_verdict(const ValidateOptions& options, const planner::Validation& validation) {
  if (validation.layouts.empty()) {
    say("No trial could be compared.\n");
    return kGateFailed;
  }
  say_verdict(validation);
  int exit_code = kDone;
  if (!options.max_error.empty()) {
    exit_code = error_gate("median absolute error as measured", validation.median_absolute_error,
                           share_of("--max-error", options.max_error));
  }
  Call next{{"report", options.plan, "--trials", options.trials}};
  say_next(options.force ? next.with({"--force"}) : next);
  return exit_code;
}

// A Bayesian update of the framework's scalars: the profile that predicted is the prior.
// `command` made the plan.
void learn_from_trials(const ValidateOptions& options, const Scenario& scenario,
                       const std::vector<Observation>& observations, const std::string& caution,
                       const std::string& command) {
  const planner::MeasuredSet observed = planner::observed_runs(scenario, observations);
  const planner::Learning found =
      planner::learn(observed, framework_scalars_named(options.fit), observed);
  print_refit(found.refit, options.trials);
  const std::string from = caution.empty() ? options.trials : options.trials + " (" + caution + ")";
  write_refitted(scenario.cluster, found.refit, found.relative_spread, from, options.refit_out);
  // The new file holds cluster and software.
  const Call again = Call::of_text(command).as("plan", [](const std::string& option) {
    return option != "--cluster" && option != "--framework" && option != "--learn" &&
           option != "--out";
  });
  say_next(again.with({"--cluster", options.refit_out}));
}

// The software that the plan states runs on the named cluster, too, if that only assumes one.
Cluster cluster_for(const reports::PlanFile& plan, const std::string& name) {
  if (name.empty()) return plan.cluster;
  Cluster cluster = load_asked_cluster(name, "").cluster;
  if (cluster.framework_assumed && !plan.cluster.framework_assumed) {
    cluster.framework = plan.cluster.framework;
    cluster.framework_assumed = false;
  }
  return cluster;
}

int validate_service(const ValidateOptions& options, const Json& plan, const Json& trials,
                     const reports::Origin& origin) {
  if (!options.refit_out.empty()) {
    throw InputError("--refit-out", "", "does not fit services", "use it with a plan of training");
  }
  ServingValidationQuestion question{options.plan, options.trials, options.cluster,
                                     {},           options.force,  options.output};
  if (!options.max_error.empty()) {
    question.max_error = share_of("--max-error", options.max_error);
  }
  return run_serving_validation(plan, trials, question, origin);
}

int run_validate(const ValidateOptions& options, const Call& call) {
  if (!options.max_error.empty()) share_of("--max-error", options.max_error);
  reports::Origin origin = call.origin();
  const Json plan_json = read_input("plan", options.plan, origin);
  const Json trials = read_input("trials", options.trials, origin);
  if (is_serving_plan(plan_json)) return validate_service(options, plan_json, trials, origin);
  refuse_service_trials(trials, options.trials);
  const reports::PlanFile plan = reports::plan_file_record().read(plan_json, options.plan);
  const std::string caution = caution_about(trials, options.trials, origin, options.force);
  const std::vector<Observation> observations = observations_from_json(trials, options.trials);
  const Cluster cluster = cluster_for(plan, options.cluster);
  const planner::Validation validation =
      planner::validate({plan.model, cluster, plan.job}, observations);
  const std::string json =
      reports::validation_file_record().write({origin, validation, caution}).dump(2) + "\n";
  const bool for_people =
      options.output.format == Format::table || options.output.format == Format::markdown;
  if (!caution.empty()) for_people ? print("{}\n", wrapped(caution + "\n")) : say("{}\n", caution);
  const std::vector<reports::Table> tables{
      named("layouts", options.output.format == Format::table
                           ? reports::validation_screen_table(validation)
                           : reports::validation_table(validation)),
      named("terms", term_errors(validation)), named("all", over_all_layouts(validation))};
  if (write_answer_file(options.output, json)) {
    write_output(options.output.to_standard_output(), tables, json);
  }
  print_what_was_run(validation);
  if (!options.refit_out.empty() && !validation.layouts.empty())
    learn_from_trials(options, {plan.model, cluster, plan.job}, observations, caution,
                      plan.origin.command);
  return validation_verdict(options, validation);
}

}  // namespace

void add_validate(Commands& commands) {
  auto options = std::make_shared<ValidateOptions>();
  options->fit = {"gemm_time_factor", "kernel_time_factor", "collective_time_factor"};
  Command& command = commands.add(
      "validate", "Compare predicted and measured steps of a trial, and fail above an error limit");
  command.reads("plan", options->plan, "Plan, a file from meshwright plan or serve --format json")
      ->required();
  command.reads("trials", options->trials, "Trials, a file from meshwright trial")->required();
  command.reads("--cluster", options->cluster,
                "Cluster or profile to predict with, instead of the plan's", "clusters");
  command.options().add_option(
      "--max-error", options->max_error,
      "Exit with 1 if the median absolute error is larger, for example 10% or 0.1");
  command.writes_new("--refit-out", options->refit_out,
                     "Write a new cluster file fitted on the trials. An existing file is refused");
  command.options()
      .add_option("--fit", options->fit,
                  "Framework scalars that --refit-out fits, of " + framework_scalar_list() +
                      ". Default: the three factors")
      ->delimiter(',');
  command.options().add_flag("--force", options->force,
                             "Compare trials of another plan. Every output states it");
  command.only_with("--fit", "--refit-out");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_validate(*options, call); });
}

}  // namespace meshwright::app
