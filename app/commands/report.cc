// SPDX-License-Identifier: Apache-2.0
#include "reports/records/report.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/report_files.h"
#include "app/commands/serving/report_service.h"
#include "app/commands/serving/trial_serving.h"
#include "app/console/progress.h"
#include "app/files/files.h"
#include "app/files/observations.h"
#include "app/options/capacity_options.h"
#include "app/options/command.h"
#include "app/options/inputs.h"
#include "app/options/output.h"
#include "app/runs/launch_search.h"
#include "interop/write_launch/launch.h"
#include "planner/capacity/capacity_answer.h"
#include "reports/page.h"
#include "reports/records/capacity.h"
#include "reports/records/comparison.h"
#include "reports/records/comparison_text.h"
#include "reports/records/plan_file.h"
#include "reports/sections/section_parts.h"
#include "reports/tables/capacity_tables.h"
#include "reports/tables/comparison_tables.h"
#include "reports/tables/shared_capacity_tables.h"
#include "reports/tables/tables.h"
#include "sim/base/error.h"
#include "sim/hardware/device_noun.h"
#include "sim/hardware/node_count.h"

namespace meshwright::app {
namespace {

constexpr int kMostCompared = 12;  // columns that a screen still holds

std::vector<reports::Table> report_tables(const planner::Plan& plan,
                                          const planner::Scaling& scaling,
                                          const std::optional<planner::Validation>& validation) {
  std::vector<reports::Table> tables;
  const auto add = [&](const char* name, const std::string& title, reports::Table table) {
    table.title = title;
    tables.push_back(named(name, std::move(table)));
  };
  add("ranking", "Ranking", reports::ranked_table(plan));
  if (!plan.ranked.empty()) {
    const Estimate& best = plan.ranked.front();
    add("terms", "Terms of the winner's step", reports::terms_table(best.terms, best.step_time));
    const reports::MemoryPart memory =
        reports::memory_of(best, plan.model, only_device(plan.cluster));
    add("memory", "Memory of the winner's stages",
        reports::memory_table(memory.stages, memory.capacity));
    add("transfers", "Transfers of the winner's busiest stage",
        reports::volume_table(best.volume.busiest(), best.layout, plan.cluster));
  }
  if (validation) {
    add("validation", "Predicted and measured", reports::validation_table(*validation));
  }
  if (scaling.points.size() > 1) {
    add("gpus", fmt::format("More or fewer {}", device_noun(plan.cluster, 2)),
        reports::scaling_table(scaling.points, plan.job, only_device(plan.cluster).kind));
  }
  add("rejections", "Rejected layouts", reports::rejections_table(reports::rejections_of(plan)));
  return tables;
}

std::vector<LaunchFile> launch_files(const planner::Plan& plan) {
  if (plan.ranked.empty()) return {};
  return interop::launches({plan, plan.ranked.front().layout});
}

int compare_reports(const ReportOptions& options, const Call& call) {
  reports::Origin origin = call.origin();
  std::vector<reports::ComparedReport> compared;
  for (const std::string& file : options.compare) {
    const Json json = read_input("report", file, origin);
    compared.push_back(
        {std::filesystem::path(file).filename().string(), reports::report_from_json(json, file)});
  }
  const reports::Comparison comparison = reports::comparison_of(compared, origin);
  return write_page(options,
                    {.html = reports::comparison_html(comparison),
                     .record = reports::record_text(reports::comparison_record().write(comparison)),
                     .sentence = reports::comparison_sentence(comparison),
                     .tables = reports::comparison_tables(comparison)});
}

// A layout that no longer runs means that the file was edited, or made by a program with other
// formulas.
planner::Plan estimated_again(const reports::PlanFile& read, const std::string& file) {
  planner::Plan plan = reports::without_estimates(read);
  if (const auto unrunnable = planner::estimate_ranked(plan, read.layouts())) {
    throw InputError(file, fmt::format("/ranked/{}/layout", unrunnable->index),
                     "is not valid in this version: " + unrunnable->sentence,
                     "run meshwright plan again");
  }
  return plan;
}

planner::Scaling scaling_of(const planner::Plan& plan, const planner::SearchOptions& search) {
  return plan.ranked.empty() ? planner::least_gpus(plan, search, {}, plan.cluster.num_gpus())
                             : planner::scaling_around(plan, search);
}

// Questions that search the plan's space again; a file may describe one that is too large.
void add_searches(reports::ReportContents& contents, const reports::PlanFile& plan,
                  const std::string& file) {
  try {
    const Progress progress("searching each tensor and pipeline size, and other GPU counts");
    planner::SearchOptions search = plan.search;
    search.tables = planner::shared_tables(contents.plan);
    contents.sizes = planner::size_map(contents.plan, search);
    const planner::Scaling* asked = plan.scaling();
    contents.scaling = asked != nullptr ? *asked : scaling_of(contents.plan, search);
  } catch (const InputError& error) {
    throw InputError(file, "/search", error.what(), error.hint());
  }
}

// Half, all and twice the plan's GPUs, as far as there are such clusters.
std::vector<int> counts_near(const Cluster& cluster) {
  std::vector<int> counts;
  for (const int gpus : {cluster.num_gpus() / 2, cluster.num_gpus(), cluster.num_gpus() * 2}) {
    if (has_count(cluster, gpus)) counts.push_back(gpus);
  }
  return counts;
}

std::vector<int> counts_of(const planner::Scaling& scaling) {
  std::vector<int> counts;
  for (const planner::ScalePoint& point : scaling.points) counts.push_back(point.gpus);
  return counts;
}

// Returns the cluster as the plan's command named it, so that commands of what-ifs find it.
std::string cluster_of(const Call& made) {
  for (std::size_t i = 0; i < made.arguments.size(); ++i) {
    const std::string& word = made.arguments[i];
    if (word == "--cluster" && i + 1 < made.arguments.size()) return made.arguments[i + 1];
    if (word.starts_with("--cluster=")) return word.substr(10);
  }
  return "";
}

// Adds the capacity answers that the plan's file lacks. A plan without a training length has none,
// and a plan that no layout fits has none for the GPU counts at which a layout fits.
void add_capacity(reports::ReportContents& contents, const reports::PlanFile& plan,
                  const std::string& file) {
  const bool fits = !contents.plan.ranked.empty();
  const bool answered =
      plan.capacity && !plan.capacity->rows.empty() && !plan.capacity->verdict.empty();
  if (fits && answered) {
    contents.capacity = *plan.capacity;
    return;
  }
  std::vector<int> counts = fits && plan.scaling() == nullptr ? counts_near(contents.plan.cluster)
                                                              : counts_of(contents.scaling);
  if (!fits) counts.insert(counts.begin(), contents.plan.cluster.num_gpus());
  if (counts.empty()) counts = {contents.plan.cluster.num_gpus()};
  const Call made = Call::of_text(plan.origin.command);
  try {
    planner::CapacityQuestion question =
        planner::capacity_question_of(contents.plan, plan.search, counts);
    const std::string cluster = cluster_of(made);
    if (fits) question.asked_gpus = contents.plan.cluster.num_gpus();
    planner::ClusterCase& asked = question.clusters.front();
    if (!cluster.empty()) asked.name = asked.file = cluster;
    asked.label = cluster_label(asked.name, asked.cluster);
    contents.capacity =
        reports::capacity_of(planner::capacity_answer(question, fits), capacity_command(made));
  } catch (const InputError& error) {
    throw InputError(file, "/search", error.what(), error.hint());
  }
}

// Adds the trials. Returns a warning about them, or an empty string.
std::string add_trials(reports::ReportContents& contents, const ReportOptions& options) {
  if (options.trials.empty()) return "";
  const Json trials = read_input("trials", options.trials, contents.origin);
  refuse_service_trials(trials, options.trials);
  std::string caution = caution_about(trials, options.trials, contents.origin, options.force);
  contents.validation =
      planner::validate(contents.plan, observations_from_json(trials, options.trials));
  return caution;
}

// The verdict, and how the recommended layout runs.
std::string spoken_result(const reports::Report& report) {
  const std::string& how = report.decision.recommendation;
  return report.verdict + (how.empty() ? "" : "\n" + how);
}

// Trials and profiles are shown with a plan.
void require_no_trials(const ReportOptions& options, std::string_view command) {
  for (const std::string* other : {&options.trials, &options.profile}) {
    if (other->empty()) continue;
    throw InputError(
        *other, "",
        fmt::format("belongs to a plan, and this is the answer of meshwright {}", command),
        "run meshwright plan, then meshwright report plan.json");
  }
}

// The page of a capacity answer, with the answer next to it.
int report_capacity(const ReportOptions& options, const Json& json) {
  require_no_trials(options, "capacity");
  const reports::CapacityFile file = reports::capacity_file_record().read(json, options.plan);
  const DeviceKind kind = file.capacity.device_kind;
  return write_page(options,
                    {.html = reports::capacity_html(file),
                     .record = reports::record_text(reports::capacity_file_record().write(file)),
                     .sentence = file.capacity.headline,
                     .tables = {reports::capacity_table(file.capacity, kind, true)}});
}

// The page of an answer about a training and a service on one cluster.
int report_shared_capacity(const ReportOptions& options, const Json& json) {
  require_no_trials(options, "capacity");
  const reports::SharedCapacityFile file =
      reports::shared_capacity_file_record().read(json, options.plan);
  return write_page(
      options, {.html = reports::shared_capacity_html(file),
                .record = reports::record_text(reports::shared_capacity_file_record().write(file)),
                .sentence = file.shared_capacity.headline,
                .tables = {named("sizes", reports::shared_rows_table(file.shared_capacity, true)),
                           named("hours", reports::shared_hours_table(file.shared_capacity))}});
}

bool is_of(const Json& json, std::string_view schema) {
  return json.is_object() && json.contains("schema") && json["schema"] == schema;
}

int run_report(const ReportOptions& options, const Call& call) {
  if (!options.compare.empty()) return compare_reports(options, call);
  if (options.plan.empty()) {
    throw InputError("needs a plan, or reports after --compare",
                     "meshwright report plan.json, or meshwright report --compare a.json b.json");
  }
  reports::ReportContents contents;
  contents.origin = call.origin();
  const Json plan_json = read_input("plan", options.plan, contents.origin);
  if (is_of(plan_json, reports::kCapacitySchema)) return report_capacity(options, plan_json);
  if (is_serving_plan(plan_json)) return report_service(options, plan_json, contents.origin);
  refuse_several_services(plan_json, options.plan);
  if (is_of(plan_json, reports::kSharedCapacitySchema)) {
    return report_shared_capacity(options, plan_json);
  }
  reports::PlanFile plan = reports::plan_file_record().read(plan_json, options.plan);
  if (const std::string target = plan.search.target.name; !target.empty()) {
    require_launch_target(target);
    plan.search.target = search_target(target, plan);
  }
  contents.plan = estimated_again(plan, options.plan);
  contents.plan_origin = plan.origin;
  contents.top = plan.search.top;
  contents.answers = plan.answers;
  add_searches(contents, plan, options.plan);
  add_capacity(contents, plan, options.plan);
  const std::string caution = add_trials(contents, options);
  if (!options.profile.empty()) {
    contents.profile = read_input("profile", options.profile, contents.origin);
    reports::require_schema(contents.profile, options.profile, "meshwright.profile/1");
  }
  contents.launch = launch_files(contents.plan);
  reports::Report report = reports::report_of(contents);
  if (!caution.empty()) report.verdict = caution + " " + report.verdict;
  return write_page(
      options, {.html = reports::report_html(report),
                .record = reports::record_text(reports::report_record().write(report)),
                .sentence = spoken_result(report),
                .tables = report_tables(contents.plan, contents.scaling, contents.validation)});
}

}  // namespace

void add_report(Commands& commands) {
  auto options = std::make_shared<ReportOptions>();
  Command& command = commands.add(
      "report", "Write an offline HTML report of a plan, with a JSON report next to it");
  command.reads("plan", options->plan,
                "Plan from meshwright plan, or answer from meshwright capacity or serve");
  command
      .reads("--compare", options->compare,
             "Compare two or more JSON reports (NAME.report.json). Changes are relative to "
             "the first")
      ->expected(2, kMostCompared);
  command.reads("--trials", options->trials, "Trials, a file from meshwright trial");
  command.reads(
      "--profile", options->profile,
      "Profile from meshwright calibrate, whose notes are shown. Of a training plan only");
  command
      .writes("--out", options->out,
              "HTML report to write. The JSON report goes next to it as NAME.report.json")
      ->capture_default_str();
  command.also_writes("the JSON report next to --out",
                      [options] { return std::vector{record_beside(options->out)}; });
  command.never_with("--compare", {"plan", "--trials", "--profile"});
  command.options().add_flag("--force", options->force,
                             "Show trials of another plan. The report states it");
  command.only_with("--force", "--trials");
  add_format_options(command, options->output);
  command.runs([options](const Call& call) { return run_report(*options, call); });
}

}  // namespace meshwright::app
