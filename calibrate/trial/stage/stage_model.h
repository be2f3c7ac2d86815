// SPDX-License-Identifier: Apache-2.0
// One model chunk of a pipeline stage, and what its micro-batches in flight keep.
//
// Full recompute keeps the input of every unit of layers and runs the unit's forward pass again
// before its backward pass (Megatron-LM --recompute-method): uniform takes units of
// recompute_num_layers layers over the whole chunk, block single layers, the stage's first
// recompute_num_layers.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "calibrate/trial/layer/layer.h"
#include "calibrate/trial/stage/batch.h"
#include "calibrate/trial/stage/embedding.h"
#include "calibrate/trial/stage/model_end.h"
#include "sim/layout/stages.h"

namespace meshwright::calibrate {

class StageModel {
 public:
  friend class ForwardPass;  // stage_pass.h
  friend class BackwardPass;

  // `recomputed`: of the chunk's layers, those whose forward pass is run again in backward.
  // `offloaded`: those whose activations go to the host.
  // `words`: the embedding's matrix where an earlier chunk of the stage has it and this one the
  // head or multi-token prediction.
  StageModel(const TrialContext& context, ParameterStore& store, const Chunk& chunk,
             int recomputed_layers, int offloaded_layers, Parameter* words = nullptr);

  [[nodiscard]] const Chunk& chunk() const { return chunk_; }

  // Reduces the gradients of every layer, if a pass after backward gave the last of them.
  void reduce_all_gradients() const;

  // Sum of the losses of the micro-batches since the last call; 0 where there is no head. Waits for
  // the device.
  double take_loss();
  // The embedding's matrix, also of a head that is tied to it and of multi-token prediction; null
  // where this chunk has none of them.
  [[nodiscard]] Parameter* words() const;

 private:
  struct Saved {
    std::vector<LayerSaved> layers;
    EndSaved end;
  };

  // Layers that are recomputed together from one kept input; the layer alone where it is not.
  struct RecomputeUnit {
    std::size_t first, end;
  };
  [[nodiscard]] RecomputeUnit recompute_unit(std::size_t layer) const;
  [[nodiscard]] Saved take_saved(int micro_batch);
  // After a layer's forward.
  void keep_for_backward(std::size_t layer, LayerSaved& saved) const;
  // Before a layer's backward; of a unit that is recomputed, before its last layer's.
  void begin_backward(std::size_t layer, Saved& saved) const;
  void bring_back(std::size_t layer, LayerSaved& of_layer, Saved& saved) const;
  void recompute(RecomputeUnit unit, Saved& saved) const;
  // Where states are sharded by unit.
  void use(int unit, Phase phase) const;
  void release(int unit, Phase phase) const;
  void open_gradients(int unit) const;
  void reduce_gradients(int unit) const;  // and releases weights that are whole for the unit
  // The same of a layer that is no part of the root.
  void use_layer(std::size_t layer, Phase phase) const;
  void release_layer(std::size_t layer, Phase phase) const;
  void reduce_layer(std::size_t layer) const;
  [[nodiscard]] int unit_of(std::size_t layer) const;
  [[nodiscard]] Tensor first_input(const MicroBatch& data) const;

  const TrialContext& context_;
  Chunk chunk_;
  std::size_t recomputed_layers_, offloaded_layers_;
  float loss_weight_;  // a micro-batch's share in the mean over the global batch
  std::optional<Embedding> embedding_;
  std::vector<Layer> layers_;
  std::optional<ModelEnd> end_;
  std::map<int, Saved> in_flight_;
};

}  // namespace meshwright::calibrate
