// SPDX-License-Identifier: Apache-2.0
// meshwright serve: which deployments of an inference engine serve a load within its limits.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/commands/commands.h"
#include "app/commands/serving/serve_commands.h"
#include "app/commands/serving/serve_plan_text.h"
#include "app/commands/serving/service_launch.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/checkpoint_names.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "app/files/serving_files.h"
#include "app/options/command.h"
#include "app/options/output.h"
#include "app/options/serve_options.h"
#include "app/runs/learnt_service.h"
#include "planner/capacity/options_json.h"
#include "reports/sections/service_text.h"
#include "reports/tables/serving_plan_tables.h"
#include "sim/base/error.h"

namespace meshwright::app {
namespace {

struct ServePlanOptions {
  std::string model, engine = "vllm-0.32", mode = "aggregated", prices = "example-2026";
  std::vector<std::string> clusters;
  ServeFormats formats;
  LoadOptions load;
  LimitOptions limits;
  std::vector<int> tensor, pipeline, data;
  std::optional<int> gpus;
  int max_gpus = 4096, top = 10;
  bool find_gpus = false, what_if = false, explain = false;
  std::string launch_out, launch_form = "command", checkpoint;
  std::string learn, learn_launch;
  OutputOptions output;
};

void set_mode(planner::ServingQuestion& question, const std::string& mode) {
  if (mode != "aggregated" && mode != "disaggregated" && mode != "both") {
    throw InputError(
        "--mode", "",
        fmt::format("unknown mode \"{}\"; expected aggregated, disaggregated or both", mode));
  }
  question.aggregated = mode != "disaggregated";
  question.disaggregated = mode != "aggregated";
}

void check_plan(const ServePlanOptions& o) {
  if (o.model.empty()) {
    throw InputError("--model", "", "is missing", "name a model of configs/models, or a file");
  }
  if (o.clusters.empty()) {
    throw InputError("--cluster", "", "is missing",
                     "name a cluster of configs/clusters, or a file");
  }
  if (!o.learn.empty() && o.clusters.size() > 1) {
    throw InputError("--learn", "", "is about one machine", "name one --cluster");
  }
  if (!o.checkpoint.empty() && o.launch_out.empty() && o.output.format != Format::json) {
    throw InputError("--checkpoint", "", "needs launch files", "add --launch-out or --format json");
  }
  if (o.gpus && o.find_gpus) {
    throw InputError("--find-gpus", "", "excludes --gpus", "use one of them");
  }
}

// What the results say, of sizes that the question leaves no choice of.
planner::ServingLearning learning_of(const ServePlanOptions& o, const std::string& cluster,
                                     const ServingScenario& scenario, reports::Origin& origin) {
  const std::string weights(name_of(scenario.options.weights.format));
  ServiceLearningOptions learn{o.learn, o.learn_launch,     o.model, cluster, o.engine,
                               weights, o.formats.kv_cache, {}};
  const auto only = [&](const char* column, const std::vector<int>& sizes) {
    if (sizes.size() == 1) learn.sizes[column] = std::to_string(sizes.front());
  };
  only("tp", o.tensor);
  only("pp", o.pipeline);
  only("dp_attention", o.data);
  return learnt_service(learn, scenario, origin);
}

// Replicas may be as large as the sizes that are asked for; the smallest of them must be allowed.
void widen_replicas(planner::ServingQuestion& question, const ServePlanOptions& o) {
  std::int64_t most = 1, least = 1;
  for (const std::vector<int>* sizes : {&o.tensor, &o.pipeline, &o.data}) {
    if (sizes->empty()) continue;
    most *= *std::max_element(sizes->begin(), sizes->end());
    least *= *std::min_element(sizes->begin(), sizes->end());
  }
  const int allowed = question.gpus.value_or(question.max_gpus);
  if (least > allowed) {
    const char* option = !o.tensor.empty() ? "--tp" : !o.pipeline.empty() ? "--pp" : "--dp";
    throw InputError(
        option, "",
        fmt::format("asks for replicas of {} GPUs or more; {} are allowed", least, allowed),
        "use smaller sizes, or more --gpus");
  }
  question.space.replica_gpus = std::max(question.space.replica_gpus,
                                         static_cast<int>(std::min<std::int64_t>(most, allowed)));
}

// How the model's checkpoint stores its weights goes into `stored`.
planner::ServingQuestion serving_question(const ServePlanOptions& o, const std::string& cluster,
                                          std::optional<WeightFormat>& stored,
                                          reports::Origin& origin) {
  planner::ServingQuestion question;
  question.scenario = serving_scenario(o.model, cluster, o.engine, o.formats, &origin, &stored);
  question.cluster_name = std::filesystem::path(cluster).stem().string();
  question.load = serving_load(o.load, o.formats, question.scenario.model, &origin);
  question.limits = latency_limits(o.limits);
  question.percentile = percentile_of(o.limits, o.load.requests);
  question.gpus = o.gpus;
  question.max_gpus = std::min(o.max_gpus, question.scenario.cluster.num_gpus());
  if (o.gpus && *o.gpus > question.scenario.cluster.num_gpus()) {
    throw InputError("--gpus", "",
                     fmt::format("must be at most the {} GPUs of {} (got {})",
                                 question.scenario.cluster.num_gpus(), cluster, *o.gpus));
  }
  set_mode(question, o.mode);
  question.kept = o.top;
  question.space = planner::serving_space(question.scenario.model, question.scenario.cluster);
  if (!o.tensor.empty()) question.space.tensor = o.tensor;
  if (!o.pipeline.empty()) {
    question.space.pipeline = o.pipeline;
    question.space.stages_in_pools = true;
  }
  if (!o.data.empty()) question.space.data = o.data;
  widen_replicas(question, o);
  if (o.formats.max_num_seqs > 0) question.space.max_num_seqs = {0};
  if (o.formats.max_num_batched_tokens > 0) question.space.token_budgets = {0};
  const std::string file = require_config(o.prices, "prices");
  question.prices = planner::prices_from_json(read_input("prices", file, origin, o.prices), file);
  return question;
}

constexpr std::string_view kTrialVersion = "trial";  // of the engine that meshwright trial runs

// The shipped versions of the same engine, which a what-if takes in its place.
std::vector<Engine> other_versions(const Engine& asked) {
  std::vector<Engine> versions;
  if (asked.version == kTrialVersion) return versions;
  for (const std::string& name : config_names("engines")) {
    Engine engine = load_engine(name);
    const bool other = engine.name != asked.name && engine.version != kTrialVersion;
    if (engine.kind == asked.kind && other) versions.push_back(std::move(engine));
  }
  return versions;
}

reports::ServingPlanFile serving_plan_file(const planner::ServingQuestion& q,
                                           const ServePlanOptions& o,
                                           std::optional<planner::ServingLearning> learning,
                                           reports::Origin origin) {
  reports::ServingPlanFile file;
  file.origin = std::move(origin);
  file.notes = serving_notes(o.formats, q.scenario);
  if (learning) file.notes.push_back(learning_text(*learning, o.learn));
  file.learning = std::move(learning);
  file.notes.emplace_back(
      "The times and the verdict of a simulated row are those of one simulation. Other rows are "
      "means in closed form, which may differ from it.");
  const auto left_out = planner::left_out_of_space(q.scenario.model, q.scenario.cluster);
  if (!left_out.empty()) {
    file.notes.push_back(
        fmt::format("On CPU cores trial does not serve {}; by default they are not searched.",
                    fmt::join(left_out, " and ")));
  }
  if (q.prices.example) {
    file.notes.push_back(fmt::format(
        "Prices are those of {}, an example. Use --prices for your own.", q.prices.name));
  }
  file.model = q.scenario.model.name;
  file.cluster = q.cluster_name;
  file.device = only_device(q.scenario.cluster).name;
  file.engine = q.scenario.engine.name;
  file.scenario = q.scenario;
  file.load = q.load;
  file.limits = q.limits;
  file.percentile = q.percentile;
  file.currency = q.prices.currency;
  file.prices = reports::ServicePrices{q.prices.name, q.prices.date, q.prices.example};
  file.plan = planner::serving_plan(q);
  if (o.explain && file.plan.choices.size() > 1) {
    file.explanation = planner::serving_explanation(q, file.plan.choices[0], file.plan.choices[1]);
  }
  if (o.what_if) {
    file.what_ifs = planner::serving_what_ifs(q, file.plan, other_versions(q.scenario.engine));
  }
  return file;
}

std::vector<reports::Table> serving_tables(const reports::ServingPlanFile& file) {
  std::vector<reports::Table> tables;
  const auto add = [&](const char* name, reports::Table table) {
    if (!table.rows.empty()) tables.push_back(named(name, std::move(table)));
  };
  add("choices", reports::serving_choices_table(file));
  add("money", reports::serving_money_table(file));
  add("pareto", reports::serving_pareto_table(file));
  add("rejections", reports::serving_rejections_table(file));
  add("explanation", reports::serving_explanation_table(file));
  add("what_if", reports::serving_what_ifs_table(file));
  add("learning", reports::serving_learning_table(file));
  return tables;
}

// The table of one cluster of several.
reports::Table of_cluster(const std::string& cluster, reports::Table table) {
  table.columns.insert(table.columns.begin(), {"cluster", "cluster", ""});
  for (auto& row : table.rows) row.insert(row.begin(), reports::Cell(cluster));
  return table;
}

// Writes how the best deployment is started.
void write_launch(const ServePlanOptions& o, const planner::ServingQuestion& q,
                  const planner::ServingPlan& plan, const ServedCheckpoint& checkpoint) {
  if (o.launch_out.empty()) return;
  if (plan.choices.empty()) {
    say("warning: {} is not written: no deployment was found\n", o.launch_out);
    return;
  }
  const interop::ServingLaunch launch =
      service_launch(q.scenario, plan.choices.front().deployment, checkpoint);
  write_file_atomically(o.launch_out, interop::write_serving(launch, launch_form_of(o.launch_form),
                                                             serving_hosts(q.scenario.cluster)));
}

// Adds what a page shows of the first deployment. It costs simulations; tables do without it.
void add_details(const planner::ServingQuestion& q, const ServedCheckpoint& checkpoint,
                 reports::ServingPlanFile& file) {
  if (!file.plan.choices.empty()) {
    const planner::ServingChoice& best = file.plan.choices.front();
    file.details = planner::service_details(q, best);
    file.launch = service_launch_files(service_launch(q.scenario, best.deployment, checkpoint),
                                       serving_hosts(q.scenario.cluster));
  }
  reports::add_service_sentences(file);
}

int run_serve_plan(const ServePlanOptions& o, const Call& call) {
  check_plan(o);
  launch_form_of(o.launch_form);
  std::string text;
  Json all = Json::array();
  std::vector<reports::Table> tables;
  std::vector<std::string> notes;
  bool met = false;
  for (const std::string& cluster : o.clusters) {
    ServedCheckpoint checkpoint{o.checkpoint.empty() ? checkpoint_of_model(o.model) : o.checkpoint,
                                {}};
    reports::Origin origin = call.origin();
    planner::ServingQuestion question = serving_question(o, cluster, checkpoint.stored, origin);
    std::optional<planner::ServingLearning> learning;
    if (!o.learn.empty()) {
      learning = learning_of(o, cluster, question.scenario, origin);
      question.scenario.engine = planner::with_learnt(question.scenario.engine, *learning);
    }
    reports::ServingPlanFile file =
        serving_plan_file(question, o, std::move(learning), std::move(origin));
    if (o.output.format == Format::json) add_details(question, checkpoint, file);
    if (cluster == o.clusters.front()) write_launch(o, question, file.plan, checkpoint);
    met |= !file.plan.choices.empty() && file.plan.choices.front().meets;
    const std::vector<reports::Table> found = serving_tables(file);
    if (o.output.format == Format::table) {
      text += wrapped(serving_plan_summary(question, file.plan)) + "\n" +
              tables_text(found, Format::table) + (o.clusters.size() > 1 ? "\n" : "");
    }
    for (const reports::Table& table : found) {
      if (o.clusters.size() == 1 || o.output.format != Format::csv) {
        tables.push_back(table);
      } else {
        add_rows(tables, of_cluster(file.cluster, table));
      }
    }
    if (o.output.format == Format::json) {
      all.push_back(reports::serving_plan_record().write(file));
    }
    for (const std::string& note : file.notes) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }
  if (o.output.format == Format::table) {
    write_file_atomically(o.output.out, text);
  } else {
    const Json document = all.size() == 1 ? Json(all.front()) : all;
    write_output(o.output, tables, document.dump(2) + "\n");
  }
  for (const std::string& note : notes) say("note: {}\n", note);
  return met ? kDone : kGateFailed;
}

void add_space(Command& command, ServePlanOptions& o) {
  CLI::App& app = command.options();
  const auto sizes = [&](const char* name, std::vector<int>& values, const char* about) {
    app.add_option(name, values, about)->delimiter(',')->check(CLI::Range(1, 1024).description(""));
  };
  sizes("--tp,--tensor-parallel-size", o.tensor,
        "Tensor-parallel sizes to search. Default: powers of two in the fast domain");
  sizes("--pp,--pipeline-parallel-size", o.pipeline,
        "Pipeline stages to search. Default: 1 and 2, on CPU cores 1");
  sizes("--dp,--data-parallel-size", o.data,
        "Data ranks of attention to search. Default: powers of two with experts, on CPU cores 1");
  app.add_option("--gpus", o.gpus, "GPUs of the deployment. Default: as few as the load needs")
      ->check(CLI::Range(1, 1'000'000).description(""));
  app.add_flag("--find-gpus", o.find_gpus,
               "Find the smallest deployment that meets the limits, as without --gpus");
  app.add_option("--max-gpus", o.max_gpus, "GPUs, at most. Default: 4096, or the cluster's")
      ->check(CLI::Range(1, 1'000'000).description(""));
  app.add_option(
      "--mode", o.mode,
      "aggregated, disaggregated (prefill and decode pools) or both. Default: aggregated");
  app.add_option("--top", o.top, "Deployments to list. Default: 10")
      ->check(CLI::Range(1, 1000).description(""));
  app.add_flag("--explain", o.explain,
               "Compare the decode steps of the first two deployments, term by term");
  app.add_flag("--what-if", o.what_if, "Answer the question again with one thing changed");
}

}  // namespace

Command& add_serve_plan(Commands& commands) {
  auto options = std::make_shared<ServePlanOptions>();
  Command& command = commands.add(
      "serve", "Deployments of an inference engine: replicas, layouts, latency, price");
  command.options().require_subcommand(0, 1);
  add_served_model(command, options->model);
  CLI::Option* clusters = command.reads(
      "--cluster", options->clusters,
      "Clusters to compare: files, measured profiles, or names from configs/clusters");
  clusters->delimiter(',');
  add_serving_engine(command, options->engine);
  add_load_options(command, options->load);
  add_limit_options(command, options->limits);
  add_space(command, *options);
  add_serve_formats(command, options->formats);
  command.reads("--prices", options->prices,
                "Price list: a file or a name from configs/prices. Default: example-2026",
                "prices");
  command.reads("--learn", options->learn,
                "Correct the engine by results of its benchmarks on this cluster: a file that "
                "serve backtest reads");
  command.reads("--learn-launch", options->learn_launch,
                "Launch commands or manifest of the service that --learn measured. Default: as its "
                "rows say");
  command.only_with("--learn-launch", "--learn");
  command.writes("--launch-out", options->launch_out,
                 "Write the commands or the manifest of the first deployment to this file");
  command.options().add_option("--launch-form", options->launch_form,
                               "command, kubernetes or dynamo. Default: command");
  command.options().add_option("--checkpoint", options->checkpoint,
                               "Checkpoint's name in launch files. Default: the Hugging Face name "
                               "of --model, or the published checkpoint of a shipped model");
  command.only_with("--launch-form", "--launch-out");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_serve_plan(*options, call); });
  return command;
}

}  // namespace meshwright::app
