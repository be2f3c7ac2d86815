// SPDX-License-Identifier: Apache-2.0
// The tensor group's calls for what is split by the vocabulary: embedding, logits, loss, and the
// projection of multi-token prediction (Megatron-LM core/models/common/embeddings,
// core/tensor_parallel/cross_entropy.py, core/transformer/multi_token_prediction.py).
#include "sim/block/transfer_names.h"
#include "sim/volume/parts.h"

namespace meshwright {
namespace {

class VocabularyLedger {
 public:
  VocabularyLedger(Ledger& ledger, const VolumeScope& scope) : ledger_(ledger), scope_(scope) {}

  void hidden(std::string_view name, Collective collective, Phase phase, double times,
              bool overlappable = false) {
    add(name, collective, phase, times, scope_.activation(scope_.model.hidden_size), "b*s*h*w/c",
        overlappable);
  }
  // Embedding and hidden state side by side.
  void doubled(std::string_view name, Collective collective, Phase phase, double times,
               bool overlappable = false) {
    add(name, collective, phase, times, scope_.activation(2.0 * scope_.model.hidden_size),
        "2*b*s*h*w/c", overlappable);
  }
  void add(std::string_view name, Collective collective, Phase phase, double times, Bytes payload,
           std::string_view formula, bool overlappable) {
    ledger_.add_tensor_call(scope_, name, collective, phase, times, payload, formula, overlappable);
  }

 private:
  Ledger& ledger_;
  const VolumeScope& scope_;
};

// Learned positions are added to whole rows, so the sum over the vocabulary's pieces is an
// all-reduce and the sequence is cut afterwards; otherwise both are one reduce-scatter.
void add_embedding(VocabularyLedger& ledger, const VolumeScope& scope, double times) {
  const bool scatters = scope.layout.sequence_parallel &&
                        scope.model.position_embedding != PositionEmbedding::learned;
  if (scatters) {
    ledger.hidden(transfer_names::kEmbeddingReduceScatter, Collective::reduce_scatter,
                  Phase::forward, times);
  } else {
    ledger.hidden(transfer_names::kEmbeddingAllReduce, Collective::all_reduce, Phase::forward,
                  times);
  }
  if (scope.layout.sequence_parallel) {
    ledger.hidden(transfer_names::kEmbeddingGradientAllGather, Collective::all_gather,
                  Phase::backward, times);
  }
}

void add_head(VocabularyLedger& ledger, const VolumeScope& scope, double times) {
  if (scope.layout.sequence_parallel) {
    ledger.hidden(transfer_names::kLogitsInputAllGather, Collective::all_gather, Phase::forward,
                  times);
    if (!uses_dtensor(scope.layout)) {
      ledger.hidden(transfer_names::kLogitsInputAllGatherAgain, Collective::all_gather,
                    Phase::backward, times, true);
    }
    ledger.hidden(transfer_names::kLogitsGradientReduceScatter, Collective::reduce_scatter,
                  Phase::backward, times, true);
  } else {
    ledger.hidden(transfer_names::kLogitsGradientAllReduce, Collective::all_reduce, Phase::backward,
                  times, true);
  }
  // Largest logit, the target's logit, and the sum of exponentials; of each piece of the tokens.
  const double pieces = scope.job.loss_chunks;
  ledger.add(transfer_names::kCrossEntropyAllReduce, Collective::all_reduce, Phase::forward,
             3.0 * times * pieces,
             bytes(scope.tokens() * bytes_per_element(Precision::fp32) / pieces), "b*s*4/c", false);
}

// A column-parallel linear 2h -> h whose columns are gathered; under sequence parallelism each rank
// then keeps its rows. Backward each rank takes its columns of the gradient, of which it has all
// rows, or gathers them (multi_token_prediction.py, _concat_embeddings;
// tensor_parallel/mappings.py).
void add_mtp_projection(VocabularyLedger& ledger, const VolumeScope& scope, double times,
                        double again) {
  using transfer_names::kMtpProjection;
  const auto gather_output = [&](Phase phase, double calls) {
    ledger.hidden(transfer_names::kMtpProjectionOutputGather, Collective::all_gather, phase, calls);
  };
  gather_output(Phase::forward, times);
  gather_output(Phase::recompute, again);
  if (!scope.layout.sequence_parallel) {
    ledger.doubled(kMtpProjection.input_gradient_all_reduce, Collective::all_reduce,
                   Phase::backward, times, true);
    return;
  }
  ledger.doubled(kMtpProjection.input_all_gather, Collective::all_gather, Phase::forward, times);
  ledger.doubled(kMtpProjection.input_all_gather, Collective::all_gather, Phase::recompute, again);
  ledger.doubled(kMtpProjection.input_all_gather_again, Collective::all_gather, Phase::backward,
                 times, true);
  ledger.doubled(kMtpProjection.input_gradient_reduce_scatter, Collective::reduce_scatter,
                 Phase::backward, times, true);
  ledger.hidden(transfer_names::kMtpProjectionOutputGradientGather, Collective::all_gather,
                Phase::backward, times);
}

}  // namespace

void add_vocabulary_transfers(Ledger& ledger, const VolumeScope& scope, const UnitCounts& calls) {
  if (scope.model.vocab_size == 0) return;
  VocabularyLedger vocabulary(ledger, scope);
  add_embedding(vocabulary, scope, calls.embeddings);
  add_mtp_projection(vocabulary, scope, calls.mtp, calls.mtp_again);
  add_head(vocabulary, scope, calls.heads);
}

}  // namespace meshwright
