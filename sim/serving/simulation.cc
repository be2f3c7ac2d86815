// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "sim/serving/replica_simulation.h"

namespace meshwright {
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

struct ServiceSimulation {
  const ServingLoad& load;
  std::vector<ServingRequest> requests;
  ServingRun run{};

  explicit ServiceSimulation(const ServingLoad& of, bool is_traced = false)
      : load(of), requests(requests_of(of)) {
    run.is_traced = is_traced;
    run.requests.resize(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      run.requests[i].input = requests[i].input;
      run.requests[i].output = requests[i].output;
    }
  }

  QueuedRequest queued(std::size_t i, Seconds arrival, const SchedulerRule& rule) {
    run.requests[i].arrival = arrival;
    const double input = requests[i].input;
    QueuedRequest request;
    request.index = static_cast<int>(i);
    request.enqueued = arrival + rule.host_time(input);
    request.input = input;
    request.computed = computed_input(input, load.prefix_hit_rate, rule.block_size);
    request.remaining = requests[i].output - 1.0;
    request.priority = requests[i].priority;
    if (rule.prefix_caching && requests[i].prompt >= 0) {
      request.prefix = {request.index, requests[i].prompt, requests[i].input / rule.block_size};
    }
    return request;
  }

  RequestTiming& timing(const StepEvent& event) {
    return run.requests[static_cast<std::size_t>(event.index)];
  }
};

// One replica whose requests are those at first, first + stride, ...
bool simulate_alone(ServiceSimulation& simulation, const ServingReplica& replica, std::size_t first,
                    std::size_t stride, Seconds& busy) {
  ReplicaSimulation engine(replica, simulation.run);
  const bool closed = simulation.load.kind == LoadKind::closed_loop;
  std::size_t next = first;
  const std::size_t count = simulation.requests.size();
  const auto enqueue = [&](Seconds arrival) {
    engine.enqueue(simulation.queued(next, arrival, replica.rule));
    next += stride;
  };
  for (std::size_t i = first; i < count; i += stride) {
    const ServingRequest& one = simulation.requests[i];
    if (!engine.could_hold(one.input + one.output - 1.0)) return false;
  }
  if (closed) {
    // Users of this replica.
    const auto users = static_cast<std::size_t>(std::max(1.0, simulation.load.concurrency));
    for (std::size_t user = first; user < users && next < count; user += stride) enqueue({});
  }
  for (;;) {
    std::optional<Seconds> start = engine.next_start();
    Seconds limit = kNever;
    if (!closed) {
      while (next < count) {
        const ServingRequest& one = simulation.requests[next];
        const Seconds seen = one.arrival + replica.rule.host_time(one.input);
        if (start && seen > *start) {
          limit = seen;
          break;
        }
        enqueue(one.arrival);
        start = engine.next_start();
      }
    }
    if (!start) break;
    engine.advance(limit);
    for (const StepEvent& event : engine.first_tokens()) {
      simulation.timing(event).first_token = event.when;
    }
    for (const StepEvent& event : engine.ends()) {
      RequestTiming& timing = simulation.timing(event);
      timing.end = std::max(event.when, timing.first_token);
      if (closed && next < count) enqueue(timing.end);
    }
  }
  for (TracedStep& step : simulation.run.trace) {
    if (step.replica < 0) step.replica = static_cast<int>(first);
  }
  busy += engine.busy();
  return true;
}

void close(ServingRun& run) {
  for (const RequestTiming& one : run.requests) run.duration = std::max(run.duration, one.end);
}

}  // namespace

std::optional<ServingRun> simulate_serving(const ServingReplica& replica, int replicas,
                                           const ServingLoad& load, bool is_traced) {
  ServiceSimulation simulation(load, is_traced);
  Seconds busy;
  for (int i = 0; i < replicas; ++i) {
    if (!simulate_alone(simulation, replica, static_cast<std::size_t>(i),
                        static_cast<std::size_t>(replicas), busy)) {
      return std::nullopt;
    }
  }
  close(simulation.run);
  simulation.run.busy_share = busy / (simulation.run.duration * static_cast<double>(replicas));
  return simulation.run;
}

