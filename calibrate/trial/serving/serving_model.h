// SPDX-License-Identifier: Apache-2.0
// A model as one rank of a replica serves it: its share of the weights, the paged cache, and passes
// of many sequences at once, each of which gives their likeliest next tokens.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "calibrate/trial/serving/serving_layer.h"
#include "calibrate/trial/stage/embedding.h"
#include "calibrate/trial/stage/head.h"
#include "sim/serving/replica.h"

namespace meshwright::calibrate {

struct ServingModelOptions {
  std::int64_t blocks = 0;   // of the cache
  int block_size = 16;       // positions
  std::int64_t longest = 0;  // positions of a sequence, at most
  Precision precision = Precision::fp32;
  std::uint64_t seed = 1234;   // of weights; the same for every layout
  bool poison_memory = false;  // trial_step.h
};

// The dense ranks of a replica as the layout that layers and groups are made from.
Layout serving_ranks(const ReplicaLayout& replica);
// Numbers of passes have this format; the vocabulary is padded as engines do (served_vocab_size).
Job serving_job(const Model& model, const ReplicaLayout& replica, Precision precision);

// New tokens of one sequence.
struct SequenceInput {
  const std::int32_t* tokens = nullptr;
  std::int64_t count = 1, cached = 0;
  const BlockTable* blocks = nullptr;
};

class ServingModel {
 public:
  // Collective over `ranks`, exactly those of the replica.
  ServingModel(const Model& model, const ReplicaLayout& replica, Compute& compute,
               Communicator& ranks, const ServingModelOptions& options);
  ServingModel(const ServingModel&) = delete;
  ServingModel& operator=(const ServingModel&) = delete;

  // One pass: of each sequence the likeliest token behind its new ones, the same on all ranks.
  // Where several are as likely, the first.
  std::vector<std::int32_t> pass(const std::vector<SequenceInput>& sequences);
  // Of the last pass, of each sequence's last row: (tensor ranks, sequences, vocabulary of a rank).
  [[nodiscard]] const std::vector<float>& logits() const { return logits_; }

  [[nodiscard]] Recorder& recorder() { return recorder_; }
  [[nodiscard]] const PagedCache& cache() const { return *cache_; }
  [[nodiscard]] const TrialContext& context() const { return context_; }
  [[nodiscard]] Bytes cache_size() const { return cache_->size(); }
  [[nodiscard]] Bytes used_memory() const { return arena_.used(); }
  [[nodiscard]] Bytes peak_memory() const { return arena_.peak(); }

 private:
  [[nodiscard]] Tensor uploaded(const std::vector<std::int32_t>& values);
  // Positions of the pass' rows: learned ones, or their rows of the rotary table.
  void set_positions(const std::vector<std::int32_t>& positions);
  [[nodiscard]] std::vector<std::int32_t> likeliest(const Tensor& x,
                                                    const std::vector<std::int32_t>& last_rows);

  Model model_;
  Layout layout_;
  Job job_;
  Compute& compute_;
  Arena arena_;
  Recorder recorder_;
  RankGroups groups_;
  TrialContext context_;
  ParameterStore store_;
  Tensor rotary_, rotary_rows_;
  std::int64_t longest_;
  std::optional<Embedding> embedding_;
  std::deque<ServingLayer> layers_;
  std::optional<Norm> final_norm_;
  std::optional<LanguageModelHead> head_;
  std::optional<PagedCache> cache_;
  std::vector<float> logits_;
};

}  // namespace meshwright::calibrate
