// SPDX-License-Identifier: Apache-2.0
// meshwright serve simulate: one deployment under a load, step by step.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/serving/serve_commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/output_file.h"
#include "app/files/serving_files.h"
#include "app/options/command.h"
#include "app/options/output.h"
#include "app/options/serve_options.h"
#include "planner/serving/service_details.h"
#include "planner/serving/start_remedies.h"
#include "reports/records/serving_trace.h"
#include "reports/tables/serving_plan_tables.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/quadrature.h"

namespace meshwright::app {
namespace {

struct ServeSimulateOptions {
  std::string model, cluster, engine = "vllm-0.32";
  ServeSizes sizes;
  int replicas = 1, prefill_replicas = 0, prefill_tensor = 0;
  ServeFormats formats;
  LoadOptions load;
  LimitOptions limits;
  OutputOptions output;
  std::string trace;
  // Options of vLLM's scheduler.
  int blocks = 0, long_prompt = 0;
  bool no_prefix_caching = false, no_chunks = false, no_async = false, no_whole_prompts = false;
  std::string policy = "fcfs", step_time;
  double watermark = 0.0;
};

planner::Deployment deployment_of(const ServeSimulateOptions& o, const ServingScenario& s) {
  ReplicaOptions options = s.options;
  if (o.prefill_replicas > 0) options.role = PoolRole::decode;
  options.layout = replica_layout_of(o.sizes, s.engine);
  const Device& device = only_device(s.cluster);
  planner::Deployment deployment{{with_defaults(options, s.engine, device, s.model), o.replicas},
                                 {}};
  const auto limited = [&](planner::ServingPool& pool) {
    constexpr std::int64_t kMostTokens = 1'000'000'000;
    pool.options.max_cache_tokens =
        static_cast<int>(std::min(kMostTokens, std::int64_t{o.blocks} * pool.options.block_size));
  };
  limited(deployment.pool);
  if (o.prefill_replicas > 0) {
    options.role = PoolRole::prefill;
    if (o.prefill_tensor > 0) options.layout.tensor_parallel_size = o.prefill_tensor;
    deployment.prefill =
        planner::ServingPool{with_defaults(options, s.engine, device, s.model), o.prefill_replicas};
    limited(*deployment.prefill);
  }
  return deployment;
}

void set_engine(const ServeSimulateOptions& o, Engine& engine) {
  if (o.no_prefix_caching) engine.prefix_caching = false;
  if (o.no_chunks) engine.chunked_prefill = false;
  if (o.no_async) engine = with_overlap(engine, false);
}

std::shared_ptr<const ServingReplica> scheduled(const ServeSimulateOptions& o,
                                                const ServingReplica& found) {
  ServingReplica replica = found;
  SchedulerRule& rule = replica.rule;
  rule.by_priority = o.policy == "priority";
  rule.whole_prompts = !o.no_whole_prompts;
  rule.long_prompt = o.long_prompt;
  rule.watermark_blocks = static_cast<int>(o.watermark * replica.memory.kv_blocks);
  if (!o.step_time.empty()) {
    replica.step = duration_of("--step-time", o.step_time);
    rule.request = rule.input_token = {};
  }
  return std::make_shared<const ServingReplica>(replica);
}

void write_serving_trace(const ServeSimulateOptions& o, const reports::Origin& origin,
                         const ServingReplica& replica, const ServingRun& run) {
  const reports::ServingTraceFile file{origin, replica.rule.block_size, run.trace};
  write_file_atomically(o.trace, reports::serving_trace_record().write(file).dump(2) + "\n");
  say("wrote {}: {} steps\n", o.trace, file.steps.size());
}

int report_refused_pool(const ServingScenario& s, const planner::Deployment& deployment,
                        const planner::RefusedPool& refusal, const ServingLoad& load) {
  const ReplicaLayout& layout = planner::options_of(refusal, deployment).layout;
  const ServingRuleRow& rule = *refusal.violation.rule;
  say("{} refuses {} with {}: {} ({}).\n  {}\n", s.engine.name, s.model.name,
      meshwright::short_name(layout), planner::sentence_of(refusal, s, deployment), rule.name,
      planner::remedy_of(refusal, s, deployment, load));
  return kGateFailed;
}

std::string simulation_summary(const reports::ServingSimulationFile& file) {
  const ServingMetrics& m = file.metrics;
  std::string text = fmt::format(
      "{} by {} on {}: {} on {} GPUs, {} requests in {} s.\n{} requests/s, {} output tokens/s ({} "
      "a GPU) in its steady part. Replicas were busy {:.0f} % of the time; {} requests were thrown "
      "out of the cache.\n",
      file.model, file.engine, file.device, planner::short_name(file.deployment),
      planner::num_gpus(file.deployment), m.requests, number_text(file.duration, 4),
      number_text(m.requests_per_second, 4), number_text(m.output_tokens_per_second, 4),
      number_text(m.output_tokens_per_second / planner::num_gpus(file.deployment), 4),
      file.busy_share * 100, file.preemptions);
  if (file.prefill_busy_share) {
    text += fmt::format("The prefill pool was busy {:.0f} % of the time.\n",
                        *file.prefill_busy_share * 100);
  }
  return text;
}

// The means in closed form, where the simulation lies in their 90 % interval; else a note.
void add_closed_form(reports::ServingSimulationFile& file, const ServingScenario& s,
                     const planner::CompiledService& service) {
  if (file.load.kind != LoadKind::closed_loop && file.load.kind != LoadKind::open_loop) return;
  const auto state = planner::service_state(service, file.load);
  if (!state) return;
  const SteadyState& steady = state->state;
  const double tokens = planner::token_spread(service, steady, mean_context(file.load.lengths));
  const double first = in_quadrature(
      tokens, planner::first_token_spread(s.engine.first_token, file.deployment.mode(), 0));
  const auto agrees = [&](const char* name, Seconds simulated, Seconds closed, double spread) {
    const planner::LatencyRange range = planner::latency_range(closed, spread);
    if (simulated >= range.low && simulated <= range.high) return true;
    file.notes.push_back(fmt::format(
        "The closed form is not shown: it gives a mean {} of {} ms ({} to {} ms), the simulation "
        "{} ms.",
        name, number_text(closed / milliseconds(1), 3), number_text(range.low / milliseconds(1), 3),
        number_text(range.high / milliseconds(1), 3), number_text(simulated / milliseconds(1), 3)));
    return false;
  };
  const ServingMetrics& run = file.metrics;
  if (agrees("TTFT", run.ttft.mean, steady.ttft, first) &&
      agrees("TPOT", run.tpot.mean, steady.tpot, tokens) &&
      agrees("E2E", run.e2e.mean, steady.e2e, tokens)) {
    file.steady = steady;
  }
}

int run_serve_simulate(const ServeSimulateOptions& o, const Call& call) {
  reports::ServingSimulationFile file;
  file.origin = call.origin();
  ServingScenario scenario =
      serving_scenario(o.model, o.cluster, o.engine, o.formats, &file.origin);
  set_engine(o, scenario.engine);
  ServingLoad load = serving_load(o.load, o.formats, scenario.model, &file.origin);
  const planner::Deployment deployment = deployment_of(o, scenario);
  // As many of each replica as a plan simulates.
  if (load.kind == LoadKind::open_loop && load.num_requests == 0) {
    load.num_requests = simulated_requests(load) * std::max(o.replicas, o.prefill_replicas);
  }
  if (const auto refusal = planner::refused(scenario, deployment, load)) {
    return report_refused_pool(scenario, deployment, *refusal, load);
  }
  percentile_of(o.limits, simulated_requests(load));
  planner::CompiledService service = planner::compiled_service(scenario, deployment, load);
  service.replica = scheduled(o, *service.replica);
  if (service.prefill) service.prefill = scheduled(o, *service.prefill);
  if (load.kind == LoadKind::open_loop) {
    const double most = planner::largest_service_rate(service, load);
    if (load.request_rate >= most) {
      throw InputError("--rate", "",
                       fmt::format("is unstable above {} requests/s on {} (got {}): the queue "
                                   "grows without end",
                                   number_text(most, 3), planner::short_name(deployment),
                                   number_text(load.request_rate)),
                       "add replicas, or lower the rate");
    }
  }
  const auto run = planner::simulate_service(service, load, !o.trace.empty());
  if (!run) {
    say("Does not fit: a request is longer than the cache of one replica.\n");
    return kGateFailed;
  }
  file.notes = serving_notes(o.formats, scenario);
  file.model = scenario.model.name;
  file.cluster = std::filesystem::path(o.cluster).stem().string();
  file.device = only_device(scenario.cluster).name;
  file.engine = scenario.engine.name;
  file.deployment = deployment;
  file.load = load;
  file.metrics = steady_metrics(*run);
  const LatencyLimits limits = latency_limits(o.limits);
  // The share of requests, of the steady part's rate.
  file.goodput = goodput(*run, limits.ttft, limits.tpot) * run->duration.value() /
                 file.metrics.requests * file.metrics.requests_per_second;
  file.duration = run->duration.value();
  file.busy_share = run->busy_share;
  if (deployment.prefill) file.prefill_busy_share = run->prefill_busy_share;
  file.steps = run->steps;
  file.preemptions = run->preemptions;
  if (o.step_time.empty()) add_closed_form(file, scenario, service);
  if (!o.trace.empty()) write_serving_trace(o, file.origin, *service.replica, *run);
  const std::vector<reports::Table> tables{reports::serving_metrics_table(file)};
  if (o.output.format == Format::table) {
    std::string text =
        wrapped(simulation_summary(file)) + "\n" + tables_text(tables, Format::table);
    if (limits.ttft || limits.tpot) {
      text += fmt::format("\n{} of {} requests/s meet the limits.\n", number_text(file.goodput, 4),
                          number_text(file.metrics.requests_per_second, 4));
    }
    write_file_atomically(o.output.out, text);
  } else {
    write_output(o.output, tables, reports::serving_simulation_record().write(file).dump(2) + "\n");
  }
  for (const std::string& note : file.notes) say("note: {}\n", note);
  return kDone;
}

void add_scheduler_options(Command& command, ServeSimulateOptions& o) {
  CLI::App& app = command.options();
  command.writes("--trace", o.trace,
                 "JSON of every step: tokens of each request, prefix hits, preemptions, free "
                 "blocks. Default: none");
  command.never_with("--trace", {"--prefill-replicas"});
  app.add_option("--step-time", o.step_time,
                 "Time of every step, such as 1s: arrivals then count steps. Default: predicted");
  app.add_option("--num-gpu-blocks-override", o.blocks,
                 "Blocks of a replica's cache, at most. Default: those that fit")
      ->check(CLI::Range(2, 100'000'000).description(""));
  app.add_option("--scheduling-policy", o.policy,
                 "fcfs, or priority by a column of --arrivals. Default: fcfs")
      ->check(CLI::IsMember({"fcfs", "priority"}).description(""));
  app.add_option("--watermark", o.watermark,
                 "Share of the blocks that an admission leaves free. Default: 0")
      ->check(CLI::Range(0.0, 1.0).description(""));
  app.add_option("--long-prefill-token-threshold", o.long_prompt,
                 "Tokens of a prompt in a step, at most, beside other requests. Default: no limit")
      ->check(CLI::Range(1, 1'000'000'000).description(""));
  app.add_flag("--no-scheduler-reserve-full-isl", o.no_whole_prompts,
               "Admit a prompt when its first part has blocks");
  app.add_flag("--no-enable-prefix-caching", o.no_prefix_caching,
               "Compute equal prompts and preempted requests again");
  app.add_flag("--no-enable-chunked-prefill", o.no_chunks, "Compute a prompt in one step");
  app.add_flag("--no-async-scheduling", o.no_async, "Compose a step when the last one is over");
}

}  // namespace

void add_serve_simulate(Commands& commands, Command& serve) {
  auto options = std::make_shared<ServeSimulateOptions>();
  Command& command = commands.add_below(
      serve, "simulate", "One deployment under a load, step by step: percentiles of latencies");
  add_serve_subject(command, {options->model, options->cluster, options->engine});
  add_serve_sizes(command, options->sizes);
  const auto count = [&](const char* name, int& value, const char* about) {
    command.options().add_option(name, value, about)->check(CLI::Range(1, 100'000).description(""));
  };
  count("--replicas", options->replicas, "Replicas, or those of the decode pool. Default: 1");
  count("--prefill-replicas", options->prefill_replicas,
        "Replicas that compute prompts alone. Default: none, aggregated");
  count("--prefill-tp", options->prefill_tensor, "Their tensor-parallel size. Default: --tp");
  command.only_with("--prefill-tp", "--prefill-replicas");
  add_load_options(command, options->load);
  command.options().add_flag("--all-at-once", options->load.all_at_once,
                             "Every request arrives at the start");
  command.reads("--arrivals", options->load.arrivals,
                "CSV with a column arrival_s, and lengths as in --lengths");
  command.never_with("--arrivals", {"--rate", "--concurrency", "--num-prompts", "--all-at-once"});
  command.never_with("--all-at-once", {"--rate", "--concurrency"});
  add_scheduler_options(command, *options);
  add_limit_options(command, options->limits);
  add_serve_formats(command, options->formats);
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_serve_simulate(*options, call); });
}

}  // namespace meshwright::app
