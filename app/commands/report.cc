// SPDX-License-Identifier: Apache-2.0
#include "app/commands/report.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "app/commands/inputs.h"
#include "app/files.h"
#include "app/generated/paths.h"
#include "app/observations.h"
#include "app/program.h"
#include "reports/html.h"
#include "reports/plan_json.h"
#include "reports/report_json.h"
#include "reports/sha256.h"
#include "sim/error.h"

namespace meshwright::app {
namespace {

struct Options {
  std::string plan;
  std::string trials;
  std::string profile;
  std::string out = "report.html";
};

// A file's JSON; its fingerprint goes into `origin`.
nlohmann::json read_input(const std::string& name, const std::string& file,
                          reports::Origin& origin) {
  origin.inputs.push_back(
      {.name = name, .file = file, .sha256 = reports::sha256(read_text_file(file))});
  return read_json_file(file);
}

// report.json beside report.html.
std::string record_beside(const std::string& page) {
  return std::filesystem::path(page).replace_extension(".json").string();
}

int run(const Options& options) {
  const std::string record = record_beside(options.out);
  if (record == options.out) {
    throw InputError("--out", "",
                     fmt::format("must name a page, such as report.html, is \"{}\"", options.out));
  }
  check_writable(options.out);
  check_writable(record);
  reports::ReportContents contents;
  contents.origin.tool_version = kVersion;
  contents.origin.command = this_command();
  const nlohmann::json plan_json = read_input("plan", options.plan, contents.origin);
  const reports::PlanFile plan = reports::plan_from_json(plan_json, options.plan);
  contents.plan = reports::recomputed(plan, options.plan);
  contents.plan_origin = plan.origin;
  contents.search = plan.search;
  if (!options.trials.empty()) {
    const nlohmann::json trials = read_input("trials", options.trials, contents.origin);
    contents.validation =
        planner::validate(contents.plan.model, contents.plan.cluster, contents.plan.job,
                          observations_from_json(trials, options.trials));
  }
  if (!options.profile.empty()) {
    contents.profile = read_input("profile", options.profile, contents.origin);
    reports::require_schema(contents.profile, options.profile, "meshwright.profile/1");
  }
  const Json report = reports::report_to_json(contents);
  // Compact: the page carries the same text.
  const std::string text = report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_file_atomically(record, text);
  write_file_atomically(options.out, reports::report_html(text));
  fmt::print("{}\n", report["verdict"].get<std::string>());
  fmt::print(stderr, "wrote {} and {}\n", options.out, record);
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "report", "One offline page for a review, and the record behind it, from a plan");
  command->add_option("plan", options->plan, "Plan that meshwright plan wrote")->required();
  command->add_option("--trials", options->trials, "Observations that meshwright trial wrote");
  command->add_option("--profile", options->profile,
                      "Profile that meshwright calibrate wrote; its notes are shown");
  command->add_option("--out", options->out, "Page to write; the record goes beside it as .json")
      ->capture_default_str();
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace meshwright::app
