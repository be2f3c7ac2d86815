// SPDX-License-Identifier: Apache-2.0
// The router of a layer: which experts tokens go to, in which order their copies leave, and the
// gradient of its logits.
#include <utility>

#include "calibrate/trial/layer/experts.h"

namespace meshwright::calibrate {
namespace {

Tensor uploaded(const TrialContext& context, const std::vector<std::int32_t>& values) {
  Tensor device = context.tensor(static_cast<std::int64_t>(values.size()));
  context.compute.upload(device.data(), values.data(), device.size());
  context.compute.synchronize();
  return device;
}

std::vector<std::int32_t> downloaded_integers(const TrialContext& context, const Tensor& from) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(from.count()));
  context.compute.download(values.data(), from.data(), from.size());
  context.compute.synchronize();
  return values;
}

// What the host waits for and sorts, apart from the products of the forward pass.
constexpr std::string_view kRouting = "routing of tokens";

}  // namespace

bool host_routes_tokens(const Model& model, const Layout& layout) {
  return model.moe->moe_expert_capacity_factor > 0.0 || gathers_tokens(layout);
}

void Experts::route(const Tensor& x, ExpertsSaved& saved) const {
  const std::int64_t tokens = context_.local_rows();
  saved.logits = context_.tensor(tokens * moe_.num_moe_experts);
  forward_product(context_, tokens, x.data(), router_, saved.logits.data());
  if (router_bias_ != nullptr) {
    context_.compute.add_bias(saved.logits.data(), router_bias_->weight, tokens,
                              moe_.num_moe_experts);
  }
  saved.routes = known_routes();
  std::shared_ptr<TokenRoutes> found;
  if (saved.routes == nullptr) {
    found = std::make_shared<TokenRoutes>();
    found->chosen = chosen_experts(saved.logits);
    saved.routes = found;
  }
  saved.route_probabilities = context_.tensor(tokens * moe_.moe_router_topk);
  context_.compute.chosen_softmax(saved.logits.data(), saved.routes->chosen.integers(),
                                  saved.route_probabilities.data(), router_shape(moe_, tokens));
  if (found != nullptr) order(saved, *found);
  if (found != nullptr && keeps_routes()) {
    *context_.balanced = {tokens, context_.first_position, saved.routes};
  }
  saved.plan = saved.routes->plan;
}

bool Experts::keeps_routes() const {
  return context_.force_load_balancing && context_.balanced != nullptr &&
         !host_routes_tokens(context_.model, context_.layout);
}

std::shared_ptr<const TokenRoutes> Experts::known_routes() const {
  if (!keeps_routes()) return nullptr;
  const BalancedRoutes& kept = *context_.balanced;
  const bool same =
      kept.tokens == context_.local_rows() && kept.first_position == context_.first_position;
  return same ? kept.routes : nullptr;
}

void Experts::order(ExpertsSaved& saved, TokenRoutes& routes) const {
  const TermScope scope(context_.recorder, TermKind::host, kRouting);
  if (host_routes_tokens(context_.model, context_.layout)) {
    order_on_host(saved, routes);
  } else {
    order_on_device(routes);
  }
}

Tensor Experts::chosen_experts(const Tensor& logits) const {
  const std::int64_t tokens = context_.local_rows();
  if (context_.force_load_balancing) {
    std::vector<std::int64_t> positions;
    for (std::int64_t row = 0; row < tokens; ++row) positions.push_back(context_.position_of(row));
    return uploaded(context_, experts_in_turn(moe_, positions));
  }
  Tensor chosen = context_.tensor(tokens * moe_.moe_router_topk);
  context_.compute.top_k(logits.data(), chosen.integers(), router_shape(moe_, tokens));
  return chosen;
}

void Experts::order_on_device(TokenRoutes& routes) const {
  const std::int64_t copies = routes.chosen.count();
  routes.order = context_.tensor(copies);
  routes.tokens_sent = context_.tensor(copies);
  const Tensor counts = context_.tensor(moe_.num_moe_experts);
  context_.compute.order_by_expert(routes.chosen.integers(), routes.order.integers(),
                                   routes.tokens_sent.integers(), counts.integers(),
                                   router_shape(moe_, context_.local_rows()));
  const std::vector<std::int32_t> of_expert = downloaded_integers(context_, counts);
  routes.plan = exchange_plan(context_, {of_expert.begin(), of_expert.end()}, false);
}

void Experts::order_on_host(ExpertsSaved& saved, TokenRoutes& routes) const {
  saved.host_routes = {downloaded_integers(context_, routes.chosen),
                       downloaded(context_, saved.route_probabilities)};
  Copies copies = copies_of(moe_, saved.host_routes);
  saved.choices = std::move(copies.choices);
  if (gathers_tokens(context_.layout)) return;
  std::vector<std::int32_t> tokens_sent;
  for (const std::int32_t choice : saved.choices) {
    tokens_sent.push_back(choice == kEmptyPlace ? kEmptyPlace : choice / moe_.moe_router_topk);
  }
  routes.order = uploaded(context_, saved.choices);
  routes.tokens_sent = uploaded(context_, tokens_sent);
  routes.plan = exchange_plan(context_, copies.of_expert, moe_.moe_expert_capacity_factor > 0.0);
}

Tensor Experts::route_backward(const Tensor& x, ExpertsSaved& saved, ExpertsBackward& pass) const {
  const std::int64_t tokens = context_.local_rows();
  context_.compute.chosen_softmax_backward(saved.routes->chosen.integers(),
                                           saved.route_probabilities.data(), pass.droutes.data(),
                                           saved.logits.data(), router_shape(moe_, tokens));
  weight_gradient(context_, tokens, saved.logits.data(), x.data(), router_);
  if (router_bias_ != nullptr) {
    context_.compute.bias_backward(saved.logits.data(), router_bias_->gradient, tokens,
                                   moe_.num_moe_experts);
  }
  input_gradient(context_, tokens, saved.logits.data(), router_, pass.dx.data(), 1.0F);
  return std::move(pass.dx);
}

}  // namespace meshwright::calibrate
