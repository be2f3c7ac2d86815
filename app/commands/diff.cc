// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "app/options/command.h"
#include "app/options/inputs.h"
#include "app/options/output.h"
#include "reports/records/plan_diff.h"
#include "reports/tables/diff_tables.h"

namespace meshwright::app {
namespace {

struct DiffOptions {
  std::string before, after;
  std::vector<std::string> gates;
  OutputOptions output;
};

planner::PlanSide read_side(const std::string& name, const std::string& file,
                            reports::Origin& origin) {
  return reports::plan_side_from_json(read_input(name, file, origin), file);
}

// The sentence stands above the tables.
std::string people_text(const planner::PlanDiff& diff, Format format) {
  const std::string tables = tables_text(reports::diff_tables(diff), format);
  std::string text = planner::sentence_of(diff) + ".\n";
  if (diff.inputs.empty()) text += "No input changed.\n";
  if (format == Format::table) text = wrapped(text);
  return text + "\n" + tables;
}

int run_diff(const DiffOptions& options, const Call& call) {
  std::vector<planner::Gate> gates;
  for (const std::string& text : options.gates) gates.push_back(planner::gate_from_text(text));
  reports::Origin origin = call.origin();
  const planner::PlanSide before = read_side("before", options.before, origin);
  const planner::PlanSide after = read_side("after", options.after, origin);
  const planner::PlanDiff diff = planner::diff(before, after);
  std::vector<std::string> failures;
  for (const planner::Gate& gate : gates) {
    const std::string why = planner::failure(gate, diff);
    if (why.empty()) continue;
    failures.push_back(gate.text + ": " + why);
    say("gate {} fails: {}\n", gate.text, why);
  }
  const Format format = options.output.format;
  if (format == Format::json || format == Format::csv) {
    const reports::DiffFile file = reports::diff_file_of(diff, failures, origin);
    write_output(options.output, reports::diff_tables(diff),
                 reports::diff_file_record().write(file).dump(2) + "\n");
  } else {
    write_file_atomically(options.output.out, people_text(diff, format));
  }
  return failures.empty() ? kDone : kGateFailed;
}

}  // namespace

void add_diff(Commands& commands) {
  auto options = std::make_shared<DiffOptions>();
  Command& command =
      commands.add("diff", "Compare two plans: inputs, best layout, ranking, time and memory");
  command.reads("before", options->before, "Earlier plan, a file from meshwright plan")->required();
  command.reads("after", options->after, "Later plan, a file from meshwright plan")->required();
  command.options().add_option(
      "--fail-if", options->gates,
      "Exit with 1 if a condition holds for the best layout: step_time>3% or tokens_per_second<-3% "
      "(change), days>30 (the later plan's value), winner (another layout is best). Names: "
      "step_time, tokens_per_second, mfu, peak_memory (GiB), days, cost. May be repeated");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_diff(*options, call); });
}

}  // namespace meshwright::app
