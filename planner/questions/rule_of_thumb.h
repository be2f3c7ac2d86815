// SPDX-License-Identifier: Apache-2.0
// NVIDIA's rule of thumb, model size to parallel sizes, priced by our model: what a user already
// has beside what the plan says.
//
// Source: Megatron Bridge, skill nemo-mbridge-perf-parallelism-strategies, "Decision by Model Size"
// and "Decision by Sequence Length"
// (docs.nvidia.com/nemo/megatron-bridge/nightly/skills/nemo-mbridge-perf-parallelism-strategies),
// read 2026-11-22. Dense models by their parameters; expert models by the row nearest in
// parameters, in all and active (sum of the logarithms' distances).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/search/search.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

inline constexpr std::string_view kRuleOfThumbSource =
    "NVIDIA Megatron Bridge, nemo-mbridge-perf-parallelism-strategies, 2026";

struct SizeRange {
  int low = 1, high = 1;
};

struct RuleOfThumbRow {
  std::string_view name;
  double parameters = 0;         // dense: of the largest model that the row is for
  double active_parameters = 0;  // 0: dense
  SizeRange tensor{}, pipeline{};
  int context = 1, expert = 1;
};

const RuleOfThumbRow& rule_of_thumb_row(const Model& model);
// From how long the sequences are: 1 to 8 Ki, 2 to 32 Ki, 4 to 8 beyond.
SizeRange rule_of_thumb_context(int seq_length);

struct RuleOfThumb {
  const RuleOfThumbRow* row = nullptr;
  std::string sizes;  // "tp 8, pp 8 to 16, cp 2"
  // Fields that the rule does not set (micro-batch, chunks, recompute, ZeRO) are searched as in the
  // plan.
  std::optional<Estimate> estimate;
  std::string reason;  // then nothing: why no layout with these sizes runs
};

RuleOfThumb rule_of_thumb(const Scenario& scenario, const SearchOptions& search);

// "NVIDIA's rule of thumb (row "dense 175-500B") is tp 8, ...: the best with it is tp8 pp16
// ..., 12.9 s a step (9 % longer than rank 1) and 61 GiB."
std::string sentence_of(const RuleOfThumb& rule, const Estimate& winner);

}  // namespace meshwright::planner
