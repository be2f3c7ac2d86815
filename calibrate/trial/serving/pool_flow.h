// SPDX-License-Identifier: Apache-2.0
// Requests that pass from a prefill to a decode pool, with the cache of their prompts.
//
// A prefill replica copies a prompt's cache out of its blocks when it is computed, sends it, and
// gives the blocks back. A decode replica begins to receive when its scheduler has room, goes on
// with its steps, and puts the copy into its blocks when it is there. The prefill replica 0 hands
// out the requests of a closed loop: the next one when one ends.
//
// The simulation of the same is Pools in sim/serving/simulation.cc.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "calibrate/trial/serving/cache_pieces.h"
#include "calibrate/trial/serving/notices.h"
#include "calibrate/trial/serving/pool_sizes.h"
#include "calibrate/trial/serving/request_flow.h"
#include "calibrate/trial/serving/serving_model.h"
#include "sim/serving/load.h"
#include "sim/serving/serving_observation.h"

namespace meshwright::calibrate {

// What both sides of one run know.
struct PoolRun {
  const PoolSizes& sizes;
  const ServingLoad& load;
  const ReplicaOptions& decode;  // what a decode rank receives follows from it
  Communicator& pools;           // exactly the ranks of both, in the order of the sizes
  Communicator& replica;         // this rank's
  const ServingModel& served;    // the shares of weights and cache
};

class PoolFlow : public RequestFlow {
 public:
  void begin() override { run_.pools.barrier(); }
  // Behind the engine's run: until all that was sent is received. Collective over the pools.
  virtual void finish() = 0;

 protected:
  // Collective over the pools.
  PoolFlow(const PoolRun& run, std::vector<int> senders);

  // Of a load's requests those whose turn is this replica's.
  [[nodiscard]] std::size_t own_requests(int replica, int replicas) const;
  // What the first rank of the replica found, and whether it was all, on every rank of it.
  std::vector<Arrival> shared(const std::vector<Arrival>& found, bool& over);
  // Looks until every other side has sent its last notice.
  void wait_for_last();
  [[nodiscard]] bool closed_loop() const { return run_.load.kind == LoadKind::closed_loop; }
  [[nodiscard]] Precision format() const;

  PoolRun run_;
  PoolPlace place_;
  std::vector<ServingRequest> asked_;
  std::vector<CachePiece> pieces_;          // those of this rank
  std::unique_ptr<Communicator> data_;      // for caches alone
  std::unique_ptr<Communicator> messages_;  // for notices alone
  std::optional<Notices> notices_;          // of the replica's first rank
};

class PrefillFlow final : public PoolFlow {
 public:
  explicit PrefillFlow(const PoolRun& run);

  [[nodiscard]] bool computes_prompts_only() const override { return true; }
  std::vector<Arrival> arrivals(Seconds now) override;
  void fetch(int request, std::int64_t positions, const BlockTable& blocks, Seconds now) override;
  std::vector<int> landed() override { return {}; }
  void leave(const Departure& departure) override;
  [[nodiscard]] bool is_over() const override { return over_; }
  void finish() override;
  // By this rank, in caches.
  [[nodiscard]] Bytes sent() const { return sent_bytes_; }

 private:
  [[nodiscard]] bool hands_out() const { return place_.replica == 0 && closed_loop(); }
  void ask_first_users(std::vector<Arrival>& found);
  void ask_arrived(Seconds now, std::vector<Arrival>& found);
  void hand_out(Seconds when, std::vector<Arrival>& found);
  void send_piece(const CachePiece& piece, const Departure& departure, int to);

  bool begun_ = false, over_ = false;
  std::size_t next_ = 0;  // request of the load: of this replica, or of all that it hands out
  std::size_t asked_here_ = 0;
  std::deque<Tensor> sent_;  // still read by the network, oldest first
  Bytes sent_bytes_{};
};

class DecodeFlow final : public PoolFlow {
 public:
  explicit DecodeFlow(const PoolRun& run);

  [[nodiscard]] bool computes_prompts_only() const override { return false; }
  std::vector<Arrival> arrivals(Seconds now) override;
  void fetch(int request, std::int64_t positions, const BlockTable& blocks, Seconds now) override;
  std::vector<int> landed() override;
  void leave(const Departure& departure) override;
  [[nodiscard]] bool is_over() const override { return ended_ == own_total_; }
  void finish() override;
  // Without their ends, which are the first tokens of the requests.
  [[nodiscard]] const std::vector<ObservedHandover>& handovers() const { return handovers_; }

 private:
  struct Part {
    CachePiece piece{};
    Tensor numbers{};
    std::size_t receive = 0;
  };
  struct OnTheWay {
    ObservedHandover observed{};
    std::int64_t positions = 0;
    const BlockTable* blocks = nullptr;
    std::vector<Part> parts{};
  };
  [[nodiscard]] bool is_here(const OnTheWay& one);
  void put_into_cache(OnTheWay& one);

  std::size_t own_total_, ended_ = 0;
  std::map<int, Seconds> ready_;  // by request, on the first rank
  std::deque<OnTheWay> on_the_way_;
  std::vector<ObservedHandover> handovers_;
};

}  // namespace meshwright::calibrate
