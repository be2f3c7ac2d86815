// SPDX-License-Identifier: Apache-2.0
// A service step by step: requests arrive, wait, are batched by the engine's rule, and end. The
// answer for percentiles, bursts and full caches; steady_state.h has the means of a long run.
//
// One event is one step of a replica, or a run of equal steps without prompts, arrivals and ends.
// The time of a step is step_duration's. The cache counts whole blocks of each request. A full
// cache preempts the newest request. It waits in front and is computed again with what it had,
// except for blocks that are still cached.
//
//   decode_first   all decodes, then prompts in order of arrival, cut at the token budget
//   prefill_first  prompts alone while any wait and have room, else a step of decodes
//   in_flight      as decode_first; prompts are not cut unless the engine says so
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/serving/load.h"
#include "sim/serving/scheduler.h"

namespace meshwright {

struct RequestTiming {
  Seconds arrival{}, first_token{}, end{};
  int input = 0, output = 0;
  [[nodiscard]] Seconds ttft() const { return first_token - arrival; }
  [[nodiscard]] Seconds e2e() const { return end - arrival; }
  // (E2E - TTFT) / (O - 1): vLLM, SGLang, InferenceX.
  [[nodiscard]] Seconds tpot() const {
    return output > 1 ? (end - first_token) / (output - 1.0) : Seconds{};
  }
  // E2E / O: GuideLLM, --inclusive-tpot.
  [[nodiscard]] Seconds inclusive_tpot() const { return e2e() / static_cast<double>(output); }
};

// A gap between two tokens of a request, and how often it came.
struct TokenGap {
  Seconds gap{};
  double count = 0;
};

// A step as its engine composed it. Requests are named by their place in the load.
struct TracedTokens {
  int request = 0;
  int tokens = 0;
};
struct TracedStep {
  int replica = 0, group = 0;  // attention's data rank, or the stream of a pipeline
  Seconds start{}, end{};
  std::vector<TracedTokens> batch{};   // in the order of admission
  std::vector<TracedTokens> cached{};  // prefix hits of requests that start
  std::vector<int> preempted{}, finished{};
  int running = 0, waiting = 0, free_blocks = 0;  // once it was composed
};

struct ServingRun {
  std::vector<RequestTiming> requests{};  // in the order of the load
  std::vector<TokenGap> gaps{};
  Seconds duration{};      // until the last request ends
  std::int64_t steps = 0;  // of all replicas
  std::int64_t preemptions = 0;
  double busy_share = 0;          // of the replicas' time
  double prefill_busy_share = 0;  // disaggregated: of the prefill pool
  bool is_traced = false;
  std::vector<TracedStep> trace{};  // empty unless is_traced
};

// Every replica has its own queue. A user of a closed loop stays with one; other requests go round.
// Empty: a request does not fit into the cache of an idle replica.
std::optional<ServingRun> simulate_serving(const ServingReplica& replica, int replicas,
                                           const ServingLoad& load, bool is_traced = false);

// Prefill and decode pools: a prompt is computed in one, its cache moves, and the other decodes.
struct DisaggregatedService {
  const ServingReplica& prefill;
  const ServingReplica& decode;
  int prefill_replicas = 1, decode_replicas = 1;
  // Time that one prompt is handed over, and that each of its tokens takes the links of its decode
  // group. A prompt is moved when the group has room for it.
  Seconds transfer_base{}, transfer_token{};
};
std::optional<ServingRun> simulate_disaggregated(const DisaggregatedService& service,
                                                 const ServingLoad& load);

struct Percentiles {
  Seconds mean{}, p50{}, p90{}, p95{}, p99{};
};
// p in (0, 100): the smallest value that p % of the samples do not exceed.
Seconds percentile(const std::vector<Seconds>& sorted, double p);
Percentiles percentiles(std::vector<Seconds> samples);

struct ServingMetrics {
  Percentiles ttft{}, tpot{}, inclusive_tpot{}, itl{}, e2e{};
  double requests_per_second = 0, output_tokens_per_second = 0, total_tokens_per_second = 0;
  int requests = 0;
};
// Rates over the whole run, as benchmarks report them: with its start and its end.
ServingMetrics metrics_of(const ServingRun& run);
// Rates of the steady part: behind the first end in the second half of the arrivals' time, until
// the last arrival. A run without ends there has those of the whole run.
ServingMetrics steady_metrics(const ServingRun& run);
// At any percentile of the samples of a run.
Seconds ttft_at(const ServingRun& run, double p);
Seconds tpot_at(const ServingRun& run, double p);

// Requests a second that meet both limits (vLLM --goodput).
double goodput(const ServingRun& run, std::optional<Seconds> ttft, std::optional<Seconds> tpot);

}  // namespace meshwright
