// SPDX-License-Identifier: Apache-2.0
#include "reports/plan_json.h"

#include <fmt/format.h>

#include "reports/answers_json.h"
#include "reports/scaling_reader.h"
#include "reports/search_json.h"
#include "sim/record/reader.h"
#include "sim/record/without_key.h"

namespace meshwright::reports {
namespace {

// Volume, memory per stage and terms are most of an estimate's text, and readers compute them again
// from the layout; `meshwright volume` and `explain` print any.
constexpr std::size_t kWithVolume = 1;
constexpr std::size_t kWithParts = 10;

Json ranked_to_json(const Estimate& estimate, std::size_t place) {
  Estimate kept = estimate;
  if (place >= kWithVolume) kept.volume = {};
  if (place >= kWithParts) kept.memory = {};
  Json json = to_json(kept);
  json["peak_memory_bytes"] = estimate.peak_memory().value();
  if (place >= kWithVolume) json = without_key(std::move(json), "volume");
  if (place >= kWithParts) {
    json = without_key(without_key(std::move(json), "memory"), "terms");
  }
  return json;
}

Json rejection_to_json(const planner::Rejection& rejection) {
  return {{"rule", rule_text(rejection.rule).name},
          {"count", rejection.count},
          {"requirement", rule_text(rejection.rule).requirement},
          {"needed", rejection.nearest.violation.needed},
          {"available", rejection.nearest.violation.available},
          {"sentence", rejection.sentence},
          {"smallest_change", rejection.smallest_change},
          {"example", to_json(rejection.nearest.layout)}};
}

Rule read_rule(ObjectReader& reader) {
  const std::string name = reader.required_string("rule");
  if (const std::optional<Rule> rule = rule_named(name)) return *rule;
  std::vector<std::string> known;
  for (const RuleText& text : all_rules()) known.emplace_back(text.name);
  reader.fail("rule", fmt::format("unknown rule \"{}\"", name), did_you_mean(name, known, "\""));
}

planner::Rejection read_rejection(ObjectReader reader) {
  planner::Rejection rejection;
  rejection.rule = read_rule(reader);
  rejection.count = static_cast<std::int64_t>(reader.required_number("count"));
  rejection.sentence = reader.optional_string("sentence", "");
  rejection.smallest_change = reader.optional_string("smallest_change", "");
  rejection.nearest.violation = {
      .rule = rejection.rule,
      .needed = reader.optional_number("needed", 0.0, {.low = -1e300}),
      .available = reader.optional_number("available", 0.0, {.low = -1e300})};
  rejection.nearest.layout =
      layout_from_json(reader.member("example"), reader.file(), reader.pointer_to("example"));
  reader.finish({"requirement"});
  return rejection;
}

std::vector<planner::Rejection> read_rejections(ObjectReader& reader, std::string_view key) {
  std::vector<planner::Rejection> rejections;
  if (!reader.has(key)) return rejections;
  const Json& list = reader.required_array(key);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = fmt::format("{}/{}", reader.pointer_to(key), i);
    rejections.push_back(read_rejection({list[i], reader.file(), pointer}));
  }
  return rejections;
}

std::vector<Layout> read_layouts(ObjectReader& reader) {
  std::vector<Layout> layouts;
  const Json& ranked = reader.required_array("ranked");
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const std::string pointer = fmt::format("{}/{}", reader.pointer_to("ranked"), i);
    ObjectReader estimate(ranked[i], reader.file(), pointer);
    layouts.push_back(
        layout_from_json(estimate.member("layout"), reader.file(), pointer + "/layout"));
  }
  return layouts;
}

std::vector<std::size_t> read_pareto(ObjectReader& reader, std::size_t num_layouts) {
  std::vector<std::size_t> pareto;
  if (!reader.has("pareto")) return pareto;
  for (const Json& index : reader.required_array("pareto")) {
    if (!index.is_number_unsigned() || index.get<std::size_t>() >= num_layouts) {
      reader.fail("pareto", "must hold places in \"ranked\", counted from 0");
    }
    pareto.push_back(index.get<std::size_t>());
  }
  return pareto;
}

