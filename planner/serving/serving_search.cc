// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_search.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "planner/capacity/training_run.h"
#include "planner/serving/serving_backtest.h"
#include "sim/base/number_text.h"
#include "sim/base/quadrature.h"

namespace meshwright::planner {
namespace {

// A service is not planned closer to the rate at which its queue grows without end.
constexpr double kMostUtilization = 0.9;
// Users of one attention group at which the Pareto front is sampled.
constexpr std::array kParetoUsers{1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0};

struct PoolCandidate {
  ReplicaOptions options{};
  std::shared_ptr<const ServingReplica> replica{};
  MeanRequest request{};
  double rate = 0;     // requests a second of one replica within the limits, all its work
  double prefill = 0;  // the same of its prompts alone
  double decode = 0;   // of its answers alone
};

// What is kept of one layout's search.
struct LayoutResult {
  std::vector<PoolCandidate> candidates{};
  std::optional<ServingViolation> violation{};
  ReplicaOptions options{};
  int configurations = 0;
};

std::vector<ReplicaLayout> replica_layouts(const ServingQuestion& q) {
  std::vector<ReplicaLayout> layouts;
  const ServingSpace& space = q.space;
  for (const int data : space.data) {
    for (const int stages : space.pipeline) {
      for (const int tensor : space.tensor) {
        const int gpus = tensor * stages * data;
        const int most = std::min(space.replica_gpus, q.gpus.value_or(q.max_gpus));
        if (gpus > most || gpus > q.scenario.cluster.num_gpus()) continue;
        const int ranks = tensor * data;
        layouts.push_back({tensor, stages, data, 1, 1});
        if (q.scenario.model.moe && space.expert_parallel && ranks > 1) {
          layouts.push_back({tensor, stages, data, ranks, 1});
        }
      }
    }
  }
  return layouts;
}

// All times longer by a factor: the same as limits shorter by it, and a rate below by it.
LatencyLimits divided(const LatencyLimits& limits, double factor) {
  LatencyLimits scaled = limits;
  for (auto* one : {&scaled.ttft, &scaled.tpot, &scaled.e2e}) {
    if (*one) *one = **one / factor;
  }
  return scaled;
}

double aggregated_rate(const PoolCandidate& pool, const LatencyLimits& limits) {
  const auto state = largest_rate_within(*pool.replica, pool.request, limits, kMostUtilization);
  return state ? state->requests_per_second : 0.0;
}

// Prompts a second of one prefill replica whose first token, with its wait, stays within the limit.
double prefill_rate_within(const PoolCandidate& pool, const LatencyLimits& limits,
                           Seconds transfer) {
  const double most = prefill_rate(*pool.replica, pool.request);
  const Seconds own = unloaded_prefill(*pool.replica, pool.request);
  double utilization = kMostUtilization;
  if (limits.ttft) {
    const Seconds left = *limits.ttft - own - transfer - pool.replica->rule.request;
    if (left.value() <= 0.0) return 0.0;
    // M/D/1: wait = S rho / (2 (1 - rho)).
    const double waits = 2.0 * (left / own);
    utilization = std::min(utilization, waits / (1.0 + waits));
  }
  return utilization * most;
}

// Answers a second of one decode replica whose tokens stay within the limit. A prompt that is being
// moved takes room, and the links of a group carry one at a time.
double decode_rate_within(const PoolCandidate& pool, const LatencyLimits& limits, Seconds moving) {
  const ServingReplica& replica = *pool.replica;
  const double room = running_limit(replica, pool.request.input, pool.request.output);
  if (room < 1.0) return 0.0;
  const double tokens = std::max(1.0, pool.request.output - 1.0);
  const double steps = tokens / replica.rule.tokens_per_step;
  const double context = pool.request.input + pool.request.output / 2.0;
  const auto step = [&](double running) {
    const EngineStep one = decode_step(running, context);
    return step_duration(replica, one, one).duration;
  };
  const auto within = [&](double running) {
    return !limits.tpot || step(running) * (steps / tokens) <= *limits.tpot;
  };
  double running = room * kMostUtilization;
  if (!within(running)) {
    if (!within(1.0)) return 0.0;
    double low = 1.0, high = running;
    for (int i = 0; i < 30; ++i) (within((low + high) / 2) ? low : high) = (low + high) / 2;
    running = low;
  }
  const double rate = running / (step(running).value() * steps);
  const double full = decode_rate(replica, pool.request, moving) / replica.cost.data_ranks;
  return std::min(rate, kMostUtilization * full) * replica.cost.data_ranks;
}

LayoutResult search_layout(const ServingQuestion& q, const ReplicaLayout& layout) {
  LayoutResult found;
  const ServingScenario& s = q.scenario;
  const Device& device = only_device(s.cluster);
  ReplicaOptions options = s.options;
  options.layout = layout;
  options = with_defaults(options, s.engine, device, s.model);
  found.options = options;
  const ServingRuleInput in{s.model, s.cluster, s.engine, options};
  if (const auto broken = check_replica(in)) {
    found.violation = broken;
    return found;
  }
  std::shared_ptr<const ServingReplica> first;
  for (const int sequences : q.space.max_num_seqs) {
    for (const int budget : q.space.token_budgets) {
      ReplicaOptions varied = s.options;
      varied.layout = layout;
      if (sequences > 0) varied.max_num_seqs = sequences;
      if (budget > 0) varied.max_num_batched_tokens = budget;
      varied = with_defaults(varied, s.engine, device, s.model);
      const ServingRuleInput one{s.model, s.cluster, s.engine, varied};
      auto broken = check_replica(one);
      const ReplicaMemory memory = replica_memory(s.model, device, s.engine, varied);
      if (!broken) broken = check_replica_memory(one, memory, longest_request(q.load.lengths));
      ++found.configurations;
      if (broken) {
        if (!found.violation) found.violation = broken;
        continue;
      }
      if (first == nullptr) {
        first = std::make_shared<const ServingReplica>(
            ServingReplica{replica_cost(s.model, s.cluster, s.engine, varied), memory,
                           scheduler_rule(s.engine, varied, q.load.acceptance), num_gpus(layout)});
      }
      auto replica = std::make_shared<ServingReplica>(*first);
      replica->memory = memory;
      replica->rule = scheduler_rule(s.engine, varied, q.load.acceptance);
      replica->cost.graph_most = graph_max_batch(s.engine, device, varied);
      const MeanRequest request = mean_request(q.load, replica->rule.block_size);
      PoolCandidate pool{varied, replica, request, 0, 0, 0};
      pool.rate = aggregated_rate(pool, q.limits);
      if (q.disaggregated) {
        const KvTransfer moved =
            kv_transfer(s.model, s.engine, varied, varied, s.cluster.inter_node, request.input,
                        layout.data_parallel_size);
        pool.prefill = prefill_rate_within(pool, q.limits, moved.time);
        pool.decode = decode_rate_within(pool, q.limits, moved.moving);
      }
      found.candidates.push_back(std::move(pool));
    }
  }
  // A variant that fits makes the layout valid.
  if (!found.candidates.empty()) found.violation.reset();
  return found;
}

int replicas_for(double rate, double each) {
  return each > 0 ? static_cast<int>(std::min(1e6, std::ceil(rate / each - 1e-9))) : 0;
}

struct DeploymentFinder {
  const ServingQuestion& q;
  std::vector<ServingChoice> found{};

