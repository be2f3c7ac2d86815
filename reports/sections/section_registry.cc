// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/section_registry.h"

#include <array>

#include "reports/records/plan_file.h"
#include "reports/sections/first_screen.h"
#include "sim/json/input_records.h"

namespace meshwright::reports {

extern const ReportSection kStepTimeSection, kRankingSection, kRedFlagsSection, kCapacitySection,
    kConfidenceSection, kSensitivitySection, kValidationSection, kTrafficSection, kPlacementSection,
    kMemorySection, kHeatMapSection, kTimelineSection, kScalingSection, kRejectionsSection,
    kLaunchSection, kCalibrationSection, kAssumptionsSection, kProvenanceSection;

namespace {

constexpr std::array kSections{&kStepTimeSection,    &kRankingSection,     &kRedFlagsSection,
                               &kCapacitySection,    &kConfidenceSection,  &kSensitivitySection,
                               &kValidationSection,  &kTrafficSection,     &kPlacementSection,
                               &kMemorySection,      &kHeatMapSection,     &kTimelineSection,
                               &kScalingSection,     &kRejectionsSection,  &kLaunchSection,
                               &kCalibrationSection, &kAssumptionsSection, &kProvenanceSection};

// Where the plan came from, as its file opens.
const Record<Origin>& plan_origin_record() {
  static const Record<Origin> record = [] {
    Record<Origin> r("Where the plan came from.");
    r.file_of({std::string(kPlanSchema)}, true);
    r.rows_of(origin_record());
    return r;
  }();
  return record;
}

const Record<ClusterFacts>& cluster_facts_record() {
  static const Record<ClusterFacts> record = [] {
    using R = ClusterFacts;
    Record<R> r("The machine.");
    r.row(&R::name, "name", kind::text(), "");
    r.row(&R::source, "source", kind::text(), "");
    r.row(&R::device, "device", kind::text(), "");
    r.row(&R::device_kind, "device_kind", kind::choice(kDeviceKindNames), "");
    r.row(&R::device_source, "device_source", kind::text(), "");
    r.row(&R::gpus, "gpus", kind::integer(), "");
    r.row(&R::gpus_per_node, "gpus_per_node", kind::integer(), "");
    r.row(&R::num_nodes, "num_nodes", kind::integer(), "");
    return r.named("ClusterFacts").all_required();
  }();
  return record;
}

ClusterFacts facts_of(const Cluster& cluster) {
  const Device& device = only_device(cluster);
  return {.name = cluster.name,
          .source = cluster.source,
          .device = device.name,
          .device_kind = device.kind,
          .device_source = device.source,
          .gpus = cluster.num_gpus(),
          .gpus_per_node = cluster.gpus_per_node,
          .num_nodes = cluster.num_nodes};
}

}  // namespace

std::span<const ReportSection* const> report_sections() { return kSections; }

const Record<Report>& report_record() {
  static const Record<Report> record = [] {
    using R = Report;
    Record<R> r(
        "The record behind a report page. Amounts are in base units: _seconds, _bytes. Parts that "
        "need a layout that fits are null when none does.");
    r.file_of({std::string(kReportSchema)}, true);
    r.rows_of(
        origin_record(), [](auto& report) -> auto& { return report.origin; });
    r.row(&R::plan, "plan", kind::object(plan_origin_record), "");
    r.row(&R::title, "title", kind::text(), "");
    r.row(&R::decision, "decision", kind::object(decision_record),
          "What the review decides on; the rows of its table are those of \"capacity\".");
    r.row(&R::verdict, "verdict", kind::text(), "The decision's, after what must be said first.");
    r.row(&R::certainty, "certainty", kind::list(certainty_item_record),
          "How sure the answer is, said once.");
    r.row(&R::rests_on, "rests_on", kind::list(rests_on_record),
          "Inputs that the best layout uses, the network first.");
    r.row(&R::left_out, "left_out", kind::texts(), "What the model does not know.");
    r.row(&R::summary, "summary", kind::nullable(kind::object(summary_record)), "");
    r.row(&R::model, "model", kind::object(model_record), "");
    r.row(&R::job, "job", kind::object(job_record), "");
    r.row(&R::cluster, "cluster", kind::object(cluster_facts_record), "");
    for (const ReportSection* section : kSections) {
      if (section->rows != nullptr) section->rows(r);
    }
    return r.all_required();
  }();
  return record;
}

Report report_of(const ReportContents& contents) {
  Report report;
  report.origin = contents.origin;
  report.plan = contents.plan_origin;
  report.title = title_of(contents);
  report.decision = decision_of(contents);
  report.verdict = report.decision.verdict;
  report.rests_on = rests_on_of(contents);
  report.left_out = left_out_of(contents);
  report.summary = summary_of(contents);
  report.model = contents.plan.model;
  report.job = contents.plan.job;
  report.cluster = facts_of(contents.plan.cluster);
  for (const ReportSection* section : kSections) {
    if (section->fill != nullptr) section->fill(report, contents);
  }
  report.certainty = certainty_of(contents, report.calibration.noise);
  return report;
}

Report report_from_json(const Json& json, const std::string& file) {
  require_schema(json, file, kReportSchema);
  try {
    return report_record().read(json, file);
  } catch (const InputError& error) {
    throw InputError(error.what(), "make the report again with this version of meshwright");
  }
}

}  // namespace meshwright::reports
