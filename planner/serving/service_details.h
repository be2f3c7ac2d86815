// SPDX-License-Identifier: Apache-2.0
// What a reviewer asks about the best deployment: its latency at other loads and where it bends,
// the memory of its GPUs, the parts of its steps, where its GPUs' time goes, the energy of its
// tokens, and what one replica fewer would do.
//
// Bounded: at most kLoadShares.size() + 1 simulations, each as long as that of a choice
// (deployment_choices.h), and a few step times.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "planner/serving/serving_search.h"

namespace meshwright::planner {

// Loads that are simulated: shares of the largest rate that the deployment serves.
inline constexpr std::array kLoadShares{0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.97};
// The same of a closed loop: multiples of its users.
inline constexpr std::array kUserShares{0.125, 0.25, 0.5, 0.75, 1.5, 2.0, 3.0, 4.0};
// Latency at the knee over that at the smallest load.
inline constexpr double kKneeRatio = 2.0;

// The GPUs of a deployment that do the same.
enum class ServicePool { aggregated, prefill, decode };
inline constexpr std::array kServicePoolNames{EnumName{ServicePool::aggregated, "aggregated"},
                                              EnumName{ServicePool::prefill, "prefill"},
                                              EnumName{ServicePool::decode, "decode"}};
constexpr std::string_view name_of(ServicePool v) { return name_in(kServicePoolNames, v); }

enum class ServedStep { prefill, decode };
inline constexpr std::array kServedStepNames{EnumName{ServedStep::prefill, "prefill"},
                                             EnumName{ServedStep::decode, "decode"}};
constexpr std::string_view name_of(ServedStep v) { return name_in(kServedStepNames, v); }

// A latency with its 90 % interval.
struct LatencyRange {
  Seconds value{}, low{}, high{};
};
// Log-normal around the value.
LatencyRange latency_range(Seconds value, double relative_spread);

// The deployment under one load, simulated.
struct ServingLoadPoint {
  double request_rate = 0;  // open loop: offered; closed loop: served
  double users = 0;         // closed loop; 0: open loop
  bool asked = false;       // the question's load
  Percentiles ttft{}, tpot{}, e2e{};
  std::optional<Seconds> ttft_at{}, tpot_at{};  // at the asked percentile
  double output_tokens_per_second = 0;
  double busy_share = 0;  // of the replicas' time; of pools: of the decode pool
  bool meets = false;
};

struct ServingStepPart {
  StepTerm term = StepTerm::linears;
  Seconds time{};
  double relative_spread = 0;
  Provenance provenance = Provenance::measured;
};

// One kind of step of a pool, in parts.
struct ServingStepParts {
  ServedStep step = ServedStep::decode;
  double sequences = 0;  // of one attention group
  double tokens = 0;     // new tokens of prompts, or context of each sequence
  LatencyRange time{};
  Provenance provenance = Provenance::measured;  // the weakest part's
  std::vector<ServingStepPart> parts{};
};

// Replicas of one kind under the load.
struct ServicePoolDetails {
  ServicePool pool = ServicePool::aggregated;
  std::string name{};  // "9 x tp4"
  int replicas = 1, gpus = 1;
  ReplicaMemory memory{};  // of the GPU with the highest use
  double admitted = 0;     // requests of one attention group that the cache and the engine admit
  double running = 0;      // sequences of one attention group that decode under the load; none of
                           // a prefill pool
  double prompt_share = 0, decode_share = 0, idle_share = 0;  // of the pool's time
  std::vector<ServingStepParts> steps{};
};

// The deployment with one replica fewer, under the same load.
struct SmallerDeployment {
  std::string deployment{};
  int gpus = 0;
  double largest_rate = 0;                // above which its queue grows without end
  double utilization = 0;                 // the load over it
  std::optional<Seconds> ttft{}, tpot{};  // as the limits are; none: the queue grows without end
  std::optional<Seconds> e2e{};           // mean of the same run; likewise
};

struct ServiceDetails {
  std::optional<int> asked_gpus{};  // the question fixes the GPUs
  LatencyRange ttft{}, tpot{};      // as the limits are: at the percentile, or means
  double largest_rate = 0;          // requests a second above which its queue grows without end
  double most_utilization = 0;      // of that rate, up to which a service is planned
  std::vector<ServingLoadPoint> loads{};
  std::optional<double> ttft_knee{}, tpot_knee{};  // requests a second, or users
  std::vector<ServicePoolDetails> pools{};         // prefill first
  std::optional<ServingEnergy> energy{};
  std::optional<SmallerDeployment> smaller{};  // none: each pool has one replica
};
ServiceDetails service_details(const ServingQuestion& question, const ServingChoice& choice);

// The loads around the question's, with it, the smallest first. `most`: largest_service_rate.
std::vector<ServingLoad> loads_around(const ServingLoad& asked, double most);

// The load at which a latency is kKneeRatio times that of the first point, on the straight line
// between the two points around it. Empty: it stays below.
struct LoadLatency {
  double load = 0;
  Seconds latency{};
};
std::optional<double> knee_of(const std::vector<LoadLatency>& points);

// With one replica fewer: of two pools the smaller loss of GPUs. Empty: each pool has one.
std::optional<Deployment> one_replica_fewer(const Deployment& deployment);

// The parts of one step that take time.
ServingStepParts step_parts(const ReplicaCost& cost, ServedStep kind, const EngineStep& step);

}  // namespace meshwright::planner
