// SPDX-License-Identifier: Apache-2.0
// Blocks of a cache whose tokens a later request can find: those of equal prompts, and those of a
// preempted request.
//
// Free blocks are taken in the order in which they became free. Those that never held tokens come
// first, and a request's last block comes before its first (vLLM v1/core/block_pool.py,
// v1/core/single_type_kv_cache_manager.py). A block is found until it is taken.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace meshwright {

// Leading blocks of a request that others may hold, too.
struct PrefixHold {
  int request = 0;      // its index in the load
  int prompt = -1;      // prompts with one number begin with the same tokens; -1: equal to none
  int shared = 0;       // whole blocks of a prompt with a number
  int held_shared = 0;  // leading ones of these that it holds together with others
};

class CachedPrefixes {
 public:
  explicit CachedPrefixes(double blocks) : freed_{{kNothing, 0.0, blocks}} {}

  // Blocks in use from now on. More than before: free ones are taken, and lose their tokens.
  void set_used(double blocks);
  // Leading blocks that a request would find, `most` at most.
  [[nodiscard]] double found(const PrefixHold& of, double most) const;
  // Number of these that others use.
  [[nodiscard]] double found_in_use(const PrefixHold& of, double found) const;
  // The request holds the blocks that it found.
  void hold(PrefixHold& of, double found);
  // The first `whole` blocks of the request are full now.
  void fill(PrefixHold& of, double whole);
  // The request gives `blocks` back, and can find the first `whole` again.
  void give_back(PrefixHold& of, double blocks, double whole);
  // Blocks in use that are counted once for each of several holders.
  [[nodiscard]] double counted_twice() const { return counted_twice_; }

 private:
  static constexpr std::int64_t kNothing = -1;
  struct Freed {
    std::int64_t key = kNothing;
    double from = 0, to = 0;  // places; the last one is taken first
  };
  struct Content {
    double cached = 0;           // leading blocks that can be found
    std::vector<int> holders{};  // requests that hold each shared block
  };
  static std::int64_t shared_key(const PrefixHold& of) { return 2LL * of.prompt; }
  static std::int64_t own_key(const PrefixHold& of) { return 2LL * of.request + 1; }
  [[nodiscard]] double cached_blocks(std::int64_t key) const;
  void push(std::int64_t key, double from, double to);
  void pull(std::int64_t key, double place);

  std::deque<Freed> freed_;
  std::unordered_map<std::int64_t, Content> contents_{};
  double used_ = 0, counted_twice_ = 0;
};

}  // namespace meshwright
