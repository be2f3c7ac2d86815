// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planner/search/choice.h"
#include "sim/base/number_text.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {

std::string sentence_of(const Crossover& c) {
  const WhatIfParameterText& words = text_of(c.parameter);
  const auto amount = [&](double value) {
    return fmt::format("{}{}{}", number_text(value), words.unit.empty() ? "" : " ", words.unit);
  };
  const bool batch = c.parameter == WhatIfParameter::global_batch_size;
  const std::string place =
      batch ? fmt::format("At {} of {}", amount(c.at), words.label)
            : fmt::format("{} {} of {}", c.below ? "Below" : "Above", amount(c.at), words.label);
  std::string text = fmt::format("{} (current value {}) the best layout is {}", place,
                                 number_text(c.today), brief_name(c.layout));
  if (!c.winner_fits) {
    text += fmt::format(". Layout #1 {} there", batch ? "cannot run" : "no longer fits");
  } else {
    const std::string who =
        c.end_layout == c.layout ? "it" : fmt::format("{}", brief_name(c.end_layout));
    text += fmt::format(". At {} {} saves {} % of a step", amount(c.end_value), who,
                        number_text(100.0 * c.gain_at_end, 2));
  }
  return text + (c.exact ? "." : " (among the layouts compared).");
}

namespace {

// Runner-ups of the plan that were chosen from the fastest of the pool, whatever the plan shows.
ConfidenceOptions contending(const Plan& plan, const Plan& pool, ConfidenceOptions options) {
  const std::size_t last = std::min<std::size_t>(kLayoutsPooled, pool.ranked.size()) - 1;
  const Seconds slowest = pool.ranked[last].step_time;
  const std::size_t most = std::min<std::size_t>(kLayoutsKept, plan.ranked.size());
  options.runner_ups = -1;
  for (std::size_t i = 0; i < most && plan.ranked[i].step_time <= slowest; ++i) {
    ++options.runner_ups;
  }
  options.could_win = kCouldWin;
  return options;
}

}  // namespace

std::size_t most_searches(const AnswerOptions& options) {
  // Two groups that leave their node, and a quarter of the GPUs.
  constexpr std::size_t kFlags = 5, kRobust = 2, kContenders = 1, kLarger = 1;
  return options.what_ifs.size() + kFlags + kRobust + kContenders + kLarger;
}

Answers answers_of(const Plan& plan, const Plan& full, const SearchOptions& search,
                   const AnswerOptions& options, Scaling scaling) {
  Answers answers;
  answers.options = options;
  answers.scaling = std::move(scaling);
  for (const std::string& text : options.what_ifs) {
    answers.what_ifs.push_back(what_if(plan, search, text));
  }
  if (plan.ranked.empty()) return answers;
  answers.placement = rank_map(plan.ranked.front(), plan.cluster);
  if (only_device(plan.cluster).kind == DeviceKind::gpu) {
    answers.rule_of_thumb = rule_of_thumb(plan, search);
  }
  answers.red_flags = red_flags(plan, search, answers.scaling, answers.rule_of_thumb);
  if (options.objective == Objective::memory_headroom) return answers;
  answers.robust_pick = robust_pick(full, search);
  const std::vector<Layout> contenders = contenders_of(full, search);
  answers.confidence = confidence(plan, contending(plan, full, options.confidence));
  answers.sensitivity = sensitivity(full, contenders, search.memory_headroom);
  answers.crossovers = crossovers(full, search, contenders, options.crossovers);
  return answers;
}

}  // namespace meshwright::planner