  [[nodiscard]] bool closed() const { return q.load.kind == LoadKind::closed_loop; }

  void fill(ServingChoice& choice, const CompiledService& service) const {
    choice.gpus = num_gpus(choice.deployment);
    const SteadyState& state = choice.state.state;
    const double output = mean_output(q.load.lengths), input = mean_input(q.load.lengths);
    choice.tokens_per_second_per_gpu = state.requests_per_second * output / choice.gpus;
    choice.tokens_per_second_per_user = state.tpot.value() > 0 ? 1.0 / state.tpot.value() : 0.0;
    choice.token_spread = token_spread(service, state, input + output / 2.0);
    choice.first_token_spread =
        in_quadrature(choice.token_spread, q.scenario.engine.first_token_spread);
    choice.meets = meshwright::meets(state, q.limits);
  }

  void add(const Deployment& deployment, const CompiledService& service, double capacity) {
    ServingChoice choice;
    choice.deployment = deployment;
    const auto state = service_state(service, q.load);
    if (!state) return;
    choice.state = *state;
    choice.largest_rate = capacity;
    fill(choice, service);
    found.push_back(std::move(choice));
  }

  // Replicas of one layout: as many as the load needs, or as the GPUs hold.
  void add_aggregated(const PoolCandidate& pool) {
    const int each = num_gpus(pool.options.layout);
    CompiledService service{pool.replica, nullptr, 1, 1, {}};
    const auto with = [&](int replicas) {
      service.replicas = replicas;
      return service;
    };
    int replicas = q.gpus ? *q.gpus / each : 0;
    if (!q.gpus && !closed()) replicas = replicas_for(q.load.request_rate, pool.rate);
    if (!q.gpus && closed()) replicas = fewest_for_users(pool, service);
    if (replicas < 1 || replicas * each > q.max_gpus) return;
    add({{pool.options, replicas}, {}}, with(replicas), pool.rate * replicas);
    if (!found.empty() && !closed())
      found.back().meets &= q.load.request_rate <= pool.rate * replicas * (1 + 1e-9);
  }