namespace {

// Both pools, one step at a time in the order of their starts.
class Pools {
 public:
  Pools(const DisaggregatedService& service, const ServingLoad& load)
      : service_(service), simulation_(load) {
    for (int i = 0; i < service.prefill_replicas; ++i) {
      prefill_.emplace_back(service.prefill, simulation_.run);
    }
    for (int i = 0; i < service.decode_replicas; ++i) {
      decode_.emplace_back(service.decode, simulation_.run);
    }
  }

  std::optional<ServingRun> run() {
    for (const ServingRequest& one : simulation_.requests) {
      if (!prefill_.front().could_hold(one.input) ||
          !decode_.front().could_hold(one.input + one.output - 1.0)) {
        return std::nullopt;
      }
    }
    start();
    while (step()) {
    }
    close(simulation_.run);
    ServingRun& run = simulation_.run;
    run.prefill_busy_share = busy_of(prefill_);
    run.busy_share = busy_of(decode_);
    return run;
  }

 private:
  void start() {
    const bool closed = simulation_.load.kind == LoadKind::closed_loop;
    const auto users = static_cast<std::size_t>(std::max(1.0, simulation_.load.concurrency));
    const std::size_t first = closed ? users : simulation_.requests.size();
    while (next_ < std::min(first, simulation_.requests.size())) {
      ask(closed ? Seconds{} : simulation_.requests[next_].arrival);
    }
  }
  void ask(Seconds arrival) {
    QueuedRequest request = simulation_.queued(next_, arrival, service_.prefill.rule);
    request.remaining = 0.0;
    prefill_[next_ % prefill_.size()].enqueue(request);
    ++next_;
  }

  bool step() {
    ReplicaSimulation* best = nullptr;
    Seconds when = kNever;
    bool decodes = false;
    const auto look = [&](std::vector<ReplicaSimulation>& pool, bool of_decode) {
      for (ReplicaSimulation& one : pool) {
        const auto start = one.next_start();
        if (start && *start < when) {
          best = &one;
          when = *start;
          decodes = of_decode;
        }
      }
    };
    look(prefill_, false);
    look(decode_, true);
    if (best == nullptr) return false;
    best->advance(when);
    if (decodes) {
      for (const StepEvent& event : best->first_tokens()) {
        simulation_.timing(event).first_token = event.when;
      }
      for (const StepEvent& event : best->ends()) end(event);
    } else {
      for (const StepEvent& event : best->first_tokens()) hand_over(event);
    }
    return true;
  }

  // The first token is out when the prompt is computed and its cache has moved.
  void hand_over(const StepEvent& event) {
    const auto i = static_cast<std::size_t>(event.index);
    const ServingRequest& asked = simulation_.requests[i];
    QueuedRequest request;
    request.index = event.index;
    request.enqueued = event.when + service_.transfer_base;
    request.input = request.computed = asked.input;
    request.remaining = asked.output - 1.0;
    request.moved = true;
    request.moving = service_.transfer_token * static_cast<double>(asked.input);
    decode_[i % decode_.size()].enqueue(request);
  }
  void end(const StepEvent& event) {
    simulation_.timing(event).end = event.when;
    const bool closed = simulation_.load.kind == LoadKind::closed_loop;
    if (closed && next_ < simulation_.requests.size()) ask(event.when);
  }
  [[nodiscard]] double busy_of(const std::vector<ReplicaSimulation>& pool) const {
    Seconds busy;
    for (const ReplicaSimulation& one : pool) busy += one.busy();
    return busy / (simulation_.run.duration * static_cast<double>(pool.size()));
  }

  const DisaggregatedService& service_;
  ServiceSimulation simulation_;
  std::vector<ReplicaSimulation> prefill_, decode_;
  std::size_t next_ = 0;
};

}  // namespace

std::optional<ServingRun> simulate_disaggregated(const DisaggregatedService& service,
                                                 const ServingLoad& load) {
  return Pools(service, load).run();
}

Seconds percentile(const std::vector<Seconds>& sorted, double p) {
  if (sorted.empty()) return {};
  const double rank = std::ceil(p / 100.0 * static_cast<double>(sorted.size()));
  const auto at = static_cast<std::size_t>(std::max(1.0, rank)) - 1;
  return sorted[std::min(at, sorted.size() - 1)];
}

