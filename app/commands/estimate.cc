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
#include "app/options/question.h"
#include "planner/search/rejection.h"
#include "reports/records/estimate_answer.h"
#include "reports/sections/section_parts.h"
#include "reports/tables/tables.h"
#include "reports/text/interval_text.h"
#include "reports/text/memory_fit_text.h"
#include "reports/text/text.h"
#include "reports/trace/step_trace.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

struct EstimateOptions {
  InputOptions inputs;
  OutputOptions output;
  std::string layout;
  std::string trace;
};

int report_broken_rule(const Infeasible& outcome, const Inputs& inputs) {
  say("{}", question_text(inputs));
  const RuleText& text = rule_text(outcome.violation.rule);
  say("{} cannot run: {} ({}).\n  {}\n  {}\n", short_name(outcome.layout),
      describe(outcome.violation, inputs.model, inputs.job, outcome.layout,
               devices_of(inputs.cluster)),
      text.name, text.requirement, text.remedy);
  return kGateFailed;
}

reports::MemoryVerdict verdict_on(const Evaluation& evaluation, CostTable& table,
                                  const Layout& layout) {
  if (!evaluation.violation) return {};
  const Violation& too_large = *evaluation.violation;
  const Bytes limit = bytes(too_large.available);
  return {.fits = false,
          .rule = std::string(rule_text(too_large.rule).name),
          .needed = bytes(too_large.needed),
          .available = limit,
          .sentence =
              describe(too_large, table.model(), table.job(), layout, devices_of(table.cluster())),
          .smallest_change = planner::smallest_change(table, layout, limit)};
}

std::string verdict_text(const reports::MemoryVerdict& verdict, const Estimate& found,
                         const Inputs& inputs) {
  const std::string why = reports::uncertain_fit_text(found, inputs.cluster);
  if (!why.empty()) {
    return fmt::format(
        "Uncertain fit. {}{}\n", why,
        verdict.smallest_change.empty()
            ? ""
            : fmt::format(" It fits with more margin with {}.", verdict.smallest_change));
  }
  if (verdict.fits) return "";
  const std::string change = verdict.smallest_change.empty()
                                 ? "no single change makes it fit"
                                 : "would fit with " + verdict.smallest_change;
  return fmt::format(
      "Does not fit ({}): {}; {}. The predicted time assumes devices with enough "
      "memory.\n",
      verdict.rule, verdict.sentence, change);
}

std::string in_a_line(const Estimate& found, const Inputs& inputs) {
  return fmt::format(
      "{} with {} on {} x {}: {} s per step (90 % interval: {} to {}), {} tokens/s "
      "per {}, MFU {} %, {} of {} GiB; weakest input: {}.\n",
      inputs.model.name, short_name(found.layout), world_size(found.layout),
      only_device(inputs.cluster).name, number_text(found.step_time.value()),
      number_text(found.step_time_low.value()), number_text(found.step_time_high.value()),
      number_text(found.tokens_per_second_per_gpu), device_noun(inputs.cluster),
      number_text(100.0 * found.model_flops_utilization, 3),
      number_text(in_gibibytes(found.peak_memory())),
      number_text(in_gibibytes(only_device(inputs.cluster).memory)), name_of(found.provenance));
}

void write_step_trace(const EstimateOptions& options, const Inputs& inputs, const Estimate& found,
                      const reports::Origin& origin) {
  reports::Trace trace = reports::step_trace(inputs, found);
  trace.facts.emplace_back("tool_version", origin.tool_version);
  trace.facts.emplace_back("command", origin.command);
  write_file_atomically(options.trace, reports::trace_text(trace));
  say("wrote {}; ui.perfetto.dev and chrome://tracing open it\n", options.trace);
}

int run_estimate(const EstimateOptions& options, const Call& call) {
  reports::Origin origin = call.origin();
  Inputs inputs = load_inputs(options.inputs, &origin);
  const Layout layout = layout_on(inputs, options.inputs, options.layout);
  CostTable table(inputs);
  const Evaluation evaluation = evaluate(table, layout, MemoryLimit::reported);
  if (evaluation.violation && evaluation.violation->rule != Rule::memory_capacity) {
    return report_broken_rule({layout, *evaluation.violation}, inputs);
  }
  const Estimate found = described(evaluation, table, layout);
  const reports::MemoryVerdict verdict = verdict_on(evaluation, table, layout);
  const reports::MemoryPart memory =
      reports::memory_of(found, inputs.model, only_device(inputs.cluster));
  const std::vector<reports::Table> tables{
      named("terms", reports::terms_table(found.terms, found.step_time)),
      named("memory", reports::memory_table(memory.stages, memory.capacity))};
  const std::string fit = verdict_text(verdict, found, inputs);
  const std::vector<std::string> notes = notes_of(inputs.note, inputs, &layout);
  if (options.output.format == Format::table) {
    write_file_atomically(
        options.output.out,
        wrapped(question_text(inputs) + in_a_line(found, inputs) +
                fmt::format("{}\n{}\n", reports::kMfuConvention, reports::interval_text(found)) +
                fit) +
            "\n" + tables_text(tables, Format::table));
  } else {
    reports::EstimateAnswer answer{inputs, origin, inputs.defaults, {}, verdict, found};
    answer.notes = notes;
    write_output(options.output, tables,
                 reports::estimate_answer_record().write(answer).dump(2) + "\n");
  }
  if (!options.trace.empty()) write_step_trace(options, inputs, found, origin);
  for (const std::string& note : notes) say("note: {}\n", note);
  if (options.output.format != Format::table) say("{}", fit);
  if (!verdict.fits) return kGateFailed;
  say_next(call.as("volume", is_input_option));
  return kDone;
}

}  // namespace

void add_estimate(Commands& commands) {
  auto options = std::make_shared<EstimateOptions>();
  Command& command = commands.add(
      "estimate", "Predict time, memory and communication volume of one layout, term by term");
  add_input_options(command, options->inputs, true);
  command
      .reads("--layout", options->layout,
             "Layout: a file, or text such as tp=8,pp=4,dp=2,mbs=1,sp,zero=1,recompute=full")
      ->required();
  command.writes("--trace", options->trace,
                 "Write the simulated step as a trace for ui.perfetto.dev or chrome://tracing");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_estimate(*options, call); });
}

}  // namespace meshwright::app
