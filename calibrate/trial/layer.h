// SPDX-License-Identifier: Apache-2.0
// One transformer layer on one tensor rank, operator by operator as sim/operators/operators.cc
// lists them. Behind attention stands an MLP, or routed experts with or without a shared one. A
// model without attention has fc1, activation, fc2 only, and no residual.
#pragma once

#include <optional>
#include <string>

#include "calibrate/trial/attention.h"
#include "calibrate/trial/experts.h"
#include "calibrate/trial/host_store.h"
#include "calibrate/trial/latent_attention.h"
#include "calibrate/trial/mlp.h"
#include "calibrate/trial/norm.h"

namespace meshwright::calibrate {

// What one micro-batch leaves in one layer for its backward pass. Modules that are recomputed leave
// their part empty.
struct LayerSaved {
  Tensor input;
  Tensor attention_input, middle;  // output of the first norm; sum after attention
  NormSaved attention_norm;
  AttentionSaved attention;
  MultiLatentSaved latent;
  Tensor mlp_input;  // output of the second norm
  NormSaved mlp_norm;
  MlpSaved mlp;  // or the shared expert
  ExpertsSaved experts;
  std::vector<HostCopy> on_host;  // of the above
};

class Layer {
 public:
  Layer(const TrialContext& context, ParameterStore& store, int index);
  // One of this kind; `name` begins those of its parameters.
  Layer(const TrialContext& context, ParameterStore& store, const std::string& name,
        LayerKind kind);

  [[nodiscard]] Tensor forward(Tensor x, LayerSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor backward(Tensor dy, LayerSaved& saved) const;
  // To the host after forward, and back before backward: all that backward needs (`whole`), or the
  // inputs of the layout's offload_modules. Statistics of norms and what routes tokens stay.
  void offload(LayerSaved& saved, bool whole) const;
  void bring_back(LayerSaved& saved, bool whole) const;

  // Inference: keeps nothing but keys and values.
  [[nodiscard]] KeyValueCache make_cache(std::int64_t capacity) const;
  [[nodiscard]] Tensor forward_cached(Tensor x, KeyValueCache& cache) const;

 private:
  // Adds the MLP to x = saved.middle (or saved.input where nothing attends).
  [[nodiscard]] Tensor mlp_forward(const Tensor& x, LayerSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor mlp_backward(const Tensor& dy, const Tensor& x, LayerSaved& saved) const;
  [[nodiscard]] Tensor attention_backward(const Tensor& dy, LayerSaved& saved) const;
  [[nodiscard]] std::vector<Tensor*> offloaded_parts(LayerSaved& saved, bool whole) const;
  // Selective recompute: gives up what is run again, and runs it again.
  void drop_recomputed(LayerSaved& saved) const;
  void recompute_mlp(const Tensor& x, LayerSaved& saved) const;
  void recompute_experts(const Tensor& x, LayerSaved& saved) const;

  const TrialContext& context_;
  std::optional<Norm> attention_norm_;
  std::optional<Attention> attention_;
  std::optional<MultiLatentAttention> latent_;  // instead
  Norm mlp_norm_;
  std::optional<Mlp> mlp_;  // or the shared expert
  std::optional<Experts> experts_;
};

}  // namespace meshwright::calibrate
