// SPDX-License-Identifier: Apache-2.0
#include "app/commands/serving/service_review.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "app/commands/commands.h"
#include "app/commands/serving/serve_commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "app/files/point_table.h"
#include "app/files/serving_points.h"
#include "app/options/command.h"
#include "interop/serving/benchmark_table.h"
#include "interop/serving/engine_log.h"
#include "interop/serving/read_serving.h"
#include "planner/serving/serving_search.h"
#include "planner/serving/start_remedies.h"
#include "reports/records/serving_review.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"

namespace meshwright::app {
namespace {

using reports::LaunchWord;
using reports::ServingReviewFile;

std::vector<LaunchWord> words_of(const std::vector<interop::Fact>& facts) {
  std::vector<LaunchWord> words;
  for (const interop::Fact& fact : facts) {
    words.push_back({fact.field, fact.value, fact.said, "", fact.place.file, fact.place.line});
  }
  return words;
}

void add_launch(ServingReviewFile& file, const interop::ServingLaunch& launch) {
  file.form = launch.form;
  file.engine = interop::title_of(launch.engine);
  file.engine_version = launch.engine_version;
  file.model = launch.model;
  file.read = words_of(launch.read);
  file.assumed = words_of(launch.assumed);
  for (const interop::PassedOver& one : launch.passed_over) {
    file.passed_over.push_back({"", "", one.said, one.why, one.place.file, one.place.line});
  }
  for (const interop::NotUnderstood& one : launch.not_understood) {
    file.not_understood.push_back({one.key, "", one.said, one.why, one.place.file, one.place.line});
  }
}

reports::Table words_table(const char* title, const std::vector<LaunchWord>& words) {
  reports::Table table{title,
                       {{"line", "line", ""},
                        {"said", "in the file", ""},
                        {"field", "field", ""},
                        {"value", "value", ""},
                        {"why", "why", ""}},
                       {}};
  for (const LaunchWord& word : words) {
    const auto cell = [](const std::string& text) {
      return text.empty() ? reports::Cell() : reports::Cell(text);
    };
    table.rows.push_back({word.line > 0 ? reports::Cell(double(word.line)) : reports::Cell(),
                          cell(word.said), cell(word.field), cell(word.value), cell(word.why)});
  }
  return reports::without_empty_columns(std::move(table));
}

reports::Table better_table(const ServingReviewFile& file) {
  reports::Table table{"deployments on as many GPUs that give more tokens",
                       {{"deployment", "deployment", ""},
                        {"gpus", "GPUs", ""},
                        {"max_num_seqs", "sequences", ""},
                        {"max_num_batched_tokens", "tokens a step", ""},
                        {"ttft_ms", "TTFT", "ms"},
                        {"tpot_ms", "TPOT", "ms"},
                        {"tokens_per_second_per_gpu", "tok/s/GPU", ""}},
                       {}};
  for (const reports::BetterService& one : file.better) {
    table.rows.push_back({one.deployment, double(one.gpus), double(one.max_num_seqs),
                          double(one.max_num_batched_tokens), one.ttft / milliseconds(1),
                          one.tpot / milliseconds(1), one.tokens_per_second_per_gpu});
  }
  return table;
}

reports::Table measured_table(const ServingReviewFile& file) {
  reports::Table table{"measured and predicted",
                       {{"result", "result", ""},
                        {"quantity", "quantity", ""},
                        {"measured", "measured", ""},
                        {"predicted", "predicted", ""},
                        {"low", "low", ""},
                        {"high", "high", ""},
                        {"error_percent", "error", "%", 3}},
                       {}};
  for (const reports::MeasuredLatency& one : file.measured) {
    table.rows.push_back({one.result, one.quantity, one.measured, one.predicted, one.low, one.high,
                          (one.predicted / one.measured - 1.0) * 100.0});
  }
  return table;
}

std::vector<reports::Table> tables_of(const ServingReviewFile& file) {
  std::vector<reports::Table> tables;
  const auto add = [&](const char* name, reports::Table table) {
    if (!table.rows.empty()) tables.push_back(named(name, std::move(table)));
  };
  add("measured", measured_table(file));
  add("better", better_table(file));
  add("read", words_table("read", file.read));
  add("assumed", words_table("assumed", file.assumed));
  add("passed_over", words_table("changes nothing", file.passed_over));
  add("not_understood", words_table("not understood", file.not_understood));
  return tables;
}

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

// Deployments on the same GPUs under the same load, with the engine's limits searched.
void search_better(ServingReviewFile& file, const LaunchedService& service, const ServingLoad& load,
                   int top) {
  planner::ServingQuestion question;
  question.scenario = service.scenario;
  question.cluster_name = service.cluster_name;
  question.load = load;
  question.gpus = file.gpus;
  question.max_gpus = file.gpus;
  question.aggregated = true;
  question.disaggregated = service.deployment.prefill.has_value();
  question.space = planner::serving_space(service.scenario.model, service.scenario.cluster);
  question.kept = 50;
  question.simulated = 0;
  const planner::ServingPlan plan = planner::serving_plan(question);
  const double now = file.tokens_per_second_per_gpu.value_or(0.0);
  for (const planner::ServingChoice& one : plan.choices) {
    // Half a per cent is less than the closed form is good for.
    if (one.gpus > file.gpus || one.tokens_per_second_per_gpu <= now * 1.005) continue;
    file.better.push_back({planner::short_name(one.deployment), one.gpus,
                           one.deployment.pool.options.max_num_seqs,
                           one.deployment.pool.options.max_num_batched_tokens, one.state.state.ttft,
                           one.state.state.tpot, one.tokens_per_second_per_gpu});
  }
  std::stable_sort(file.better.begin(), file.better.end(), [](const auto& a, const auto& b) {
    return a.tokens_per_second_per_gpu > b.tokens_per_second_per_gpu;
  });
  if (file.better.size() > static_cast<std::size_t>(top)) {
    file.better.resize(static_cast<std::size_t>(top));
  }
}

void predict(ServingReviewFile& file, const LaunchedService& service, const ServingLoad& load,
             int top) {
  const planner::CompiledService compiled =
      planner::compiled_service(service.scenario, service.deployment, load);
  const auto state = planner::service_state(compiled, load);
  if (!state) {
    file.verdict = "does_not_fit";
    file.reason = load.kind == LoadKind::open_loop
                      ? "A request does not fit, or the queue grows without end at this rate."
                      : "A request is longer than the cache of one replica.";
  } else {
    file.ttft = state->state.ttft;
    file.tpot = state->state.tpot;
    file.tokens_per_second_per_gpu =
        state->state.requests_per_second * mean_output(load.lengths) / file.gpus;
  }
  search_better(file, service, load, top);
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
    predict(file, service, load, options.top);
  } else if (!knows_times) {
    file.notes.emplace_back("No times: words of the launch change them, and are not modelled.");
  } else {
    file.notes.emplace_back(
        "Times need a load: give --isl, --osl and --concurrency or --rate. Requests that run "
        "together are counted at 1,024 + 1,024 tokens.");
  }
}

std::string summary_of(const ServingReviewFile& f) {
  if (f.verdict == "not_judged") {
    return fmt::format("{} of {}, {}: {} words read, {} change nothing, {} not understood.\n{}",
                       f.form, f.engine, f.model.empty() ? "no model" : f.model, f.read.size(),
                       f.passed_over.size(), f.not_understood.size(),
                       f.reason.empty() ? "" : f.reason + "\n");
  }
  const char* verdict = f.verdict == "fits"      ? "fits"
                        : f.verdict == "refused" ? "refused by the engine"
                                                 : "does not fit";
  // Without a layout the engine stops at its words.
  std::string text = f.deployment.empty()
                         ? fmt::format("{} of {}, {}: {}.\n", f.form, f.engine, f.model, verdict)
                         : fmt::format("{} by {} on {} x {}: {}.\n", f.model, f.deployment, f.gpus,
                                       f.device, verdict);
  if (!f.reason.empty()) text += f.reason + "\n";
  if (f.kv_tokens) {
    text +=
        fmt::format("Cache: {} tokens an attention group", count_text(std::int64_t(*f.kv_tokens)));
    if (f.measured_kv_tokens) {
      text += fmt::format("; the log says {} (error {} %)",
                          count_text(std::int64_t(*f.measured_kv_tokens)),
                          number_text((*f.kv_tokens / *f.measured_kv_tokens - 1.0) * 100.0, 3));
    }
    text += fmt::format("; {} requests run together on a replica.\n",
                        number_text(f.largest_batch.value_or(0.0), 4));
  }
  if (f.tpot) {
    text += fmt::format("Predicted means: TTFT {} ms, TPOT {} ms, {} output tokens/s a GPU.\n",
                        number_text(*f.ttft / milliseconds(1), 3),
                        number_text(*f.tpot / milliseconds(1), 3),
                        number_text(f.tokens_per_second_per_gpu.value_or(0.0), 4));
    text +=
        f.better.empty()
            ? "No deployment on as many GPUs gives more tokens.\n"
            : fmt::format("Better: {}, {} output tokens/s a GPU.\n", f.better.front().deployment,
                          number_text(f.better.front().tokens_per_second_per_gpu, 4));
  }
  return text;
}

// One service after another; a file of several has one record each.
void write(const std::vector<ServingReviewFile>& files, const OutputOptions& output) {
  std::string text;
  std::vector<reports::Table> all;
  for (const ServingReviewFile& file : files) {
    std::vector<reports::Table> tables = tables_of(file);
    if (output.format == Format::table) {
      text += (text.empty() ? "" : "\n") + wrapped(summary_of(file)) + "\n" +
              tables_text(tables, Format::table);
    }
    if (output.format == Format::json) {
      text += reports::serving_review_record().write(file).dump(2) + "\n";
    }
    std::move(tables.begin(), tables.end(), std::back_inserter(all));
  }
  if (output.format == Format::table) {
    write_file_atomically(output.out, text);
  } else {
    write_output(output, all, text);
  }
  std::set<std::string> said;
  for (const ServingReviewFile& file : files) {
    for (const std::string& note : file.notes) {
      if (said.insert(note).second) say("note: {}\n", note);
    }
  }
}

struct ServeReadOptions {
  std::string from, arguments;
  std::vector<std::string> variables;
  OutputOptions output;
};

int run_serve_read(const ServeReadOptions& o, const Call& call) {
  std::vector<ServingReviewFile> files;
  reports::Origin origin = call.origin();
  bool understood = true;
  for (const interop::ServingLaunch& launch :
       read_services(o.from, o.variables, o.arguments, origin)) {
    ServingReviewFile& file = files.emplace_back();
    file.origin = origin;
    file.verdict = "not_judged";
    file.reason = why_no_start(launch, "");
    add_launch(file, launch);
    understood = understood && launch.not_understood.empty() && file.reason.empty();
  }
  write(files, o.output);
  return understood ? kDone : kGateFailed;
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

void add_service_options(Command& command, LaunchedServiceOptions& o) {
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
}

void refuse_service_options(const LaunchedServiceOptions& o, const std::string& from) {
  const char* given = !o.engine.empty()    ? "--engine"
                      : !o.weights.empty() ? "--weights"
                      : o.input            ? "--isl"
                      : o.output           ? "--osl"
                      : o.concurrency      ? "--concurrency"
                      : o.rate             ? "--rate"
                                           : nullptr;
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
  write(files, options.output);
  if (!options.launch_out.empty()) {
    say("warning: {} is not written: review changes no launch of a service. meshwright serve "
        "--launch-out writes that of a deployment\n",
        options.launch_out);
  }
  const bool fits = std::all_of(files.begin(), files.end(), [](const ServingReviewFile& file) {
    return file.verdict == "fits";
  });
  return fits ? kDone : kGateFailed;
}

void add_serve_read(Commands& commands, Command& serve) {
  auto options = std::make_shared<ServeReadOptions>();
  Command& command = commands.add_below(
      serve, "read", "What a launch command or manifest of an inference engine says, word by word");
  command.reads("launch", options->from, "Script, command or Kubernetes manifest")->required();
  command.options().add_option("--set", options->variables,
                               "Variable of the script that is set elsewhere: NAME=VALUE. May be "
                               "repeated");
  command.options().add_option("--args", options->arguments, "Arguments of the script");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_serve_read(*options, call); });
}

}  // namespace meshwright::app
