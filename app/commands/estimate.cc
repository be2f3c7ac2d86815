// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <variant>

#include "app/command.h"
#include "app/commands/commands.h"
#include "app/commands/inputs.h"
#include "app/commands/output.h"
#include "app/commands/question.h"
#include "app/files.h"
#include "app/generated/paths.h"
#include "app/output_file.h"
#include "app/program.h"
#include "app/terminal.h"
#include "reports/step_trace.h"
#include "reports/tables.h"
#include "sim/json/records.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

struct Options {
  InputOptions inputs;
  OutputOptions output;
  std::string layout;
  std::string trace;
};

int report_infeasible(const Infeasible& outcome, const Inputs& inputs) {
  say("{}", question_text(inputs));
  const RuleText& text = rule_text(outcome.violation.rule);
  say("{} cannot run: {} ({}).\n  {}\n  {}\n", short_name(outcome.layout),
      describe(outcome.violation, inputs.model, inputs.job, outcome.layout,
               devices_of(inputs.cluster)),
      text.name, text.requirement, text.remedy);
  if (outcome.violation.rule != Rule::memory_capacity) return kGateFailed;
  CostTable table(inputs.model, inputs.cluster, inputs.job);
  const Estimate found = described(evaluate(table, outcome.layout), table, outcome.layout);
  say("\n{}", tables_text({reports::memory_table(found, inputs.cluster.device)}, Format::table));
  return kGateFailed;
}

Json to_document(const Estimate& estimate, const Inputs& inputs, const Call& call) {
  Json json;
  json["schema"] = "meshwright.estimate/1";
  json["command"] = call.text();
  json["model"] = to_json(inputs.model);
  json["cluster"] = to_json(inputs.cluster);
  json["job"] = to_json(inputs.job);
  json["defaults"] = inputs.defaults;
  if (!inputs.note.empty()) json["notes"] = {inputs.note};
  json["estimate"] = to_json(estimate);
  return json;
}

void write_trace(const Options& options, const Inputs& inputs, const Estimate& found,
                 const Call& call) {
  reports::Trace trace = reports::step_trace(inputs.model, inputs.cluster, inputs.job, found);
  trace.facts.emplace_back("tool_version", kVersion);
  trace.facts.emplace_back("command", call.text());
  write_file_atomically(options.trace, reports::trace_text(trace));
  say("wrote {}; ui.perfetto.dev and chrome://tracing open it\n", options.trace);
}

int run(const Options& options, const Call& call) {
  Inputs inputs = load_inputs(options.inputs);
  const Layout layout = layout_on(inputs, options.inputs, options.layout);
  const Outcome outcome = estimate(inputs.model, inputs.cluster, inputs.job, layout);
  if (const auto* infeasible = std::get_if<Infeasible>(&outcome)) {
    return report_infeasible(*infeasible, inputs);
  }
  const auto& found = std::get<Estimate>(outcome);
  const std::vector<reports::Table> tables{reports::terms_table(found),
                                           reports::memory_table(found, inputs.cluster.device)};
  if (options.output.format == Format::table) {
    const std::string verdict = fmt::format(
        "{} with {} on {} x {}: {:.4g} s a step ({:.4g} to {:.4g}), {:.4g} tokens/s/GPU, MFU "
        "{:.3g} %, "
        "{:.4g} of {:.4g} GiB; numbers are {}.\n\n",
        inputs.model.name, short_name(layout), world_size(layout), inputs.cluster.device.name,
        found.step_time.value(), found.step_time_low.value(), found.step_time_high.value(),
        found.tokens_per_second_per_gpu, 100.0 * found.model_flops_utilization,
        in_gibibytes(found.peak_memory()), in_gibibytes(inputs.cluster.device.memory),
        name_of(found.provenance));
    write_file_atomically(options.output.out,
                          question_text(inputs) + verdict + tables_text(tables, Format::table));
  } else {
    write_output(options.output, tables, to_document(found, inputs, call).dump(2) + "\n");
  }
  if (!options.trace.empty()) write_trace(options, inputs, found, call);
  if (!inputs.note.empty()) say("note: {}\n", inputs.note);
  say("next: meshwright volume --model {} --layout {}\n", options.inputs.model, options.layout);
  return kDone;
}

}  // namespace

void add_estimate(Commands& commands) {
  auto options = std::make_shared<Options>();
  Command& command =
      commands.add("estimate", "Time, memory and volume of one layout, term by term");
  add_input_options(command, options->inputs, true);
  command
      .reads("--layout", options->layout,
             "Layout: a file, or text such as tp=8,pp=4,dp=2,mbs=1,sp,zero=1,recompute=full")
      ->required();
  command.writes("--trace", options->trace,
                 "File for the simulated step as a trace (Perfetto, chrome://tracing)");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run(*options, call); });
}

}  // namespace meshwright::app
