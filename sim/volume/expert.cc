// SPDX-License-Identifier: Apache-2.0
// The calls of a mixture-of-experts layer, as Megatron-LM's token dispatchers make them
// (core/transformer/moe/token_dispatcher.py). PyTorch's probabilities stay where they are
// (torchtitan 0.3.0, models/common/token_dispatcher.py).
#include "sim/block/transfer_names.h"
#include "sim/model/routing.h"
#include "sim/volume/parts.h"

namespace meshwright {
namespace {

using transfer_names::kExperts;
namespace names = transfer_names;

class ExpertLedger {
  // Returns a function that adds a call of a group; no other communication runs at that time.
  auto calls_between(Group group, int size) {
    return [this, group, size](std::string_view name, Collective collective, Phase phase,
                               double times, Bytes payload, std::string_view formula) {
      add({.name = name,
           .group = group,
           .collective = collective,
           .phase = phase,
           .group_size = size,
           .times_per_step = times,
           .payload = payload,
           .formula = formula});
    };
  }

 public:
  ExpertLedger(Ledger& ledger, const VolumeScope& scope, double forward, double recompute)
      : ledger_(ledger), scope_(scope), forward_(forward), recompute_(recompute) {}

  // Tokens go to their experts and come back; the gradients take the same ways.
  void exchange() {
    switch (scope_.layout.moe_token_dispatcher_type) {
      case MoeTokenDispatcherType::allgather:
        return gather();
      case MoeTokenDispatcherType::alltoall:
        return send_each();
      case MoeTokenDispatcherType::flex:
        return send_once();
    }
  }

  // Experts cut over etp ranks: each sees the tokens of all of them. Where all tokens are gathered,
  // that was done so.
  void share_between_tensor_ranks() {
    if (scope_.layout.moe_token_dispatcher_type == MoeTokenDispatcherType::allgather) return;
    const int size = expert_tensor_size(scope_.layout);
    if (uses_dtensor(scope_.layout) && scope_.layout.expert_parallel_size == 1) {
      return share_hidden(size);
    }
    const Bytes tokens = rows(copies()) * size;
    const auto send = calls_between(Group::expert_tensor, size);
    const auto call = [&](std::string_view name, Collective collective, Phase phase, double times) {
      send(name, collective, phase, times, tokens, "etp*b*s*topk*h*w/(c*t)");
    };
    using enum Collective;
    call(names::kExpertInputGather, all_gather, Phase::forward, forward_);
    call(names::kExpertInputGather, all_gather, Phase::recompute, recompute_);
    call(names::kExpertInputGradientScatter, reduce_scatter, Phase::backward, forward_);
    call(names::kExpertOutputScatter, reduce_scatter, Phase::forward, forward_);
    call(names::kExpertOutputScatter, reduce_scatter, Phase::recompute, recompute_);
    call(names::kExpertOutputGradientGather, all_gather, Phase::backward, forward_);
    if (!sends_probabilities()) return;
    const Bytes probabilities = bytes(copies() * probability_bytes()) * size;
    const auto weigh = [&](std::string_view name, Collective collective, Phase phase,
                           double times) {
      send(name, collective, phase, times, probabilities, "etp*b*s*topk*p/(c*t)");
    };
    weigh(names::kExpertProbabilityGather, all_gather, Phase::forward, forward_);
    weigh(names::kExpertProbabilityGather, all_gather, Phase::recompute, recompute_);
    weigh(names::kExpertProbabilityGradientScatter, reduce_scatter, Phase::backward, forward_);
  }

 private:
  // Each copy of a token to its expert's rank, with its probability.
  void send_each() {
    const Bytes tokens = rows(copies());
    both_ways(kExperts.dispatch, kExperts.dispatch_gradient, tokens, tokens, "b*s*topk*h*w/(c*t)");
    if (sends_probabilities()) {
      const Bytes probabilities = bytes(copies() * probability_bytes());
      both_ways(transfer_names::kRouterProbability, transfer_names::kRouterProbabilityGradient,
                probabilities, probabilities, "b*s*topk*p/(c*t)");
    }
    if (scope_.model.moe->moe_expert_capacity_factor == 0) count_tokens();
    both_ways(kExperts.combine, kExperts.combine_gradient, tokens, tokens, "b*s*topk*h*w/(c*t)");
  }

