// SPDX-License-Identifier: Apache-2.0
// A model as one rank of a replica serves it: its share of the weights, the paged cache, and passes
// of many sequences at once, each of which gives their likeliest next tokens.
//
// With pipeline stages a rank has the layers of one (replica_stage_layers), and their cache alone.
// A pass takes the activations of the stage before it and sends its own to the next. The last stage
// sends the tokens to the first, where returned_tokens() takes them.
//
// No circle of waits. Number the passes in the order in which every stage makes them. In pass n
// stage s waits
//   for the activations of pass n from stage s - 1,
//   before it computes, for stage s + 1 to take those of pass n - 1, which that stage does first in
//   its pass n - 1,
//   for the other tensor ranks of the same pass and stage, which make the same calls.
// The first stage also waits for tokens of a pass before n, from the last stage. The last stage
// does not wait for its tokens to be taken, before all passes are over. So a pass on a stage waits
// only for earlier passes, and for the same pass on earlier stages. Of all pairs (pass, stage) that
// are not over the first one waits for no other, and goes on. Messages between two ranks come in
// the order of the passes. Tokens have a communicator of their own: they do not queue behind
// activations. A network on which a send waits for its receiver (Communicator::sends_alone) has a
// circle: first stage and last would send to each other.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
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

// Whether a network carries stages.
inline bool serves_stages(const Communicator& ranks) { return ranks.sends_alone(); }

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

  // One pass: of each sequence the likeliest token behind its new ones, the same on all ranks of
  // the last stage; none on other stages. Where several are as likely, the first. Only the first
  // stage reads tokens.
  std::vector<std::int32_t> pass(const std::vector<SequenceInput>& sequences);
  [[nodiscard]] int stages() const { return layout_.pipeline_parallel_size; }
  [[nodiscard]] int stage() const { return groups_.at.pipeline; }
  [[nodiscard]] bool is_first_stage() const { return stage() == 0; }
  [[nodiscard]] bool is_last_stage() const { return stage() == stages() - 1; }
  // On the first of several stages: waits for the tokens of the oldest pass whose tokens were not
  // taken, of so many sequences.
  std::vector<std::int32_t> returned_tokens(std::size_t sequences);
  // Until what this stage sent is received: after the last pass, when all tokens were taken.
  void finish_passes();
  // Of the last pass, of each sequence's last row: (tensor ranks, sequences, vocabulary of a rank).
  // Of the last stage.
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
  // Embedded tokens, or what the stage before this one put out.
  [[nodiscard]] Tensor stage_input(const std::vector<std::int32_t>& tokens);
  void send_output(Tensor x);
  void finish_sends();
  void send_tokens(const std::vector<std::int32_t>& tokens);
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
  std::unique_ptr<Communicator> back_;   // for tokens: the stages, first to last; else null
  std::deque<Tensor> sent_, sent_back_;  // still read by the network
  std::optional<Embedding> embedding_;   // of the first stage
  std::deque<ServingLayer> layers_;
  std::optional<Norm> final_norm_;         // of the last stage
  std::optional<LanguageModelHead> head_;  // of the last stage
  std::optional<PagedCache> cache_;
  std::vector<float> logits_;
};

}  // namespace meshwright::calibrate
