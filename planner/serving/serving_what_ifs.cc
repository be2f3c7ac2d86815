// SPDX-License-Identifier: Apache-2.0
// Why one deployment beats another, and what the answer is if one thing changes.
#include <tbb/parallel_for.h>

#include <algorithm>

#include "planner/serving/deployment_choices.h"

namespace meshwright::planner {

std::vector<ServingTermDifference> serving_explanation(const ServingQuestion& q,
                                                       const ServingChoice& first,
                                                       const ServingChoice& second) {
  const double context = mean_input(q.load.lengths) + mean_output(q.load.lengths) / 2.0;
  const auto step = [&](const ServingChoice& choice) {
    const CompiledService service = compiled_service(q.scenario, choice.deployment, q.load);
    const ReplicaCost& cost = service.replica->cost;
    const double running = std::max(1.0, choice.state.state.running) / cost.stages;
    return step_time(cost, decode_step(running, context));
  };
  const StepTime a = step(first), b = step(second);
  std::vector<ServingTermDifference> rows;
  for (const auto& [term, name] : kStepTermNames) {
    if (a[term].value() > 0.0 || b[term].value() > 0.0) rows.push_back({term, a[term], b[term]});
  }
  return rows;
}

std::vector<ServingWhatIf> serving_what_ifs(const ServingQuestion& question) {
  struct ChangedQuestion {
    std::string name;
    void (*apply)(ServingQuestion&);
  };
  static const std::vector<ChangedQuestion> changes{
      {"as asked", [](ServingQuestion&) {}},
      {"fp8 cache", [](ServingQuestion& q) { q.scenario.options.kv_cache = KvCacheFormat::fp8; }},
      {"fp8 weights",
       [](ServingQuestion& q) {
         q.scenario.options.weights = usual_scheme(WeightFormat::fp8, q.scenario.model);
       }},
      {"half of each prompt cached", [](ServingQuestion& q) { q.load.prefix_hit_rate = 0.5; }},
      {"twice the rate",
       [](ServingQuestion& q) {
         q.load.request_rate *= 2;
         q.load.concurrency *= 2;
       }},
      {"half the rate",
       [](ServingQuestion& q) {
         q.load.request_rate /= 2;
         q.load.concurrency = std::max(1.0, q.load.concurrency / 2);
       }},
      {"limits half as long", [](ServingQuestion& q) { q.limits = divided(q.limits, 2.0); }},
      {"limits twice as long", [](ServingQuestion& q) { q.limits = divided(q.limits, 0.5); }},
      {"memory 10 % faster",
       [](ServingQuestion& q) { only_device(q.scenario.cluster).memory_bandwidth *= 1.1; }},
      {"links 10 % faster", [](ServingQuestion& q) {
         q.scenario.cluster.intra_node.bandwidth *= 1.1;
         q.scenario.cluster.inter_node.bandwidth *= 1.1;
       }}};
  std::vector<ServingWhatIf> answers(changes.size());
  tbb::parallel_for(std::size_t{0}, changes.size(), [&](std::size_t i) {
    ServingQuestion q = question;
    changes[i].apply(q);
    q.percentile = 0;  // closed form
    const std::vector<ServingChoice> found = choices_of(q, search_layouts(q, false));
    answers[i].name = changes[i].name;
    if (found.empty() || !found.front().meets) return;
    ServingChoice best = found.front();
    price_choice(q, best);
    answers[i].gpus = best.gpus;
    answers[i].deployment = short_name(best.deployment);
    if (best.money) answers[i].million_output = best.money->million_output.value;
  });
  return answers;
}

}  // namespace meshwright::planner