Percentiles percentiles(std::vector<Seconds> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  Seconds sum;
  for (const Seconds one : samples) sum += one;
  return {sum / static_cast<double>(samples.size()), percentile(samples, 50),
          percentile(samples, 90), percentile(samples, 95), percentile(samples, 99)};
}

namespace {

Percentiles gap_percentiles(std::vector<TokenGap> gaps) {
  std::sort(gaps.begin(), gaps.end(),
            [](const TokenGap& a, const TokenGap& b) { return a.gap < b.gap; });
  double count = 0;
  Seconds sum;
  for (const TokenGap& one : gaps) {
    count += one.count;
    sum += one.gap * one.count;
  }
  if (count <= 0) return {};
  const auto at = [&](double p) {
    double seen = 0;
    for (const TokenGap& one : gaps) {
      seen += one.count;
      if (seen >= p / 100.0 * count) return one.gap;
    }
    return gaps.back().gap;
  };
  return {sum / count, at(50), at(90), at(95), at(99)};
}

template <typename Of>
std::vector<Seconds> samples_of(const ServingRun& run, Of of) {
  std::vector<Seconds> samples;
  samples.reserve(run.requests.size());
  for (const RequestTiming& one : run.requests) samples.push_back(of(one));
  return samples;
}
// Requests of one token have no time between tokens.
std::vector<Seconds> tpot_samples(const ServingRun& run) {
  std::vector<Seconds> samples;
  for (const RequestTiming& one : run.requests) {
    if (one.output > 1) samples.push_back(one.tpot());
  }
  return samples;
}
Seconds sorted_at(std::vector<Seconds> samples, double p) {
  std::sort(samples.begin(), samples.end());
  return percentile(samples, p);
}

}  // namespace

ServingMetrics metrics_of(const ServingRun& run) {
  ServingMetrics metrics;
  metrics.ttft = percentiles(samples_of(run, [](const auto& r) { return r.ttft(); }));
  metrics.tpot = percentiles(tpot_samples(run));
  metrics.inclusive_tpot =
      percentiles(samples_of(run, [](const auto& r) { return r.inclusive_tpot(); }));
  metrics.e2e = percentiles(samples_of(run, [](const auto& r) { return r.e2e(); }));
  metrics.itl = gap_percentiles(run.gaps);
  double input = 0, output = 0;
  for (const RequestTiming& one : run.requests) {
    input += one.input;
    output += one.output;
  }
  const double time = run.duration.value();
  metrics.requests = static_cast<int>(run.requests.size());
  if (time > 0) {
    metrics.requests_per_second = metrics.requests / time;
    metrics.output_tokens_per_second = output / time;
    metrics.total_tokens_per_second = (input + output) / time;
  }
  return metrics;
}

ServingMetrics steady_metrics(const ServingRun& run) {
  ServingMetrics metrics = metrics_of(run);
  Seconds begin = run.duration, last;
  for (const RequestTiming& one : run.requests) last = std::max(last, one.arrival);
  for (const RequestTiming& one : run.requests) {
    if (one.end >= last * 0.5) begin = std::min(begin, one.end);
  }
  double requests = 0, input = 0, output = 0;
  for (const RequestTiming& one : run.requests) {
    if (one.end <= begin || one.end > last) continue;
    requests += 1;
    input += one.input;
    output += one.output;
  }
  if (requests <= 0) return metrics;
  const double time = (last - begin).value();
  metrics.requests_per_second = requests / time;
  metrics.output_tokens_per_second = output / time;
  metrics.total_tokens_per_second = (input + output) / time;
  return metrics;
}

Seconds ttft_at(const ServingRun& run, double p) {
  return sorted_at(samples_of(run, [](const auto& r) { return r.ttft(); }), p);
}
Seconds tpot_at(const ServingRun& run, double p) { return sorted_at(tpot_samples(run), p); }

double goodput(const ServingRun& run, std::optional<Seconds> ttft, std::optional<Seconds> tpot) {
  double met = 0;
  for (const RequestTiming& one : run.requests) {
    const bool good = (!ttft || one.ttft() <= *ttft) && (!tpot || one.tpot() <= *tpot);
    met += good ? 1.0 : 0.0;
  }
  return run.duration.value() > 0 ? met / run.duration.value() : 0.0;
}

}  // namespace meshwright
