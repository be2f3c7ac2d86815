// SPDX-License-Identifier: Apache-2.0
// How many tokens a pass works on, on one rank: the shape that operators, attention and saved bytes
// are made from. Training's is one micro-batch's; an engine that serves has one of its own each
// step, with few new tokens beside many keys.
#pragma once

#include <cstdint>

#include "sim/base/job.h"
#include "sim/layout/layout.h"

namespace meshwright {

struct TokenShape {
  std::int64_t sequences = 1;
  std::int64_t queries = 0;  // new tokens of each sequence, of this context rank
  // Tokens of each sequence whose keys and values this context rank holds, the new ones among them.
  // The other context ranks hold as many more.
  std::int64_t keys = 0;
  bool operator==(const TokenShape&) const = default;
};

// New tokens, which every operator but attention's core works on.
constexpr std::int64_t tokens(const TokenShape& shape) { return shape.sequences * shape.queries; }

// Tokens of one sequence that its queries may attend to, on whichever context rank.
constexpr std::int64_t all_keys(const TokenShape& shape, const Layout& layout) {
  return shape.keys * layout.context_parallel_size;
}

// One micro-batch of training: every token of its sequences is new.
constexpr TokenShape micro_batch_tokens(const TrainingJob& job, const Layout& layout) {
  const std::int64_t local = job.seq_length / layout.context_parallel_size;
  return {layout.micro_batch_size, local, local};
}

}  // namespace meshwright