  // Ranks tell each other how many tokens each expert gets, in 64-bit integers: under Megatron-LM
  // all ranks with a piece of an expert.
  void count_tokens() {
    const bool each = uses_dtensor(scope_.layout);
    const int ranks =
        scope_.layout.expert_parallel_size * (each ? 1 : expert_tensor_size(scope_.layout));
    const Bytes counts = bytes(8.0 * scope_.model.moe->num_moe_experts) * (each ? 1 : ranks);
    for (const auto& [phase, times] :
         {std::pair{Phase::forward, forward_}, std::pair{Phase::recompute, recompute_}}) {
      Transfer call =
          exchange_call(names::kTokenCounts, each ? Collective::all_to_all : Collective::all_gather,
                        phase, times, counts, each ? "E*8" : "e*etp*E*8");
      call.group_size = ranks;
      if (scope_.layout.expert_parallel_size > 1) add(call);
    }
  }

  // Experts cut over the tensor ranks under DTensor: the layer's input is gathered once for router
  // and experts, the sum of a token's experts is scattered. A shared expert gathers for both.
  void share_hidden(int size) {
    const Layout& layout = scope_.layout;
    const Bytes hidden = scope_.activation(scope_.model.hidden_size);
    const auto send = calls_between(Group::expert_tensor, size);
    const auto call = [&](std::string_view name, Collective collective, Phase phase, double times) {
      send(name, collective, phase, times, hidden, names::kHiddenFormula);
    };
    using enum Collective;
    if (scope_.model.moe->moe_shared_expert_intermediate_size == 0) {
      call(names::kExpertInputGather, all_gather, Phase::forward, forward_);
      call(names::kExpertInputGather, all_gather, Phase::recompute,
           op_gathers_again(layout) ? forward_ : recompute_);
      call(names::kExpertInputGradientScatter, reduce_scatter, Phase::backward, forward_);
    }
    call(names::kExpertOutputScatter, reduce_scatter, Phase::forward, forward_);
    call(names::kExpertOutputScatter, reduce_scatter, Phase::recompute, recompute_);
    call(names::kExpertOutputGradientGather, all_gather, Phase::backward, forward_);
  }

  // One copy of a token to each rank with experts of it; what crosses between nodes is fewer.
  void send_once() {
    routing_ = routing_of(*scope_.model.moe);
    const double copies =
        own_tokens() * places_of_token(routing_, scope_.layout.expert_parallel_size);
    both_ways(kExperts.dispatch, kExperts.dispatch_gradient,
              sent(copies, scope_.job.moe_dispatch_fwd_dtype), rows(copies), "b*s*r*h*w/(c*t)");
    both_ways(kExperts.combine, kExperts.combine_gradient, rows(copies),
              sent(copies, scope_.job.moe_combine_bwd_dtype), "b*s*r*h*w/(c*t)");
  }

  // All tokens to all ranks, with a map and probabilities of all experts; outputs are added up in
  // the probabilities' format. Megatron-LM has one ring over e x etp ranks. Here the expert ranks
  // gather first and then the ranks with pieces of their experts, which sends the same bytes:
  // (e - 1) T + (etp - 1) e T = (e etp - 1) T.
  void gather() {
    const int experts = scope_.layout.expert_parallel_size;
    const int pieces = expert_tensor_size(scope_.layout);
    double tokens = own_tokens() * experts;
    gather_between(Group::expert, experts, tokens,
                   {"e*b*s*h*w/(c*t)", "e*b*s*E/(c*t)", "e*b*s*E*p/(c*t)", "e*b*s*h*p/(c*t)"});
    tokens *= pieces;
    gather_between(
        Group::expert_tensor, pieces, tokens,
        {"etp*e*b*s*h*w/(c*t)", "etp*e*b*s*E/(c*t)", "etp*e*b*s*E*p/(c*t)", "etp*e*b*s*h*p/(c*t)"});
  }

  struct GatherFormulas {
    std::string_view rows, map, probabilities, outputs;
  };
  // `tokens`: that the ranks of the group have together.
  void gather_between(Group group, int size, double tokens, const GatherFormulas& formulas) {
    using enum Collective;
    const double entries = tokens * scope_.model.moe->num_moe_experts;
    const Bytes outputs = bytes(tokens * width() * probability_bytes());
    const auto call = calls_between(group, size);
    for (const auto& [phase, times] :
         {std::pair{Phase::forward, forward_}, std::pair{Phase::recompute, recompute_}}) {
      call(names::kRoutingMapGather, all_gather, phase, times, bytes(entries), formulas.map);
      call(names::kExpertProbabilityGather, all_gather, phase, times,
           bytes(entries * probability_bytes()), formulas.probabilities);
      call(names::kGatheredExperts.dispatch, all_gather, phase, times, rows(tokens), formulas.rows);
      call(names::kGatheredExperts.combine, reduce_scatter, phase, times, outputs,
           formulas.outputs);
    }
    call(names::kGatheredExperts.combine_gradient, all_gather, Phase::backward, forward_, outputs,
         formulas.outputs);
    call(names::kGatheredExperts.dispatch_gradient, reduce_scatter, Phase::backward, forward_,
         rows(tokens), formulas.rows);
    call(names::kExpertProbabilityGradientScatter, reduce_scatter, Phase::backward, forward_,
         bytes(entries * probability_bytes()), formulas.probabilities);
  }

