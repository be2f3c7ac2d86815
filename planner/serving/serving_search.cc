// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_search.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "planner/serving/deployment_choices.h"
#include "planner/serving/serving_backtest.h"
#include "sim/base/number_text.h"

namespace meshwright::planner {
namespace {

// Users of one attention group at which the Pareto front is sampled.
constexpr std::array kParetoUsers{1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0};

// Layouts that broke a rule, counted by it, with the one that missed least.
struct ServingTally {
  std::map<std::string, ServingRejection> rows{};
  std::map<std::string, double> missed{};

  void add(const std::string& rule, double shortfall, const std::string& nearest,
           const std::string& sentence, const std::string& remedy) {
    ServingRejection& row = rows[rule];
    ++row.count;
    if (row.count > 1 && shortfall >= missed[rule]) return;
    missed[rule] = shortfall;
    row.rule = rule;
    row.nearest = nearest;
    row.sentence = sentence;
    row.remedy = remedy;
  }
};

void tally_violation(ServingTally& tally, const ServingQuestion& q, const LayoutResult& result,
                     const ServingViolation& v) {
  const ServingScenario& s = q.scenario;
  const ServingRuleInput in{s.model, s.cluster, s.engine, result.options};
  tally.add(std::string(v.rule->name), shortfall(v.missed),
            meshwright::short_name(result.options.layout), v.rule->sentence(in, v.missed),
            std::string(v.rule->remedy));
}

std::string milli_text(Seconds time) { return number_text(time / milliseconds(1), 3) + " ms"; }

// Layouts that are valid and too slow even for one request at a time.
void tally_limits(ServingTally& tally, ServingPlan& plan, const ServingQuestion& q,
                  const PoolCandidate& pool) {
  const auto state = closed_loop_state(*pool.replica, pool.request, 1.0);
  if (!state) return;
  const std::string name = meshwright::short_name(pool.options.layout);
  double worst = 0;
  const auto check = [&](const char* rule, const char* word, Seconds time,
                         const std::optional<Seconds>& limit, const char* remedy) {
    if (!limit) return;
    const double ratio = time / *limit;
    worst = std::max(worst, ratio);
    if (ratio <= 1.0) return;
    tally.add(rule, ratio, name,
              fmt::format("{} is {} for one request at a time, the limit is {}", word,
                          milli_text(time), milli_text(*limit)),
              remedy);
  };
  check("ttft", "time to first token", state->ttft, q.limits.ttft,
        "Use more tensor ranks, shorter or cached prompts, or a longer limit.");
  check("tpot", "time per output token", state->tpot, q.limits.tpot,
        "Use more tensor ranks, narrower weights, or a longer limit.");
  if (worst > 0 && (!plan.nearest || worst < plan.nearest->ratio)) {
    const Deployment one{{pool.options, 1}, {}};
    plan.nearest = NearestDeployment{one, short_name(one), state->ttft, state->tpot, worst};
  }
}

void add_front(ServingPlan& plan, const ServingQuestion& q, const PoolCandidate& pool) {
  const double room = running_limit(*pool.replica, pool.request.input, pool.request.output);
  const int replicas = q.gpus ? std::max(1, *q.gpus / num_gpus(pool.options.layout)) : 1;
  for (const double users : kParetoUsers) {
    if (users > room) break;
    const double groups = pool.replica->cost.data_ranks;
    const auto state = closed_loop_state(*pool.replica, pool.request, users * groups);
    ++plan.configurations;
    if (!state) continue;
    ServingParetoPoint point;
    point.deployment = {{pool.options, replicas}, {}};
    point.name = short_name(point.deployment);
    point.users = users * groups * replicas;
    point.ttft = state->ttft;
    point.tpot = state->tpot;
    point.tokens_per_second_per_gpu =
        state->requests_per_second * pool.request.output / num_gpus(pool.options.layout);
    point.tokens_per_second_per_user = 1.0 / state->tpot.value();
    plan.front.push_back(point);
  }
}

// Prompts a second of one prefill replica that is planned.
double planned_prefill_rate(const PoolCandidate& pool) {
  return kMostUtilization * prefill_rate(*pool.replica, pool.request);
}

// Where prompts are computed on the fewest GPUs.
const PoolCandidate* best_prefill(const ServingSpace& space,
                                  const std::vector<LayoutResult>& results) {
  const PoolCandidate* best = nullptr;
  double most = 0.0;
  for (const LayoutResult& result : results) {
    if (!may_be_pool(space, result)) continue;
    for (const PoolCandidate& one : result.candidates) {
      const double rate = planned_prefill_rate(one) / num_gpus(one.options.layout);
      if (rate > most) {
        most = rate;
        best = &one;
      }
    }
  }
  return best;
}

// Pools: a decode replica of so many users with the prefill replicas that keep up with it, or a
// prefill replica with the decode replicas that it feeds.
void add_pool_front(ServingPlan& plan, const ServingQuestion& q, const PoolCandidate& prefill,
                    const PoolCandidate& decode) {
  const ServingReplica& replica = *decode.replica;
  const MeanRequest& request = decode.request;
  const double room = running_limit(replica, request.input, request.output);
  const double steps = std::max(1.0, request.output - 1.0) / replica.rule.tokens_per_step;
  for (const double users : kParetoUsers) {
    if (users > room * kMostUtilization) break;
    const EngineStep step = decode_step(users, mean_context(request));
    const double each = users * replica.cost.data_ranks /
                        (step_duration(replica, step, step).duration.value() * steps);
    const double ratio = each / planned_prefill_rate(prefill);
    const int p = static_cast<int>(std::ceil(ratio));
    const int d = ratio < 1.0 ? static_cast<int>(std::min(1e4, std::floor(1.0 / ratio))) : 1;
    const Deployment deployment{{decode.options, d}, ServingPool{prefill.options, p}};
    const int gpus = num_gpus(deployment);
    if (gpus > q.gpus.value_or(q.max_gpus)) continue;
    const KvTransfer moved = transfer_between_pools(q.scenario, deployment, request.input);
    const DisaggregatedPools pools{*prefill.replica, replica, p, d, moved.time, moved.moving};
    const auto state = disaggregated_open_loop(pools, request, each * d);
    ++plan.configurations;
    if (!state) continue;
    ServingParetoPoint point;
    point.deployment = deployment;
    point.name = short_name(deployment);
    point.users = each * d * state->state.e2e.value();
    point.ttft = state->state.ttft;
    point.tpot = state->state.tpot;
    point.tokens_per_second_per_gpu = each * d * request.output / gpus;
    point.tokens_per_second_per_user = 1.0 / state->state.tpot.value();
    plan.front.push_back(point);
  }
}

// Speed of a user falls, throughput of a GPU rises.
void keep_front(std::vector<ServingParetoPoint>& points) {
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
    if (a.tokens_per_second_per_user != b.tokens_per_second_per_user) {
      return a.tokens_per_second_per_user > b.tokens_per_second_per_user;
    }
    return a.tokens_per_second_per_gpu > b.tokens_per_second_per_gpu;
  });
  std::vector<ServingParetoPoint> front;
  for (const ServingParetoPoint& one : points) {
    if (front.empty() || one.tokens_per_second_per_gpu > front.back().tokens_per_second_per_gpu) {
      front.push_back(one);
    }
  }
  points = std::move(front);
}

