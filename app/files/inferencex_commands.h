// SPDX-License-Identifier: Apache-2.0
// What InferenceX's launch commands say that its tables of results leave out: limits of a step and
// how prompts are held back (SemiAnalysisAI/InferenceX, benchmarks/*.sh, read in 2026-11).
#pragma once

#include "planner/serving/serving_backtest.h"

namespace meshwright::app {

// A row of InferenceX: its words, and the stated lengths of prompt and answer.
struct InferencexRow {
  std::string_view model{}, gpu{}, engine{};
  WeightFormat weights = WeightFormat::bf16;
  int input = 0, output = 0, users = 0;
  bool states_kv_cache = false;
};
// Fills what the row does not say. True: something was filled.
bool set_inferencex_options(ReplicaOptions& options, const InferencexRow& row);

}  // namespace meshwright::app