  [[nodiscard]] double width() const {
    return static_cast<double>(expert_hidden_size(scope_.model));
  }
  // Bytes of a router's probability, which weighs what an expert puts out.
  [[nodiscard]] double probability_bytes() const {
    return scope_.job.moe_router_fp32 ? 4.0 : activation_bytes(scope_.job.precision);
  }
  [[nodiscard]] bool sends_probabilities() const {
    return scope_.layout.moe_token_dispatcher_type == MoeTokenDispatcherType::alltoall &&
           !uses_dtensor(scope_.layout);
  }
  // Experts under tensor parallelism need sequence parallelism, which cuts the tokens by t.
  [[nodiscard]] double own_tokens() const {
    return scope_.tokens() / scope_.layout.tensor_parallel_size;
  }
  // Token copies that one rank dispatches. With a capacity factor every expert's buffer is filled
  // up to it.
  [[nodiscard]] double copies() const {
    const MixtureOfExperts& moe = *scope_.model.moe;
    const double capacity =
        moe.moe_expert_capacity_factor > 0 ? moe.moe_expert_capacity_factor : 1.0;
    return own_tokens() * moe.moe_router_topk * capacity;
  }
  [[nodiscard]] Bytes rows(double count) const {
    return bytes(count * width() * activation_bytes(scope_.job.precision));
  }

  // In fp8 with the scales of blocks: a byte for 32 numbers, or four for 128.
  [[nodiscard]] Bytes sent(double count, Precision format) const {
    if (format != Precision::fp8) return rows(count);
    return bytes(count * width() * (1.0 + 1.0 / 32));
  }

  void both_ways(std::string_view name, std::string_view gradient_name, Bytes payload,
                 Bytes gradient, std::string_view formula) {
    const auto call = [&](std::string_view which, Phase phase, double times, Bytes each) {
      add(exchange_call(which, Collective::all_to_all, phase, times, each, formula));
    };
    call(name, Phase::forward, forward_, payload);
    call(name, Phase::recompute, recompute_, payload);
    call(gradient_name, Phase::backward, forward_, gradient);
  }

  [[nodiscard]] Transfer exchange_call(std::string_view name, Collective collective, Phase phase,
                                       double times, Bytes payload,
                                       std::string_view formula) const {
    return {.name = name,
            .group = Group::expert,
            .collective = collective,
            .phase = phase,
            .group_size = scope_.layout.expert_parallel_size,
            .times_per_step = times,
            .payload = payload,
            .overlappable = travels_beside(name),
            .formula = formula,
            .routing = routing_};
  }

  // Two micro-batches at once hide what they send each other's experts; a shared expert hides its
  // own micro-batch's tokens.
  [[nodiscard]] bool travels_beside(std::string_view name) const {
    const Layout& layout = scope_.layout;
    const bool rows_of_tokens = name == kExperts.dispatch || name == kExperts.dispatch_gradient ||
                                name == kExperts.combine || name == kExperts.combine_gradient;
    const bool shared = layout.moe_shared_expert_overlap &&
                        scope_.model.moe->moe_shared_expert_intermediate_size > 0;
    return rows_of_tokens && (layout.overlap_moe_expert_parallel_comm || shared);
  }

  void add(const Transfer& transfer) { ledger_.add(transfer); }

  Ledger& ledger_;
  const VolumeScope& scope_;
  double forward_;
  double recompute_;
  Routing routing_;
};

}  // namespace

void add_expert_transfers(Ledger& ledger, const VolumeScope& scope, const UnitCounts& calls) {
  if (!scope.model.moe) return;
  const bool by_op = recomputes_module(scope.layout, kRecomputeOp);
  const bool again = recomputes_module(scope.layout, kRecomputeMoe) ||
                     (by_op && scope.layout.tensor_engine != TensorEngine::dtensor);
  const double layers = calls.layers.experts();
  ExpertLedger experts(ledger, scope, layers, again ? layers : calls.recomputed.experts());
  experts.exchange();
  experts.share_between_tensor_ranks();
}

}  // namespace meshwright
