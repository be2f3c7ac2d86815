// SPDX-License-Identifier: Apache-2.0
// A step in bf16 on all ranks of the test against the fp32 step of one rank: loss and gradients
// within what rounding can do, and each call that is left out beyond it.
//
// Tolerance. bf16 has 8 bits: rounding makes x of it x (1 + d) with |d| <= u = 2^-8, and sqrt(1/3)
// sqrt(1/2) u = 0.41 u in the mean square where mantissas are spread evenly over [1, 2). A path
// from a token to a gradient meets n roundings, counted below. If they do not depend on each other,
// the gradient's error is about 0.41 u sqrt(n) of its size in the mean square over a tensor (the
// square root, as in Higham and Mary 2019, SIAM J. Sci. Comput. 41(5) A2815; all in one direction,
// which no data makes, would be u n). u sqrt(n) is 2.4 times that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "calibrate/backends/bf16.h"
#include "calibrate/trial/trial.h"
#include "sim/json/records.h"
#include "sim/layout/short_name.h"
#include "tests/ranks/omitted_calls.h"
#include "tests/ranks/some_layouts.h"

namespace meshwright::calibrate {
namespace {

constexpr double kUnitRoundoff = 0x1p-8;

// Adam's first step moves each weight by the learning rate, whichever its gradient's size is: more
// than the last digit of any weight (1.1, a gain).
constexpr StepOptions kStep{.learning_rate = 3e-2F, .seed = 7, .poison_memory = true};

// In series on the longest path: into each product two operands are rounded. Attention has four
// products forward (in, scores, context, out) and an MLP two or, of a routed one, three; their
// outputs are sums over up to t ranks with t roundings and one where they are sent again. Backward
// each product has one for its input, and one at last for the weight; the softmax reads
// probabilities that were rounded for a product. What layers hand on is rounded once each way, and
// what stages, context or expert ranks send four times in a layer. A depth of multi-token
// prediction is a layer and one more product.
double roundings(const Model& model, const Layout& layout) {
  const double products = 4 + (model.moe ? 3 : 2);
  const int t = layout.tensor_parallel_size * layout.data_parallel_size;
  const double sums = t > 1 ? 2.0 * (t + 1) : 0.0;
  const double others = layout.context_parallel_size > 1 || model.moe ? 4.0 : 0.0;
  const double layer = 2.0 * products + sums + others + 2.0;
  const double depths = model.mtp_num_layers;
  return 2.0 * layer * (model.num_layers + depths) + 4.0 * depths + 8.0 + 2.0 * sums;
}

double tolerance(const Model& model, const Layout& layout) {
  return kUnitRoundoff * std::sqrt(roundings(model, layout));
}

// Tolerance of the loss. With log-probabilities an error of a logit is at most an error of the
// loss. A logit is the product of a normed row of h numbers (length sqrt h, gains to 1.1) and a row
// of the head (each number up to 0.0346). With a mean square it is twice the error of the squared
// number.
double loss_tolerance(const Model& model, const Layout& layout, double loss) {
  const double h = static_cast<double>(model.hidden_size);
  const double scale = model.vocab_size > 0 ? 1.1 * 0.0346 * h : 2.0 * loss;
  return tolerance(model, layout) * scale;
}

double mean_square(const std::vector<float>& values) {
  double sum = 0.0;
  for (const float v : values) sum += static_cast<double>(v) * static_cast<double>(v);
  return sum / static_cast<double>(values.size());
}

const std::vector<float>& whole_gradient(const Parameter& p, const Reference& alone) {
  return alone.after_first.at(p.name).gradient;
}

std::size_t place_in_whole(const Parameter& p, std::size_t i) {
  const auto index = static_cast<std::int64_t>(i);
  return static_cast<std::size_t>(p.global_row(index) * p.blocks * p.cols + p.global_col(index));
}

// Error of this rank's slice: root mean square of the error over that of the whole tensor's
// entries.
double gradient_error(const Parameter& p, const Reference& alone) {
  const std::vector<float> slice = downloaded(p.gradient, p.count());
  const std::vector<float>& whole = whole_gradient(p, alone);
  std::vector<float> error(slice.size());
  for (std::size_t i = 0; i < slice.size(); ++i) {
    error[i] = slice[i] - whole.at(place_in_whole(p, i));
  }
  const double relative = std::sqrt(mean_square(error) / mean_square(whole));
  return std::isfinite(relative) ? relative : 1e9;
}

// Where the gradient is six times its tolerance, and so has the right sign: the largest error over
// the largest weight.
Difference weight_error(const Parameter& p, const Reference& alone, double tolerance) {
  const std::vector<float> slice = downloaded(p.weight, p.count());
  const std::vector<float>& gradient = whole_gradient(p, alone);
  const std::vector<float>& whole = alone.after_first.at(p.name).weight;
  const double least = 6.0 * tolerance * std::sqrt(mean_square(gradient));
  const double scale = largest(whole);
  Difference found;
  for (std::size_t i = 0; i < slice.size(); ++i) {
    const std::size_t at = place_in_whole(p, i);
    if (std::abs(static_cast<double>(gradient.at(at))) < least) continue;
    ++found.compared;
    const double relative = std::abs(static_cast<double>(slice[i]) - whole[at]) / scale;
    found.worst = std::max(found.worst, std::isfinite(relative) ? relative : 1e9);
  }
  return found;
}

// A gathered weight is rounded once.
constexpr double kGatheredWeight = 1.01 * kUnitRoundoff;

Differs beyond_rounding(const Model& model, const Layout& layout, const Reference& alone) {
  return [&model, layout, &alone](const TrialStep& step) {
    const double most = tolerance(model, layout);
    const double off = std::abs(step.loss() - alone.loss);
    if (step.has_loss() && !(off <= loss_tolerance(model, layout, alone.loss))) return true;
    for (const Parameter& p : step.store().parameters()) {
      if (layout.zero_stage == 0 && gradient_error(p, alone) > most) return true;
      if (weight_error(p, alone, most).worst > kGatheredWeight) return true;
    }
    return false;
  };
}

double largest_share = 0.0;  // of the tolerance, over all steps of a test program

void expect_close_step(const Model& model, const Layout& layout) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  Machine& m = machine();
  const Reference alone = reference(model, small_job(), kStep);
  TrialStep step(model, small_job(Precision::bf16), layout, *m.compute, *m.world, kStep);
  step.run();
  const double most = tolerance(model, layout);
  if (step.has_loss()) {
    EXPECT_NEAR(step.loss(), alone.loss, loss_tolerance(model, layout, alone.loss));
  }
  step.gather_weights();
  std::size_t compared = 0;
  std::int64_t all = 0;
  double worst = 0.0;
  for (const Parameter& p : step.store().parameters()) {
    if (layout.zero_stage == 0) {  // ZeRO leaves each rank its shard's sum
      const double error = gradient_error(p, alone);
      worst = std::max(worst, error);
      largest_share = std::max(largest_share, error / most);
      EXPECT_LE(error, most) << "gradient of " << p.name;
    }
    const Difference found = weight_error(p, alone, most);
    EXPECT_LE(found.worst, kGatheredWeight) << "weight of " << p.name;
    compared += found.compared;
    all += p.count();
  }
  EXPECT_GE(4 * compared, static_cast<std::size_t>(all)) << "too few weights were compared";
  if (layout.zero_stage == 0 && all > 0) {
    EXPECT_GT(worst, kUnitRoundoff / 8.0) << "nothing was rounded";
  }
  testing::Test::RecordProperty("largest_share_of_tolerance", fmt::format("{:.2f}", largest_share));
}

TEST(SixteenBits, EveryLayoutTakesTheFp32StepWithinRounding) {
  const int ranks = machine().world->size();
  for (const Layout& l : layouts_of(ranks)) expect_close_step(small_model(), l);
  for (const Layout& l : sharded_layouts_of(ranks)) expect_close_step(small_llama(), l);
  for (const Layout& l : latent_layouts_of(ranks)) expect_close_step(small_mla(), l);
  for (const Layout& l : prediction_layouts_of(ranks)) expect_close_step(small_mtp(), l);
}

TEST(SixteenBits, ExpertsContextRanksAndSplitPassesTakeTheFp32StepWithinRounding) {
  const int ranks = machine().world->size();
  for (const Layout& l : expert_layouts_of(ranks)) expect_close_step(small_moe(), l);
  for (const Layout& l : context_layouts_of(ranks)) expect_close_step(small_window(), l);
  for (const Layout& l : split_layouts_of(ranks)) expect_close_step(small_llama(), l);
}

// Products read a copy of the weights, which has to be made anew whenever these change.
void expect_rounded_weights(const Model& model, const Layout& layout) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  Machine& m = machine();
  TrialStep step(model, small_job(Precision::bf16), layout, *m.compute, *m.world, kStep);
  step.run();
  step.run();
  step.gather_weights();
  for (const Parameter& p : step.store().parameters()) {
    const std::vector<float> weight = downloaded(p.weight, p.count());
    std::vector<std::uint16_t> read(weight.size());
    m.compute->download(read.data(), p.sixteen_bits.data, read.size() * sizeof read.front());
    std::size_t different = 0;
    for (std::size_t i = 0; i < read.size(); ++i)
      different += read[i] != bf16_of(weight[i]) ? 1 : 0;
    EXPECT_EQ(different, 0U) << p.name;
  }
}

