// SPDX-License-Identifier: Apache-2.0
// Every deployment of a service on a cluster: which serve the load within its limits, on how few
// GPUs, at what price; and why the others do not.
//
// Order: rules of the engine, memory, steady state in closed form, limits, replicas, Pareto. The
// best few are then simulated for percentiles, and the next ones until the first is simulated. Of
// choices that meet the limits the one with fewer GPUs comes first, then the cheaper tokens, the
// shorter TPOT, the shorter TTFT, the fewer GPUs a replica; times are equal if they are shown so.
// Replica layouts are tried in parallel, each with all its batch limits and token budgets, which
// share one ReplicaCost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/serving/serving_money.h"

namespace meshwright::planner {

struct ServingSpace {
  std::vector<int> tensor{}, pipeline{1}, data{1};
  bool expert_parallel = true;        // beside cutting each expert: experts over all ranks
  std::vector<int> max_num_seqs{0};   // 0: the engine's default
  std::vector<int> token_budgets{0};  // max_num_batched_tokens; 0: the engine's default
  int replica_gpus = 16;              // of one replica, at most
  bool stages_in_pools = true;        // prefill and decode pools may have pipeline stages
};
// Devices that tensor and data ranks of a replica are spread over at most: a fast domain, and of a
// node without one the whole node, over whose bus they exchange.
int tensor_domain(const Cluster& cluster);
// Powers of two up to what the model and tensor_domain allow. On cores only what
// meshwright trial serves there.
ServingSpace serving_space(const Model& model, const Cluster& cluster);
// What the default space of this cluster leaves out, in words: of cores pools with pipeline stages
// and, of a model with experts, data ranks of attention. Empty on GPUs.
std::vector<std::string> left_out_of_space(const Model& model, const Cluster& cluster);

struct ServingQuestion {
  ServingScenario scenario{};  // options: formats and limits; the layout is searched
  std::string cluster_name{};
  ServingLoad load{};  // closed loop, or open loop at a rate
  LatencyLimits limits{};
  double percentile = 0;      // of ttft and tpot; 0: their means
  std::optional<int> gpus{};  // of the deployment; none: as few as the load needs
  int max_gpus = 4096;
  bool aggregated = true, disaggregated = false;
  ServingSpace space{};
  PriceList prices{};
  PowerOptions power{};
  int kept = 10;       // rows
  int simulated = 10;  // of them, and those that come first; 0: none
};

struct ServingChoice {
  Deployment deployment{};
  int gpus = 0;
  ServiceState state{};     // at the load
  double largest_rate = 0;  // requests a second within the limits
  bool meets = false;
  double tokens_per_second_per_gpu = 0;   // output
  double tokens_per_second_per_user = 0;  // 1 / mean TPOT
  double token_spread = 0, first_token_spread = 0;
  // GPUs if steps are as fast, or as slow, as the 90 % interval's ends; 0: none do.
  int gpus_low = 0, gpus_high = 0;
  std::optional<ServingMetrics> simulated{};
  std::optional<Seconds> simulated_ttft{}, simulated_tpot{};  // at the percentile
  std::optional<ServingMoney> money{};
  std::optional<Ranged> total_kwh_million_output{};  // prompts and answers; see serving_energy
};

// Times of a choice: those of its simulation where it was simulated, else those in closed form.
struct ServiceTimes {
  Seconds ttft{}, tpot{}, e2e{};
};
ServiceTimes mean_times(const ServingChoice& choice);
// As limits are: TTFT and TPOT at the percentile, or means; E2E the mean.
ServiceTimes limited_times(const ServingChoice& choice);
bool within(const ServiceTimes& times, const LatencyLimits& limits);

struct ServingRejection {
  std::string rule{};  // of the engine, or "ttft", "tpot", "rate", "gpus"
  int count = 0;
  std::string nearest{};   // the layout that missed least
  std::string sentence{};  // by how much
  std::string remedy{};
};

// A point of throughput a GPU against speed of a user: one layout at one number of users.
struct ServingParetoPoint {
  Deployment deployment{};
  std::string name{};  // short_name of the deployment, which a file has alone
  double users = 0;    // of the whole deployment
  Seconds ttft{}, tpot{};
  double tokens_per_second_per_gpu = 0, tokens_per_second_per_user = 0;
};

// The deployment that misses the limits least, at the smallest load.
struct NearestDeployment {
  Deployment deployment{};
  std::string name{};  // short_name of the deployment, which a file has alone
  Seconds ttft{}, tpot{};
  double ratio = 0;  // the larger of time / limit
};

struct ServingPlan {
  std::vector<ServingChoice> choices{};  // best first
  std::vector<ServingParetoPoint> front{};
  std::vector<ServingRejection> rejections{};
  std::optional<NearestDeployment> nearest{};  // where no choice meets the limits
  int layouts = 0;                             // valid replicas
  int configurations = 0;                      // steady states
};
ServingPlan serving_plan(const ServingQuestion& question);

// One term of the decode step of two deployments, each at its own batch.
struct ServingTermDifference {
  StepTerm term = StepTerm::linears;
  Seconds first{}, second{};
};
std::vector<ServingTermDifference> serving_explanation(const ServingQuestion& question,
                                                       const ServingChoice& first,
                                                       const ServingChoice& second);

// The same question with one thing changed.
struct ServingWhatIf {
  std::string name{};
  int gpus = 0;  // 0: no deployment meets the limits
  std::string deployment{};
  std::optional<Seconds> ttft{}, tpot{};  // as limits are
  std::optional<double> million_output{};
};
// As its plan's limits are; the first answer is the plan's. `engines`: other versions of the
// engine, a change each. Each answer simulates the first of its choices until one meets its limits.
std::vector<ServingWhatIf> serving_what_ifs(const ServingQuestion& question,
                                            const ServingPlan& plan,
                                            const std::vector<Engine>& engines = {});

}  // namespace meshwright::planner
