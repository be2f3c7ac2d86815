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
  return described([](Record<Origin>& r) {
    r.about("Where the plan came from.");
    r.file_of({std::string(kPlanSchema)}, true);
    r.rows_of(origin_record());
  });
}

const Record<ClusterFacts>& cluster_facts_record() {
  return described([](Record<ClusterFacts>& r) {
    using R = ClusterFacts;
    r.about("The machine.");
    r.rows<&R::name, &R::source, &R::device>();
    r.row<&R::device_kind>(kDeviceKindNames);
    r.rows<&R::device_source, &R::gpus, &R::gpus_per_node, &R::num_nodes>();
    r.named("ClusterFacts").all_required();
  });
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
  return described([](Record<Report>& r) {
    using R = Report;
    r.about(
        "The record behind a report page. Amounts are in base units: _seconds, _bytes. Parts that "
        "need a layout that fits are null when none does.");
    r.file_of({std::string(kReportSchema)}, true);
    add_origin(r);
    r.row<&R::plan>(plan_origin_record);
    r.row<&R::title>();
    r.row<&R::decision>(
        decision_record,
        "What the review decides on; the rows of its table are those of \"capacity\".");
    r.row<&R::verdict>("The decision's, after what must be said first.");
    r.row<&R::certainty>(certainty_item_record, "How sure the answer is, said once.");
    r.row<&R::rests_on>(rests_on_record, "Inputs that the best layout uses, the network first.");
    r.row<&R::left_out>("What the model does not know.");
    r.row<&R::summary>(nullable(summary_record));
    r.row<&R::model>(model_record);
    r.row<&R::job>(job_record);
    r.row<&R::cluster>(cluster_facts_record);
    for (const ReportSection* section : kSections) {
      if (section->rows != nullptr) section->rows(r);
    }
    r.all_required();
  });
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
