// SPDX-License-Identifier: Apache-2.0
// What the stages of a pipeline hand each other in a step.
//
// Where sends stand alone, a result is sent when it is there and received when it is needed. Where
// calls queue, messages are posted in the groups of message_order.h.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "calibrate/trial/ranks/context.h"
#include "calibrate/trial/stage/message_order.h"
#include "sim/layout/stages.h"

namespace meshwright::calibrate {

class StageExchange {
 public:
  // Collective over the stages. `programs`: of all stages.
  StageExchange(const TrialContext& context, const std::vector<StageProgram>& programs,
                std::vector<Stage> stages, bool sends_alone);

  // Before this stage's n-th instruction; their number: after the last.
  void before(std::size_t instruction);
  // Returns the input of the instruction; empty at the start of the model.
  [[nodiscard]] Tensor take(const Instruction& instruction);
  // Takes the result of the instruction; empty at the end of the model.
  void give(const Instruction& instruction, Tensor result);
  // A message is posted and the stage goes on; before it computes again the message must be
  // through. So a stage that sends and then receives does both at once, and no stage computes while
  // a neighbour waits for a transfer that needs this rank's help. Stages with several chunks would
  // wait for each other in a circle, and weight gradients of a split backward pass fill that very
  // time: these send beside computing, as Megatron-LM's overlap_p2p_comm.
  void before_computing();
  // After the last instruction: waits for what is still being sent.
  void finish();

 private:
  [[nodiscard]] int stage() const { return context_.groups.at.pipeline; }
  // Hidden states of each token that a message carries.
  [[nodiscard]] int hidden_states(const StageMessage& message) const;
  // Numbers of a hidden state between chunks; of a message, which may be this tensor rank's piece
  // of them.
  [[nodiscard]] std::int64_t count() const { return context_.local_rows() * context_.hidden(); }
  [[nodiscard]] std::int64_t piece_count() const {
    return sends_pieces_ ? count() / context_.layout.tensor_parallel_size : count();
  }
  [[nodiscard]] std::int64_t message_count(const StageMessage& message) const {
    return piece_count() * hidden_states(message);
  }
  // Seconds of the message alone.
  [[nodiscard]] double transfer_seconds(const StageMessage& message, int with) const {
    return transfer_seconds_.at(with) * hidden_states(message);
  }
  [[nodiscard]] const float* message_of(const StageMessage& message, const Tensor& result) const;
  // The pieces of all tensor ranks (Narayanan 2021, arXiv 2104.04473, section 4.1).
  [[nodiscard]] Tensor whole(const StageMessage& message, Tensor arrived) const;
  void measure_neighbours();
  [[nodiscard]] Tensor receive(const StageMessage& message);
  void send(const StageMessage& message, Tensor result);
  void post(const MessageGroup& group);
  void release_finished_sends();

  const TrialContext& context_;
  std::vector<Stage> stages_;
  StageMessages messages_;
  bool sends_alone_, sends_beside_computing_, sends_pieces_;
  std::vector<MessageGroup> groups_;  // where calls queue
  std::size_t next_group_ = 0;
  std::map<StageMessage, Tensor> here_;     // arrived, or from a chunk of this stage
  std::map<StageMessage, Tensor> leaving_;  // until its group is posted
  std::deque<Tensor> sent_, sent_back_;     // still read by the network, oldest first
  std::map<int, double> transfer_seconds_;  // of one hidden state, by neighbour
};

}  // namespace meshwright::calibrate