  // Fewer users for each replica are faster.
  [[nodiscard]] int fewest_for_users(const PoolCandidate& pool, CompiledService service) const {
    const int most = std::min(q.max_gpus / num_gpus(pool.options.layout),
                              static_cast<int>(std::ceil(q.load.concurrency)));
    const auto good = [&](int replicas) {
      service.replicas = replicas;
      const auto state = service_state(service, q.load);
      return state && meshwright::meets(state->state, q.limits);
    };
    if (most < 1 || !good(most)) return 0;
    int low = 0, high = most;
    while (high - low > 1) (good((low + high) / 2) ? high : low) = (low + high) / 2;
    return high;
  }

  // Pools whose rates match: as many replicas of each as the rate needs, or the split of the GPUs
  // that serves most.
  void add_disaggregated(const PoolCandidate& prefill, const PoolCandidate& decode) {
    if (prefill.prefill <= 0 || decode.decode <= 0) return;
    const int of_prefill = num_gpus(prefill.options.layout),
              of_decode = num_gpus(decode.options.layout);
    int p = 0, d = 0;
    if (!q.gpus) {
      const double rate = closed() ? std::min(prefill.prefill, decode.decode) : q.load.request_rate;
      p = replicas_for(rate, prefill.prefill);
      d = replicas_for(rate, decode.decode);
    } else {
      double best = 0;
      for (int one = 1; one * of_prefill < *q.gpus; ++one) {
        const int other = (*q.gpus - one * of_prefill) / of_decode;
        const double rate = std::min(one * prefill.prefill, other * decode.decode);
        if (rate > best) {
          best = rate;
          p = one;
          d = other;
        }
      }
    }
    if (p < 1 || d < 1 || p * of_prefill + d * of_decode > q.max_gpus) return;
    const Deployment deployment{{decode.options, d}, ServingPool{prefill.options, p}};
    CompiledService service{decode.replica, prefill.replica, d, p, {}};
    service.transfer = kv_transfer(
        q.scenario.model, q.scenario.engine, prefill.options, decode.options,
        pool_link(q.scenario.cluster, num_gpus(deployment)), mean_input(q.load.lengths),
        decode_groups(deployment));
    add(deployment, service, std::min(p * prefill.prefill, d * decode.decode));
  }
};

bool better(const ServingQuestion& q, const ServingChoice& a, const ServingChoice& b) {
  if (a.meets != b.meets) return a.meets;
  if (!q.gpus && a.gpus != b.gpus) return a.gpus < b.gpus;
  const bool by_rate = q.gpus && q.load.kind != LoadKind::closed_loop;
  if (by_rate && std::abs(a.largest_rate - b.largest_rate) > 1e-6 * a.largest_rate) {
    return a.largest_rate > b.largest_rate;
  }
  const double x = a.state.state.requests_per_second, y = b.state.state.requests_per_second;
  if (std::abs(x - y) > 1e-6 * x) return x > y;
  return a.state.state.tpot < b.state.state.tpot;
}

// One row a layout pair: the best of its batch limits and budgets.
std::vector<ServingChoice> best_of_each(const ServingQuestion& q, std::vector<ServingChoice> all) {
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return better(q, a, b); });
  std::vector<ServingChoice> kept;
  for (ServingChoice& one : all) {
    const auto same = [&](const ServingChoice& other) {
      const bool pools = one.deployment.prefill.has_value() == other.deployment.prefill.has_value();
      if (!pools || one.deployment.pool.options.layout != other.deployment.pool.options.layout) {
        return false;
      }
      return !one.deployment.prefill ||
             one.deployment.prefill->options.layout == other.deployment.prefill->options.layout;
    };
    if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(std::move(one));
  }
  return kept;
}