// Of a mode; choices.size(): none is.
std::size_t first_of(const std::vector<ServingChoice>& choices, ServingMode mode) {
  const auto found = std::find_if(choices.begin(), choices.end(), [&](const ServingChoice& one) {
    return one.deployment.mode() == mode;
  });
  return static_cast<std::size_t>(found - choices.begin());
}

// So many rows from the best on. Of two or more the last is the best of a mode that had none, so
// that aggregated and disaggregated deployments can be compared.
void keep_best(std::vector<ServingChoice>& choices, std::size_t kept) {
  if (choices.size() <= kept) return;
  for (const auto& mode : kServingModeNames) {
    const std::size_t first = first_of(choices, mode.value);
    if (kept > 1 && first >= kept && first < choices.size()) {
      std::swap(choices[kept - 1], choices[first]);
    }
  }
  choices.resize(kept);
}

// The first so many, and the first of each mode.
std::vector<std::size_t> simulated_rows(const std::vector<ServingChoice>& choices, int simulated) {
  std::vector<std::size_t> rows;
  const auto most = static_cast<std::size_t>(std::max(0, simulated));
  for (std::size_t i = 0; i < std::min(most, choices.size()); ++i) rows.push_back(i);
  for (const auto& mode : kServingModeNames) {
    const std::size_t first = first_of(choices, mode.value);
    if (most > 0 && first >= most && first < choices.size()) rows.push_back(first);
  }
  return rows;
}

}  // namespace

