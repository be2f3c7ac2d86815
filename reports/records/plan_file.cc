// SPDX-License-Identifier: Apache-2.0
#include "reports/records/plan_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/records/parts.h"
#include "reports/records/search.h"
#include "sim/base/error.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"
#include "sim/json/result_records.h"
#include "sim/record/without_key.h"

namespace meshwright::reports {
namespace {

// Volume, memory per stage and terms are most of an estimate's text, and readers compute them again
// from the layout; `meshwright volume` and `explain` print any.
constexpr std::size_t kWithVolume = 1;
constexpr std::size_t kWithParts = 10;
constexpr std::array<std::string_view, 3> kParts{"terms", "memory", "volume"};

PlannedLayout planned_of(const Estimate& estimate, std::size_t place) {
  Estimate kept = estimate;
  if (place >= kWithVolume) kept.volume = {};
  if (place >= kWithParts) kept.memory = {};
  return {{estimate.layout, estimate.step_time, estimate.peak_memory()}, std::move(kept)};
}

Json planned_to_json(const PlannedLayout& layout) {
  if (!layout.estimate) {
    return {{"layout", to_json(layout.layout)},
            {"step_time_seconds", layout.step_time.value()},
            {"peak_memory_bytes", layout.peak_memory.value()}};
  }
  Json json = to_json(*layout.estimate);
  json["peak_memory_bytes"] = layout.peak_memory.value();
  if (layout.estimate->volume.stages.empty()) json = without_key(std::move(json), "volume");
  if (!layout.estimate->memory.empty()) return json;
  return without_key(without_key(std::move(json), "memory"), "terms");
}

PlannedLayout read_planned(ObjectReader reader) {
  constexpr NumberRange kPositive{.low_excluded = true};
  PlannedLayout read;
  read.layout =
      layout_from_json(reader.member("layout"), reader.file(), reader.pointer_to("layout"));
  read.step_time = seconds(reader.optional_number("step_time_seconds", 0.0, kPositive));
  read.peak_memory = bytes(reader.optional_number("peak_memory_bytes", 0.0, kPositive));
  return read;
}

// Schema of an estimate without its parts.
Json planned_schema() {
  Json schema = estimate_record().schema();
  schema["title"] = "PlannedLayout";
  schema["description"] =
      "A layout. The first one alone keeps its volume, the first ten keep memory and terms.";
  Json required = Json::array();
  for (const Json& key : schema["required"]) {
    if (std::find(kParts.begin(), kParts.end(), key) == kParts.end()) required.push_back(key);
  }
  schema["required"] = required;
  return schema;
}

Kind<std::vector<PlannedLayout>> ranking_kind() {
  using Ranking = std::vector<PlannedLayout>;
  return {{.read =
               [](ObjectReader& reader, const std::string& key, Ranking& ranking) {
                 const Json& list = reader.required_array(key);
                 for (std::size_t i = 0; i < list.size(); ++i) {
                   ranking.push_back(read_planned(
                       {list[i], reader.file(), fmt::format("{}/{}", reader.pointer_to(key), i)}));
                 }
               },
           .write =
               [](Json& json, const std::string& key, const Ranking& ranking) {
                 Json& list = json[key] = Json::array();
                 for (const PlannedLayout& layout : ranking)
                   list.push_back(planned_to_json(layout));
               },
           .schema =
               [] {
                 return Json{{"type", "array"}, {"items", planned_schema()}};
               }}};
}

Kind<Model> model_kind() {
  return kind::object(model_record)
      .with({.read = [](ObjectReader& reader, const std::string& key, Model& value) {
        value = model_from_json(reader.member(key), reader.file(), reader.pointer_to(key));
      }});
}

// An earlier version's is left to be answered again.
Kind<std::optional<Capacity>> capacity_kind() {
  const auto capacity = kind::optional(kind::object(capacity_record));
  return capacity.with({.read = [capacity](ObjectReader& reader, const std::string& key,
                                           std::optional<Capacity>& value) {
    try {
      capacity.read(reader, key, value);
    } catch (const InputError&) {
      value.reset();
    }
  }});
}

// Kind of a rejection, or of its nearest miss.
Kind<planner::Rejection> broken_rule() {
  const Kind<Rule> rule = rule_kind();
  return {{.read =
               [rule](ObjectReader& reader, const std::string& key, planner::Rejection& fell) {
                 rule.read(reader, key, fell.rule);
                 fell.nearest.violation.rule = fell.rule;
               },
           .write = [rule](Json& json, const std::string& key,
                           const planner::Rejection& fell) { rule.write(json, key, fell.rule); },
           .schema = [rule] { return rule.schema(); }}};
}

const Record<planner::Rejection>& rejection_record() {
  static const Record<planner::Rejection> record = [] {
    using R = planner::Rejection;
    const auto violation = [](double Violation::*member) {
      return [member](auto& fell) -> auto& { return fell.nearest.violation.*member; };
    };
    Record<R> r("Layouts that one rule rejected.");
    r.row_at(
        [](auto& fell) -> auto& { return fell; }, "rule", broken_rule());
    r.row<&R::count>(kind::count());
    r.derived<std::string>("requirement", kind::text(), "What the rule asks.", [](const R& fell) {
      return std::string(rule_text(fell.rule).requirement);
    });
    r.row_at(violation(&Violation::needed), "needed", kAnyNumber,
             "By the layout that missed by least.");
    r.absent_in_older_files();
    r.row_at(violation(&Violation::available), "available", kAnyNumber);
    r.absent_in_older_files();
    r.row<&R::sentence>("The same in words.").absent_in_older_files();
    r.row<&R::smallest_change>("That would admit that layout; empty: none is known.");
    r.absent_in_older_files();
    r.row_at(
        [](auto& fell) -> auto& { return fell.nearest.layout; }, "example", layout_record,
        "That layout.");
    return r.named("Rejection").all_required();
  }();
  return record;
}

// Places in "ranked".
Kind<std::vector<std::size_t>> places_kind() {
  using Places = std::vector<std::size_t>;
  return {{.read =
               [](ObjectReader& reader, const std::string& key, Places& places) {
                 for (const Json& place : reader.required_array(key)) {
                   if (!place.is_number_unsigned()) reader.fail(key, "must be an array of places");
                   places.push_back(place.get<std::size_t>());
                 }
               },
           .write = [](Json& json, const std::string& key,
                       const Places& places) { json[key] = places; },
           .schema =
               [] {
                 return Json{{"type", "array"}, {"items", kind::count().schema()}};
               }}};
}

Kind<planner::NotExpressible> counts_by_reason() {
  using Counts = planner::NotExpressible;
  return {{.read =
               [](ObjectReader& reader, const std::string& key, Counts& counts) {
                 const Json& given = reader.member(key);
                 for (const auto& [why, count] : given.items()) {
                   if (!given.is_object() || !count.is_number_unsigned()) {
                     reader.fail(key, "must be an object of counts by reason");
                   }
                   counts[why] = count.get<std::int64_t>();
                 }
               },
           .write =
               [](Json& json, const std::string& key, const Counts& counts) {
                 Json& object = json[key] = Json::object();
                 for (const auto& [why, count] : counts) object[why] = count;
               },
           .schema =
               [] {
                 return Json{{"type", "object"}, {"additionalProperties", kind::count().schema()}};
               }}};
}

const Record<RunToMake>& run_to_make_record() {
  return described([](Record<RunToMake>& r) {
    r.about("A run to make, and what is predicted for it.");
    r.row<&RunToMake::layout>(layout_record);
    r.row<&RunToMake::step_time>("step_seconds", kAboveZero);
    r.named("RunToMake").all_required();
  });
}

void check_pareto(const PlanFile& plan, ObjectReader& reader) {
  for (const std::size_t place : plan.pareto) {
    if (place < plan.ranked.size()) continue;
    reader.fail("pareto", "must hold places in \"ranked\", counted from 0");
  }
}

void check_proposed_runs(const PlanFile& plan, ObjectReader& reader) {
  const std::vector<std::size_t> runs = plan.proposed_runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i] < plan.ranked.size()) continue;
    throw InputError(
        reader.file(), fmt::format("/answers/confidence/proposed_runs/{}/rank", i),
        fmt::format("is {}, and the plan ranks {} layouts", runs[i] + 1, plan.ranked.size()));
  }
}

}  // namespace

