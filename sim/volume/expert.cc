// SPDX-License-Identifier: Apache-2.0
// The calls of a mixture-of-experts layer, as Megatron-LM's all-to-all token dispatcher makes them
// (core/transformer/moe/token_dispatcher.py).
#include "sim/volume/parts.h"

namespace meshwright {
namespace {

class ExpertLedger {
 public:
  ExpertLedger(Ledger& ledger, const VolumeScope& scope, double forward, double recompute)
      : ledger_(ledger), scope_(scope), forward_(forward), recompute_(recompute) {}

  // Tokens go to their experts and come back; the gradients take the same ways. Each rank routes
  // its own tokens, with their fp32 probabilities.
  void exchange() {
    const Bytes tokens =
        bytes(copies() * scope_.model.hidden_size * activation_bytes(scope_.job.precision));
    const Bytes probabilities = bytes(copies() * bytes_per_element(Precision::fp32));
    both_ways("expert dispatch all-to-all", "expert dispatch gradient all-to-all", tokens,
              "b*s*topk*h*w/(c*t)");
    both_ways("router probability all-to-all", "router probability gradient all-to-all",
              probabilities, "b*s*topk*4/(c*t)");
    both_ways("expert combine all-to-all", "expert combine gradient all-to-all", tokens,
              "b*s*topk*h*w/(c*t)");
  }

  // Experts cut over etp ranks: each sees the tokens of all of them.
  void share_between_tensor_ranks() {
    const int size = expert_tensor_size(scope_.layout);
    const Bytes payload =
        bytes(copies() * scope_.model.hidden_size * activation_bytes(scope_.job.precision) * size);
    const auto call = [&](std::string_view name, Collective collective, Phase phase, double times) {
      add(name, Group::expert_tensor, size, collective, phase, times, payload,
          "etp*b*s*topk*h*w/(c*t)");
    };
    call("expert input all-gather", Collective::all_gather, Phase::forward, forward_);
    call("expert input all-gather", Collective::all_gather, Phase::recompute, recompute_);
    call("expert input gradient reduce-scatter", Collective::reduce_scatter, Phase::backward,
         forward_);
    call("expert output reduce-scatter", Collective::reduce_scatter, Phase::forward, forward_);
    call("expert output reduce-scatter", Collective::reduce_scatter, Phase::recompute, recompute_);
    call("expert output gradient all-gather", Collective::all_gather, Phase::backward, forward_);
  }

 private:
  // Token copies that one rank dispatches. With a capacity factor every expert's buffer is filled
  // up to it. Experts under tensor parallelism need sequence parallelism, which cuts the tokens by
  // t.
  [[nodiscard]] double copies() const {
    const MixtureOfExperts& moe = *scope_.model.moe;
    const double capacity =
        moe.moe_expert_capacity_factor > 0 ? moe.moe_expert_capacity_factor : 1.0;
    return scope_.tokens() / scope_.layout.tensor_parallel_size * moe.moe_router_topk * capacity;
  }

  void both_ways(std::string_view name, std::string_view gradient_name, Bytes payload,
                 std::string_view formula) {
    const auto call = [&](std::string_view which, Phase phase, double times) {
      add(which, Group::expert, scope_.layout.expert_parallel_size, Collective::all_to_all, phase,
          times, payload, formula);
    };
    call(name, Phase::forward, forward_);
    call(name, Phase::recompute, recompute_);
    call(gradient_name, Phase::backward, forward_);
  }

  void add(std::string_view name, Group group, int size, Collective collective, Phase phase,
           double times, Bytes payload, std::string_view formula) {
    ledger_.add({.name = name,
                 .group = group,
                 .collective = collective,
                 .phase = phase,
                 .group_size = size,
                 .times_per_step = times,
                 .payload = payload,
                 .overlappable = false,
                 .formula = formula});
  }

  Ledger& ledger_;
  const VolumeScope& scope_;
  double forward_;
  double recompute_;
};

}  // namespace

void add_expert_transfers(Ledger& ledger, const VolumeScope& scope, const UnitCounts& calls) {
  if (!scope.model.moe) return;
  const bool again = recomputes_module(scope.layout, kRecomputeMoe);
  const double layers = calls.layers.expert;
  ExpertLedger experts(ledger, scope, layers, again ? layers : calls.recomputed.expert);
  experts.exchange();
  experts.share_between_tensor_ranks();
}

}  // namespace meshwright
