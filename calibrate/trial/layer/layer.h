// SPDX-License-Identifier: Apache-2.0
// One transformer layer on one tensor rank, operator by operator as sim/operators/operators.cc
// lists them. Behind attention stands an MLP, or routed experts with or without a shared one. A
// model without attention has fc1, activation, fc2 only, and no residual.
#pragma once

#include <optional>
#include <string>

#include "calibrate/trial/layer/attention.h"
#include "calibrate/trial/layer/experts.h"
#include "calibrate/trial/layer/latent_attention.h"
#include "calibrate/trial/layer/mlp.h"
#include "calibrate/trial/layer/norm.h"
#include "calibrate/trial/states/host_store.h"

namespace meshwright::calibrate {

// Arrays that one micro-batch saves in one layer for its backward pass. Recomputed modules leave
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

// A pass on its way through a layer, from part to part.
struct LayerForward {
  Phase phase = Phase::forward;
  Tensor out;     // of the experts, where tokens have not come back; else of the MLP
  Tensor shared;  // of the shared expert
};
struct LayerBackward {
  Tensor dy;
  Tensor dinput;  // of MLP or shared expert
  ExpertsBackward experts;
};

// A pass has four parts, so that another micro-batch's pass can go on where tokens leave for their
// experts and come back (Megatron-LM models/common/model_chunk_schedule_plan.py). A layer without
// experts does nothing in the second and only adds in the last.
class Layer {
 public:
  Layer(const TrialContext& context, ParameterStore& store, int index);
  // One of this kind; `name` begins those of its parameters.
  Layer(const TrialContext& context, ParameterStore& store, const std::string& name,
        LayerKind kind);

  [[nodiscard]] Tensor forward(Tensor x, LayerSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor backward(Tensor dy, LayerSaved& saved) const;

  // Parts of the forward pass. Attention and router, with the shared expert unless it is
  // overlapped; tokens to their experts; the experts; tokens back.
  void attend(Tensor x, LayerSaved& saved, LayerForward& pass) const;
  void dispatch(LayerSaved& saved, LayerForward& pass) const;
  void compute_experts(LayerSaved& saved, LayerForward& pass) const;
  [[nodiscard]] Tensor combine(LayerSaved& saved, LayerForward& pass) const;
  // Parts of the backward pass, from the end of the layer.
  void combine_gradient(Tensor dy, LayerSaved& saved, LayerBackward& pass) const;
  void experts_backward(LayerSaved& saved, LayerBackward& pass) const;
  void dispatch_gradient(LayerSaved& saved, LayerBackward& pass) const;
  [[nodiscard]] Tensor attend_backward(LayerSaved& saved, LayerBackward& pass) const;

  // To the host after forward, and back before backward: all that backward needs (`whole`), or the
  // inputs of the layout's offload_modules. Statistics of norms and what routes tokens stay.
  void offload(LayerSaved& saved, bool whole) const;
  void bring_back(LayerSaved& saved, bool whole) const;

  // Inference: keeps nothing but keys and values. Latent attention keeps nothing: its passes begin
  // at the first position.
  [[nodiscard]] KeyValueCache make_cache(std::int64_t capacity) const;
  [[nodiscard]] Tensor forward_cached(Tensor x, KeyValueCache& cache) const;

 private:
  // Input of MLP or experts, before their norm.
  [[nodiscard]] const Tensor& mlp_residual(const LayerSaved& saved) const {
    return attention_norm_ ? saved.middle : saved.input;
  }
  // The shared expert's first linear runs beside dispatch, its second beside combine (Megatron-LM
  // --moe-shared-expert-overlap).
  [[nodiscard]] bool overlaps_shared_expert() const {
    return experts_ && mlp_ && context_.layout.moe_shared_expert_overlap;
  }
  // Copies of tokens for experts are fp32; a dense MLP's input is read by products alone.
  [[nodiscard]] Precision mlp_input_format() const {
    return experts_ ? Precision::fp32 : context_.operand_format();
  }
  void route(const Tensor& x, LayerSaved& saved, LayerForward& pass) const;
  // Output of MLP or experts.
  [[nodiscard]] Tensor output(LayerSaved& saved, LayerForward& pass) const;
  [[nodiscard]] Tensor mlp_forward(const Tensor& x, LayerSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor mlp_backward(LayerSaved& saved, LayerBackward& pass) const;
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