std::vector<Layout> PlanFile::layouts() const {
  std::vector<Layout> all;
  for (const PlannedLayout& layout : ranked) all.push_back(layout.layout);
  return all;
}

const planner::Scaling* PlanFile::scaling() const {
  return answers && answers->scaling ? &*answers->scaling : nullptr;
}

std::vector<std::size_t> PlanFile::proposed_runs() const {
  std::vector<std::size_t> places;
  if (!answers || !answers->confidence) return places;
  for (const ProposedRunFacts& run : answers->confidence->proposed_runs) {
    places.push_back(static_cast<std::size_t>(run.rank) - 1);
  }
  return places;
}

const Record<PlanFile>& plan_file_record() {
  return described([](Record<PlanFile>& r) {
    using R = PlanFile;
    r.about(
        "What meshwright plan --out writes: the ranked layouts, the Pareto set, what was rejected "
        "and why, and what the answer hangs on. Amounts are in base units: _seconds, _bytes.");
    r.file_of({std::string(kPlanSchema)}, true);
    add_origin(r);
    r.row<&R::search>(search_options_record).absent_in_older_files();
    r.row<&R::model>(model_kind()).required();
    r.row<&R::cluster>(cluster_record).required();
    r.row<&R::job>(job_record).required();
    r.row<&R::ranked>(ranking_kind(), "Fastest first.").required();
    r.row<&R::pareto>(places_kind(), "Places in \"ranked\", counted from 0.");
    r.absent_in_older_files().check(check_pareto);
    r.row<&R::rejections>(rejection_record, "Most frequent first.");
    r.absent_in_older_files();
    r.row<&R::closest>(rejection_record, "When nothing fits: the layouts that need least memory.");
    r.absent_in_older_files();
    r.row<&R::not_expressible>(
        counts_by_reason(),
        "With a target: how many layouts that obey every rule it cannot say, by its reason.");
    r.written_if([](const R& plan) { return !plan.search.target.name.empty(); });
    r.row<&R::statistics>(statistics_record);
    r.absent_in_older_files();
    r.row<&R::answers>(nullable(plan_answers_record));
    r.absent_in_older_files().check(check_proposed_runs);
    r.row<&R::notes>().absent_in_older_files();
    r.row<&R::defaults>("What was not asked for and taken as a default.");
    r.absent_in_older_files();
    r.row<&R::runs_to_make>(
        run_to_make_record,
        "Layouts whose times would teach most about the others, for what their runs cost.");
    r.omitted_at_default();
    r.row<&R::capacity>(capacity_kind(), "Where the job says train_tokens.");
  });
}

