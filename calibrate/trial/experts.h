// SPDX-License-Identifier: Apache-2.0
// The routed experts of a layer: router, dispatch, this rank's experts (or its pieces of them),
// combine.
//
// A copy's weight travels with it and multiplies what the activation puts out (Megatron-LM
// moe/experts.py), so that what comes back is only added up.
#pragma once

#include <deque>
#include <string>

#include "calibrate/trial/linear.h"
#include "calibrate/trial/routing.h"
#include "calibrate/trial/token_exchange.h"
#include "calibrate/trial/token_gather.h"

namespace meshwright::calibrate {

struct ExpertsSaved {
  Routes routes;
  std::vector<std::int32_t> choices;  // of the copies, into the routes
  ExchangePlan plan;                  // where all tokens are gathered only of_expert
  GatheredRows gathered;              // then
  Tensor logits;                      // then their gradient
  Tensor tokens_sent;                 // of each copy that leaves, its token; -1: an empty place
  Tensor tokens;                      // rows that the experts here got
  Tensor probabilities;               // of them
  Tensor fc1, clamped, activation;    // clamped: empty where the model does not clamp
};

class Experts {
 public:
  Experts(const TrialContext& context, ParameterStore& store, const std::string& name);

  // x: this rank's tokens, local_rows x hidden.
  [[nodiscard]] Tensor forward(const Tensor& x, ExpertsSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor backward(const Tensor& dy, const Tensor& x, ExpertsSaved& saved) const;

 private:
  struct Expert {
    Parameter *fc1, *fc1_bias, *fc2, *fc2_bias;  // biases: null where there are none
  };
  // Rows of one expert among those that came here.
  struct Rows {
    std::int64_t begin, count;
  };

  void add_expert(ParameterStore& store, const std::string& name);
  void route(const Tensor& x, ExpertsSaved& saved) const;
  void send_probabilities(ExpertsSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor forward_gathered(const Tensor& x, ExpertsSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor backward_gathered(const Tensor& dy, const Tensor& x,
                                         ExpertsSaved& saved) const;
  template <typename Visit>
  void for_each_expert(const ExpertsSaved& saved, const Visit& visit) const;
  // fc1 with its bias between the model's limits, where it has any.
  void clamp(ExpertsSaved& saved) const;
  // activation(fc1), times the probabilities where `weighted`.
  [[nodiscard]] Tensor activated(const ExpertsSaved& saved, bool weighted) const;
  [[nodiscard]] Tensor experts_forward(ExpertsSaved& saved) const;
  // Into an expert's rows of dfc1.
  void activation_backward(const ExpertsSaved& saved, const Expert& expert, Rows rows,
                           const Tensor& dactivation, const Tensor& dfc1) const;
  [[nodiscard]] Tensor experts_backward(const Tensor& dout, ExpertsSaved& saved,
                                        const Tensor& dprobabilities) const;
  // y += probabilities * bias.
  void add_output_bias(const Expert& expert, const float* probabilities, float* y,
                       std::int64_t rows) const;
  void output_bias_backward(const Expert& expert, const float* dout, const float* probabilities,
                            float* dprobabilities, std::int64_t rows) const;
  [[nodiscard]] Tensor whole_bias(const Expert& expert) const;
  [[nodiscard]] Tensor zeros_of_rows(const ExpertsSaved& saved) const;
  // dprobabilities: of the routes.
  void route_backward(const Tensor& x, const std::vector<float>& dprobabilities,
                      ExpertsSaved& saved, const Tensor& dx) const;

  const TrialContext& context_;
  const MixtureOfExperts& moe_;
  std::int64_t cols_;  // of an expert's hidden layer on this rank
  float limit_;        // of gates and values, where they are clamped; 0: they are not
  Parameter& router_;
  Parameter* router_bias_ = nullptr;
  std::deque<Expert> experts_;
};

}  // namespace meshwright::calibrate
