// SPDX-License-Identifier: Apache-2.0
#include "planner/answers.h"

#include <fmt/format.h>

#include "sim/names.h"

namespace meshwright::planner {

std::string sentence_of(const Crossover& c) {
  const ParameterText& words = text_of(c.parameter);
  const std::string space = words.unit.empty() ? "" : " ";
  return fmt::format(
      "{} {:.3g}{}{} of {} (today {:.4g}) {} is faster; at {:.3g}{}{} {} saves {:.2g} % of a step{}.",
      c.below ? "Below" : "Above", c.at, space, words.unit, words.label, c.today,
      short_name(c.layout), c.end_value, space, words.unit,
      c.end_layout == c.layout ? "it" : short_name(c.end_layout), 100.0 * c.gain_at_end,
      c.exact ? "" : " (among the layouts compared)");
}

Answers answers_of(const Plan& plan, const SearchOptions& search, const AnswerOptions& options) {
  check_objective(options.objective, plan.cluster);
  Answers answers;
  answers.options = options;
  for (const std::string& text : options.what_ifs) {
    answers.what_ifs.push_back(what_if(plan, search, text));
  }
  if (plan.ranked.empty()) return answers;
  const std::vector<Layout> contenders = contenders_of(plan, search);
  answers.confidence = confidence(plan, options.confidence);
  answers.sensitivity =
      sensitivity(plan, contenders, search.memory_headroom, options.sensitivity);
  answers.crossovers = crossovers(plan, search, contenders, options.crossovers);
  return answers;
}

}  // namespace meshwright::planner
