// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/layout/short_name.h"
#include "sim/step/terms.h"

namespace meshwright::reports {
namespace {

struct Difference {
  TermKind kind = TermKind::forward_compute;
  Seconds more;  // that the next layout spends
};

// Largest first, by size.
std::vector<Difference> differences(const Estimate& here, const Estimate& next) {
  std::vector<Difference> all;
  for (std::size_t i = 0; i < here.terms.size(); ++i) {
    const Seconds more = next.terms[i].cost.time - here.terms[i].cost.time;
    if (more.value() != 0.0) all.push_back({here.terms[i].kind, more});
  }
  std::stable_sort(all.begin(), all.end(), [](const Difference& a, const Difference& b) {
    return std::abs(a.more.value()) > std::abs(b.more.value());
  });
  return all;
}

// "2.1 % faster: 120 ms less pipeline bubble, against 30 ms more ..."
std::string why(const Estimate& here, const Estimate& next, const std::vector<Difference>& all) {
  const double faster = next.step_time / here.step_time - 1.0;
  if (all.empty() || next.step_time == here.step_time) return "As fast as the next.";
  std::string text = fmt::format("{} faster", percent_text(faster));
  const char* joint = ": ";
  for (const bool gain : {true, false}) {
    const auto found = std::find_if(all.begin(), all.end(), [gain](const Difference& d) {
      return (d.more.value() > 0.0) == gain;
    });
    if (found == all.end()) continue;
    // What is too small to matter beside the difference itself is left to the numbers.
    const Seconds amount = seconds(std::abs(found->more.value()));
    if (!gain && amount < (next.step_time - here.step_time) * 0.05) continue;
    text += fmt::format("{}{} {} {}", joint, seconds_text(amount), gain ? "less" : "more",
                        spoken(name_of(found->kind)));
    joint = ", against ";
  }
  return text + ".";
}

Json compared(const Estimate& here, const Estimate& next) {
  const std::vector<Difference> all = differences(here, next);
  Json terms = Json::array();
  for (const Difference& d : all) {
    terms.push_back({{"name", name_of(d.kind)}, {"next_minus_this_seconds", d.more.value()}});
  }
  return {{"sentence", why(here, next, all)},
          {"seconds", (next.step_time - here.step_time).value()},
          {"terms", std::move(terms)}};
}

Json terms_of(const Estimate& estimate) {
  Json terms = Json::array();
  for (const Term& term : estimate.terms) {
    terms.push_back({{"name", name_of(term.kind)},
                     {"seconds", term.cost.time.value()},
                     {"relative_spread", term.cost.relative_spread},
                     {"provenance", name_of(term.cost.provenance)}});
  }
  return terms;
}

// Of the step, in terms of that provenance.
double share_of(const Estimate& estimate, Provenance provenance) {
  Seconds time;
  for (const Term& term : estimate.terms) {
    if (term.cost.provenance == provenance) time += term.cost.time;
  }
  return estimate.step_time.value() > 0.0 ? time / estimate.step_time : 0.0;
}

}  // namespace

Json ranking_section(const planner::Plan& plan) {
  Json ranked = Json::array();
  for (std::size_t i = 0; i < plan.ranked.size(); ++i) {
    const Estimate& e = plan.ranked[i];
    const bool pareto = std::find(plan.pareto.begin(), plan.pareto.end(), i) != plan.pareto.end();
    Json entry{{"rank", i + 1},
               {"short_name", short_name(e.layout)},
               {"brief_name", brief_name(e.layout)},
               {"layout", to_json(e.layout)},
               {"step_time_seconds", e.step_time.value()},
               {"step_time_low_seconds", e.step_time_low.value()},
               {"step_time_high_seconds", e.step_time_high.value()},
               {"relative_to_best", e.step_time / plan.ranked.front().step_time},
               {"tokens_per_second_per_gpu", e.tokens_per_second_per_gpu},
               {"model_flops_utilization", e.model_flops_utilization},
               {"peak_memory_bytes", e.peak_memory().value()},
               {"provenance", name_of(e.provenance)},
               {"provenance_share", share_of(e, e.provenance)},
               {"pareto", pareto},
               {"terms", terms_of(e)}};
    entry["compared_with_next"] =
        i + 1 < plan.ranked.size() ? compared(e, plan.ranked[i + 1]) : Json();
    ranked.push_back(std::move(entry));
  }
  return ranked;
}

Json rejections_section(const planner::Plan& plan) {
  Json json = Json::array();
  for (const planner::Rejection& r : plan.rejections) {
    const RuleText& text = rule_text(r.rule);
    json.push_back({{"rule", text.name},
                    {"count", r.count},
                    {"requirement", text.requirement},
                    {"reason", text.reason},
                    {"sentence", r.sentence},
                    {"smallest_change", r.smallest_change},
                    {"example", short_name(r.nearest.layout)},
                    {"needed", r.nearest.violation.needed},
                    {"available", r.nearest.violation.available}});
  }
  return json;
}

}  // namespace meshwright::reports
