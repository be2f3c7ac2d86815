// SPDX-License-Identifier: Apache-2.0
// Inference: a position behind the cache gives the logits that the whole sequence gives at once, on
// any number of tensor ranks; and those are the logits that training takes its loss from.
//
// Tolerance: logits of about 0.5 from 4 layers of sums of up to 64 fp32 numbers in another order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "calibrate/trial/inference_step.h"
#include "calibrate/trial/stage/batch.h"
#include "calibrate/trial/trial.h"
#include "sim/json/records.h"
#include "tests/ranks/same_step.h"

namespace meshwright::calibrate {
namespace {

constexpr double kLogitTolerance = 1e-5;
constexpr int kSequences = 3;

Layout tensor_layout(int ranks) {
  Layout l;
  l.tensor_parallel_size = ranks;
  l.micro_batch_size = kSequences;
  return l;
}

// The models have four heads: 8 ranks are two groups of four, which do the same.
auto tensor_ranks() {
  constexpr int kHeads = 4;
  const int rank = machine().world->rank();
  return machine().world->split(rank / kHeads, rank % kHeads);
}

Job prompt_of(int positions) {
  Job j = small_job();
  j.seq_length = positions;
  return j;
}

std::vector<std::int32_t> tokens_of(const Model& model, int first, int count) {
  return token_ids(model, kSequences, count, 0, first, kOptions.seed);
}

// Logits of the first `positions` tokens at once, on one rank.
std::vector<float> logits_alone(const Model& model, int positions) {
  Machine& m = machine();
  const auto alone = m.world->split(m.world->rank(), 0);
  InferenceStep step(model, prompt_of(positions), tensor_layout(1), *m.compute, *alone, kOptions,
                     0);
  step.prefill(tokens_of(model, 0, positions));
  return step.logits();
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(d <= worst)) worst = std::isfinite(d) ? d : 1e30;
  }
  return worst;
}

void expect_cache_gives_what_the_whole_gives(const Model& model) {
  SCOPED_TRACE(model.name);
  constexpr int kPrompt = 5, kNew = 6;
  const auto ranks = tensor_ranks();
  InferenceStep step(model, prompt_of(kPrompt), tensor_layout(ranks->size()), *machine().compute,
                     *ranks, kOptions, kNew);
  step.prefill(tokens_of(model, 0, kPrompt));
  EXPECT_LE(largest_difference(step.logits(), logits_alone(model, kPrompt)), kLogitTolerance);
  for (int i = 0; i < kNew; ++i) {
    step.decode(tokens_of(model, kPrompt + i, 1));
    EXPECT_LE(largest_difference(step.logits(), logits_alone(model, kPrompt + i + 1)),
              kLogitTolerance)
        << "position " << kPrompt + i;
  }
}

TEST(Inference, DecodingBehindTheCacheIsTheWholeSequenceAtOnce) {
  Model sinks = small_window();
  sinks.attention_sinks = true;
  for (const Model& model :
       {small_model(), small_llama(), small_multi_query(), small_qwen(), sinks}) {
    expect_cache_gives_what_the_whole_gives(model);
  }
}

// Keys are taken by 64 positions: one behind and one before the border.
TEST(Inference, DecodingGoesOnOverABlockOfKeys) {
  const Model model = small_llama();
  const auto ranks = tensor_ranks();
  InferenceStep step(model, prompt_of(62), tensor_layout(ranks->size()), *machine().compute, *ranks,
                     kOptions, 4);
  step.prefill(tokens_of(model, 0, 62));
  for (int i = 62; i < 66; ++i) step.decode(tokens_of(model, i, 1));
  EXPECT_LE(largest_difference(step.logits(), logits_alone(model, 66)), kLogitTolerance);
}

// The mean over positions and sequences of -log softmax(logits)[next token] is the training loss.
TEST(Inference, LogitsAreThoseThatTrainingTakesItsLossFrom) {
  if (machine().world->size() != 1) GTEST_SKIP() << "one rank is enough";
  Machine& m = machine();
  for (const Model& model : {small_model(), small_llama()}) {
    constexpr int kPositions = 4;
    Job job = prompt_of(kPositions);
    job.global_batch_size = kSequences;
    TrialStep training(model, job, tensor_layout(1), *m.compute, *m.world, kOptions);
    training.run();
    double loss = 0.0;
    for (int s = 1; s <= kPositions; ++s) {
      const std::vector<float> logits = logits_alone(model, s);
      const auto next = tokens_of(model, s, 1);
      for (int row = 0; row < kSequences; ++row) {
        const float* of_row = logits.data() + row * model.vocab_size;
        double sum = 0.0;
        for (int id = 0; id < model.vocab_size; ++id) sum += std::exp(of_row[id]);
        loss += std::log(sum) - of_row[next[static_cast<std::size_t>(row)]];
      }
    }
    EXPECT_NEAR(loss / (kPositions * kSequences), training.loss(), 1e-5);
  }
}

// Each layer's two all-reduces and the embedding's carry 3 sequences x 32 numbers x 4 bytes = 384;
// the logits' gather 3 x 96 x 4 = 1152. 4 positions a step.
TEST(Inference, TransfersAreTwoALayerAndTheVocabularys) {
  const auto ranks = tensor_ranks();
  if (ranks->size() == 1) GTEST_SKIP() << "one rank moves nothing";
  InferenceStep step(small_model(), prompt_of(5), tensor_layout(ranks->size()), *machine().compute,
                     *ranks, kOptions, 4);
  step.run();
  double calls = 0.0, payload = 0.0;
  for (const Transfer& t : step.recorder().transfers()) {
    calls += t.times_per_step;
    payload += t.payload_per_step().value();
  }
  EXPECT_EQ(calls, 4 * (4 * 2 + 1 + 1));
  EXPECT_EQ(payload, 4 * ((4 * 2 + 1) * 384.0 + 1152.0));
}

TEST(Inference, ObservationSaysTokensPerSecondAndWhatWasLeftOut) {
  Machine& m = machine();
  TrialOptions options{.warmup_steps = 1, .steps = 2};
  options.mode = TrialMode::decode;
  options.decode_tokens = 3;
  const Observation o = run_trial(small_llama(), small_job(), layout_from_text("tp=2,pp=2,mbs=2"),
                                  *m.compute, *m.world, options);
  EXPECT_EQ(o.failure, "");
  EXPECT_EQ(o.mode, TrialMode::decode);
  EXPECT_EQ(o.ranks, std::min(2, m.world->size()));
  EXPECT_FALSE(o.complete);  // no pipeline
  if (m.world->rank() != 0) return;
  // Two sequences, one position each, in the time of one position.
  EXPECT_NEAR(o.tokens_per_second * o.step_time.value(), 2.0, 1e-9);
  EXPECT_EQ(inference_unsupported(small_model(), small_job(), {}, 15), "");
  EXPECT_NE(inference_unsupported(small_model(), small_job(), {}, 16), "");  // no prompt is left
}

}  // namespace
}  // namespace meshwright::calibrate
