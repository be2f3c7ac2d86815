// SPDX-License-Identifier: Apache-2.0
// Cost of one pipeline stage for one micro-batch: its chunks' sums, its messages to the next stage,
// and the exposed time of activation offload.
#pragma once

#include "sim/base/spread.h"
#include "sim/step/chunk.h"
#include "sim/step/pairing.h"
#include "sim/step/scenario.h"

namespace meshwright {

// All that one stage does for one micro-batch.
struct StageCost {
  Cost forward, backward, recompute, tensor, context, expert;
  Seconds forward_time, backward_time;  // seconds of the device, per micro-batch
  Seconds forward_host, backward_host;  // time that the host's launches add
  Seconds hidden_exchange;  // seconds of token exchange, overlapped with another micro-batch
  WireTime forward_wires, backward_wires;
  [[nodiscard]] Seconds host() const { return forward_host + backward_host; }
  // Seconds of a micro-batch's pass each way; other traffic can be overlapped with it.
  [[nodiscard]] Seconds forward_span() const { return forward_time + forward_host; }
  [[nodiscard]] Seconds backward_span() const { return backward_time + backward_host; }
  // Part of that span in which one kind of link is free. A phase lasts at least as long as all axes
  // together use the link. `sends`: messages that pass at the same time.
  [[nodiscard]] Seconds forward_window(Tier tier, Seconds sends = {}) const {
    return std::max(seconds(0), forward_span() - forward_wires.on(tier) - sends);
  }
  [[nodiscard]] Seconds backward_window(Tier tier, Seconds sends = {}) const {
    return std::max(seconds(0), backward_span() - backward_wires.on(tier) - sends);
  }
  [[nodiscard]] Seconds work() const { return forward_span() + backward_span(); }
};

// `count` chunks alike.
inline void add_chunk(StageCost& stage, const ChunkCost& chunk, double count) {
  const auto both = [count](const Cost& a, const Cost& b) { return times(a + b, count); };
  const CommunicationCost& forward = chunk.forward_communication;
  const CommunicationCost& backward = chunk.backward_communication;
  stage.forward = stage.forward + times(chunk.forward, count);
  stage.backward = stage.backward + both(chunk.backward_input, chunk.backward_weight);
  stage.recompute = stage.recompute + times(chunk.recompute, count);
  stage.tensor = stage.tensor + both(forward.tensor, backward.tensor);
  stage.context = stage.context + both(forward.context, backward.context);
  stage.expert = stage.expert + both(forward.expert, backward.expert);
  stage.forward_host += chunk.forward_host * count;
  stage.backward_host += chunk.backward_host * count;
  stage.hidden_exchange += chunk.hidden_exchange * count;
  stage.forward_wires.add(chunk.forward_wires, count);
  stage.backward_wires.add(chunk.backward_wires, count);
  stage.forward_time += chunk.forward_time() * count;
  stage.backward_time += chunk.backward_time() * count;
}

// Exposed time of activations that go to the host during a stage's forward pass and return during
// its backward pass. Each way takes `each_way`.
inline Cost offload_cost(Seconds each_way, const StageCost& stage) {
  if (each_way == seconds(0)) return {};
  const Seconds out = std::max(seconds(0), each_way - stage.forward_span());
  const Seconds back = std::max(seconds(0), each_way - stage.backward_span());
  return {out + back, kHostLinkSpread, Provenance::datasheet};
}

// One message between neighbouring stages.
struct SendCost {
  Cost message;
  bool hidden = false;    // beside the compute of a chunk (overlap_p2p_comm)
  double slowdown = 0.0;  // relative slowdown of overlapped compute
  Tier tier = Tier::self;
  // Time that a stage waits for the message. `window` is the part of a chunk's pass in which other
  // axes do not use the same link.
  [[nodiscard]] Seconds waited(Seconds window) const {
    return hidden ? exposed_time(message.time, window, slowdown) : message.time;
  }
};
SendCost send_cost(const Scenario& scenario, const Layout& layout);

}  // namespace meshwright
