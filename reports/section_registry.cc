// SPDX-License-Identifier: Apache-2.0
#include "reports/section_registry.h"

#include <algorithm>
#include <array>

#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/validation_json.h"
#include "sim/record/without_key.h"

namespace meshwright::reports {
namespace {

// Shown beside the answers, whether the plan was asked for them or not.
Json without_own_sections(Json answers) {
  return without_key(without_key(std::move(answers), "scaling"), "placement");
}

// Without the whole predicted record: its times and terms are said, its ledger is the plan's.
Json validation_section(const planner::Validation& validation) {
  Json json = validation_to_json(validation);
  for (Json& layout : json["layouts"]) layout = without_key(std::move(layout), "predicted");
  return json;
}

Json launch_section(const std::vector<LaunchFile>& files) {
  Json json = Json::array();
  for (const LaunchFile& file : files) {
    json.push_back({{"target", file.target},
                    {"names_of", file.names_of},
                    {"file_name", file.file_name},
                    {"text", file.text},
                    {"notes", file.notes},
                    {"refusal", file.refusal}});
  }
  return json;
}

void add_ranking(Json& report, const ReportContents& contents) {
  const std::size_t ranked = contents.plan.ranked.size();
  report["top"] = std::min(ranked, static_cast<std::size_t>(std::max(1, contents.top)));
  report["ranked"] = ranking_section(contents.plan);
}

void add_rejections(Json& report, const ReportContents& contents) {
  const planner::SearchStatistics& s = contents.plan.statistics;
  report["rejections"] = rejections_section(contents.plan);
  report["statistics"] = {{"enumerated", s.enumerated}, {"legal", s.legal}, {"fitting", s.fitting}};
}

void add_validation(Json& report, const ReportContents& contents) {
  report["validation"] = contents.validation ? validation_section(*contents.validation) : Json();
}

void add_sizes(Json& report, const ReportContents& contents) {
  report["heat_map"] = heat_map_section(contents.sizes);
  report["too_large"] = too_large_section(contents.sizes);
}

void add_assumptions(Json& report, const ReportContents& contents) {
  report["assumptions"] = assumptions_section(contents.plan);
  report["glossary"] = glossary_section(contents.plan.cluster);
}

using C = const ReportContents&;
constexpr std::array kSections{
    ReportSection{"step-time", "Time", nullptr, html::step_time, "step_time"},
    ReportSection{"ranking", "Ranking", add_ranking, html::ranking, "pareto"},
    ReportSection{"all-red-flags", "Red flags", nullptr, html::red_flags},
    ReportSection{"capacity", "Capacity", [](Json& r, C c) { r["capacity"] = c.capacity; },
                  html::capacity},
    ReportSection{"confidence", "Confidence",
                  [](Json& r, C c) { r["answers"] = without_own_sections(c.answers); },
                  html::confidence, "confidence"},
    ReportSection{"sensitivity", "Sensitivity", nullptr, html::sensitivity, "tornado crossovers"},
    ReportSection{"validation", "Measured", add_validation, html::validation, "parity term_errors"},
    ReportSection{"traffic", "Traffic", [](Json& r, C c) { r["volume"] = volume_section(c.plan); },
                  html::traffic, "traffic"},
    ReportSection{"topology", "Placement",
                  [](Json& r, C c) { r["placement"] = placement_section(c.plan); }, html::topology,
                  "links"},
    ReportSection{"memory", "Memory", [](Json& r, C c) { r["memory"] = memory_section(c.plan); },
                  html::memory, "memory"},
    ReportSection{"heat-map", "Sizes", add_sizes, html::heat_map, "heat_map"},
    ReportSection{"timeline", "Timeline",
                  [](Json& r, C c) { r["timeline"] = timeline_section(c.plan); }, html::timeline,
                  "timeline"},
    ReportSection{"scaling", "Scaling",
                  [](Json& r, C c) { r["scaling"] = scaling_section(c.plan, c.scaling); },
                  html::scaling, "scaling"},
    ReportSection{"rejections", "Rejected", add_rejections, html::rejections},
    ReportSection{"launch", "Launch", [](Json& r, C c) { r["launch"] = launch_section(c.launch); },
                  html::launch},
    ReportSection{"calibration", "Evidence",
                  [](Json& r, C c) { r["calibration"] = calibration_section(c.plan, c.profile); },
                  html::calibration, "noise residuals"},
    ReportSection{"assumptions", "Assumptions", add_assumptions, html::assumptions},
    ReportSection{"provenance", "Reproduce", nullptr, html::provenance}};

}  // namespace

std::span<const ReportSection> report_sections() { return kSections; }

}  // namespace meshwright::reports
