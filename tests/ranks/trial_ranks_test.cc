// SPDX-License-Identifier: Apache-2.0
// The trial under every kind of layout against the same step on one rank: loss, gradients, weights.
//
// Started by mpirun on 1, 2 and 4 ranks; each run takes the layouts of exactly that many ranks.
// Every rank also runs the whole model alone and compares its own slices with it.
//
// Tolerance: sums of up to 4 * 128 fp32 numbers in another order differ by a few units of 2^-24
// = 6e-8 of the largest partial sum; a matrix's gradient passes at most 4 layers of such sums.
// 2e-5 of the tensor's largest entry leaves room for that and for no missing term: each collective
// was taken out once by hand (attention and MLP outputs, both input gradients, logits' input
// gradient, embedding, the three of the cross-entropy, loss, gradients, ZeRO's two, shared
// embedding, replicated parameters, sends and receives), and each time a test here failed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "calibrate/backends/module.h"
#include "calibrate/trial/trial.h"
#include "calibrate/trial/trial_step.h"
#include "sim/cost/volume.h"
#include "sim/json/records.h"
#include "sim/names.h"

namespace meshwright::calibrate {
namespace {

constexpr double kTolerance = 2e-5;
// Three steps of 1e-3 move a weight by up to a seventh of the largest (0.02 for biases); a gradient
// that is 100 times smaller than the tensor's largest is 100 times less exact.
constexpr double kWeightTolerance = 1e-4;
constexpr float kLearningRate = 1e-3F;
constexpr std::uint64_t kSeed = 7;

// The process's device and world, opened once.
struct Machine {
  std::unique_ptr<Compute> compute = open_module("cpu").make_compute(0);
  std::unique_ptr<Communicator> world = open_module("mpi").make_world(*compute);
};
Machine& machine() {
  static Machine m;
  return m;
}

Model small_model() {
  Model m;
  m.name = "small";
  m.num_layers = 4;
  m.hidden_size = 32;
  m.ffn_hidden_size = 64;
  m.num_attention_heads = m.num_query_groups = 4;
  m.kv_channels = 8;
  m.vocab_size = 96;
  m.max_position_embeddings = 20;
  return m;
}

// No attention and no vocabulary: fc1, activation, fc2 and a mean square.
Model plain_mlp() {
  Model m;
  m.name = "mlp";
  m.num_layers = 4;
  m.hidden_size = 32;
  m.ffn_hidden_size = 64;
  m.activation = Activation::relu;
  m.normalization = Normalization::none;
  m.position_embedding = PositionEmbedding::none;
  return m;
}

Job small_job() {
  Job j;
  j.seq_length = 16;
  j.global_batch_size = 8;
  j.precision = Precision::fp32;
  j.attention_kernel = AttentionKernel::unfused;
  j.make_vocab_size_divisible_by = 8;  // 96 entries under every tensor size that is used
  return j;
}

std::vector<float> downloaded(const float* device, std::int64_t count) {
  std::vector<float> host(static_cast<std::size_t>(count));
  machine().compute->download(host.data(), device, host.size() * sizeof(float));
  machine().compute->synchronize();
  return host;
}

struct Tensors {
  std::vector<float> gradient, weight;
};

// One rank alone: every tensor whole.
struct Reference {
  double loss = 0.0, later_loss = 0.0;  // of the first and the third step
  std::map<std::string, Tensors> after_first, after_third;
};

std::map<std::string, Tensors> tensors_of(const TrialStep& step) {
  std::map<std::string, Tensors> all;
  for (const Parameter& p : step.store().parameters()) {
    all[p.name] = {downloaded(p.gradient, p.count()), downloaded(p.weight, p.count())};
  }
  return all;
}

Reference reference(const Model& model) {
  Machine& m = machine();
  const auto alone = m.world->split(m.world->rank(), 0);
  TrialStep step(model, small_job(), Layout{}, *m.compute, *alone, kLearningRate, kSeed);
  Reference r;
  step.run();
  r.loss = step.loss();
  r.after_first = tensors_of(step);
  step.run();
  step.run();
  r.later_loss = step.loss();
  r.after_third = tensors_of(step);
  return r;
}

double largest(const std::vector<float>& values) {
  double most = 0.0;
  for (const float v : values) most = std::max(most, std::abs(static_cast<double>(v)));
  return most;
}

// This rank's slice of one tensor against the whole one, where `counts` says so of an entry.
template <typename Counts>
void expect_slice(const Parameter& p, const std::vector<float>& slice,
                  const std::vector<float>& whole, const char* what, double tolerance,
                  const Counts& counts) {
  const double scale = largest(whole);
  double worst = 0.0;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < slice.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const auto at =
        static_cast<std::size_t>(p.global_row(index) * p.blocks * p.cols + p.global_col(index));
    if (!counts(at)) continue;
    ++counted;
    worst = std::max(worst, std::abs(static_cast<double>(slice[i]) - whole.at(at)));
  }
  EXPECT_GT(scale, 0.0) << what << " of " << p.name << " is all zero";
  EXPECT_GT(10 * counted, slice.size()) << what << " of " << p.name << ": too few were compared";
  EXPECT_LE(worst, tolerance * scale) << what << " of " << p.name << ", relative " << worst / scale;
}

void expect_gradient(const Parameter& p, const Reference& alone) {
  expect_slice(p, downloaded(p.gradient, p.count()), alone.after_first.at(p.name).gradient,
               "gradient", kTolerance, [](std::size_t) { return true; });
}

// Adam divides a gradient by its size, so where a gradient is zero but for rounding (a key's bias
// moves no softmax) its step is noise, in one rank's run as in another's. Entries below a
// hundredth of the tensor's largest are left out.
void expect_weight(const Parameter& p, const Reference& alone) {
  const std::vector<float>& gradient = alone.after_first.at(p.name).gradient;
  const double least = 1e-2 * largest(gradient);
  expect_slice(p, downloaded(p.weight, p.count()), alone.after_third.at(p.name).weight, "weight",
               kWeightTolerance, [&](std::size_t at) {
                 return std::abs(static_cast<double>(gradient[at])) >= least;
               });
}

void expect_same_step(const Model& model, const Layout& layout) {
  SCOPED_TRACE(model.name + " " + short_name(layout));
  Machine& m = machine();
  ASSERT_EQ(trial_unsupported(model, small_job(), layout), "");
  const Reference alone = reference(model);
  TrialStep step(model, small_job(), layout, *m.compute, *m.world, kLearningRate, kSeed);
  step.run();
  const bool has_loss = step.groups().at.pipeline == layout.pipeline_parallel_size - 1;
  if (has_loss) {
    EXPECT_NEAR(step.loss(), alone.loss, kTolerance * alone.loss);
  }
  const bool whole_gradients = layout.zero_stage == 0;  // ZeRO leaves each rank its shard's sum
  for (const Parameter& p : step.store().parameters()) {
    if (!whole_gradients) break;
    expect_gradient(p, alone);
  }
  step.run();
  step.run();
  if (has_loss) {
    EXPECT_NEAR(step.loss(), alone.later_loss, kTolerance * alone.later_loss);
  }
  for (const Parameter& p : step.store().parameters()) expect_weight(p, alone);
}

// What the ranks counted is what the ledger of sim/cost/volume.h says, call by call.
std::vector<std::string> lines(const std::vector<Transfer>& transfers) {
  std::vector<std::string> text;
  for (const Transfer& t : transfers) {
    // Scalars: the gradient norm's, because the trial does not clip, and the mean square's.
    if (t.payload <= bytes(4)) continue;
    text.push_back(fmt::format("{} {} {} {} size {} times {} bytes {}", name_of(t.group), t.name,
                               name_of(t.collective), name_of(t.phase), t.group_size,
                               t.times_per_step, t.payload.value()));
  }
  std::sort(text.begin(), text.end());
  return text;
}

void expect_counted(const Model& model, const Layout& layout) {
  SCOPED_TRACE(short_name(layout));
  Machine& m = machine();
  TrialStep step(model, small_job(), layout, *m.compute, *m.world, kLearningRate, kSeed);
  step.run();
  step.run();
  const int stage = step.groups().at.pipeline;
  const auto stages = pipeline_stages(model, layout);
  const StageVolume ledger =
      stage_volume(model, small_job(), layout, stages[static_cast<std::size_t>(stage)], stage);
  EXPECT_EQ(lines(step.recorder().transfers()), lines(ledger.transfers));
}

// Layouts of exactly this many ranks.
std::vector<Layout> layouts_of(int ranks) {
  std::vector<Layout> chosen;
  for (const char* text : {"mbs=2",
                           "mbs=8",
                           "recompute=full",
                           "recompute=selective",
                           "tp=2",
                           "tp=2,mbs=4",
                           "tp=2,recompute=full",
                           "tp=2,recompute=selective",
                           "tp=2,sp",
                           "tp=2,sp,recompute=full",
                           "pp=2",
                           "pp=2,mbs=2",
                           "pp=2,schedule=gpipe,mbs=2",
                           "pp=2,recompute=full",
                           "dp=2",
                           "dp=2,mbs=2",
                           "dp=2,zero=1",
                           "tp=4",
                           "tp=4,sp",
                           "pp=4",
                           "pp=4,schedule=gpipe",
                           "dp=4",
                           "dp=4,zero=1",
                           "tp=2,pp=2",
                           "tp=2,pp=2,sp",
                           "tp=2,pp=2,mbs=2,recompute=full",
                           "tp=2,dp=2",
                           "tp=2,dp=2,sp",
                           "tp=2,dp=2,zero=1",
                           "tp=2,dp=2,sp,zero=1",
                           "pp=2,dp=2",
                           "pp=2,dp=2,zero=1,schedule=gpipe"}) {
    const Layout layout = layout_from_text(text);
    if (world_size(layout) == ranks) chosen.push_back(layout);
  }
  return chosen;
}

TEST(TrialRanks, EveryLayoutTakesTheSameStepAsOneRank) {
  for (const Layout& l : layouts_of(machine().world->size())) expect_same_step(small_model(), l);
}

TEST(TrialRanks, UntiedHeadWithoutBiasesTakesTheSameStepAsOneRank) {
  Model m = small_model();
  m.tied_embeddings = false;
  m.add_bias_linear = false;
  m.position_embedding = PositionEmbedding::none;
  m.activation = Activation::relu;
  for (const Layout& l : layouts_of(machine().world->size())) expect_same_step(m, l);
}

TEST(TrialRanks, MlpWithoutAttentionTakesTheSameStepAsOneRank) {
  for (const Layout& l : layouts_of(machine().world->size())) {
    if (l.recompute_granularity == RecomputeGranularity::selective) continue;
    expect_same_step(plain_mlp(), l);
  }
}

TEST(TrialRanks, OtherRankOrdersTakeTheSameStep) {
  if (machine().world->size() != 4) GTEST_SKIP() << "needs 4 ranks";
  Layout l = layout_from_text("tp=2,pp=2");
  l.rank_order = {Axis::pipeline, Axis::context, Axis::expert, Axis::data, Axis::tensor};
  expect_same_step(small_model(), l);
  l = layout_from_text("tp=2,dp=2");
  l.rank_order = {Axis::data, Axis::context, Axis::expert, Axis::tensor, Axis::pipeline};
  expect_same_step(small_model(), l);
}

TEST(TrialRanks, CountedTransfersAreTheLedgers) {
  for (const Layout& l : layouts_of(machine().world->size())) {
    expect_counted(small_model(), l);
    if (l.recompute_granularity != RecomputeGranularity::selective) expect_counted(plain_mlp(), l);
  }
}

// D(e) = (loss(w + e d) - loss(w - e d)) / 2e is <gradient, d> + c e^2 + O(e^4), so (4 D(e/2) -
// D(e)) / 3 is <gradient, d> + O(e^4). For whole tensors and two directions: the gradient's own
// signs, and signs of which a quarter are the other way.
class Differences {
 public:
  Differences(const Model& model, const Layout& layout)
      : alone_(machine().world->split(machine().world->rank(), 0)),
        step_(model, small_job(), layout, *machine().compute, *alone_, 0.0F, kSeed) {
    step_.run();
  }

