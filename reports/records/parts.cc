// SPDX-License-Identifier: Apache-2.0
#include "reports/records/parts.h"

#include "sim/layout/short_name.h"

namespace meshwright::reports {

const Record<Layout>& named_layout_record() {
  return described([](Record<Layout>& r) {
    r.about("A layout with the names that people read.");
    r.derived("short_name", "All that is not as usual.",
              [](const Layout& layout) { return short_name(layout); });
    r.derived<std::string>("brief_name", kind::text(), "Its sizes.", brief_name);
    r.row_at(
        [](auto& layout) -> auto& { return layout; }, "layout", layout_record);
    r.named("NamedLayout").all_required();
  });
}

const Record<planner::Timed>& timed_layout_record() {
  return described([](Record<planner::Timed>& r) {
    using R = planner::Timed;
    r.about("A layout and what it takes.");
    r.rows_of(
        named_layout_record(), [](auto& timed) -> auto& { return timed.layout; });
    r.rows<&R::step_time, &R::peak_memory>();
    r.named("TimedLayout").all_required();
  });
}

const Record<planner::SearchStatistics>& statistics_record() {
  return described([](Record<planner::SearchStatistics>& r) {
    using R = planner::SearchStatistics;
    r.about("How many layouts a search looked at.");
    r.row<&R::enumerated>(kind::count(), "Sizes multiply to the GPU count.");
    r.row<&R::legal>(kind::count(), "Of those, obey every rule.");
    r.row<&R::fitting>(kind::count(), "Of those, fit in memory.");
    r.named("Statistics").all_required();
  });
}

const Record<LaunchFile>& launch_file_record() {
  return described([](Record<LaunchFile>& r) {
    using R = LaunchFile;
    r.about("The best layout in a framework's words, or why it cannot be said in them.");
    r.row<&R::target>();
    r.row<&R::names_of>("The version whose names these are.");
    r.row<&R::file_name>();
    r.row<&R::text>("Empty when refused.");
    r.row<&R::notes>("What differs, what to add.");
    r.row<&R::refusal>("Why the framework cannot run this layout.");
    r.named("LaunchFile").all_required();
  });
}

Kind<Rule> rule_kind() {
  std::vector<std::string_view> names;
  for (const RuleText& text : all_rules()) names.push_back(text.name);
  return kind::named<Rule>(
      names,
      [names](Rule rule) {
        const auto found = std::find(names.begin(), names.end(), rule_text(rule).name);
        return static_cast<std::size_t>(found - names.begin());
      },
      [names](std::size_t place) { return *rule_named(std::string(names[place])); });
}

}  // namespace meshwright::reports
