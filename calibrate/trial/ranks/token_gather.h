// SPDX-License-Identifier: Apache-2.0
// The allgather dispatcher (Megatron-LM moe/token_dispatcher.py, MoEAllGatherTokenDispatcher): all
// ranks with experts, or with pieces of the same ones, get each other's tokens, the map of who goes
// where and the probabilities; each takes the rows of its experts, adds what comes out to their
// tokens, and sums are scattered. Backward takes the same ways.
//
// Megatron-LM has one group of all these ranks. Here expert ranks come first and then those with
// pieces of their experts, as in the ledger (sim/volume/expert.cc): the same bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "calibrate/trial/ranks/context.h"

namespace meshwright::calibrate {

inline bool gathers_tokens(const Layout& layout) {
  return layout.moe_token_dispatcher_type == MoeTokenDispatcherType::allgather;
}

// tokens x experts: whether a token goes there, and its probability.
struct RouteTable {
  RouteTable(std::int64_t tokens, std::int64_t experts);
  void set(std::int64_t token, std::int64_t expert, float probability);

  std::int64_t experts;
  std::vector<std::uint8_t> map;
  std::vector<float> probabilities;
};

// Rows that a rank's experts take from the tokens of all ranks: by local expert, in the order of
// the tokens.
struct GatheredRows {
  std::int64_t tokens = 0;              // of all ranks
  std::vector<std::int64_t> entries;    // of each row, where in the table of all tokens it stands
  std::vector<float> probabilities;     // of each row
  std::vector<std::int64_t> of_expert;  // rows
  Tensor tokens_of_rows;                // on the device
};

// Gathers the tables of all ranks.
GatheredRows gathered_rows(const TrialContext& context, const RouteTable& own, Phase phase);
// x: this rank's tokens x hidden. Gathers all and takes the rows.
Tensor rows_of_tokens(const TrialContext& context, const GatheredRows& rows, const Tensor& x,
                      std::string_view name, Phase phase);
// The sum of each of this rank's tokens over all rows, on all ranks.
Tensor tokens_of_rows(const TrialContext& context, const GatheredRows& rows, Tensor values,
                      std::string_view name, Phase phase);
// Turns one number per row into this rank's table, tokens x experts.
std::vector<float> table_of_rows(const TrialContext& context, const GatheredRows& rows,
                                 const Tensor& values, std::int64_t experts, std::string_view name);

}  // namespace meshwright::calibrate
