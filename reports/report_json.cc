// SPDX-License-Identifier: Apache-2.0
#include "reports/report_json.h"

#include "reports/section_registry.h"
#include "reports/sections/sections_json.h"

namespace meshwright::reports {

// What the first screen says, then every section's own part.
Json report_to_json(const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  Json json = artefact(kReportSchema, contents.origin);
  json["plan"] = artefact("meshwright.plan/1", contents.plan_origin);
  json["title"] = title_text(plan);
  json["decision"] = decision_section(contents);
  const Json verdict = json["decision"]["verdict"];  // a new key moves the others
  json["verdict"] = verdict;
  json["certainty"] = certainty_section(contents);
  json["rests_on"] = rests_on_section(contents);
  json["left_out"] = left_out_section(contents);
  json["summary"] = summary_section(contents);
  json["model"] = to_json(plan.model);
  json["job"] = to_json(plan.job);
  json["cluster"] = {{"name", plan.cluster.name},
                     {"source", plan.cluster.source},
                     {"device", only_device(plan.cluster).name},
                     {"device_kind", name_of(only_device(plan.cluster).kind)},
                     {"device_source", only_device(plan.cluster).source},
                     {"gpus", plan.cluster.num_gpus()},
                     {"gpus_per_node", plan.cluster.gpus_per_node},
                     {"num_nodes", plan.cluster.num_nodes}};
  for (const ReportSection& section : report_sections()) {
    if (section.record != nullptr) section.record(json, contents);
  }
  return json;
}

}  // namespace meshwright::reports
