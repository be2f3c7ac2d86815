// SPDX-License-Identifier: Apache-2.0
// The routed experts of a layer: router, dispatch, this rank's experts (or its pieces of them),
// combine.
//
// A copy's weight travels with it and multiplies what the activation puts out (Megatron-LM
// moe/experts.py), so that what comes back is only added up.
#pragma once

#include <deque>
#include <string>

#include "calibrate/trial/layer/linear.h"
#include "calibrate/trial/layer/routing.h"
#include "calibrate/trial/ranks/token_exchange.h"
#include "calibrate/trial/ranks/token_gather.h"

namespace meshwright::calibrate {

struct ExpertsSaved {
  std::shared_ptr<const TokenRoutes> routes;
  Tensor route_probabilities;  // of the experts that the tokens chose
  // Where all tokens are gathered the host routes them, too.
  Routes host_routes;
  std::vector<std::int32_t> choices;  // of the copies, into the routes
  GatheredRows gathered;
  ExchangePlan plan;                // where all tokens are gathered only of_expert
  Tensor logits;                    // then their gradient
  Tensor tokens;                    // rows that the experts here got
  Tensor probabilities;             // of them
  Tensor fc1, clamped, activation;  // clamped: empty where the model does not clamp
};

// A backward pass on its way, from part to part.
struct ExpertsBackward {
  Tensor dout;            // of what this rank's experts put out, row by row
  Tensor dprobabilities;  // of the rows
  Tensor dtokens;         // of the rows
  Tensor dx;              // of this rank's tokens
  Tensor droutes;         // of the routes' probabilities
};

// Tells whether the host decides which copies leave: to drop the least likely ones where experts
// have a capacity, or to gather all tokens. It then waits for the router in every layer.
bool host_routes_tokens(const Model& model, const Layout& layout);

class Experts {
 public:
  Experts(const TrialContext& context, ParameterStore& store, const std::string& name);

  // The parts of a forward pass, in this order. x: this rank's tokens, local_rows x hidden.
  void route(const Tensor& x, ExpertsSaved& saved) const;
  void dispatch(const Tensor& x, ExpertsSaved& saved, Phase phase) const;
  // Rows of what this rank's experts put out.
  [[nodiscard]] Tensor compute(ExpertsSaved& saved) const;
  // The tokens' sums of what came back.
  [[nodiscard]] Tensor combine(Tensor out, const ExpertsSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor forward(const Tensor& x, ExpertsSaved& saved, Phase phase) const;

  // An inference engine's pass: every tensor rank has all tokens, expert ranks are among them, and
  // one all-reduce sums what each rank's experts, or its pieces of them, put out. `shared`: this
  // rank's part of the shared expert's output; empty: there is none. The layout's dispatcher is
  // allgather, so that the router sends nothing.
  [[nodiscard]] Tensor forward_replicated(const Tensor& x, Tensor shared) const;

  // The parts of a backward pass, in this order; the last gives the gradient of x.
  void combine_gradient(const Tensor& dy, const ExpertsSaved& saved, ExpertsBackward& pass) const;
  void compute_backward(ExpertsSaved& saved, ExpertsBackward& pass) const;
  void dispatch_gradient(const ExpertsSaved& saved, ExpertsBackward& pass) const;
  [[nodiscard]] Tensor route_backward(const Tensor& x, ExpertsSaved& saved,
                                      ExpertsBackward& pass) const;

 private:
  struct Expert {
    Parameter *fc1, *fc1_bias, *fc2, *fc2_bias;  // biases: null where there are none
  };
  // Rows of one expert among those that came here.
  struct Rows {
    std::int64_t begin, count;
  };

  void add_expert(ParameterStore& store, const std::string& name);
  // Routes that an earlier layer or micro-batch found; null: there are none.
  [[nodiscard]] bool keeps_routes() const;
  [[nodiscard]] std::shared_ptr<const TokenRoutes> known_routes() const;
  // The experts that tokens choose.
  [[nodiscard]] Tensor chosen_experts(const Tensor& logits) const;
  // Finds the order of the copies, and where they go.
  void order(ExpertsSaved& saved, TokenRoutes& routes) const;
  void order_on_device(TokenRoutes& routes) const;
  void order_on_host(ExpertsSaved& saved, TokenRoutes& routes) const;
  void send_probabilities(ExpertsSaved& saved, Phase phase) const;
  // Of the copies of all tokens, those of the experts here.
  void take_own_copies(ExpertsSaved& saved) const;
  // Gathers all tokens, if each rank gets all of them.
  void gather(const Tensor& x, ExpertsSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor gathered_route_gradients(const ExpertsSaved& saved,
                                                const Tensor& dprobabilities) const;
  // Rows of the tokens for each copy that leaves, and the sum of a token's copies on the way back.
  [[nodiscard]] Tensor copies_of_tokens(const Tensor& x, const ExpertsSaved& saved) const;
  [[nodiscard]] Tensor sums_of_copies(const Tensor& copies, const ExpertsSaved& saved) const;
  template <typename Visit>
  void for_each_expert(const ExpertsSaved& saved, const Visit& visit) const;
  // fc1 with its bias between the model's limits, where it has any.
  void clamp(ExpertsSaved& saved) const;
  // activation(fc1), times the probabilities where `weighted`.
  [[nodiscard]] Tensor activated(const ExpertsSaved& saved, bool weighted) const;
  // Into an expert's rows of dfc1.
  void activation_backward(const ExpertsSaved& saved, const Expert& expert, Rows rows,
                           const Tensor& dactivation, const Tensor& dfc1) const;
  // y += probabilities * bias.
  void add_output_bias(const Expert& expert, const float* probabilities, float* y,
                       std::int64_t rows) const;
  void output_bias_backward(const Expert& expert, const float* dout, const float* probabilities,
                            float* dprobabilities, std::int64_t rows) const;
  [[nodiscard]] Tensor whole_bias(const Expert& expert) const;

  const TrialContext& context_;
  const MixtureOfExperts& moe_;
  std::int64_t cols_;  // of an expert's hidden layer on this rank
  float limit_;        // of gates and values, where they are clamped; 0: they are not
  Parameter& router_;
  Parameter* router_bias_ = nullptr;
  std::deque<Expert> experts_;
};

}  // namespace meshwright::calibrate
