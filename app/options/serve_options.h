// SPDX-License-Identifier: Apache-2.0
// Options that the serve commands share: what is served by what, and under which load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/records/origin.h"
#include "sim/serving/estimate.h"
#include "sim/serving/load.h"
#include "sim/serving/steady_state.h"

namespace CLI {
class Option;
}

namespace meshwright::app {

class Command;

// The rows of --model and --engine.
CLI::Option* add_served_model(Command& command, std::string& model);
void add_serving_engine(Command& command, std::string& engine);
// One replica's model, cluster and engine: files or names.
struct ServeSubject {
  std::string &model, &cluster, &engine;
};
void add_serve_subject(Command& command, ServeSubject subject);

// Formats and limits, in the engines' own words.
struct ServeFormats {
  std::string weights;  // empty: the checkpoint's
  std::string kv_cache = "bf16", exchange = "auto";
  std::optional<double> memory_fraction;
  int max_num_seqs = 0, max_num_batched_tokens = 0, max_model_len = 0, block_size = 0;
  int speculative_tokens = 0;
  std::optional<double> acceptance;
  bool enforce_eager = false;
};
void add_serve_formats(Command& command, ServeFormats& formats);

// Sizes of one replica; --tp counts data ranks where the engine's does.
struct ServeSizes {
  int tensor = 1, pipeline = 1, data = 1, experts = 1, context = 1;
};
void add_serve_sizes(Command& command, ServeSizes& sizes);
// Throws InputError: data ranks that do not divide --tp where they are part of it.
ReplicaLayout replica_layout_of(const ServeSizes& sizes, const Engine& engine);

// Throws InputError. The layout stays as it is. Fingerprints of the files go into `origin`, and how
// the model's checkpoint stores weights into `stored`, if they are there.
ServingScenario serving_scenario(const std::string& model, const std::string& cluster,
                                 const std::string& engine, const ServeFormats& formats,
                                 reports::Origin* origin = nullptr,
                                 std::optional<WeightFormat>* stored = nullptr);
// Requests of so many tokens fit into the model's and the engine's longest context.
void check_request_length(int input, int output, const ServeFormats& formats, const Model& model);
std::vector<std::string> serving_notes(const ServeFormats& formats,
                                       const ServingScenario& scenario);

// How requests arrive.
struct LoadOptions {
  int input = 1024, output = 1024;
  std::optional<double> least_share;
  std::string lengths, arrivals;  // files
  std::optional<double> concurrency, rate;
  double burstiness = 1.0, hit_rate = 0.0;
  int requests = 0;
  int seed = 1;
  bool all_at_once = false;
};
void add_load_options(Command& command, LoadOptions& options);
// Its --concurrency or --rate.
void add_loop_options(Command& command, std::optional<double>& concurrency,
                      std::optional<double>& rate);
// Reads the files. Throws InputError.
ServingLoad serving_load(const LoadOptions& options, const ServeFormats& formats,
                         const Model& model, reports::Origin* origin = nullptr);

// Limits of latencies: "2s", "50ms".
struct LimitOptions {
  std::string ttft, tpot, e2e, percentile;
};
// `before` begins each description.
void add_limit_options(Command& command, LimitOptions& options, const std::string& before = "");
// The first option that is given; null: none.
const char* first_limit(const LimitOptions& options);
LatencyLimits latency_limits(const LimitOptions& options);
// "p99" or "99"; 0: means. Throws InputError, too, if `samples` requests do not tell it.
double percentile_of(const LimitOptions& options, int samples);
// Throws InputError. "2s", "50ms", "300us"; a bare number is no time.
Seconds duration_of(const std::string& option, const std::string& text);

}  // namespace meshwright::app
