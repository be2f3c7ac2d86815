// SPDX-License-Identifier: Apache-2.0
#include "app/commands/diff.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands/inputs.h"
#include "app/commands/output.h"
#include "app/files.h"
#include "app/generated/paths.h"
#include "app/program.h"
#include "reports/plan_diff_json.h"
#include "reports/sha256.h"

namespace meshwright::app {
namespace {

struct Options {
  std::string before, after;
  std::vector<std::string> gates;
  OutputOptions output;
};

planner::PlanSide read_side(const std::string& name, const std::string& file,
                            reports::Origin& origin) {
  origin.inputs.push_back(
      {.name = name, .file = file, .sha256 = reports::sha256(read_text_file(file))});
  return reports::plan_side_from_json(read_json_file(file), file);
}

// The sentence stands above the tables; in CSV there is room for tables only.
std::string people_text(const planner::PlanDiff& diff, Format format) {
  std::string tables = tables_text(reports::diff_tables(diff), format);
  if (format == Format::csv) return tables;
  std::string text = planner::sentence_of(diff) + ".\n";
  if (diff.inputs.empty()) text += "no input changed.\n";
  return text + "\n" + tables;
}

int run(const Options& options) {
  std::vector<planner::Gate> gates;
  for (const std::string& text : options.gates) gates.push_back(planner::gate_from_text(text));
  if (options.output.out != "-") check_writable(options.output.out);
  reports::Origin origin;
  origin.tool_version = kVersion;
  origin.command = this_command();
  const planner::PlanSide before = read_side("before", options.before, origin);
  const planner::PlanSide after = read_side("after", options.after, origin);
  const planner::PlanDiff diff = planner::diff(before, after);
  std::vector<std::string> failures;
  for (const planner::Gate& gate : gates) {
    const std::string why = planner::failure(gate, diff);
    if (why.empty()) continue;
    failures.push_back(gate.text + ": " + why);
    fmt::print(stderr, "gate {} fails: {}\n", gate.text, why);
  }
  const bool json = options.output.format == Format::json;
  write_file_atomically(options.output.out,
                        json ? reports::diff_to_json(diff, failures, origin).dump(2) + "\n"
                             : people_text(diff, options.output.format));
  return failures.empty() ? kDone : kGateFailed;
}

}  // namespace

void add_diff(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "diff", "What changed between two plans: inputs, winner, ranking, time, memory");
  command->add_option("before", options->before, "A plan that meshwright plan wrote")->required();
  command->add_option("after", options->after, "A later one")->required();
  command->add_option("--fail-if", options->gates,
                      "Exit code 1 when step_time>3%, peak_memory>5% (the winner's, more than "
                      "before) or winner (another layout); may be repeated");
  add_output_options(*command, options->output);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace meshwright::app
