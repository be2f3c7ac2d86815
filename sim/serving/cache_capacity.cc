// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/cache_capacity.h"

#include <cmath>

namespace meshwright {
namespace {

double tokens_that_fit(const ServingReplica& replica) {
  const SequenceCache& sequence = replica.memory.sequence;
  const Bytes token = sequence.full_token + sequence.window_token;
  if (sequence.window <= 0.0) return replica.memory.kv_cache / token;
  // A window's layers keep W tokens and a block; a request of many tokens is mostly full layers.
  return sequence.full_token.value() > 0 ? replica.memory.kv_cache / sequence.full_token : 1e18;
}

}  // namespace

double cache_capacity(const ServingReplica& replica) {
  const double tokens = tokens_that_fit(replica), block = replica.rule.block_size;
  return replica.rule.whole_blocks ? std::floor(tokens / block) * block : tokens;
}

double window_equivalent_tokens(const ServingReplica& replica) {
  const SequenceCache& sequence = replica.memory.sequence;
  if (sequence.full_token.value() <= 0.0) return 0.0;
  const double states = sequence.state / sequence.full_token;
  if (sequence.window <= 0.0) return states;
  const double kept = in_blocks(sequence.window, sequence.block_size) + sequence.block_size;
  return sequence.window_token * kept / sequence.full_token + states;
}

}  // namespace meshwright
