// SPDX-License-Identifier: Apache-2.0
#include "tests/ranks/serving_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/ranks/omitting_communicator.h"

namespace meshwright::calibrate {
namespace {

// Two passes over a paged cache: two prompts, then a token of each. With stages the tokens that
// came back to the first one stand behind the logits.
std::vector<float> logits_of_two_passes(const ServingScenario& s, Communicator& ranks,
                                        const std::function<void()>& begin) {
  ServingModel model(s.model, s.options.layout, *machine().compute, ranks, model_options());
  begin();
  BlockTable first{0, 1}, second{2, 3};
  const std::vector<std::int32_t> tokens{11, 52, 33, 74, 5, 66, 17, 28, 39};
  model.pass({{tokens.data(), 4, 0, &first}, {tokens.data() + 4, 3, 0, &second}});
  std::vector<float> logits = model.logits();
  model.pass({{tokens.data() + 7, 1, 4, &first}, {tokens.data() + 8, 1, 3, &second}});
  logits.insert(logits.end(), model.logits().begin(), model.logits().end());
  if (model.stages() > 1 && model.is_first_stage()) {
    for (int pass = 0; pass < 2; ++pass) {
      for (const std::int32_t token : model.returned_tokens(2)) {
        logits.push_back(static_cast<float>(token));
      }
    }
  }
  model.finish_passes();
  return logits;
}

bool differ(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(d <= 1e-5)) return true;
  }
  return false;
}

// Calls that any rank counted. A rank has those of its own groups: stages have different ones.
std::vector<TransferCall> calls_of_all(const Omission& counted, Communicator& ranks) {
  std::vector<TransferCall> all;
  const auto append = [&](TransferCall call) {
    const auto found = counted.made.find(call);
    const int made = found == counted.made.end() ? 0 : found->second;
    const int most = static_cast<int>(machine().world->host_max(made));
    for (call.n = 0; call.n < most; ++call.n) all.push_back(call);
  };
  for (int split = 0; split < counted.splits; ++split) {
    append({.split = split});
    for (int from = 0; from < ranks.size(); ++from) {
      for (int to = 0; to < ranks.size(); ++to) {
        append({.split = split, .from = from, .to = to});
      }
    }
  }
  return all;
}

}  // namespace

std::unique_ptr<Communicator> serving_group() {
  const int rank = machine().world->rank();
  return machine().world->split(rank / kHeadsOfEach, rank % kHeadsOfEach);
}

int tensor_size() { return std::min(kHeadsOfEach, machine().world->size()); }

ServingLoad some_requests() {
  ServingLoad load;
  load.kind = LoadKind::closed_loop;
  load.concurrency = 3;
  load.num_requests = 6;
  load.lengths.kind = LengthKind::list;
  load.lengths.list = {{7, 5}, {9, 1}, {3, 6}, {8, 7}, {1, 4}};
  return load;
}

ServingScenario scenario_of(const Model& model, int tensor, int experts) {
  ServingScenario s;
  s.model = model;
  s.cluster.gpus_per_node = 8;
  s.cluster.device.memory = gibibytes(1);
  s.options.layout.tensor_parallel_size = tensor;
  s.options.layout.expert_parallel_size = experts;
  s.options.max_num_batched_tokens = 8;  // prompts are cut
  s.options.max_num_seqs = 4;
  s.options.block_size = 4;
  return s;
}

ServingModelOptions model_options(std::int64_t blocks) {
  return {
      .blocks = blocks, .block_size = 4, .longest = 16, .seed = kServedSeed, .poison_memory = true};
}

std::vector<Model> dense_models() {
  Model sinks = small_window();
  sinks.attention_sinks = true;
  return {small_model(), small_llama(), small_multi_query(), small_qwen(), sinks};
}

void expect_tokens_alone(const ServingEngine& engine, const Model& model, const std::string& what) {
  Alone alone(model);
  if (!engine.model().is_first_stage() && !engine.model().is_last_stage()) return;
  for (std::size_t i = 0; i < engine.requests().size(); ++i) {
    const int request = engine.requests()[i];
    const RequestTiming& t = engine.observed().requests[i];
    const std::vector<std::int32_t>& tokens = engine.tokens_of(request);
    EXPECT_EQ(tokens, alone.answer(tokens, t.input, t.output))
        << model.name << ", " << what << ", request " << request;
  }
}

void expect_ledger(const ServingEngine& engine, const std::string& what) {
  EXPECT_FALSE(engine.steps().empty());
  for (const ObservedServingStep& step : engine.steps()) {
    EXPECT_TRUE(step.bytes_as_said) << what << ", at " << step.begin.value();
  }
}

void expect_serves(const ServingScenario& scenario, const std::string& what, std::int64_t blocks,
                   bool full, const ServingLoad& load) {
  const auto ranks = serving_group();
  ServingEngine engine(scenario, *machine().compute, *ranks, model_options(blocks));
  engine.run(load);
  EXPECT_EQ(engine.blocks_used(), 0) << what;
  EXPECT_EQ(engine.observed().preemptions > 0, full) << what;
  expect_tokens_alone(engine, scenario.model, what);
  expect_ledger(engine, what);
}

void expect_every_transfer_noticed(const ServingScenario& s) {
  const auto ranks = serving_group();
  const std::vector<float> whole = logits_of_two_passes(s, *ranks, [] {});
  Omission counted;
  {
    OmittingCommunicator counting(nullptr, *ranks, counted, -1);
    logits_of_two_passes(s, counting, [&] { counted.begin({.split = -2}); });
  }
  const std::vector<TransferCall> calls = calls_of_all(counted, *ranks);
  for (const TransferCall& call : calls) {
    Omission omission;
    OmittingCommunicator omitting(nullptr, *ranks, omission, -1);
    const auto logits = logits_of_two_passes(s, omitting, [&] { omission.begin(call); });
    EXPECT_GT(machine().world->host_max(differ(logits, whole) ? 1.0 : 0.0), 0.0)
        << s.model.name << " group " << call.split << " call " << call.n << " from " << call.from;
  }
  const ReplicaLayout& l = s.options.layout;
  const int stages = l.pipeline_parallel_size, tensor = l.tensor_parallel_size;
  // Two passes of an embedding, two a layer, and logits. Of stages the n-th calls are left out
  // together: those of the first, or of the last, which has logits for the embedding.
  const int of_stage = 1 + 2 * s.model.num_layers / stages + (stages == 1 ? 1 : 0);
  // Messages over each border, and tokens back to the first stage.
  const int messages = stages > 1 ? stages - 1 + 1 : 0;
  EXPECT_EQ(static_cast<int>(calls.size()), 2 * ((tensor > 1 ? of_stage : 0) + messages));
}

}  // namespace meshwright::calibrate