std::vector<std::string> read_strings(ObjectReader& reader, std::string_view key) {
  std::vector<std::string> texts;
  if (!reader.has(key)) return texts;
  for (const Json& text : reader.required_array(key)) {
    if (!text.is_string()) reader.fail(key, "must be an array of strings");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

planner::SearchStatistics read_statistics(ObjectReader reader) {
  const auto count = [&](std::string_view key) {
    return static_cast<std::int64_t>(reader.optional_number(key, 0.0));
  };
  return {.enumerated = count("enumerated"), .legal = count("legal"), .fitting = count("fitting")};
}

planner::NotExpressible read_not_expressible(ObjectReader& reader) {
  planner::NotExpressible counts;
  if (!reader.has("not_expressible")) return counts;
  const Json& given = reader.member("not_expressible");
  for (const auto& [why, count] : given.items()) {
    if (!given.is_object() || !count.is_number_unsigned()) {
      reader.fail("not_expressible", "must be an object of counts by reason");
    }
    counts[why] = count.get<std::int64_t>();
  }
  return counts;
}

// Places in "ranked", counted from 1 in the file.
std::vector<std::size_t> read_proposed_runs(ObjectReader answers, std::size_t num_layouts) {
  std::vector<std::size_t> places;
  if (!answers.has("confidence")) return places;
  ObjectReader confidence = answers.required_object("confidence");
  if (!confidence.has("proposed_runs")) return places;
  const Json& runs = confidence.required_array("proposed_runs");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string pointer = fmt::format("{}/{}", confidence.pointer_to("proposed_runs"), i);
    ObjectReader run(runs[i], answers.file(), pointer);
    const IntRange range{.high = static_cast<std::int64_t>(num_layouts)};
    places.push_back(static_cast<std::size_t>(run.required_int("rank", range)) - 1);
  }
  return places;
}

}  // namespace

Json plan_to_json(const planner::Plan& plan, const Origin& origin,
                  const planner::SearchOptions& search,
                  const std::optional<planner::Answers>& answers) {
  Json json = artefact(kPlanSchema, origin);
  json["search"] = search_options_to_json(search);
  json["model"] = to_json(plan.model);
  json["cluster"] = to_json(plan.cluster);
  json["job"] = to_json(plan.job);
  json["ranked"] = Json::array();
  for (std::size_t i = 0; i < plan.ranked.size(); ++i) {
    json["ranked"].push_back(ranked_to_json(plan.ranked[i], i));
  }
  json["pareto"] = plan.pareto;
  json["rejections"] = Json::array();
  for (const planner::Rejection& rejection : plan.rejections) {
    json["rejections"].push_back(rejection_to_json(rejection));
  }
  json["closest"] = Json::array();
  for (const planner::Rejection& rejection : plan.closest) {
    json["closest"].push_back(rejection_to_json(rejection));
  }
  if (!plan.target.empty()) {
    Json& cannot = json["not_expressible"] = Json::object();
    for (const auto& [why, count] : plan.not_expressible) cannot[why] = count;
  }
  json["statistics"] = {{"enumerated", plan.statistics.enumerated},
                        {"legal", plan.statistics.legal},
                        {"fitting", plan.statistics.fitting}};
  json["answers"] = answers ? answers_to_json(*answers, plan) : Json();
  json["notes"] = plan.notes;
  return json;
}

PlanFile plan_from_json(const Json& json, const std::string& file) {
  require_schema(json, file, kPlanSchema);
  ObjectReader reader(json, file);
  PlanFile plan;
  plan.origin = origin_from_json(json, file);
  if (reader.has("search")) {
    plan.search = search_options_from_json(reader.member("search"), file, "/search");
  }
  plan.model = model_from_json(reader.member("model"), file, "/model");
  plan.cluster = cluster_from_json(reader.member("cluster"), file, "/cluster");
  plan.job = job_from_json(reader.member("job"), file, "/job");
  plan.layouts = read_layouts(reader);
  plan.pareto = read_pareto(reader, plan.layouts.size());
  plan.rejections = read_rejections(reader, "rejections");
  plan.closest = read_rejections(reader, "closest");
  if (reader.has("statistics"))
    plan.statistics = read_statistics(reader.required_object("statistics"));
  plan.not_expressible = read_not_expressible(reader);
  plan.notes = read_strings(reader, "notes");
  if (reader.has("answers")) {
    ObjectReader answers = reader.required_object("answers");
    plan.answers = reader.member("answers");
    if (answers.has("scaling")) {
      plan.scaling = scaling_from_json(answers.required_object("scaling"));
    }
    plan.proposed_runs = read_proposed_runs(answers, plan.layouts.size());
  }
  if (reader.has("capacity")) plan.capacity = reader.member("capacity");
  plan.defaults = read_strings(reader, "defaults");
  reader.finish({"schema", "tool_version", "command", "inputs", "runs_to_make"});
  return plan;
}

planner::Plan without_estimates(const PlanFile& plan) {
  planner::Plan empty;
  static_cast<Scenario&>(empty) = plan;
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
