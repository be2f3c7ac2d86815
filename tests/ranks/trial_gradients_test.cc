// SPDX-License-Identifier: Apache-2.0
// The gradients of one rank's run, which the other tests trust.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ranks/some_layouts.h"

namespace meshwright::calibrate {
namespace {

// D(e) = (loss(w + e d) - loss(w - e d)) / 2e is <gradient, d> + c e^2 + O(e^4), so (4 D(e/2) -
// D(e)) / 3 is <gradient, d> + O(e^4). For whole tensors and two directions: the gradient's own
// signs, and signs of which a quarter are the other way.
class Differences {
 public:
  Differences(const Model& model, const Layout& layout)
      : alone_(machine().world->split(machine().world->rank(), 0)),
        step_(model, small_job(), layout, *machine().compute, *alone_,
              {.learning_rate = 0.0F, .seed = kOptions.seed, .poison_memory = true}) {
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

TEST(TrialGradients, GradientsOnOneRankAreTheDifferencesOfTheLoss) {
  if (machine().world->size() > 1) GTEST_SKIP() << "one rank is enough";
  int turn = 0;
  const auto check = [&turn](const Model& model) {
    if (turn++ % every() == 0) Differences(model, Layout{}).expect_all();
  };
  check(small_model());
  Model other = small_model();
  other.tied_embeddings = false;
  check(other);
  check(small_llama());
  check(small_multi_query());
  check(small_qwen());
  check(small_moe());
  check(small_mla());
  check(small_window());
  check(small_moe_with_capacity());
  Model clamps = small_gpt_oss();
  clamps.num_layers = 2;
  clamps.activation_func_clamp_value = 0.25;  // few numbers come near enough to cross it
  check(clamps);
  Model predicts = small_mtp();
  predicts.num_layers = 1;
  check(predicts);
  Model tied = predicting(small_multi_query());
  tied.num_layers = 1;
  check(tied);
  Model smooth = plain_mlp();  // a ReLU has no slope at its corner
  smooth.activation = Activation::gelu;
  check(smooth);
}

}  // namespace
}  // namespace meshwright::calibrate