TEST(SixteenBits, ProductsReadTheWeightsThatTheOptimizerLeft) {
  const int ranks = machine().world->size();
  for (const Layout& l : layouts_of(ranks)) expect_rounded_weights(small_model(), l);
  for (const Layout& l : sharded_layouts_of(ranks)) expect_rounded_weights(small_llama(), l);
  for (const Layout& l : expert_layouts_of(ranks)) expect_rounded_weights(small_moe(), l);
  for (const Layout& l : offloading_layouts_of(ranks)) expect_rounded_weights(small_llama(), l);
}

// Two calls of 32 bits may move the step of a model with so small logits less than rounding, and
// are left to the fp32 test: the maximum over the vocabulary that softmax subtracts, once a
// micro-batch, and the loss's sum over the data ranks.
int most_below_rounding(const Job& job, const Layout& layout) {
  const int maxima =
      layout.tensor_parallel_size > 1 ? num_micro_batches(job.global_batch_size, layout) : 0;
  return maxima + (layout.data_parallel_size * layout.context_parallel_size > 1 ? 1 : 0);
}

void expect_noticed(const Model& model, const char* text) {
  Job job = small_job();
  job.global_batch_size = 4;
  const Reference alone = reference(model, job, kStep);
  const Layout layout = layout_from_text(text);
  job.precision = Precision::bf16;
  expect_every_call_noticed(model, job, layout, kStep, beyond_rounding(model, layout, alone),
                            most_below_rounding(job, layout));
}