// A replica of the deployment under its share of the load: round robin makes gaps of a Poisson
// stream more regular (gamma of shape n).
ServingLoad share_of_load(const ServingQuestion& q, int replicas) {
  ServingLoad load = q.load;
  load.request_rate /= replicas;
  load.concurrency = std::max(1.0, std::round(load.concurrency / replicas));
  load.burstiness *= replicas;
  if (load.num_requests == 0) load.num_requests = q.percentile > 99 ? 4000 : 1000;
  return load;
}

void simulate(const ServingQuestion& q, ServingChoice& choice) {
  CompiledService service = compiled_service(q.scenario, choice.deployment, q.load);
  ServingLoad load = q.load;
  if (!service.prefill) {
    load = share_of_load(q, service.replicas);
    service.replicas = 1;
  } else if (load.num_requests == 0) {
    load.num_requests = std::max(1000, static_cast<int>(4 * load.concurrency));
  }
  const auto run = simulate_service(service, load);
  if (!run) return;
  choice.simulated = metrics_of(*run);
  if (q.percentile <= 0) return;
  choice.simulated_ttft = ttft_at(*run, q.percentile);
  choice.simulated_tpot = tpot_at(*run, q.percentile);
  choice.meets = (!q.limits.ttft || *choice.simulated_ttft <= *q.limits.ttft) &&
                 (!q.limits.tpot || *choice.simulated_tpot <= *q.limits.tpot);
}

// Percentiles are above means: replicas are added until the percentile meets its limit.
void simulate_until_met(const ServingQuestion& q, ServingChoice& choice) {
  simulate(q, choice);
  if (q.gpus || q.percentile <= 0) return;
  const int from = choice.deployment.pool.replicas;
  for (int more = 1; !choice.meets && more <= 8; ++more) {
    ServingChoice next = choice;
    const double factor = 1.0 + more / 8.0;
    next.deployment.pool.replicas = std::max(from + more, static_cast<int>(from * factor));
    if (next.deployment.prefill) {
      next.deployment.prefill->replicas =
          std::max(choice.deployment.prefill->replicas + 1,
                   static_cast<int>(std::ceil(choice.deployment.prefill->replicas * factor)));
    }
    next.gpus = num_gpus(next.deployment);
    if (next.gpus > q.max_gpus) return;
    simulate(q, next);
    if (!next.meets) continue;
    const CompiledService service = compiled_service(q.scenario, next.deployment, q.load);
    if (const auto state = service_state(service, q.load)) next.state = *state;
    next.tokens_per_second_per_gpu *= static_cast<double>(choice.gpus) / next.gpus;
    next.largest_rate *= static_cast<double>(next.deployment.pool.replicas) / from;
    if (next.state.state.tpot.value() > 0) {
      next.tokens_per_second_per_user = 1.0 / next.state.state.tpot.value();
    }
    choice = next;
  }
}

// GPUs if all times are longer by this factor.
int gpus_at(const ServingQuestion& q, const ServingChoice& choice, double factor) {
  if (choice.deployment.prefill || q.load.kind == LoadKind::closed_loop || q.gpus) return 0;
  const CompiledService service = compiled_service(q.scenario, choice.deployment, q.load);
  PoolCandidate pool{choice.deployment.pool.options,
                     service.replica,
                     mean_request(q.load, service.replica->rule.block_size),
                     0,
                     0,
                     0};
  const double rate = aggregated_rate(pool, divided(q.limits, factor)) / factor;
  return replicas_for(q.load.request_rate, rate) * num_gpus(pool.options.layout);
}

void price_choice(const ServingQuestion& q, ServingChoice& choice) {
  const Cluster& cluster = q.scenario.cluster;
  ServedTokens served{choice.gpus,
                      choice.state.state.requests_per_second,
                      mean_input(q.load.lengths),
                      mean_output(q.load.lengths),
                      prompt_share(choice.deployment, choice.state),
                      choice.token_spread};
  if (const auto hour = price_of(q.prices, q.cluster_name, cluster)) {
    choice.money = serving_money(served, *hour);
  }
  if (const auto kilowatts = kilowatts_per_gpu(q.power, cluster)) {
    const double load = choice.largest_rate > 0
                            ? std::min(1.0, served.requests_per_second / choice.largest_rate)
                            : 1.0;
    choice.kwh_million_output = serving_energy(served, *kilowatts, q.power, load);
  }
}

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

