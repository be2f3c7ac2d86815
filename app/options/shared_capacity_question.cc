// SPDX-License-Identifier: Apache-2.0
#include "app/options/shared_capacity_question.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/options/serve_options.h"
#include "planner/shared_cluster/replicas_by_hour.h"
#include "sim/base/error.h"
#include "sim/hardware/node_count.h"

namespace meshwright::app {
namespace {

ServeFormats service_formats(const planner::ServiceOptions& service) {
  ServeFormats formats;
  if (service.weights) formats.weights = name_of(*service.weights);
  formats.kv_cache = name_of(service.kv_cache);
  return formats;
}

// Options that a job with a service does not support, and what it must state.
void check_shared_request(const CapacityRequest& request, const CapacityTexts& texts) {
  if (!texts.what_ifs.empty()) {
    throw InputError(
        "--what-if", "",
        fmt::format("is not supported for a job with a service (got {})", texts.what_ifs.front()),
        "change the job file, or remove its \"service\"");
  }
  if (!request.question.train_tokens) {
    throw InputError("--train-tokens", "", "is required for a job with a service",
                     "add --train-tokens, or set \"train_tokens\" in the job");
  }
}

void check_service_lengths(const planner::ServiceOptions& service, const Model& model,
                           const std::string& file) {
  const int limit = model.max_position_embeddings;
  if (limit <= 0 || service.isl + service.osl <= limit) return;
  throw InputError(
      file, "/service/isl",
      fmt::format("with osl does not fit into the context of {} (got {} + {}; expected "
                  "at most {} tokens together)",
                  model.name, service.isl, service.osl, limit),
      "use shorter prompts or answers, or a model with longer contexts");
}

// As large as the search may go, so that a replica may have several nodes.
void enlarge_cluster(ServingCluster& cluster, int most_gpus) {
  const int whole = most_gpus - most_gpus % planner::gpus_of_host(cluster);
  if (whole <= cluster.num_gpus() || !has_count(cluster, whole)) return;
  static_cast<Cluster&>(cluster) = scaled_to(cluster, whole);
}

ServingLoad service_load_of(const planner::ServiceOptions& service) {
  ServingLoad load;
  load.kind = LoadKind::open_loop;
  load.request_rate = planner::peak_rate(service.load_curve);
  load.lengths = {LengthKind::fixed, service.isl, service.osl, 1.0, {}};
  load.prefix_hit_rate = service.prefix_hit_rate;
  return load;
}

LatencyLimits service_targets(const planner::ServiceOptions& service) {
  const auto target = [](const std::optional<double>& value) {
    return value ? std::optional<Seconds>(seconds(*value)) : std::nullopt;
  };
  return {target(service.ttft_seconds), target(service.tpot_seconds), target(service.e2e_seconds)};
}

planner::ServingQuestion service_question(const CapacityRequest& request, std::size_t place,
                                          const ServingScenario& scenario) {
  const planner::ServiceOptions& service = *request.service;
  planner::ServingQuestion question;
  question.scenario = scenario;
  question.cluster_name = request.question.clusters[place].name;
  question.load = service_load_of(service);
  question.limits = service_targets(service);
  question.percentile = service.percentile;
  question.max_gpus = planner::most_gpus_of(request.question, place);
  enlarge_cluster(question.scenario.cluster, question.max_gpus);
  question.space = planner::serving_space(question.scenario.model, question.scenario.cluster);
  if (!service.tensor_parallel_size.empty()) question.space.tensor = service.tensor_parallel_size;
  if (!service.pipeline_parallel_size.empty()) {
    question.space.pipeline = service.pipeline_parallel_size;
    question.space.stages_in_pools = true;
  }
  question.prices = request.question.options.prices;
  question.power = request.question.options.power;
  // Without a percentile the closed form decides.
  if (service.percentile <= 0.0) question.simulated = 0;
  return question;
}

}  // namespace

SharedRequest shared_request_of(const CapacityRequest& request, const CapacityTexts& texts,
                                reports::Origin& origin) {
  check_shared_request(request, texts);
  const planner::ServiceOptions& service = *request.service;
  const ServeFormats formats = service_formats(service);
  SharedRequest made{.question = {.training = request.question, .service = service}};
  for (std::size_t i = 0; i < request.question.clusters.size(); ++i) {
    const ServingScenario scenario =
        serving_scenario(service.model, request.question.clusters[i].file, service.engine, formats,
                         i == 0 ? &origin : nullptr);
    check_service_lengths(service, scenario.model, request.job_file);
    made.question.serving.push_back(service_question(request, i, scenario));
    for (std::string& note : serving_notes(formats, scenario)) {
      const auto known = std::find(made.notes.begin(), made.notes.end(), note);
      if (known == made.notes.end()) made.notes.push_back(std::move(note));
    }
  }
  return made;
}

}  // namespace meshwright::app
