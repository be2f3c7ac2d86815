// SPDX-License-Identifier: Apache-2.0
#include "sim/rules/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/rules/batch_rules.h"
#include "sim/rules/expert_rules.h"
#include "sim/rules/feature_rules.h"
#include "sim/rules/framework_rules.h"
#include "sim/rules/narrow_rules.h"
#include "sim/rules/pipeline_layout_rules.h"
#include "sim/rules/pipeline_rules.h"
#include "sim/rules/recompute_rules.h"
#include "sim/rules/schedule_rules.h"
#include "sim/rules/switch_rules.h"
#include "sim/rules/tensor_rules.h"

namespace meshwright {
namespace {

template <std::size_t... N>
constexpr auto joined_rules(const RuleRow (&... groups)[N]) {
  std::array<RuleRow, (N + ...)> rows{};
  std::size_t i = 0;
  const auto append = [&](std::span<const RuleRow> group) {
    for (const RuleRow& row : group) rows[i++] = row;
  };
  (append(groups), ...);
  return rows;
}

// In the order in which they are checked.
constexpr std::array kRows =
    joined_rules(kMemoryRules, kFormatRules, kFrameworkRules, kFeatureRules, kTensorRules,
                 kPipelineLayoutRules, kPipelineRules, kScheduleRules, kUnevenRules, kBatchRules,
                 kExpertRules, kSwitchRules, kRecomputeRules, kNarrowRules);
static_assert(kRows[static_cast<std::size_t>(Rule::memory_capacity)].part == RulePart::memory);

constexpr auto texts() {
  std::array<RuleText, kRows.size()> texts{};
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const RuleRow& row = kRows[i];
    texts[i] = {static_cast<Rule>(i), row.name, row.requirement, row.reason, row.remedy};
  }
  return texts;
}
constexpr std::array kTexts = texts();

template <RulePart part, std::size_t i>
bool is_broken(const RuleInput& in, std::optional<Violation>& violation) {
  if constexpr (kRows[i].part == part) {
    if (const CheckResult result = kRows[i].check(in)) {
      violation = {static_cast<Rule>(i), result->needed, result->available};
      return true;
    }
  }
  return false;
}

// Written out at compile time, so that each check is inlined: a search calls this for every stage
// setting.
template <RulePart part, std::size_t first, std::size_t... i>
bool any_broken(const RuleInput& in, std::optional<Violation>& violation,
                std::index_sequence<i...>) {
  return (is_broken<part, first + i>(in, violation) || ...);
}
// Rules on what may be lacking: none is looked at where nothing of the group is.
constexpr std::size_t kFirstFeature =
    std::size(kMemoryRules) + std::size(kFormatRules) + std::size(kFrameworkRules);
constexpr std::size_t kBehindFeatures = kFirstFeature + std::size(kFeatureRules);
constexpr UnsupportedBits feature_bits(RulePart part) {
  UnsupportedBits bits = 0;
  for (const RuleRow& row : kFeatureRules) {
    if (row.part == part) bits |= row.lack;
  }
  return bits;
}
template <RulePart part>
std::optional<Violation> first_broken(const RuleInput& in) {
  std::optional<Violation> violation;
  if (any_broken<part, 0>(in, violation, std::make_index_sequence<kFirstFeature>{})) {
    return violation;
  }
  constexpr UnsupportedBits kBits = feature_bits(part);
  if ((in.devices.lacks & kBits) != 0 &&
      any_broken<part, kFirstFeature>(in, violation,
                                      std::make_index_sequence<std::size(kFeatureRules)>{})) {
    return violation;
  }
  static_cast<void>(any_broken<part, kBehindFeatures>(
      in, violation, std::make_index_sequence<kRows.size() - kBehindFeatures>{}));
  return violation;
}

// For the part that reads no model and no job.
const Model no_model;
const Job no_job;

}  // namespace

double shortfall(const Missed& missed) {
  const auto [needed, available] = missed;
  if (needed > available) return (needed - available) / needed;
  if (needed <= 0.0) return available;
  const double rest = std::fmod(available, needed);
  if (rest > 0.0) return std::min(rest, needed - rest) / needed;
  return (available - needed) / available;  // a size that may not exceed `needed`
}

std::span<const RuleText> all_rules() { return kTexts; }

const RuleText& rule_text(Rule rule) { return kTexts[static_cast<std::size_t>(rule)]; }

std::optional<Rule> rule_named(std::string_view name) {
  for (const RuleText& text : kTexts) {
    if (text.name == name) return text.rule;
  }
  return std::nullopt;
}

std::optional<Violation> check_sizes(const Model& model, const Job& job, const Layout& layout,
                                     const Devices& devices) {
  return first_broken<RulePart::sizes>({model, job, layout, devices});
}

std::optional<Violation> check_data_switches(const Layout& layout, const Devices& devices) {
  return first_broken<RulePart::data_switches>({no_model, no_job, layout, devices});
}

std::optional<Violation> check_stage_switches(const Model& model, const Job& job,
                                              const Layout& layout, const Devices& devices) {
  return first_broken<RulePart::stage_switches>({model, job, layout, devices});
}

std::optional<Violation> check_layout(const Model& model, const Job& job, const Layout& layout,
                                      const Devices& devices) {
  if (auto result = check_sizes(model, job, layout, devices)) return result;
  if (auto result = check_data_switches(layout, devices)) return result;
  return check_stage_switches(model, job, layout, devices);
}

std::vector<std::string> unproven_uses(const Model& model, const Job& job, const Layout& layout,
                                       const Devices& devices) {
  std::vector<std::string> uses;
  if (devices.unproven == 0) return uses;
  Devices strict = devices;
  strict.lacks = devices.unproven;
  const RuleInput in{model, job, layout, strict};
  for (const RuleRow& row : kRows) {
    if ((row.lack & devices.unproven) == 0) continue;
    if (const CheckResult found = row.check(in)) uses.push_back(row.sentence(in, *found) + ".");
  }
  return uses;
}

std::string describe(const Violation& violation, const Model& model, const Job& job,
                     const Layout& layout, const Devices& devices) {
  return kRows[static_cast<std::size_t>(violation.rule)].sentence(
      {model, job, layout, devices}, {violation.needed, violation.available});
}

}  // namespace meshwright
