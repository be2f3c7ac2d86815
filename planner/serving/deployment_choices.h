// SPDX-License-Identifier: Apache-2.0
// Deployments of the replicas that were found, each under the question's load, best first; and what
// is said of the best: percentiles, GPUs at the ends of the interval, money and energy.
#pragma once

#include <vector>

#include "planner/serving/replica_search.h"

namespace meshwright::planner {

// Replicas for so many requests a second, of which each serves so many: ceil(rate / each), at most
// kMostReplicas; 0: each serves none.
int replicas_for(double rate, double each);
inline constexpr int kMostReplicas = 1'000'000;

// Those that meet the limits first. Fewer GPUs, or more requests a second of the same GPUs; then
// cheaper tokens, shorter TPOT and TTFT as limits are, fewer GPUs a replica. Times that agree in
// three digits, as they are shown, are equal.
bool better_choice(const ServingQuestion& question, const ServingChoice& a, const ServingChoice& b);
// One a layout, or a pair of them: the best of its batch limits and budgets.
std::vector<ServingChoice> choices_of(const ServingQuestion& question,
                                      const std::vector<LayoutResult>& results);

// This deployment under the question's load, judged as a plan judges its choices. Empty: a request
// does not fit, or the queue grows without end.
std::optional<ServingChoice> judged_deployment(const ServingQuestion& question,
                                               const Deployment& deployment);
// The times and the verdict of a choice become those of a simulation.
void simulate_choice(const ServingQuestion& question, ServingChoice& choice);

// Simulates a service: of equal replicas one under its share of the load, of two pools all. Empty:
// a request does not fit. Not told how many requests: 1,000 at least.
std::optional<ServingRun> simulated_run(CompiledService service, ServingLoad load,
                                        double percentile);
// Simulates a choice, and decides by that: replicas are added until the limits are met, or taken
// away while they are, down to `least`.
void simulate_until_met(const ServingQuestion& question, ServingChoice& choice, int least = 1);
// Sorts choices, and simulates the first until it is one that was simulated.
void settle_first(const ServingQuestion& question, std::vector<ServingChoice>& choices);
// GPUs if all times are longer by this factor; 0: it is not asked, or none do. Replicas that the
// simulation added or took are so in the same proportion.
int gpus_at(const ServingQuestion& question, const ServingChoice& choice, double factor);
void price_choice(const ServingQuestion& question, ServingChoice& choice);
// Energy of its tokens, split by time. Empty: the power of the GPUs is not known.
std::optional<ServingEnergy> energy_of(const ServingQuestion& question,
                                       const ServingChoice& choice);

}  // namespace meshwright::planner
