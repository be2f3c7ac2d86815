// SPDX-License-Identifier: Apache-2.0
#include "reports/report_json.h"

#include <algorithm>

#include "reports/sections/sections_json.h"
#include "reports/validation_json.h"

namespace meshwright::reports {
namespace {

// Without the whole predicted record: its times and terms are said, its ledger is the plan's.
Json validation_section(const planner::Validation& validation) {
  Json json = validation_to_json(validation);
  for (Json& layout : json["layouts"]) layout.erase("predicted");
  return json;
}

// The report has scaling and placement beside the answers, whether the plan was asked or not.
Json without_own_sections(Json answers) {
  if (!answers.is_object()) return answers;
  answers.erase("scaling");
  answers.erase("placement");
  return answers;
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

}  // namespace

Json report_to_json(const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  Json json = artefact(kReportSchema, contents.origin);
  json["plan"] = artefact("meshwright.plan/1", contents.plan_origin);
  json["title"] = title_text(plan);
  json["decision"] = decision_section(contents);
  json["verdict"] = json["decision"]["verdict"];
  json["certainty"] = certainty_section(contents);
  json["rests_on"] = rests_on_section(contents);
  json["left_out"] = left_out_section(contents);
  json["capacity"] = contents.capacity;
  json["summary"] = summary_section(contents);
  json["model"] = to_json(plan.model);
  json["job"] = to_json(plan.job);
  json["cluster"] = {
      {"name", plan.cluster.name},          {"source", plan.cluster.source},
      {"device", plan.cluster.device.name}, {"device_source", plan.cluster.device.source},
      {"gpus", plan.cluster.num_gpus()},    {"gpus_per_node", plan.cluster.gpus_per_node},
      {"num_nodes", plan.cluster.num_nodes}};
  json["top"] = std::min<std::size_t>(plan.ranked.size(),
                                      static_cast<std::size_t>(std::max(1, contents.top)));
  json["ranked"] = ranking_section(plan);
  json["answers"] = without_own_sections(contents.answers);
  json["volume"] = volume_section(plan);
  json["memory"] = memory_section(plan);
  json["heat_map"] = heat_map_section(contents.sizes);
  json["too_large"] = too_large_section(contents.sizes);
  json["timeline"] = timeline_section(plan);
  json["validation"] = contents.validation ? validation_section(*contents.validation) : Json();
  json["rejections"] = rejections_section(plan);
  json["statistics"] = {{"enumerated", plan.statistics.enumerated},
                        {"legal", plan.statistics.legal},
                        {"fitting", plan.statistics.fitting}};
  json["calibration"] = calibration_section(plan, contents.profile);
  json["placement"] = placement_section(plan);
  json["scaling"] = scaling_section(plan, contents.scaling);
  json["launch"] = launch_section(contents.launch);
  json["assumptions"] = assumptions_section(plan);
  json["glossary"] = glossary_section();
  return json;
}

}  // namespace meshwright::reports
