// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/questions/answers.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/layout/short_name.h"
#include "sim/step/terms.h"

namespace meshwright::planner {
namespace {

constexpr double kTermWorthALine = 0.005;  // share of the slower step from which a term gets a line
constexpr double kEffectWorthALine = 0.001;  // likewise
constexpr double kCauseWorthNaming = 0.1;    // share of a term's change from which a cause is named

std::string spoken(TermKind kind) {
  std::string text(name_of(kind));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// The switches that move a term, those that matter.
std::string causes_of(TermKind kind, const std::vector<SwitchEffect>& effects) {
  const auto moved = [&](const SwitchEffect& effect) {
    return effect.terms[static_cast<std::size_t>(kind)].value();
  };
  double all = 0.0;
  for (const SwitchEffect& effect : effects) all += std::abs(moved(effect));
  std::vector<const SwitchEffect*> causes;
  for (const SwitchEffect& effect : effects) {
    if (all > 0.0 && std::abs(moved(effect)) >= kCauseWorthNaming * all) causes.push_back(&effect);
  }
  std::stable_sort(causes.begin(), causes.end(), [&](const auto* a, const auto* b) {
    return std::abs(moved(*a)) > std::abs(moved(*b));
  });
  std::string text;
  for (const SwitchEffect* effect : causes) {
    append_to_list(text, "; ", name_of(*effect));
    if (causes.size() > 1) text += fmt::format(" ({} s)", signed_number_text(moved(*effect), 2));
  }
  return text;
}

std::string chance(double probability) {
  if (probability < 0.001) return "less than 0.1 %";
  if (probability > 0.999) return "more than 99.9 %";
  return fmt::format("{} %", number_text(100.0 * probability, 3));
}

void append_terms(std::string& text, const Explanation& e) {
  const Seconds slower = std::max(e.layout.step_time, e.versus.step_time);
  for (const TermDifference& term : e.terms) {
    const double amount = term.difference().value();
    if (std::abs(amount) < kTermWorthALine * slower.value()) continue;
    text += fmt::format(
        "  {} {} s in {} ({} s against {} s){}{}\n", amount > 0.0 ? "loses" : "gains",
        number_text(std::abs(amount), 3), spoken(term.kind), number_text(term.layout.value(), 3),
        number_text(term.versus.value(), 3), term.causes.empty() ? "" : ": ", term.causes);
  }
}

}  // namespace

Explanation explanation(const Plan& plan, const SearchOptions& search, const Estimate& layout,
                        const Estimate& versus) {
  Explanation result;
  result.layout = layout;
  result.versus = versus;
  CostTable table(plan);
  result.effects = attribution(table, layout.layout, versus.layout);
  for (std::size_t k = 0; k < layout.terms.size(); ++k) {
    TermDifference term;
    term.kind = layout.terms[k].kind;
    term.layout = layout.terms[k].cost.time;
    term.versus = versus.terms[k].cost.time;
    if (term.layout.value() == 0.0 && term.versus.value() == 0.0) continue;
    term.causes = causes_of(term.kind, result.effects);
    result.terms.push_back(term);
  }
  std::stable_sort(result.terms.begin(), result.terms.end(), [](const auto& a, const auto& b) {
    return std::abs(a.difference().value()) > std::abs(b.difference().value());
  });
  if (layout.layout == versus.layout) return result;
  const bool slower = layout.step_time >= versus.step_time;
  Plan pair = plan;
  pair.ranked = slower ? std::vector{versus, layout} : std::vector{layout, versus};
  pair.pareto.clear();
  const double winner = confidence(pair).against.front().probability_winner_is_faster;
  result.probability_faster = slower ? 1.0 - winner : winner;
  CrossoverOptions only_these;
  only_these.affordable_layouts = 0;
  only_these.gain_that_matters = 1e-6;
  result.overtakes =
      crossovers(pair, search, {pair.ranked.front().layout, pair.ranked.back().layout}, only_these);
  return result;
}

std::string effects_text(const std::vector<SwitchEffect>& effects, Seconds step_time) {
  std::string text;
  for (const SwitchEffect& effect : effects) {
    const double amount = effect.time.value();
    const bool moves_memory = std::abs(in_gibibytes(effect.memory)) >= 0.1;
    if (std::abs(amount) < kEffectWorthALine * step_time.value() && !moves_memory) continue;
    text += fmt::format("  {}: {} s {}", name_of(effect), number_text(std::abs(amount), 3),
                        amount > 0.0 ? "more" : "less");
    if (moves_memory)
      text += fmt::format(", {} GiB", signed_number_text(in_gibibytes(effect.memory), 3));
    text += "\n";
  }
  return text;
}

std::string explanation_text(const Explanation& e, const std::string& versus_name) {
  const std::string mine = brief_name(e.layout.layout);
  const std::string other = fmt::format("{}, {},", versus_name, brief_name(e.versus.layout));
  if (e.layout.layout == e.versus.layout) {
    return fmt::format("{} is {}: {} s, {} GiB.\n", mine, versus_name,
                       number_text(e.layout.step_time.value()),
                       number_text(in_gibibytes(e.layout.peak_memory())));
  }
  const Seconds difference = e.layout.step_time - e.versus.step_time;
  std::string text = fmt::format(
      "{} takes {} s per step; {} takes {} s: {} s ({} %) {}.\n"
      "It needs {} GiB of memory instead of {} GiB.\n",
      mine, number_text(e.layout.step_time.value()), other, number_text(e.versus.step_time.value()),
      number_text(std::abs(difference.value()), 3),
      number_text(100.0 * std::abs(difference / e.versus.step_time), 3),
      difference.value() >= 0.0 ? "more" : "less",
      number_text(in_gibibytes(e.layout.peak_memory()), 3),
      number_text(in_gibibytes(e.versus.peak_memory()), 3));
  if (e.effects.size() > 1) {
    text += "Effect of each switch (mean over all valid orders of changing them):\n" +
            effects_text(e.effects, e.versus.step_time) + "Term by term:\n";
  }
  append_terms(text, e);
  text += fmt::format("With the uncertainty of the inputs it is faster with probability {}.\n",
                      chance(e.probability_faster));
  for (const Crossover& c : e.overtakes) {
    const WhatIfParameterText& words = text_of(c.parameter);
    text += fmt::format(
        "{} {}{}{} of {} (current value {}) the order of the two is reversed{}.\n",
        c.below ? "Below" : "Above", number_text(c.at), words.unit.empty() ? "" : " ", words.unit,
        words.label, number_text(c.today), c.winner_fits ? "" : ": the faster one no longer runs");
  }
  if (e.overtakes.empty()) {
    text +=
        "No single input reverses their order between 0.25x and 4x of its current "
        "value.\n";
  }
  return text;
}

}  // namespace meshwright::planner
