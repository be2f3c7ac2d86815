// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/questions/answers.h"
#include "sim/layout/fields.h"
#include "sim/layout/short_name.h"
#include "sim/step/terms.h"

namespace meshwright::planner {
namespace {

constexpr double kTermWorthALine = 0.005;  // of the slower step
constexpr std::size_t kMostOvertakes = 3;

// The parts of the cost that a term comes from.
unsigned parts_behind(TermKind kind) {
  const auto bits = [](auto... parts) { return (0U | ... | (1U << static_cast<unsigned>(parts))); };
  switch (kind) {
    case TermKind::pipeline_bubble:
      return bits(CostPart::shape);
    case TermKind::pipeline_communication:
      return bits(CostPart::shape, CostPart::send);
    case TermKind::data_parallel_communication:
    case TermKind::optimizer:
      return bits(CostPart::data);
    case TermKind::recompute:
    case TermKind::offload:
      return bits(CostPart::units, CostPart::treatment, CostPart::shape);
    default:
      return bits(CostPart::units, CostPart::shape);
  }
}

// "name a against b" for what differs of the fields that a term's parts read, and for the
// micro-batches that each stage works through.
std::string sizes_behind(TermKind kind, const Layout& a, const Layout& b, int batch) {
  const unsigned parts = parts_behind(kind);
  std::string text;
  const auto add = [&](std::string_view name, const auto& mine, const auto& other) {
    text += fmt::format("{}{} {} against {}", text.empty() ? "" : ", ", name, mine, other);
  };
  for (const FieldDifference& field : differences(a, b)) {
    if ((field.read_by & parts) != 0) add(field.short_name, field.a, field.b);
  }
  const int mine = num_micro_batches(batch, a);
  const int other = num_micro_batches(batch, b);
  if (kind == TermKind::pipeline_bubble && mine != other) add("micro-batches", mine, other);
  return text;
}

std::string spoken(TermKind kind) {
  std::string text(name_of(kind));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string chance(double probability) {
  if (probability < 0.001) return "less than 0.1 %";
  if (probability > 0.999) return "more than 99.9 %";
  return fmt::format("{:.3g} %", 100.0 * probability);
}

void append_terms(std::string& text, const Explanation& e) {
  const Seconds slower = std::max(e.layout.step_time, e.versus.step_time);
  for (const TermDifference& term : e.terms) {
    const double amount = term.difference().value();
    if (std::abs(amount) < kTermWorthALine * slower.value()) continue;
    text += fmt::format("  {} {:.3g} s in {} ({:.3g} s against {:.3g} s){}{}\n",
                        amount > 0.0 ? "loses" : "gains", std::abs(amount), spoken(term.kind),
                        term.layout.value(), term.versus.value(), term.sizes.empty() ? "" : ": ",
                        term.sizes);
  }
}

}  // namespace

Explanation explanation(const Plan& plan, const SearchOptions& search, const Estimate& layout,
                        const Estimate& versus) {
  Explanation result;
  result.layout = layout;
  result.versus = versus;
  for (std::size_t k = 0; k < layout.terms.size(); ++k) {
    TermDifference term;
    term.kind = layout.terms[k].kind;
    term.layout = layout.terms[k].cost.time;
    term.versus = versus.terms[k].cost.time;
    if (term.layout.value() == 0.0 && term.versus.value() == 0.0) continue;
    term.sizes = sizes_behind(term.kind, layout.layout, versus.layout, plan.job.global_batch_size);
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

std::string explanation_text(const Explanation& e, const std::string& versus_name) {
  const std::string mine = brief_name(e.layout.layout);
  const std::string other = fmt::format("{}, {},", versus_name, brief_name(e.versus.layout));
  if (e.layout.layout == e.versus.layout) {
    return fmt::format("{} is {}: {:.4g} s, {:.4g} GiB.\n", mine, versus_name,
                       e.layout.step_time.value(), in_gibibytes(e.layout.peak_memory()));
  }
  const Seconds difference = e.layout.step_time - e.versus.step_time;
  std::string text = fmt::format(
      "{} takes {:.4g} s a step; {} takes {:.4g} s: {:.3g} s ({:.3g} %) {}.\n"
      "It needs {:.3g} GiB of memory instead of {:.3g} GiB.\n",
      mine, e.layout.step_time.value(), other, e.versus.step_time.value(),
      std::abs(difference.value()), 100.0 * std::abs(difference / e.versus.step_time),
      difference.value() >= 0.0 ? "more" : "less", in_gibibytes(e.layout.peak_memory()),
      in_gibibytes(e.versus.peak_memory()));
  append_terms(text, e);
  text += fmt::format("What is uncertain leaves it a chance of {} to be the faster one.\n",
                      chance(e.probability_faster));
  for (std::size_t i = 0; i < std::min(kMostOvertakes, e.overtakes.size()); ++i) {
    const Crossover& c = e.overtakes[i];
    const WhatIfParameterText& words = text_of(c.parameter);
    text += fmt::format("{} {:.4g}{}{} of {} (today {:.4g}) the order of the two turns round.\n",
                        c.below ? "Below" : "Above", c.at, words.unit.empty() ? "" : " ",
                        words.unit, words.label, c.today);
  }
  if (e.overtakes.empty()) {
    text +=
        "No single input between a quarter and four times of today's turns their order round.\n";
  }
  return text;
}

}  // namespace meshwright::planner