TEST(SixteenBits, EachCallThatIsLeftOutIsNoticedBeyondRounding) {
  const int ranks = machine().world->size();
  if (ranks == 2) {
    for (const char* text : {"tp=2,mbs=2", "tp=2,sp,mbs=2", "pp=2,mbs=2", "dp=2,mbs=2",
                             "dp=2,mbs=2,zero=1", "cp=2,mbs=2"}) {
      expect_noticed(two_layers(small_model()), text);
    }
    expect_noticed(two_layers(small_llama()), "dp=2,zero=3,mbs=2");
    expect_noticed(two_layers(small_moe()), "dp=2,ep=2,mbs=2");
  }
  if (ranks == 4) expect_noticed(two_layers(small_model()), "tp=2,pp=2,mbs=4");
}

// The job's own format is what GPUs run, and cores where they are asked.
TEST(SixteenBits, CoresRunFp32UnlessTheyAreAskedAndTheObservationSaysWhich) {
  Machine& m = machine();
  TrialOptions options{.warmup_steps = 0, .steps = 1};
  const Job job = small_job(Precision::bf16);
  const Observation wide = run_trial(small_model(), job, Layout{}, *m.compute, *m.world, options);
  EXPECT_EQ(wide.run_precision, Precision::fp32);
  EXPECT_EQ(wide.not_run, std::vector<std::string>{"bf16 (fp32 was run)"});
  options.precision = Precision::bf16;
  const Observation half = run_trial(small_model(), job, Layout{}, *m.compute, *m.world, options);
  EXPECT_EQ(half.run_precision, Precision::bf16);
  EXPECT_EQ(half.failure, "");
  options.precision = Precision::fp16;
  const Observation none = run_trial(small_model(), job, Layout{}, *m.compute, *m.world, options);
  EXPECT_NE(none.failure.find("does not compute in fp16"), std::string::npos) << none.failure;
  if (m.world->rank() != 0) return;
  EXPECT_NEAR(half.loss, wide.loss, loss_tolerance(small_model(), Layout{}, wide.loss));
}

}  // namespace
}  // namespace meshwright::calibrate
