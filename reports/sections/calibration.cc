// SPDX-License-Identifier: Apache-2.0
// What stands behind the numbers: measured points, fitted rates, datasheet values.
#include <fmt/format.h>

#include <algorithm>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/measured_points.h"
#include "reports/sections/measured_profile.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/text/text.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/device_noun.h"
#include "sim/hardware/placement.h"

namespace meshwright::reports {
namespace {

using html::escape;

const Record<Fact>& fact_record() {
  return described([](Record<Fact>& r) {
    using R = Fact;
    r.about("A number of the device or a link, and where it comes from.");
    r.rows<&R::what, &R::value>();
    r.row<&R::provenance>(kProvenanceNames);
    r.row<&R::measured_points>(kind::count());
    r.named("Fact").all_required();
  });
}

const Record<CalibrationPart>& calibration_record() {
  return described([](Record<CalibrationPart>& r) {
    using R = CalibrationPart;
    r.about("What stands behind the numbers.");
    r.rows<&R::device, &R::source>();
    r.row<&R::facts>(fact_record);
    r.row<&R::extrapolations>(
        "Groups of the best layout that are larger than any that was measured.");
    r.row<&R::measured>(measured_series_record);
    r.row<&R::profile>(nullable(profile_facts_record));
    r.row<&R::noise>(nullable(noise_record));
    r.row<&R::devices>(nullable(devices_record));
    r.row<&R::flagged>("What the calibrator itself found odd.");
    r.named("Calibration").all_required();
  });
}

void calibration_rows(Record<Report>& r) { r.row<&Report::calibration>(calibration_record); }

using Facts = std::vector<Fact>;

Fact fact(std::string what, std::string value, Provenance provenance, std::size_t points) {
  return {std::move(what), std::move(value), provenance, static_cast<std::int64_t>(points)};
}

void add_gemm(Facts& facts, const Device& device) {
  for (const GemmModel& gemm : device.gemm) {
    const FlopsPerSecond sustained = gemm.peak * gemm.sustained_fraction;
    facts.push_back(fact(fmt::format("{} GEMM, large shapes", name_of(gemm.precision)),
                         fmt::format("{} TFLOP/s, {} of {} TFLOP/s",
                                     significant(sustained / teraflops_per_second(1), 3),
                                     percent_text(gemm.sustained_fraction),
                                     significant(gemm.peak / teraflops_per_second(1), 3)),
                         gemm.provenance, gemm.points.size()));
  }
}

std::string rate_text(BytesPerSecond rate) {
  return fmt::format("{} GB/s", significant(rate / gigabytes_per_second(1), 3));
}

void add_memory(Facts& facts, const Device& device) {
  facts.push_back(fact("device memory bandwidth, streaming",
                       rate_text(device.memory_bandwidth * device.memory_bandwidth_fraction),
                       device.memory_provenance, 0));
  for (const AttentionRate& rate : device.attention) {
    facts.push_back(
        fact(fmt::format("fused attention, head width {}", rate.head_dim),
             fmt::format("{} of peak forward, {} backward", percent_text(rate.forward_fraction),
                         percent_text(rate.backward_fraction)),
             rate.provenance, 0));
  }
}

std::size_t num_points(const Link& link) {
  std::size_t count = 0;
  for (const CollectiveCurve& curve : link.curves) count += curve.points.size();
  return count;
}

void add_link(Facts& facts, const Link& link, std::string_view where, const Cluster& cluster) {
  facts.push_back(fact(fmt::format("{} ({})", link.name, where),
                       fmt::format("{} per {} and direction, latency {}", rate_text(link.bandwidth),
                                   device_noun(cluster), seconds_text(link.latency)),
                       link.provenance, num_points(link)));
}

int largest_measured_group(const Link& link) {
  int largest = 0;
  for (const CollectiveCurve& curve : link.curves) largest = std::max(largest, curve.group_size);
  return largest;
}

// Groups of the winner that are larger than any that was measured on their link.
std::vector<std::string> extrapolations(const planner::Plan& plan) {
  std::vector<std::string> sentences;
  if (plan.ranked.empty()) return sentences;
  const Layout& layout = plan.ranked.front().layout;
  for (const auto& group : kGroupNames) {
    if (group.value == Group::pipeline || group.value == Group::embedding) continue;
    const Placement placement = place(group.value, layout, plan.cluster);
    if (placement.group_size == 1) continue;
    const Link& link =
        placement.tier() == Tier::intra_node ? plan.cluster.intra_node : plan.cluster.inter_node;
    const int measured = largest_measured_group(link);
    if (measured == 0 || measured >= placement.group_size) continue;
    sentences.push_back(
        fmt::format("The {} group has {} ranks; the largest group measured on {} has {}.",
                    spoken(group.name), placement.group_size, link.name, measured));
  }
  return sentences;
}

void fill_calibration(Report& report, const ReportContents& contents) {
  const Cluster& cluster = contents.plan.cluster;
  const Device& device = only_device(cluster);
  CalibrationPart& calibration = report.calibration;
  calibration.device = device.name;
  calibration.source = device.source;
  add_gemm(calibration.facts, device);
  add_memory(calibration.facts, device);
  add_link(calibration.facts, cluster.intra_node, "inside a node", cluster);
  if (cluster.num_nodes > 1) {
    add_link(calibration.facts, cluster.inter_node, "between nodes", cluster);
  }
  calibration.extrapolations = extrapolations(contents.plan);
  calibration.measured = measured_series_of(contents.plan);
  fill_from_profile(calibration, contents.profile);
}

constexpr std::size_t kFewNotes = 5;

std::string flagged(const std::vector<std::string>& notes) {
  if (notes.empty()) return "";
  if (notes.size() <= kFewNotes) {
    return "<h3>Flagged measurements</h3>\n" + html::list(notes);
  }
  return html::details(fmt::format("{} flagged measurements", notes.size()), html::list(notes));
}

std::string calibration_page(const Report& report) {
  const CalibrationPart& calibration = report.calibration;
  html::TableRows rows;
  for (const Fact& each : calibration.facts) {
    rows.push_back({escape(each.what), escape(each.value), html::badge(name_of(each.provenance)),
                    each.measured_points > 0 ? fmt::format("{}", each.measured_points) : "none"});
  }
  std::string body =
      html::paragraph(fmt::format("{}: {}", calibration.device, calibration.source)) +
      html::table("Rates of the machine",
                  {{"what"}, {"value"}, {"source"}, {"measured points", true}}, rows);
  if (!calibration.extrapolations.empty()) {
    body += "<h3>Beyond what was measured</h3>\n" + html::list(calibration.extrapolations);
  }
  body += profile_page(calibration.profile) + measured_series_page(calibration.measured) +
          noise_page(calibration.noise) + devices_page(calibration.devices) +
          flagged(calibration.flagged);
  return html::section("calibration", "Sources of the numbers", body);
}

}  // namespace

extern const ReportSection kCalibrationSection;
constexpr ReportSection kCalibrationSection{.rows = calibration_rows,
                                            .fill = fill_calibration,
                                            .page = calibration_page,
                                            .id = "calibration",
                                            .word = "Evidence",
                                            .charts = "noise residuals"};

}  // namespace meshwright::reports