void tally_violation(ServingTally& tally, const ServingQuestion& q, const LayoutResult& result) {
  const ServingViolation& v = *result.violation;
  const ServingScenario& s = q.scenario;
  const ServingRuleInput in{s.model, s.cluster, s.engine, result.options};
  const double shortfall = v.missed.needed > 0 ? 1.0 - v.missed.available / v.missed.needed : 1.0;
  tally.add(std::string(v.rule->name), shortfall, meshwright::short_name(result.options.layout),
            v.rule->sentence(in, v.missed), std::string(v.rule->remedy));
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
    plan.nearest = NearestDeployment{{{pool.options, 1}, {}}, state->ttft, state->tpot, worst};
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
    point.users = users * groups * replicas;
    point.ttft = state->ttft;
    point.tpot = state->tpot;
    point.tokens_per_second_per_gpu =
        state->requests_per_second * pool.request.output / num_gpus(pool.options.layout);
    point.tokens_per_second_per_user = 1.0 / state->tpot.value();
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

std::vector<LayoutResult> search_layouts(const ServingQuestion& q, bool parallel) {
  const std::vector<ReplicaLayout> layouts = replica_layouts(q);
  std::vector<LayoutResult> results(layouts.size());
  const auto one = [&](std::size_t i) { results[i] = search_layout(q, layouts[i]); };
  if (parallel) {
    tbb::parallel_for(std::size_t{0}, layouts.size(), one);
  } else {
    for (std::size_t i = 0; i < layouts.size(); ++i) one(i);
  }
  return results;
}

// Of one layout's variants the one that does most of this.
const PoolCandidate* best_variant(const LayoutResult& result, double PoolCandidate::*rate) {
  const PoolCandidate* best = nullptr;
  for (const PoolCandidate& one : result.candidates) {
    if (best == nullptr || one.*rate > best->*rate) best = &one;
  }
  return best;
}

std::vector<ServingChoice> choices_of(const ServingQuestion& q,
                                      const std::vector<LayoutResult>& results) {
  DeploymentFinder finder{q};
  if (q.aggregated) {
    for (const LayoutResult& result : results) {
      for (const PoolCandidate& pool : result.candidates) finder.add_aggregated(pool);
    }
  }
  if (q.disaggregated) {
    for (const LayoutResult& p : results) {
      const PoolCandidate* prefill = best_variant(p, &PoolCandidate::prefill);
      if (prefill == nullptr) continue;
      for (const LayoutResult& d : results) {
        const PoolCandidate* decode = best_variant(d, &PoolCandidate::decode);
        if (decode != nullptr) finder.add_disaggregated(*prefill, *decode);
      }
    }
  }
  return best_of_each(q, std::move(finder.found));
}

}  // namespace

ServingSpace serving_space(const Model& model, const Cluster& cluster) {
  ServingSpace space;
  const int domain = std::min(cluster.fast_domain(), cluster.num_gpus());
  for (int tensor = 1; tensor <= std::min(domain, 16); tensor *= 2) space.tensor.push_back(tensor);
  space.pipeline = {1, 2};
  if (model.moe) {
    space.data.clear();
    for (int data = 1; data <= std::min(domain, 16); data *= 2) space.data.push_back(data);
  }
  space.max_num_seqs = {0, 64, 128, 256};
  space.token_budgets = {0, 2048, 8192, 16384};
  return space;
}

ServingPlan serving_plan(const ServingQuestion& q) {
  ServingPlan plan;
  const std::vector<LayoutResult> results = search_layouts(q, true);
  ServingTally tally;
  for (const LayoutResult& result : results) {
    plan.configurations += result.configurations;
    if (result.violation) {
      tally_violation(tally, q, result);
      continue;
    }
    ++plan.layouts;
    tally_limits(tally, plan, q, result.candidates.front());
    add_front(plan, q, result.candidates.front());
  }
  keep_front(plan.front);
  plan.choices = choices_of(q, results);
  if (static_cast<int>(plan.choices.size()) > q.kept) {
    plan.choices.resize(static_cast<std::size_t>(q.kept));
  }
  const std::size_t simulated =
      std::min(plan.choices.size(), static_cast<std::size_t>(std::max(0, q.simulated)));
  tbb::parallel_for(std::size_t{0}, simulated,
                    [&](std::size_t i) { simulate_until_met(q, plan.choices[i]); });
  std::stable_sort(plan.choices.begin(), plan.choices.end(),
                   [&](const auto& a, const auto& b) { return better(q, a, b); });
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
  struct ChangedEngine {
    std::string name;
    void (*apply)(ServingQuestion&);
  };
  static const std::vector<ChangedEngine> changes{
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