  void expect_all() {
    const auto all = tensors_of(step_);
    for (const Parameter& p : step_.store().parameters()) {
      const std::vector<float>& g = all.at(p.name).gradient;
      expect(p, all.at(p.name), [&](std::size_t i) { return g[i] < 0.0F ? -1.0F : 1.0F; });
      expect(p, all.at(p.name), [&](std::size_t i) {
        return hashed_number(99, i, 0, 0) < (g[i] < 0.0F ? 0.5F : -0.5F) ? -1.0F : 1.0F;
      });
    }
  }

 private:
  template <typename Direction>
  void expect(const Parameter& p, const Tensors& t, const Direction& direction) {
    double slope = 0.0, most = 0.0;
    for (std::size_t i = 0; i < t.gradient.size(); ++i) {
      slope += static_cast<double>(t.gradient[i]) * static_cast<double>(direction(i));
      most += std::abs(static_cast<double>(t.gradient[i]));
    }
    // A loss of 4.6 from fp32 is good to about 1e-6, and e is small against the weights (0.03).
    const auto e = static_cast<float>(std::min(2e-3, 0.01 / most));
    const double found = (4.0 * difference(p, t.weight, direction, e / 2.0F) -
                          difference(p, t.weight, direction, e)) /
                         3.0;
    machine().compute->upload(p.weight, t.weight.data(), t.weight.size() * sizeof(float));
    EXPECT_NEAR(found, slope, 2e-3 * most + 2e-6 / static_cast<double>(e)) << p.name;
  }