PlanFile plan_file_of(const planner::Plan& plan, const Origin& origin,
                      const planner::SearchOptions& search,
                      const std::optional<planner::Answers>& answers) {
  PlanFile file;
  static_cast<Scenario&>(file) = static_cast<const Scenario&>(plan);
  file.origin = origin;
  file.search = search;
  for (std::size_t i = 0; i < plan.ranked.size(); ++i) {
    file.ranked.push_back(planned_of(plan.ranked[i], i));
  }
  file.pareto = plan.pareto;
  file.rejections = plan.rejections;
  file.closest = plan.closest;
  file.statistics = plan.statistics;
  file.not_expressible = plan.not_expressible;
  if (answers) file.answers = answers_of(*answers, plan);
  file.notes = plan.notes;
  return file;
}

planner::Plan without_estimates(const PlanFile& plan) {
  planner::Plan empty;
  static_cast<Scenario&>(empty) = static_cast<const Scenario&>(plan);
  empty.pareto = plan.pareto;
  empty.rejections = plan.rejections;
  empty.statistics = plan.statistics;
  empty.target = plan.search.target.name;
  empty.not_expressible = plan.not_expressible;
  empty.closest = plan.closest;
  empty.notes = plan.notes;
  return empty;
}

}  // namespace meshwright::reports
