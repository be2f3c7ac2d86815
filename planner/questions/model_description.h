// SPDX-License-Identifier: Apache-2.0
// What a model is: parameters by part, layers by kind, what its cache keeps, FLOPs of a token.
#pragma once

#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/model/model.h"

namespace meshwright::planner {

struct ModelPart {
  std::string name{};
  std::int64_t parameters = 0;
};
struct AlikeLayers {
  std::string mixer{}, mlp{};  // empty: such layers have none
  int layers = 0;
};
// Forward, causal attention counted half.
struct TokenFlops {
  int seq_length = 0;
  Flops forward{};
};

struct ModelDescription {
  // The published checkpoint, without multi-token prediction; active: experts by their top-k.
  std::int64_t parameters = 0, active_parameters = 0, mtp_parameters = 0;
  std::vector<ModelPart> parts{};  // their sum is `parameters`
  std::vector<AlikeLayers> kinds{};
  // In 16 bits, all layers together: a token of the whole context, a token within a window, and the
  // states of one sequence.
  Bytes cache_per_token{}, window_cache_per_token{}, state_per_sequence{};
  std::vector<TokenFlops> flops{};  // by length
};
ModelDescription describe(const Model& model);

}  // namespace meshwright::planner
