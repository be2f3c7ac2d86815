// SPDX-License-Identifier: Apache-2.0
#include "reports/records/parts.h"

#include "sim/layout/short_name.h"

namespace meshwright::reports {

const Record<Layout>& named_layout_record() {
  static const Record<Layout> record = [] {
    Record<Layout> r("A layout with the names that people read.");
    r.derived<std::string>("short_name", kind::text(), "All that is not as usual.", short_name);
    r.derived<std::string>("brief_name", kind::text(), "Its sizes.", brief_name);
    r.row_at<Layout>(
        [](auto& layout) -> auto& { return layout; }, "layout", kind::object(layout_record), "");
    return r.named("NamedLayout").all_required();
  }();
  return record;
}

const Record<planner::Timed>& timed_layout_record() {
  static const Record<planner::Timed> record = [] {
    using R = planner::Timed;
    Record<R> r("A layout and what it takes.");
    r.rows_of(
        named_layout_record(), [](auto& timed) -> auto& { return timed.layout; });
    r.row(&R::step_time, "step_time_seconds", kind::base_amount<Seconds>(), "");
    r.row(&R::peak_memory, "peak_memory_bytes", kind::base_amount<Bytes>(), "");
    return r.named("TimedLayout").all_required();
  }();
  return record;
}

const Record<planner::SearchStatistics>& statistics_record() {
  static const Record<planner::SearchStatistics> record = [] {
    using R = planner::SearchStatistics;
    Record<R> r("How many layouts a search looked at.");
    r.row(&R::enumerated, "enumerated", kind::count(), "Sizes multiply to the GPU count.");
    r.row(&R::legal, "legal", kind::count(), "Of those, obey every rule.");
    r.row(&R::fitting, "fitting", kind::count(), "Of those, fit in memory.");
    return r.named("Statistics").all_required();
  }();
  return record;
}

const Record<LaunchFile>& launch_file_record() {
  static const Record<LaunchFile> record = [] {
    using R = LaunchFile;
    Record<R> r("The best layout in a framework's words, or why it cannot be said in them.");
    r.row(&R::target, "target", kind::text(), "");
    r.row(&R::names_of, "names_of", kind::text(), "The version whose names these are.");
    r.row(&R::file_name, "file_name", kind::text(), "");
    r.row(&R::text, "text", kind::text(), "Empty when refused.");
    r.row(&R::notes, "notes", kind::texts(), "What differs, what to add.");
    r.row(&R::refusal, "refusal", kind::text(), "Why the framework cannot run this layout.");
    return r.named("LaunchFile").all_required();
  }();
  return record;
}

Kind<Rule> rule_kind() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const RuleText& text : all_rules()) all.push_back(text.name);
    return all;
  }();
  return {.read =
              [](ObjectReader& reader, const std::string& key, Rule& rule) {
                rule = *rule_named(std::string(names[read_choice(reader, key, names)]));
              },
          .write = [](Json& json, const std::string& key,
                      const Rule& rule) { json[key] = rule_text(rule).name; },
          .schema = [] { return choice_schema(names); }};
}

}  // namespace meshwright::reports
