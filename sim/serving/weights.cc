// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/weights.h"

#include <algorithm>
#include <cmath>

#include "sim/base/error.h"
#include "sim/block/layer.h"

namespace meshwright {
namespace {

constexpr std::int64_t kVocabularyPadding = 64;
constexpr double kPlainWeight = 2.0;  // bytes of a 16-bit weight

double stored_bytes(const WeightScheme& scheme, unsigned part) {
  return (scheme.quantized & part) != 0 ? quantized_weight_bytes(scheme) : kPlainWeight;
}

// Weights of a part on one of tp ranks. Key-value heads are repeated where there are fewer than
// ranks.
double tensor_share(const LayerPart& part, int tp) {
  if (part.split == Split::whole) return static_cast<double>(part.weights());
  if (part.groups == 0 || tp <= part.groups) return static_cast<double>(part.weights()) / tp;
  const std::int64_t once = part.outputs - part.group_outputs;
  return static_cast<double>(part.inputs * once) / tp +
         static_cast<double>(part.inputs * (part.group_outputs / part.groups));
}

double plain_bytes(const LayerPart& part, double cut_ranks = 1.0, double whole_ranks = 1.0) {
  return static_cast<double>(part.copies()) * kPlainWeight *
         (static_cast<double>(part.cut_numbers) / cut_ranks +
          static_cast<double>(part.whole_numbers) / whole_ranks);
}

// A rank's weights of a matrix of all experts, `matrices` beside each other.
double expert_share(const LayerPart& part, const ReplicaOptions& options, std::int64_t matrices) {
  const auto padded = [](double size, int multiple) {
    return multiple > 1 ? std::ceil(size / multiple) * multiple : size;
  };
  const bool up = part.split == Split::columns;
  const auto hidden = static_cast<double>(up ? part.inputs : part.outputs);
  const auto columns = static_cast<double>(up ? part.outputs / matrices : part.inputs);
  const double ffn = columns / expert_tensor_size(options.layout);
  return static_cast<double>(part.experts) / options.layout.expert_parallel_size *
         padded(hidden, options.weights.hidden_multiple) *
         padded(ffn, options.weights.ffn_multiple) * static_cast<double>(up ? matrices : 1);
}

struct RankLayerBytes {
  double attention = 0, dense = 0, experts = 0;
};

RankLayerBytes rank_layer_bytes(const Model& m, LayerKind kind, const ReplicaOptions& options) {
  constexpr unsigned kAttentionParts = kQuantizedAttentionInput | kQuantizedAttentionOutput;
  const int tp = options.layout.tensor_parallel_size;
  const int expert_ranks = options.layout.expert_parallel_size;
  RankLayerBytes bytes;
  for (const LayerPart& part : layer_parts(m, kind)) {
    const double stored = stored_bytes(options.weights, part.quantized);
    if (part.experts > 0) {
      bytes.experts +=
          expert_share(part, options, mlp_inputs(m)) * stored +
          plain_bytes(part, expert_ranks * expert_tensor_size(options.layout), expert_ranks);
    } else {
      bytes.dense += plain_bytes(part, part.split == Split::whole ? 1.0 : tp);
      ((part.quantized & kAttentionParts) != 0 ? bytes.attention : bytes.dense) +=
          tensor_share(part, tp) * stored;
    }
  }
  return bytes;
}

// Of one rank, without embedding and head.
ReplicaWeights weights_of_layers(const Model& m, const ReplicaOptions& options, int first,
                                 int count) {
  RankLayerBytes sum;
  for (int i = first; i < first + count; ++i) {
    const RankLayerBytes one = rank_layer_bytes(m, layer_kind(m, i), options);
    sum.attention += one.attention;
    sum.dense += one.dense;
    sum.experts += one.experts;
  }
  return {bytes(sum.attention), bytes(sum.dense), bytes(sum.experts), {}, {}, {}};
}

Bytes draft_weights(const Model& m, const ReplicaOptions& options) {
  if (options.num_speculative_tokens == 0 || m.mtp_num_layers == 0) return {};
  const RankLayerBytes one = rank_layer_bytes(m, layer_kind(m, m.num_layers - 1), options);
  const double joined = 2.0 * m.hidden_size * m.hidden_size * kPlainWeight;
  return bytes(m.mtp_num_layers * (one.attention + one.dense + one.experts + joined));
}

}  // namespace

double quantized_weight_bytes(const WeightScheme& scheme) {
  switch (scheme.format) {
    case WeightFormat::fp8:
      return 1.0;
    case WeightFormat::fp8_block:
      return 1.0 + 4.0 / (128.0 * 128.0);
    case WeightFormat::mxfp8:
      return 1.0 + 1.0 / 32;
    case WeightFormat::int4:
      return 0.5 + (scheme.zero_points ? 2.5 : 2.0) / scheme.group_size;
    case WeightFormat::mxfp4:
      return 0.5 + 1.0 / 32;
    case WeightFormat::nvfp4:
      return 0.5 + 1.0 / 16;
    case WeightFormat::bf16:
      break;
  }
  return kPlainWeight;
}

std::int64_t served_vocab_size(const Model& m) {
  return (m.vocab_size + kVocabularyPadding - 1) / kVocabularyPadding * kVocabularyPadding;
}

ReplicaWeights replica_weights(const Model& m, const ReplicaOptions& options) {
  const int pp = options.layout.pipeline_parallel_size;
  const int layers = (m.num_layers + pp - 1) / pp;
  const double table = static_cast<double>(served_vocab_size(m)) * m.hidden_size /
                       options.layout.tensor_parallel_size;
  const Bytes embedding = bytes(table * kPlainWeight);
  // A tied head is the embedding, which stays in 16 bits.
  const Bytes head =
      m.tied_embeddings ? embedding : bytes(table * stored_bytes(options.weights, kQuantizedHead));

  ReplicaWeights last = weights_of_layers(m, options, m.num_layers - layers, layers);
  last.drafts = draft_weights(m, options);
  if (pp == 1) {
    last.embedding = embedding;
    if (!m.tied_embeddings) last.head = head;
    return last;
  }
  last.head = head;
  ReplicaWeights first = weights_of_layers(m, options, 0, layers);
  first.embedding = embedding;
  return first.total() > last.total() ? first : last;
}

Bytes checkpoint_bytes(const Model& m, const WeightScheme& scheme) {
  double sum = 0;
  for (int i = 0; i < m.num_layers; ++i) {
    for (const LayerPart& part : layer_parts(m, layer_kind(m, i))) {
      sum += static_cast<double>(part.weights()) * stored_bytes(scheme, part.quantized) +
             plain_bytes(part);
    }
  }
  sum += static_cast<double>(embedding_parameters(m, m.vocab_size)) * kPlainWeight;
  sum +=
      static_cast<double>(head_parameters(m, m.vocab_size)) * stored_bytes(scheme, kQuantizedHead);
  return bytes(sum);
}

WeightScheme usual_scheme(WeightFormat format, const Model& model) {
  WeightScheme scheme{.format = format};
  if (format == WeightFormat::mxfp4) scheme.quantized = kQuantizedExperts;
  if (format == WeightFormat::nvfp4 && model.moe) {
    scheme.quantized &= ~(kQuantizedAttentionInput | kQuantizedAttentionOutput);
  }
  if (format == WeightFormat::int4 && model.mla) {
    scheme.group_size = 32;  // Kimi-K2: symmetric, routed experts alone
    scheme.quantized = kQuantizedExperts;
  } else if (format == WeightFormat::int4) {
    scheme.zero_points = true;
  }
  return scheme;
}

}  // namespace meshwright
