// SPDX-License-Identifier: Apache-2.0
// Forward passes of tensor-parallel inference on one rank: a prompt of job.seq_length positions of
// layout.micro_batch_size sequences, and after it one position of each at a time, the likeliest
// next token of the one before. Weights are fp32 in memory, as in training.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "calibrate/trial/layer/layer.h"
#include "calibrate/trial/stage/embedding.h"
#include "calibrate/trial/stage/head.h"
#include "calibrate/trial/trial_step.h"

namespace meshwright::calibrate {

class InferenceStep {
 public:
  // Collective over `ranks`, exactly tensor_parallel_size of them; the layout has no other axis.
  // decode_tokens 0: a step is a prompt; else it is so many positions after one.
  InferenceStep(const Model& model, const Job& job, const Layout& layout, Compute& compute,
                Communicator& ranks, const StepOptions& options, int decode_tokens);
  InferenceStep(const InferenceStep&) = delete;
  InferenceStep& operator=(const InferenceStep&) = delete;

  // One step. The first of decode runs the prompt too, before the clock starts; later ones put
  // their positions over the last step's.
  void run();

  // The passes that a step is made of. Tokens: one row of sequences a position.
  void prefill(const std::vector<std::int32_t>& tokens);
  void decode(const std::vector<std::int32_t>& tokens);
  [[nodiscard]] std::vector<std::int32_t> prompt() const;
  // After a pass, of each sequence's last position: all logits, and where the largest stands.
  [[nodiscard]] const std::vector<float>& logits() const { return logits_; }
  [[nodiscard]] std::vector<std::int32_t> likeliest() const;

  [[nodiscard]] Recorder& recorder() { return recorder_; }
  [[nodiscard]] const Recorder& recorder() const { return recorder_; }
  [[nodiscard]] Bytes peak_memory() const { return arena_.peak(); }
  [[nodiscard]] const std::string& out_of_memory() const { return arena_.out_of_memory(); }

 private:
  void pass(const std::vector<std::int32_t>& tokens, std::int64_t first_position);
  void take_logits(const Tensor& x);

  Model model_;
  Job job_;
  Layout layout_;
  Compute& compute_;
  Arena arena_;
  Recorder recorder_;
  RankGroups groups_;
  TrialContext context_;
  ParameterStore store_;
  std::uint64_t seed_;
  int decode_tokens_;
  std::int64_t capacity_;
  Tensor rotary_;
  std::optional<Embedding> embedding_;
  std::deque<Layer> layers_;
  std::optional<Norm> final_norm_;
  std::optional<LanguageModelHead> head_;
  std::vector<KeyValueCache> caches_;
  std::int64_t next_position_ = 0;
  std::vector<float> logits_;  // (sequences, vocabulary)
};

}  // namespace meshwright::calibrate
