// SPDX-License-Identifier: Apache-2.0
// The context group's calls (TransformerEngine's context-parallel attention). A sliding window does
// not change them: the ring passes every key and value around.
#include <algorithm>

#include "sim/block/recurrent.h"
#include "sim/block/transfer_names.h"
#include "sim/volume/parts.h"

namespace meshwright {
namespace {

using namespace transfer_names;

// Columns of keys and values, and of queries and outputs, on one tensor rank. Key-value groups are
// shared when there are fewer than ranks; MLA expands its latents to all heads before attention.
struct AttentionWidths {
  double key_value = 0;
  double query_output = 0;
};

AttentionWidths widths_of(const VolumeScope& scope) {
  const Model& model = scope.model;
  const double tp = scope.layout.tensor_parallel_size;
  const auto output = static_cast<double>(attention_output_size(model));
  AttentionWidths widths;
  widths.query_output = (static_cast<double>(query_size(model)) + output) / tp;
  if (model.mla) {
    widths.key_value = (static_cast<double>(key_size(model)) + output) / tp;
  } else {
    const double held = std::min(tp, static_cast<double>(model.num_query_groups));
    widths.key_value = 2.0 * static_cast<double>(key_size(model)) / held;
  }
  return widths;
}

struct ContextCalls {
  double forward = 0;
  double recompute = 0;
};

class ContextLedger {
 public:
  ContextLedger(Ledger& ledger, const VolumeScope& scope, ContextCalls calls)
      : ledger_(ledger), scope_(scope), widths_(widths_of(scope)), calls_(calls) {}

  // Each rank hands its keys and values to the next until all have passed; backward does so again,
  // and the gradients of keys and values travel with them. Runs beside the attention itself.
  void ring(int size) {
    const Bytes payload = scope_.activation(widths_.key_value);
    const double hops = size - 1;
    const auto pass = [&](std::string_view name, Phase phase, double times) {
      add(name, Collective::send_recv, phase, size, times * hops, payload, true, "b*s*kv*w/(c*t)");
    };
    pass(kKeyRing, Phase::forward, calls_.forward);
    pass(kKeyRing, Phase::recompute, calls_.recompute);
    pass(kKeyRingAgain, Phase::backward, calls_.forward);
    pass(kKeyGradientRing, Phase::backward, calls_.forward);
  }

  // DTensor gathers keys and values one after the other, and keeps them
  // (torchtitan 0.3.0, distributed/context_parallel/api.py).
  void all_gather(int size) {
    const bool keeps = uses_dtensor(scope_.layout);
    const double pieces = keeps ? 2.0 : 1.0;
    const Bytes payload = scope_.activation(widths_.key_value) * size / pieces;
    const auto call = [&](std::string_view name, Collective collective, Phase phase, double times) {
      add(name, collective, phase, size, times * pieces, payload, false,
          keeps ? "b*s*k*w/t" : "b*s*kv*w/t");
    };
    call(kKeyGather, Collective::all_gather, Phase::forward, calls_.forward);
    call(kKeyGather, Collective::all_gather, Phase::recompute, calls_.recompute);
    if (!keeps) call(kKeyGatherAgain, Collective::all_gather, Phase::backward, calls_.forward);
    call(kKeyGradientScatter, Collective::reduce_scatter, Phase::backward, calls_.forward);
  }

  // A scan needs whole sequences: all that the input linear put out goes against heads, and the
  // outputs back (Megatron-LM core/ssm, tensor_a2a_cp2hp).
  void scans(ContextCalls calls) {
    const auto mixer = recurrent_mixer(scope_.model);
    if (!mixer) return;
    double width = static_cast<double>(mixer->values());
    for (const LayerPart& part : mixer->inputs) {
      if (part.split == Split::columns) width += static_cast<double>(part.outputs);
    }
    const auto call = [&](std::string_view name, Phase phase, double times) {
      add(name, Collective::all_to_all, phase, scope_.layout.context_parallel_size, times,
          scope_.activation(width / scope_.layout.tensor_parallel_size), false, mixer->exchanged);
    };
    call(kScanExchange, Phase::forward, calls.forward);
    call(kScanExchange, Phase::recompute, calls.recompute);
    call(kScanExchangeGradient, Phase::backward, calls.forward);
  }

  // Ulysses: sequence pieces against heads before the attention, and back after it.
  void all_to_all(int size) {
    const Bytes payload = scope_.activation(widths_.query_output + widths_.key_value);
    const auto call = [&](std::string_view name, Phase phase, double times) {
      add(name, Collective::all_to_all, phase, size, times, payload, false, "b*s*(q+kv+o)*w/(c*t)");
    };
    call(kHeadsExchange, Phase::forward, calls_.forward);
    call(kHeadsExchange, Phase::recompute, calls_.recompute);
    call(kHeadsExchangeGradient, Phase::backward, calls_.forward);
  }

 private:
  void add(std::string_view name, Collective collective, Phase phase, int size, double times,
           Bytes payload, bool overlappable, std::string_view formula) {
    ledger_.add({.name = name,
                 .group = Group::context,
                 .collective = collective,
                 .phase = phase,
                 .group_size = size,
                 .times_per_step = times,
                 .payload = payload,
                 .overlappable = overlappable,
                 .formula = formula});
  }

  Ledger& ledger_;
  const VolumeScope& scope_;
  AttentionWidths widths_;
  ContextCalls calls_;
};

}  // namespace

void add_context_transfers(Ledger& ledger, const VolumeScope& scope, const UnitCounts& calls) {
  const Layout& layout = scope.layout;
  if (layout.context_parallel_size == 1 || scope.model.num_attention_heads == 0) return;
  // The exchange is inside the core attention, so recomputing that repeats it.
  const bool core_again =
      recomputes_module(layout, kRecomputeCoreAttention) || op_gathers_again(layout);
  const double layers = calls.layers.softmax();
  ContextLedger context(ledger, scope, {layers, core_again ? layers : calls.recomputed.softmax()});
  context.scans({calls.layers.recurrent(), calls.recomputed.recurrent()});
  const int size = layout.context_parallel_size;
  const int inner = layout.hierarchical_context_parallel_size;
  switch (layout.cp_comm_type) {
    case ContextParallelAlgorithm::p2p:
      context.ring(size);
      break;
    case ContextParallelAlgorithm::all_gather:
      context.all_gather(size);
      break;
    case ContextParallelAlgorithm::a2a:
      context.all_to_all(size);
      break;
    case ContextParallelAlgorithm::a2a_p2p:
      // After the all-to-all a rank has `inner` times the sequence and 1/inner of the heads: the
      // ring's pieces keep their size.
      context.all_to_all(inner);
      context.ring(size / inner);
      break;
  }
}

}  // namespace meshwright
