// SPDX-License-Identifier: Apache-2.0
// Why one deployment beats another, and what the answer is if one thing changes.
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/questions/what_if_parameter.h"
#include "planner/serving/deployment_choices.h"
#include "sim/serving/weights.h"

namespace meshwright::planner {

std::vector<ServingTermDifference> serving_explanation(const ServingQuestion& q,
                                                       const ServingChoice& first,
                                                       const ServingChoice& second) {
  const double context = mean_context(q.load.lengths);
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

namespace {

using QuestionChange = std::function<void(ServingQuestion&)>;
struct ChangedQuestion {
  std::string name;
  QuestionChange apply;
};

QuestionChange scaled_prompts(double factor) {
  return [factor](ServingQuestion& q) {
    const auto scale = [factor](int& tokens) {
      tokens = static_cast<int>(std::clamp(std::round(tokens * factor), 1.0, 1e9));
    };
    scale(q.load.lengths.input);
    for (RequestLength& one : q.load.lengths.list) scale(one.input);
  };
}

QuestionChange scaled_load(double factor) {
  return [factor](ServingQuestion& q) {
    q.load.request_rate *= factor;
    q.load.concurrency = std::max(1.0, q.load.concurrency * factor);
  };
}

// Bytes of a checkpoint, as a share of today's, below which a format is a change: fp8 for fp8 in
// blocks is none.
constexpr double kNarrower = 0.95;

// Formats that the engine serves; an engine without a list serves all.
template <typename Format>
bool serves(const std::vector<Format>& formats, Format format) {
  return formats.empty() || std::find(formats.begin(), formats.end(), format) != formats.end();
}

// Narrower formats of weights and cache.
void add_formats(std::vector<ChangedQuestion>& changes, const ServingQuestion& asked) {
  const Engine& engine = asked.scenario.engine;
  const ReplicaOptions& options = asked.scenario.options;
  if (options.kv_cache != KvCacheFormat::fp8 &&
      serves(engine.kv_cache_formats, KvCacheFormat::fp8)) {
    changes.push_back({"fp8 cache", [](ServingQuestion& q) {
                         q.scenario.options.kv_cache = KvCacheFormat::fp8;
                       }});
  }
  for (const WeightFormat format : {WeightFormat::fp8, WeightFormat::int4, WeightFormat::nvfp4}) {
    const WeightScheme scheme = usual_scheme(format, asked.scenario.model);
    const bool narrower = checkpoint_bytes(asked.scenario.model, scheme) <
                          checkpoint_bytes(asked.scenario.model, options.weights) * kNarrower;
    if (!narrower || !serves(engine.weight_formats, format)) continue;
    changes.push_back({std::string(name_of(format)) + " weights",
                       [scheme](ServingQuestion& q) { q.scenario.options.weights = scheme; }});
  }
}

// Prompts of other lengths, as far as the model's positions reach, and other hit rates.
void add_contexts(std::vector<ChangedQuestion>& changes, const ServingQuestion& asked) {
  ServingQuestion longer = asked;
  scaled_prompts(2.0)(longer);
  const int most = asked.scenario.options.max_model_len > 0
                       ? asked.scenario.options.max_model_len
                       : asked.scenario.model.max_position_embeddings;
  if (most <= 0 || longest_request(longer.load.lengths) <= most) {
    changes.push_back({"prompts twice as long", scaled_prompts(2.0)});
  }
  changes.push_back({"prompts half as long", scaled_prompts(0.5)});
  if (asked.load.prefix_hit_rate != 0.5) {
    changes.push_back(
        {"half of each prompt cached", [](ServingQuestion& q) { q.load.prefix_hit_rate = 0.5; }});
  }
  if (asked.load.prefix_hit_rate > 0) {
    changes.push_back({"no prompt cached", [](ServingQuestion& q) { q.load.prefix_hit_rate = 0; }});
  }
}

void add_limits(std::vector<ChangedQuestion>& changes, const LatencyLimits& limits) {
  if (!limits.ttft && !limits.tpot && !limits.e2e) return;
  changes.push_back(
      {"limits half as long", [](ServingQuestion& q) { q.limits = divided(q.limits, 2.0); }});
  changes.push_back(
      {"limits twice as long", [](ServingQuestion& q) { q.limits = divided(q.limits, 0.5); }});
}

std::vector<ChangedQuestion> changes_of(const ServingQuestion& asked,
                                        const std::vector<Engine>& engines) {
  std::vector<ChangedQuestion> changes;
  for (const Engine& engine : engines) {
    changes.push_back(
        {"engine " + engine.name, [&engine](ServingQuestion& q) { q.scenario.engine = engine; }});
  }
  add_formats(changes, asked);
  add_contexts(changes, asked);
  changes.push_back({"twice the rate", scaled_load(2.0)});
  changes.push_back({"half the rate", scaled_load(0.5)});
  add_limits(changes, asked.limits);
  changes.push_back({"memory 10 % faster", [](ServingQuestion& q) {
                       scale_memory_bandwidth(only_device(q.scenario.cluster), 1.1);
                     }});
  changes.push_back({"links 10 % faster", [](ServingQuestion& q) {
                       ServingCluster& cluster = q.scenario.cluster;
                       scale_bandwidth(cluster.intra_node, 1.1);
                       scale_bandwidth(cluster.inter_node, 1.1);
                       for (AllReduceCurve& curve : cluster.inference.all_reduce) {
                         scale_bandwidth(curve.points, 1.1);
                       }
                     }});
  return changes;
}

// The answer of the first choice; of no choice that meets the limits, the name alone.
ServingWhatIf what_if_of(const std::string& name, const std::vector<ServingChoice>& choices) {
  ServingWhatIf answer;
  answer.name = name;
  if (choices.empty() || !choices.front().meets) return answer;
  const ServingChoice& best = choices.front();
  const ServiceTimes times = limited_times(best);
  answer.gpus = best.gpus;
  answer.deployment = short_name(best.deployment);
  answer.ttft = times.ttft;
  answer.tpot = times.tpot;
  if (best.money) answer.million_output = best.money->million_output.value;
  return answer;
}

}  // namespace

std::vector<ServingWhatIf> serving_what_ifs(const ServingQuestion& question,
                                            const ServingPlan& plan,
                                            const std::vector<Engine>& engines) {
  const std::vector<ChangedQuestion> changes = changes_of(question, engines);
  std::vector<ServingWhatIf> answers(changes.size() + 1);
  answers.front() = what_if_of("as asked", plan.choices);
  tbb::parallel_for(std::size_t{0}, changes.size(), [&](std::size_t i) {
    ServingQuestion q = question;
    changes[i].apply(q);
    std::vector<ServingChoice> found = choices_of(q, search_layouts(q, false));
    if (found.size() > static_cast<std::size_t>(std::max(1, q.kept))) {
      found.resize(static_cast<std::size_t>(std::max(1, q.kept)));
    }
    settle_first(q, found);
    if (!found.empty()) price_choice(q, found.front());
    answers[i + 1] = what_if_of(changes[i].name, found);
  });
  return answers;
}

}  // namespace meshwright::planner
