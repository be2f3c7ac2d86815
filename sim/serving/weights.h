// SPDX-License-Identifier: Apache-2.0
// Bytes of a model's weights as checkpoints and engines store them.
//
//   fp8         1 + 4 B a row            fp8_block  1 + 4 / 16,384 (128 x 128 weights share one)
//   mxfp8       1 + 1 / 32               mxfp4      1 / 2 + 1 / 32
//   nvfp4       1 / 2 + 1 / 16           int4       1 / 2 + 2 / group (+ 1 / (2 group): zero point)
// Sources: OCP MX 1.0; vLLM compressed-tensors and AWQ readers; DeepSeek-V3, arXiv 2412.19437, 3.3.
#pragma once

#include "sim/block/parameters.h"
#include "sim/model/model.h"
#include "sim/serving/replica.h"

namespace meshwright {

// Bytes of one quantized weight with its share of scales; a scale a row is left out as it depends
// on the row's length.
double quantized_weight_bytes(const WeightScheme& scheme);

// Bytes of one rank of the fullest stage, and what they are made of.
struct ReplicaWeights {
  Bytes attention{}, dense{}, experts{};  // dense: MLP, shared experts, norms and router
  Bytes embedding{}, head{};
  Bytes drafts{};  // multi-token-prediction layers that the engine loads
  [[nodiscard]] Bytes total() const {
    return attention + dense + experts + embedding + head + drafts;
  }
  void widen(double factor) {
    for (Bytes* part : {&attention, &dense, &experts, &embedding, &head, &drafts}) *part *= factor;
  }
};
// The first stage has the embedding, the last one the head: a tied head is a copy there (vLLM and
// SGLang, models/qwen2.py). One stage alone has a tied table once.
ReplicaWeights replica_weights(const Model& model, const ReplicaOptions& options);

// Bytes of the whole checkpoint, multi-token prediction left out.
Bytes checkpoint_bytes(const Model& model, const WeightScheme& scheme);

// What checkpoints of that format quantize: mxfp4 the experts alone (gpt-oss), nvfp4 beside experts
// all but attention (exclude_modules of MiniMax-M2.5's hf_quant_config.json; Kimi-K2.5's memory,
// aiconfigurator#1396; DeepSeek-V3.1 quantizes attention's output, too), others every linear.
WeightScheme usual_scheme(WeightFormat format, const Model& model);

// Vocabulary rows after padding to a multiple of 64 (vLLM and SGLang, vocab_parallel_embedding.py).
std::int64_t served_vocab_size(const Model& model);

}  // namespace meshwright
