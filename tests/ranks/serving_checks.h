// SPDX-License-Identifier: Apache-2.0
// A served model on the ranks of the test: its tokens against those of one rank without a cache,
// its bytes against the ledger, and whether a transfer that is left out is noticed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/trial/inference_step.h"
#include "calibrate/trial/serving/serving_engine.h"
#include "tests/ranks/same_step.h"

namespace meshwright::calibrate {

inline constexpr std::uint64_t kServedSeed = 7;
// Of the models: 8 ranks are two groups of four, which do the same.
inline constexpr int kHeadsOfEach = 4;

std::unique_ptr<Communicator> serving_group();
// Ranks of such a group.
int tensor_size();

// Prompts and answers of different lengths; 15 positions at most.
ServingLoad some_requests();
ServingScenario scenario_of(const Model& model, int tensor, int experts = 1);
ServingModelOptions model_options(std::int64_t blocks = 16);
std::vector<Model> dense_models();

// The answer to a prompt: each token from the whole sequence before it at once, on one rank.
class Alone {
 public:
  explicit Alone(const Model& model)
      : rank_(machine().world->split(machine().world->rank(), 0)),
        step_(model, longest(), one(), *machine().compute, *rank_, options(), 0) {}

  // The prompt is the first `input` of the tokens.
  std::vector<std::int32_t> answer(std::vector<std::int32_t> tokens, int input, int output) {
    tokens.resize(static_cast<std::size_t>(input));
    for (int i = 0; i < output; ++i) {
      step_.prefill(tokens);
      tokens.push_back(step_.likeliest().front());
    }
    return tokens;
  }

 private:
  static Job longest() {
    Job job = small_job();
    job.seq_length = 16;
    return job;
  }
  static Layout one() {
    Layout l;
    l.micro_batch_size = 1;
    return l;
  }
  static StepOptions options() {
    StepOptions o = kOptions;
    o.moe_router_force_load_balancing = false;
    return o;
  }
  std::unique_ptr<Communicator> rank_;
  InferenceStep step_;
};

// Of stages between the first and the last no rank has tokens.
void expect_tokens_alone(const ServingEngine& engine, const Model& model, const std::string& what);
void expect_ledger(const ServingEngine& engine, const std::string& what);
// `full`: requests lose their place in the cache.
void expect_serves(const ServingScenario& scenario, const std::string& what,
                   std::int64_t blocks = 16, bool full = false,
                   const ServingLoad& load = some_requests());
// Each call between ranks of two passes.
void expect_every_transfer_noticed(const ServingScenario& scenario);

}  // namespace meshwright::calibrate
