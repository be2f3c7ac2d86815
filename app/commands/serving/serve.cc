// SPDX-License-Identifier: Apache-2.0
// meshwright serve: its sub-commands, and one replica of an inference engine term by term.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/serving/serve_commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/output_file.h"
#include "app/options/command.h"
#include "app/options/output.h"
#include "app/options/serve_options.h"
#include "planner/serving/start_remedies.h"
#include "reports/records/serving_answer.h"
#include "reports/tables/serving_estimate_tables.h"
#include "sim/base/number_text.h"
#include "sim/serving/estimate.h"
#include "sim/serving/experts_touched.h"

namespace meshwright::app {
namespace {

std::string whole_number(double value) { return count_text(static_cast<std::int64_t>(value)); }

struct ServeEstimateOptions {
  std::string model, cluster, engine = "vllm-0.32";
  ServeSizes sizes;
  ServeFormats formats;
  int batch = 1, input = 1024, output_tokens = 1024;
  OutputOptions output;
};

ServingScenario scenario_of(const ServeEstimateOptions& o, reports::Origin& origin) {
  ServingScenario scenario = serving_scenario(o.model, o.cluster, o.engine, o.formats, &origin);
  check_request_length(o.input, o.output_tokens, o.formats, scenario.model);
  scenario.options.layout = replica_layout_of(o.sizes, scenario.engine);
  return scenario;
}

int report_refusal(const ServingScenario& scenario, const ServingViolation& violation) {
  const ServingRuleInput in{scenario.model, scenario.cluster, scenario.engine, scenario.options};
  say("{} refuses {} with {}: {} ({}).\n  {}\n  {}\n  {}\n", scenario.engine.name,
      scenario.model.name, short_name(scenario.options.layout),
      violation.rule->sentence(in, violation.missed), violation.rule->name,
      violation.rule->requirement, violation.rule->reason, violation.rule->remedy);
  return kGateFailed;
}

std::string serving_summary(const ServingScenario& s, const ServingBatch& batch,
                            const ServingEstimate& e) {
  const ReplicaLayout& layout = e.options.layout;
  const auto ms = [](Seconds time) { return number_text(time / milliseconds(1), 3); };
  std::string text =
      fmt::format("{} ({} weights, {} cache) with {} on {} x {}, {}.\n", s.model.name,
                  name_of(e.options.weights.format), name_of(e.options.kv_cache),
                  short_name(layout), num_gpus(layout), only_device(s.cluster).name, s.engine.name);
  text += fmt::format(
      "Cache: {} GiB a rank, {} tokens ({} blocks) an attention group; at most {} requests of {} + "
      "{} tokens run together.\n",
      number_text(in_gibibytes(e.memory.kv_cache), 3), whole_number(e.memory.kv_tokens),
      whole_number(e.memory.kv_blocks), whole_number(e.largest_batch), whole_number(batch.input),
      whole_number(batch.output));
  text += fmt::format("Prefill of one prompt: {} ms in {} steps.\n", ms(e.prefill_time),
                      whole_number(e.prefill_chunks));
  text += fmt::format(
      "Decode step at {} sequences and {} tokens of context: {} ms ({} to {}), {} tokens/s a "
      "sequence, {} tokens/s a GPU; numbers are {}.\n",
      whole_number(batch.sequences), whole_number(batch.input + batch.output / 2.0),
      ms(e.decode.time.total), ms(e.decode.low), ms(e.decode.high),
      number_text(e.tokens_per_second_per_user, 3), number_text(e.tokens_per_second_per_gpu, 4),
      name_of(e.decode.provenance));
  return text;
}

int run_serve_estimate(const ServeEstimateOptions& options, const Call& call) {
  reports::Origin origin = call.origin();
  const ServingScenario scenario = scenario_of(options, origin);
  ServingBatch batch{static_cast<double>(options.batch), static_cast<double>(options.input),
                     static_cast<double>(options.output_tokens)};
  if (options.formats.acceptance) {
    batch.tokens_per_step =
        accepted_length(options.formats.speculative_tokens, *options.formats.acceptance);
  }
  const auto outcome = serving_estimate(scenario, batch);
  if (const auto* violation = std::get_if<ServingViolation>(&outcome)) {
    return report_refusal(scenario, *violation);
  }
  const auto& found = std::get<ServingEstimate>(outcome);
  std::vector<std::string> notes = serving_notes(options.formats, scenario);
  const planner::Deployment deployment{{found.options, 1}, {}};
  ServingLoad load;
  load.lengths.input = options.input;
  load.lengths.output = options.output_tokens;
  // Without --max-model-len it is a launch's to choose.
  if (const auto refusal = planner::refused(scenario, deployment); refusal && found.fits) {
    notes.push_back(fmt::format("Without --max-model-len {} does not start: {}. {}",
                                scenario.engine.name,
                                planner::sentence_of(*refusal, scenario, deployment),
                                planner::remedy_of(*refusal, scenario, deployment)));
  }
  const std::vector<reports::Table> tables{
      named("memory", reports::serving_memory_table(found.memory)),
      named("terms", reports::serving_terms_table(found)),
      named("transfers", reports::serving_volume_table(found))};
  if (options.output.format == Format::table) {
    write_file_atomically(options.output.out, wrapped(serving_summary(scenario, batch, found)) +
                                                  "\n" + tables_text(tables, Format::table));
  } else {
    const Cluster& cluster = scenario.cluster;
    const reports::ServingAnswer answer{
        origin,          notes, scenario.model, cluster, scenario.cluster.inference,
        scenario.engine, batch, found};
    write_output(options.output, tables,
                 reports::serving_answer_record().write(answer).dump(2) + "\n");
  }
  for (const std::string& note : notes) say("note: {}\n", note);
  if (!found.fits) {
    const auto refusal = planner::refused(scenario, deployment, load);
    say("Does not fit: {}. {}\n", planner::sentence_of(*refusal, scenario, deployment),
        planner::remedy_of(*refusal, scenario, deployment, load));
    return kGateFailed;
  }
  return kDone;
}

void add_serve_estimate(Commands& commands, Command& serve) {
  auto options = std::make_shared<ServeEstimateOptions>();
  Command& command = commands.add_below(
      serve, "estimate", "Memory, largest batch and steps of one replica, term by term");
  add_serve_subject(command, {options->model, options->cluster, options->engine});
  add_serve_sizes(command, options->sizes);
  const auto count = [&](const char* name, int& value, const char* about) {
    command.options()
        .add_option(name, value, about)
        ->check(CLI::Range(1, 1'000'000'000).description(""));
  };
  count("--batch", options->batch, "Sequences that decode together, of each data rank. Default: 1");
  count("--isl", options->input, "Tokens of a prompt. Default: 1024");
  count("--osl", options->output_tokens, "Tokens of an answer. Default: 1024");
  add_serve_formats(command, options->formats);
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_serve_estimate(*options, call); });
}

}  // namespace

void add_serve(Commands& commands) {
  Command& serve = add_serve_plan(commands);
  add_serve_estimate(commands, serve);
  add_serve_simulate(commands, serve);
  add_serve_backtest(commands, serve);
  add_serve_read(commands, serve);
}

}  // namespace meshwright::app