  template <typename Direction>
  double difference(const Parameter& p, const std::vector<float>& weight,
                    const Direction& direction, float e) {
    return (loss_at(p, weight, direction, e) - loss_at(p, weight, direction, -e)) /
           (2.0 * static_cast<double>(e));
  }

  template <typename Direction>
  double loss_at(const Parameter& p, std::vector<float> weight, const Direction& direction,
                 float e) {
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] += e * direction(i);
    machine().compute->upload(p.weight, weight.data(), weight.size() * sizeof(float));
    step_.run();
    return step_.loss();
  }

  std::unique_ptr<Communicator> alone_;
  TrialStep step_;
};

TEST(TrialRanks, GradientsOnOneRankAreTheDifferencesOfTheLoss) {
  if (machine().world->size() > 1) GTEST_SKIP() << "one rank is enough";
  Differences(small_model(), Layout{}).expect_all();
  Model other = small_model();
  other.tied_embeddings = false;
  Differences(other, Layout{}).expect_all();
  Model smooth = plain_mlp();  // a ReLU has no slope at its corner
  smooth.activation = Activation::gelu;
  Differences(smooth, Layout{}).expect_all();
}

TEST(TrialRanks, ObservationSaysWhatWasRunAndItsTermsAddUpToTheStep) {
  Machine& m = machine();
  const TrialOptions options{.warmup_steps = 1, .steps = 1};
  const Observation o = run_trial(small_model(), small_job(), layout_from_text("tp=2,pp=2,dp=2"),
                                  *m.compute, *m.world, options);
  EXPECT_EQ(o.failure, "");
  EXPECT_FALSE(o.complete);
  EXPECT_EQ(o.ranks, m.world->size());
  EXPECT_EQ(o.run_layout.tensor_parallel_size, std::min(2, m.world->size()));
  EXPECT_EQ(o.run_layers, o.ranks == 4 ? 4 : 2);
  double sum = 0.0;
  for (const ObservedTerm& t : o.terms) sum += t.time.value();
  EXPECT_NEAR(sum, o.step_time.value(), 1e-9);  // one step: each median is that step's
  EXPECT_GT(o.peak_memory, bytes(0));
  EXPECT_GT(o.loss, 0.0);
}

TEST(TrialRanks, RanksThatALayoutDoesNotNeedStayIdle) {
  Machine& m = machine();
  const Observation o = run_trial(small_model(), small_job(), Layout{}, *m.compute, *m.world,
                                  {.warmup_steps = 0, .steps = 2});
  EXPECT_TRUE(o.complete);
  EXPECT_EQ(o.ranks, 1);
  if (m.world->rank() == 0) {
    EXPECT_EQ(o.steps, 2);
  }
  EXPECT_TRUE(o.counted.empty());
}

TEST(TrialRanks, TrainingLowersTheLoss) {
  Machine& m = machine();
  const Layout l = layouts_of(m.world->size()).front();
  TrialOptions options{.warmup_steps = 0, .steps = 1};
  const double first = run_trial(small_model(), small_job(), l, *m.compute, *m.world, options).loss;
  options.steps = 20;
  const double last = run_trial(small_model(), small_job(), l, *m.compute, *m.world, options).loss;
  EXPECT_LT(last, 0.98 * first);
}

}  // namespace
}  // namespace meshwright::calibrate