int tensor_domain(const Cluster& cluster) {
  return std::min(std::max(cluster.fast_domain(), cluster.gpus_per_node), cluster.num_gpus());
}

ServingSpace serving_space(const Model& model, const Cluster& cluster) {
  ServingSpace space;
  const int domain = tensor_domain(cluster);
  for (int tensor = 1; tensor <= std::min(domain, 16); tensor *= 2) space.tensor.push_back(tensor);
  const bool cores = only_device(cluster).kind == DeviceKind::cpu;
  space.pipeline = {1, 2};
  space.stages_in_pools = !cores;
  if (model.moe && !cores) {
    space.data.clear();
    for (int data = 1; data <= std::min(domain, 16); data *= 2) space.data.push_back(data);
  }
  space.max_num_seqs = {0, 64, 128, 256};
  space.token_budgets = {0, 2048, 8192, 16384};
  return space;
}

std::vector<std::string> left_out_of_space(const Model& model, const Cluster& cluster) {
  if (only_device(cluster).kind != DeviceKind::cpu) return {};
  std::vector<std::string> words{"pools with pipeline stages (--pp)"};
  if (model.moe) words.emplace_back("data ranks of attention (--dp)");
  return words;
}

ServingPlan serving_plan(const ServingQuestion& q) {
  ServingPlan plan;
  const std::vector<LayoutResult> results = search_layouts(q, true);
  ServingTally tally;
  for (const LayoutResult& result : results) {
    plan.configurations += result.configurations;
    if (result.violation) {
      tally_violation(tally, q, result, *result.violation);
      continue;
    }
    if (result.pool_violation) {
      tally_violation(tally, q, result, *result.pool_violation);
      if (!q.aggregated) continue;
    }
    ++plan.layouts;
    tally_limits(tally, plan, q, result.candidates.front());
    if (q.aggregated) add_front(plan, q, result.candidates.front());
  }
  if (const PoolCandidate* prefill = q.disaggregated ? best_prefill(q.space, results) : nullptr) {
    for (const LayoutResult& result : results) {
      if (may_be_pool(q.space, result)) {
        add_pool_front(plan, q, *prefill, result.candidates.front());
      }
    }
  }
  keep_front(plan.front);
  plan.choices = choices_of(q, results);
  keep_best(plan.choices, static_cast<std::size_t>(q.kept));
  const std::vector<std::size_t> simulated = simulated_rows(plan.choices, q.simulated);
  tbb::parallel_for(std::size_t{0}, simulated.size(),
                    [&](std::size_t i) { simulate_until_met(q, plan.choices[simulated[i]]); });
  settle_first(q, plan.choices);
  for (ServingChoice& choice : plan.choices) {
    const double factor = interval_factor(choice.token_spread);
    choice.gpus_low = gpus_at(q, choice, 1.0 / factor);
    choice.gpus_high = gpus_at(q, choice, factor);
    price_choice(q, choice);
  }
  if (!plan.choices.empty() && plan.choices.front().meets) plan.nearest.reset();
  for (auto& [rule, row] : tally.rows) plan.rejections.push_back(row);
  std::stable_sort(plan.rejections.begin(), plan.rejections.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return plan;
}

}  // namespace meshwright::planner
