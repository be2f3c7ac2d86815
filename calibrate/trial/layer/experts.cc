// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/experts.h"

#include <fmt/format.h>

#include <utility>

#include "calibrate/trial/layer/mlp.h"
#include "calibrate/trial/layer/product.h"

namespace meshwright::calibrate {
namespace {

using transfer_names::kExpertInputGather;
using transfer_names::kExpertInputGradientScatter;
using transfer_names::kExpertOutputGradientGather;
using transfer_names::kExpertOutputScatter;
using transfer_names::kExpertProbabilityGather;
using transfer_names::kExpertProbabilityGradientScatter;
using transfer_names::kExperts;
using transfer_names::kGatheredExperts;
using transfer_names::kRouterProbability;
using transfer_names::kRouterProbabilityGradient;

constexpr ExchangeNames kDispatch{kExperts.dispatch, kExpertInputGather};
constexpr ExchangeNames kProbability{kRouterProbability, kExpertProbabilityGather};
constexpr ExchangeNames kCombine{kExperts.combine, kExpertOutputScatter};
constexpr ExchangeNames kCombineGradient{kExperts.combine_gradient, kExpertOutputGradientGather};
constexpr ExchangeNames kDispatchGradient{kExperts.dispatch_gradient, kExpertInputGradientScatter};
constexpr ExchangeNames kProbabilityGradient{kRouterProbabilityGradient,
                                             kExpertProbabilityGradientScatter};

Parameter router_parameter(const TrialContext& context, const std::string& name,
                           std::int64_t rows) {
  Parameter p;
  p.name = name;
  p.rows = p.local_rows = rows;
  p.cols = p.local_cols = context.model.moe->num_moe_experts;
  p.partial_gradient = context.layout.sequence_parallel;
  return p;
}

// Only gated activations have a limit (Megatron-LM transformer_config.py).
float limit_of(const Model& model) {
  return is_gated(model.activation) ? static_cast<float>(model.activation_func_clamp_value) : 0.0F;
}

template <typename Number>
Tensor uploaded(const TrialContext& context, const std::vector<Number>& values) {
  static_assert(sizeof(Number) == sizeof(float));
  Tensor device = context.tensor(static_cast<std::int64_t>(values.size()));
  context.compute.upload(device.data(), values.data(), device.size());
  context.compute.synchronize();
  return device;
}

}  // namespace

Experts::Experts(const TrialContext& context, ParameterStore& store, const std::string& name)
    : context_(context),
      moe_(*context.model.moe),
      cols_(moe_.moe_ffn_hidden_size / expert_tensor_size(context.layout)),
      limit_(limit_of(context.model)),
      router_(store.add(router_parameter(context, name + ".router.weight", context.hidden()))) {
  if (moe_.moe_router_bias) {
    Parameter p = router_parameter(context, name + ".router.bias", 1);
    p.init = Init::bias;
    router_bias_ = &store.add(std::move(p));
  }
  const int here = moe_.num_moe_experts / context.layout.expert_parallel_size;
  const int first = context.groups.expert.rank() * here;
  for (int e = first; e < first + here; ++e) add_expert(store, fmt::format("{}.{}", name, e));
}

// fc1's columns and fc2's rows are cut over the expert-tensor ranks; of fc2's bias each rank adds
// its columns.
void Experts::add_expert(ParameterStore& store, const std::string& name) {
  const int pieces = expert_tensor_size(context_.layout);
  const std::int64_t piece = context_.groups.expert_tensor.rank(), h = context_.hidden();
  Parameter fc1;
  fc1.name = name + ".fc1.weight";
  fc1.expert = true;
  fc1.rows = fc1.local_rows = h;
  fc1.blocks = mlp_inputs(context_.model);
  fc1.cols = moe_.moe_ffn_hidden_size;
  fc1.local_cols = cols_;
  fc1.first_col = cols_ * piece;
  Parameter fc2;
  fc2.name = name + ".fc2.weight";
  fc2.expert = true;
  fc2.rows = moe_.moe_ffn_hidden_size;
  fc2.local_rows = cols_;
  fc2.first_row = cols_ * piece;
  fc2.cols = fc2.local_cols = h;
  Expert expert{&store.add(fc1), nullptr, &store.add(fc2), nullptr};
  if (moe_.moe_expert_bias) {
    fc1.name = name + ".fc1.bias";
    fc1.init = fc2.init = Init::bias;
    fc1.rows = fc1.local_rows = 1;
    expert.fc1_bias = &store.add(fc1);
    fc2.name = name + ".fc2.bias";
    fc2.rows = fc2.local_rows = 1;
    fc2.first_row = 0;
    fc2.local_cols = h / pieces;
    fc2.first_col = fc2.local_cols * piece;
    expert.fc2_bias = &store.add(fc2);
  }
  experts_.push_back(expert);
}

// An empty place is none of the routes, and gets zero.
void Experts::send_probabilities(ExpertsSaved& saved, Phase phase) const {
  Tensor own = context_.tensor(saved.plan.copies);
  context_.compute.embedding_forward(saved.routes->order.integers(),
                                     saved.route_probabilities.data(), own.data(),
                                     saved.plan.copies, 0, saved.route_probabilities.count(), 1);
  saved.probabilities = to_experts(context_, saved.plan, std::move(own), 1, kProbability, phase);
}

void Experts::gather(const Tensor& x, ExpertsSaved& saved, Phase phase) const {
  RouteTable table(context_.local_rows(), moe_.num_moe_experts);
  for (const std::int32_t choice : saved.choices) {
    if (choice == kEmptyPlace) continue;
    const auto i = static_cast<std::size_t>(choice);
    table.set(choice / moe_.moe_router_topk, saved.host_routes.experts[i],
              saved.host_routes.probabilities[i]);
  }
  saved.gathered = gathered_rows(context_, table, phase);
  saved.plan.of_expert = saved.gathered.of_expert;
  saved.probabilities = uploaded(context_, saved.gathered.probabilities);
  saved.tokens = rows_of_tokens(context_, saved.gathered, x, kGatheredExperts.dispatch, phase);
}

Tensor Experts::copies_of_tokens(const Tensor& x, const ExpertsSaved& saved) const {
  const std::int64_t h = context_.hidden();
  Tensor copies = context_.tensor(saved.plan.copies * h);
  context_.compute.embedding_forward(saved.routes->tokens_sent.integers(), x.data(), copies.data(),
                                     saved.plan.copies, 0, context_.local_rows(), h);
  return copies;
}

Tensor Experts::sums_of_copies(const Tensor& copies, const ExpertsSaved& saved) const {
  const std::int64_t tokens = context_.local_rows(), h = context_.hidden();
  Tensor sums = context_.tensor(tokens * h);
  context_.compute.fill_zero(sums.data(), sums.size());
  context_.compute.embedding_backward(saved.routes->tokens_sent.integers(), copies.data(),
                                      sums.data(), saved.plan.copies, 0, tokens, h);
  return sums;
}

void Experts::dispatch(const Tensor& x, ExpertsSaved& saved, Phase phase) const {
  if (gathers_tokens(context_.layout)) return gather(x, saved, phase);
  saved.tokens = to_experts(context_, saved.plan, copies_of_tokens(x, saved), context_.hidden(),
                            kDispatch, phase);
  send_probabilities(saved, phase);
}

Tensor Experts::combine(Tensor out, const ExpertsSaved& saved, Phase phase) const {
  if (gathers_tokens(context_.layout)) {
    return tokens_of_rows(context_, saved.gathered, std::move(out), kGatheredExperts.combine,
                          phase);
  }
  return sums_of_copies(
      from_experts(context_, saved.plan, std::move(out), context_.hidden(), kCombine, phase),
      saved);
}

Tensor Experts::forward(const Tensor& x, ExpertsSaved& saved, Phase phase) const {
  route(x, saved);
  dispatch(x, saved, phase);
  return combine(compute(saved), saved, phase);
}

void Experts::take_own_copies(ExpertsSaved& saved) const {
  const auto here = static_cast<std::int32_t>(experts_.size());
  const std::int32_t first = context_.groups.expert.rank() * here;
  std::vector<std::int32_t> tokens;
  std::vector<float> probabilities;
  saved.plan.of_expert.assign(experts_.size(), 0);
  for (const std::int32_t choice : saved.choices) {
    const auto i = static_cast<std::size_t>(choice);
    const std::int32_t expert = saved.host_routes.experts[i] - first;
    if (expert < 0 || expert >= here) continue;
    ++saved.plan.of_expert[static_cast<std::size_t>(expert)];
    tokens.push_back(choice / moe_.moe_router_topk);
    probabilities.push_back(saved.host_routes.probabilities[i]);
  }
  saved.plan.copies = static_cast<std::int64_t>(tokens.size());
  if (tokens.empty()) return;
  const auto own = std::make_shared<TokenRoutes>();
  own->tokens_sent = uploaded(context_, tokens);
  saved.routes = own;
  saved.probabilities = uploaded(context_, probabilities);
}

Tensor Experts::forward_replicated(const Tensor& x, Tensor shared) const {
  ExpertsSaved saved;
  route(x, saved);
  take_own_copies(saved);
  Tensor sums;
  if (saved.plan.copies > 0) {
    saved.tokens = copies_of_tokens(x, saved);
    sums = sums_of_copies(compute(saved), saved);
  } else {
    sums = context_.tensor(x.count());
    context_.compute.fill_zero(sums.data(), sums.size());
  }
  if (!shared.empty()) {
    context_.compute.add(sums.data(), shared.data(), sums.data(), sums.count());
  }
  context_.groups.tensor.all_reduce(transfer_names::kExpertOutputAllReduce, Phase::forward,
                                    sums.data(), sums.count());
  return sums;
}

void Experts::combine_gradient(const Tensor& dy, const ExpertsSaved& saved,
                               ExpertsBackward& pass) const {
  if (gathers_tokens(context_.layout)) {
    pass.dout = rows_of_tokens(context_, saved.gathered, dy, kGatheredExperts.combine_gradient,
                               Phase::backward);
  } else {
    pass.dout = to_experts(context_, saved.plan, copies_of_tokens(dy, saved), context_.hidden(),
                           kCombineGradient, Phase::backward);
  }
}

Tensor Experts::gathered_route_gradients(const ExpertsSaved& saved,
                                         const Tensor& dprobabilities) const {
  const std::vector<float> table =
      table_of_rows(context_, saved.gathered, dprobabilities, moe_.num_moe_experts,
                    kExpertProbabilityGradientScatter);
  const auto topk = static_cast<std::size_t>(moe_.moe_router_topk);
  const auto experts = static_cast<std::size_t>(moe_.num_moe_experts);
  std::vector<float> of_routes(saved.host_routes.experts.size(), 0.0F);
  for (const std::int32_t choice : saved.choices) {
    if (choice == kEmptyPlace) continue;
    const auto i = static_cast<std::size_t>(choice);
    of_routes[i] =
        table[i / topk * experts + static_cast<std::size_t>(saved.host_routes.experts[i])];
  }
  return uploaded(context_, of_routes);
}

void Experts::dispatch_gradient(const ExpertsSaved& saved, ExpertsBackward& pass) const {
  if (gathers_tokens(context_.layout)) {
    pass.dx = tokens_of_rows(context_, saved.gathered, std::move(pass.dtokens),
                             kGatheredExperts.dispatch_gradient, Phase::backward);
    pass.droutes = gathered_route_gradients(saved, pass.dprobabilities);
    return;
  }
  pass.dx = sums_of_copies(from_experts(context_, saved.plan, std::move(pass.dtokens),
                                        context_.hidden(), kDispatchGradient, Phase::backward),
                           saved);
  const Tensor back = from_experts(context_, saved.plan, std::move(pass.dprobabilities), 1,
                                   kProbabilityGradient, Phase::backward);
  pass.droutes = context_.tensor(saved.route_probabilities.count());
  context_.compute.fill_zero(pass.droutes.data(), pass.droutes.size());
  context_.compute.embedding_backward(saved.routes->order.integers(), back.data(),
                                      pass.droutes.data(), saved.plan.copies, 0,
                                      pass.droutes.count(), 1);
}

}  // namespace meshwright::calibrate
