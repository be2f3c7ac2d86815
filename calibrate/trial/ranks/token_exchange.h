// SPDX-License-Identifier: Apache-2.0
// Sends copies of tokens to their experts and back: an all-to-all between the expert ranks, an
// all-gather between those that hold pieces of the same experts, and a sort by expert (Megatron-LM
// moe/token_dispatcher.py, MoEAlltoAllTokenDispatcher). The way back is the same, with a
// reduce-scatter instead of the all-gather.
#pragma once

#include <string_view>
#include <vector>

#include "calibrate/trial/ranks/context.h"

namespace meshwright::calibrate {

// Rows that one rank sends and gets. Sources are the ranks whose tokens come here: for each
// expert-tensor rank all expert ranks.
struct ExchangePlan {
  std::int64_t copies = 0;                            // of this rank's tokens
  std::vector<std::int64_t> sent, received;           // to and from each expert rank
  std::vector<std::int64_t> gathered;                 // by each expert-tensor rank
  bool sends_alike = true, gathers_alike = true;      // all ranks of the group the same
  std::vector<std::vector<std::int64_t>> of_sources;  // by source and local expert
  std::vector<std::int64_t> of_expert;                // by local expert
  [[nodiscard]] std::int64_t rows() const;            // that the experts here get
};

// copies_of_expert: of this rank's tokens. `fixed`: the same on all ranks, so that none has to ask
// the others.
ExchangePlan exchange_plan(const TrialContext& context,
                           const std::vector<std::int64_t>& copies_of_expert, bool fixed);

struct ExchangeNames {
  std::string_view exchange, share;
};

// plan.copies rows of `cols` numbers, by expert: to plan.rows() rows by local expert.
Tensor to_experts(const TrialContext& context, const ExchangePlan& plan, Tensor rows,
                  std::int64_t cols, ExchangeNames names, Phase phase);
// And back; what the expert-tensor ranks have is added up.
Tensor from_experts(const TrialContext& context, const ExchangePlan& plan, Tensor rows,
                    std::int64_t cols, ExchangeNames names, Phase phase);

}  // namespace meshwright::calibrate
