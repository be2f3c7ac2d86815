// SPDX-License-Identifier: Apache-2.0
#include "app/commands/serving/service_review.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/commands/serving/service_review_text.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/point_table.h"
#include "app/files/serving_points.h"
#include "app/options/command.h"
#include "interop/serving/benchmark_table.h"
#include "interop/serving/engine_log.h"
#include "interop/serving/read_serving.h"
#include "planner/serving/deployment_choices.h"
#include "planner/serving/service_details.h"
#include "planner/serving/start_remedies.h"
#include "reports/records/serving_review.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"

namespace meshwright::app {
namespace {

using reports::ServingReviewFile;

// The rule that is broken, with what would mend it; empty: none is.
std::string refusal_of(const LaunchedService& service, const std::optional<ServingLoad>& load) {
  const ServingScenario& s = service.scenario;
  const auto refusal = planner::refused(s, service.deployment, load);
  if (!refusal) return "";
  return fmt::format("{} ({}). {}", planner::sentence_of(*refusal, s, service.deployment),
                     refusal->violation.rule->name,
                     planner::remedy_of(*refusal, s, service.deployment, load));
}

// Why requests of the length that the launch states are never served by an engine that starts.
std::string unserved_length(const LaunchedService& service) {
  int stated = 0;
  for (const interop::LaunchedPool& pool : service.launch.pools) {
    stated = std::max(stated, pool.options.max_model_len);
  }
  if (stated == 0) return "";
  ServingLoad whole;
  whole.lengths.input = std::max(1, stated - 1);
  whole.lengths.output = 1;
  const std::string why = refusal_of(service, whole);
  return why.empty() ? ""
                     : fmt::format(
                           "It starts, and never serves a request of the stated length {}: "
                           "{}",
                           count_text(stated), why);
}

// The same of the load's requests.
std::string unserved_load(const LaunchedService& service) {
  if (!service.load) return "";
  const int longest = service.deployment.pool.options.max_model_len;
  const double asked = longest_request(service.load->lengths);
  if (longest > 0 && asked > longest) {
    return fmt::format("A request of the load takes {} tokens, above max_model_len {}.",
                       count_text(std::int64_t(asked)), count_text(longest));
  }
  return refusal_of(service, service.load);
}

// Deployments on the same GPUs that give more tokens, with the engine's limits searched; simulated.
void search_better(ServingReviewFile& file, planner::ServingQuestion question,
                   const LaunchedService& service, int top) {
  if (top == 0) return;
  question.disaggregated = service.deployment.prefill.has_value();
  question.space = planner::serving_space(service.scenario.model, service.scenario.cluster);
  question.kept = 50;
  question.simulated = 0;
  std::vector<planner::ServingChoice> better = planner::serving_plan(question).choices;
  const double now = file.tokens_per_second_per_gpu.value_or(0.0);
  std::erase_if(better, [&](const planner::ServingChoice& one) {
    // Half a per cent is less than the closed form is good for.
    return one.gpus > file.gpus || one.tokens_per_second_per_gpu <= now * 1.005;
  });
  std::stable_sort(better.begin(), better.end(), [](const auto& a, const auto& b) {
    return a.tokens_per_second_per_gpu > b.tokens_per_second_per_gpu;
  });
  if (better.size() > static_cast<std::size_t>(top)) better.resize(static_cast<std::size_t>(top));
  for (planner::ServingChoice& one : better) {
    planner::simulate_choice(question, one);
    const planner::ServiceTimes times = planner::limited_times(one);
    file.better.push_back({planner::short_name(one.deployment), one.gpus,
                           one.deployment.pool.options.max_num_seqs,
                           one.deployment.pool.options.max_num_batched_tokens, times.ttft,
                           times.tpot, one.tokens_per_second_per_gpu});
  }
}

// Times as a plan of the same deployment says them.
void predict(ServingReviewFile& file, const LaunchedService& service, const ServingLoad& load,
             const ServiceReviewOptions& options) {
  planner::ServingQuestion question;
  question.scenario = service.scenario;
  question.cluster_name = service.cluster_name;
  question.load = load;
  question.limits = latency_limits(options.limits);
  question.percentile = percentile_of(options.limits, load.num_requests);
  question.gpus = file.gpus;
  question.max_gpus = file.gpus;
  if (const auto judged = planner::judged_deployment(question, service.deployment)) {
    const planner::ServiceTimes times = planner::limited_times(*judged);
    const auto ttft = planner::latency_range(times.ttft, judged->first_token_spread);
    const auto tpot = planner::latency_range(times.tpot, judged->token_spread);
    file.ttft = ttft.value, file.ttft_low = ttft.low, file.ttft_high = ttft.high;
    file.tpot = tpot.value, file.tpot_low = tpot.low, file.tpot_high = tpot.high;
    file.percentile = question.percentile;
    const LatencyLimits& limits = question.limits;
    if (limits.ttft || limits.tpot || limits.e2e) file.meets_limits = judged->meets;
    file.tokens_per_second_per_gpu = judged->tokens_per_second_per_gpu;
  } else {
    file.verdict = "does_not_fit";
    file.reason = load.kind == LoadKind::open_loop
                      ? "A request does not fit, or the queue grows without end at this rate."
                      : "A request is longer than the cache of one replica.";
  }
  search_better(file, std::move(question), service, options.top);
}

// Simulates each load of a benchmark's result, and compares what its client measured. Without a
// stated load, that of the first result is the service's.
void compare_results(ServingReviewFile& file, LaunchedService& service, const std::string& log) {
  planner::MeasuredService known;
  known.scenario = std::make_shared<const ServingScenario>(service.scenario);
  known.deployment = service.deployment;
  const planner::MeasuredServices results = results_of_service(read_point_table(log), known);
  for (const planner::UnreadService& one : results.unread) {
    file.notes.push_back(fmt::format("{}: {} is not compared: {}.", log, one.id, one.reason));
  }
  if (!service.load && !results.points.empty()) service.load = results.points.front().load;
  const std::vector<planner::PredictedService> said = planner::predicted(results, true);
  for (std::size_t i = 0; i < said.size(); ++i) {
    for (const std::string& what : results.points[i].assumed) {
      file.notes.push_back(fmt::format("{}: {}.", results.points[i].id, what));
    }
    for (const auto& [which, name] : planner::kServingQuantityNames) {
      const std::size_t q = planner::place_of(which);
      const auto &measured = results.points[i].measured[q], &predicted = said[i].values[q];
      if (!measured || !predicted) continue;
      const double factor = planner::interval_factor(said[i].spread[q]);
      file.measured.push_back({results.points[i].id, std::string(name), *measured, *predicted,
                               *predicted / factor, *predicted * factor});
    }
  }
}

// Memory first; with a load, times too.
void judge(ServingReviewFile& file, LaunchedService service, const ServiceReviewOptions& options) {
  // An engine's log says the cache; a result of a benchmark says the load and its times.
  const std::string log =
      options.log.empty() ? "" : read_text_input("log", options.log, &file.origin);
  const bool is_result =
      !interop::looks_like_engine_log(log) && interop::looks_like_benchmark_result(log);
  const ServingScenario& s = service.scenario;
  const planner::ServingPool& pool = service.deployment.pool;
  file.deployment = planner::short_name(service.deployment);
  file.device = only_device(s.cluster).name;
  file.gpus = planner::num_gpus(service.deployment);
  if (is_result) compare_results(file, service, options.log);
  if (std::string why = refusal_of(service, {}); !why.empty()) {
    file.verdict = "refused";
    file.reason = std::move(why);
    return;
  }
  const ServingLoad load = service.load.value_or(ServingLoad{});
  const ReplicaMemory memory =
      replica_memory(s.model, only_device(s.cluster), s.engine, pool.options);
  file.kv_tokens = memory.kv_tokens;
  file.largest_batch = admitted_requests(memory, s.engine, pool.options, mean_input(load.lengths),
                                         mean_output(load.lengths));
  if (!options.log.empty() && !is_result) {
    file.measured_kv_tokens = interop::kv_tokens_in_log(log, memory.sequence.block_size);
    if (!file.measured_kv_tokens) {
      throw InputError(options.log, "", "does not say how many tokens the cache holds",
                       "give the engine's log from its start, or a result of a benchmark client");
    }
  }
  file.reason = unserved_length(service);
  file.verdict = file.reason.empty() ? "fits" : "does_not_fit";
  if (std::string why = unserved_load(service); !why.empty()) {
    file.verdict = "does_not_fit";
    file.reason = std::move(why);
    return;
  }
  if (file.reason.empty() && memory.longest_request() < pool.options.max_model_len) {
    file.notes.push_back(fmt::format("Requests above {} tokens are not served.",
                                     count_text(std::int64_t(memory.longest_request()))));
  }
  const bool knows_times = service.launch.not_understood.empty();
  const bool predictable =
      knows_times && service.load &&
      (service.load->kind == LoadKind::closed_loop || service.load->kind == LoadKind::open_loop);
  if (predictable) {
    predict(file, service, load, options);
  } else if (!knows_times) {
    file.notes.emplace_back("No times: words of the launch change them, and are not modelled.");
  } else {
    if (const char* limit = first_limit(options.limits)) {
      throw InputError(limit, "", "needs a load", "give --isl, --osl and --concurrency or --rate");
    }
    file.notes.emplace_back(
        "Times need a load: give --isl, --osl and --concurrency or --rate. Requests that run "
        "together are counted at 1,024 + 1,024 tokens.");
  }
}

bool has_effect(const interop::ServingLaunch& launch, interop::OptionEffect effect) {
  return std::any_of(launch.not_understood.begin(), launch.not_understood.end(),
                     [&](const auto& one) { return one.effect == effect; });
}

// What was not understood changes times, or takes memory beside what is counted.
bool memory_is_bounded(const interop::ServingLaunch& launch) {
  return std::all_of(launch.not_understood.begin(), launch.not_understood.end(),
                     [](const auto& one) {
                       return one.effect == interop::OptionEffect::time ||
                              one.effect == interop::OptionEffect::more_memory;
                     });
}

// A service that fits without words that take more memory may not fit with them.
void open_verdict(ServingReviewFile& file) {
  file.verdict = "not_judged";
  file.reason =
      fmt::format("Without the words that take memory it fits, and its cache holds {} tokens.",
                  count_text(std::int64_t(file.kv_tokens.value_or(0.0))));
}

ServingReviewFile reviewed(interop::ServingLaunch launch, const ServiceReviewOptions& options,
                           const reports::Origin& origin) {
  const LaunchedServiceOptions& o = options.service;
  ServingReviewFile file;
  file.origin = origin;
  file.verdict = "not_judged";
  std::string why = why_no_start(launch, o.engine);
  if (why.empty() && memory_is_bounded(launch)) {
    LaunchedService service = launched_service(std::move(launch), o, file.origin);
    add_launch(file, service.launch);
    why = why_no_start(service.launch, o.engine);
    if (service.deployment.pool.options.num_speculative_tokens > 0) {
      file.notes.emplace_back(
          "The launch does not say how many drafts are accepted: one token per step is counted.");
    }
    const bool more = has_effect(service.launch, interop::OptionEffect::more_memory);
    if (why.empty()) judge(file, std::move(service), options);
    if (more && file.verdict == "fits") open_verdict(file);
  } else {
    add_launch(file, launch);
    if (why.empty()) {
      file.notes.emplace_back(
          "No verdict: words of the launch were not understood. --set NAME=VALUE states a "
          "variable.");
    }
  }
  if (!why.empty()) {
    file.verdict = "refused";
    file.reason = std::move(why);
  }
  return file;
}

}  // namespace

void add_service_options(Command& command, LaunchedServiceOptions& o, LimitOptions& limits) {
  command.reads("--engine", o.engine,
                "Service: engine file, or a name from configs/engines. Default: the launch's "
                "version, or the nearest",
                "engines");
  CLI::App& app = command.options();
  app.add_option("--weights", o.weights,
                 "Service: format of the checkpoint's weights, if the launch does not say it");
  const auto tokens = [&](const char* name, std::optional<int>& value, const char* about) {
    app.add_option(name, value, about)->check(CLI::Range(1, 100'000'000).description(""));
  };
  tokens("--isl", o.input, "Service: tokens of a prompt. Default: those of the launch's client");
  tokens("--osl", o.output, "Service: tokens of an answer");
  must_be_positive(app.add_option("--concurrency", o.concurrency,
                                  "Service: users with one request at a time each"));
  must_be_positive(app.add_option("--rate", o.rate, "Service: requests that arrive in a second"));
  command.never_with("--rate", {"--concurrency"});
  add_limit_options(command, limits, "Service: ");
}

void refuse_service_options(const LaunchedServiceOptions& o, const LimitOptions& limits,
                            const std::string& from) {
  const char* given = !o.engine.empty()    ? "--engine"
                      : !o.weights.empty() ? "--weights"
                      : o.input            ? "--isl"
                      : o.output           ? "--osl"
                      : o.concurrency      ? "--concurrency"
                      : o.rate             ? "--rate"
                                           : first_limit(limits);
  if (given == nullptr) return;
  if (!from.empty()) read_text_file(from);  // what cannot be read is said first
  throw InputError(given, "", "is an option of a service, and the launch starts no engine",
                   "--from FILE with vllm serve, sglang.launch_server, trtllm-serve or a manifest");
}

int review_service(const ServiceReviewOptions& options, const Call& call) {
  const LaunchedServiceOptions& o = options.service;
  if (o.cluster.empty()) {
    throw InputError("--cluster", "", "is missing",
                     "name a cluster of configs/clusters, or a file");
  }
  reports::Origin origin = call.origin();
  std::vector<ServingReviewFile> files;
  for (interop::ServingLaunch& launch : read_services(o.from, o.variables, o.arguments, origin)) {
    files.push_back(reviewed(std::move(launch), options, origin));
  }
  write_service_reviews(files, options.output);
  if (!options.launch_out.empty()) {
    say("warning: {} is not written: review changes no launch of a service. meshwright serve "
        "--launch-out writes that of a deployment\n",
        options.launch_out);
  }
  const bool fits = std::all_of(files.begin(), files.end(), [](const ServingReviewFile& file) {
    return file.verdict == "fits" && file.meets_limits.value_or(true);
  });
  return fits ? kDone : kGateFailed;
}

}  // namespace meshwright::app
