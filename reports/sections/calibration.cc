// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/device_noun.h"
#include "sim/hardware/placement.h"

namespace meshwright::reports {
namespace {

Json fact(std::string what, std::string value, Provenance provenance, std::size_t points) {
  return {{"what", std::move(what)},
          {"value", std::move(value)},
          {"provenance", name_of(provenance)},
          {"measured_points", points}};
}

void add_gemm(Json& facts, const Device& device) {
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

void add_memory(Json& facts, const Device& device) {
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

void add_link(Json& facts, const Link& link, std::string_view where, const Cluster& cluster) {
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
Json extrapolations(const planner::Plan& plan) {
  Json sentences = Json::array();
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

// Who measured, when, and how much; the points themselves stay in the profile.
Json profile_summary(const Json& profile) {
  if (!profile.is_object()) return {};
  Json json = Json::object();
  for (const std::string_view key : {"created", "tool_version", "command"}) {
    const auto found = profile.find(key);
    if (found != profile.end() && found->is_string())
      json[std::string(key)] = found->get<std::string>();
  }
  const auto points = profile.find("measurements");
  if (points != profile.end() && points->is_array()) json["measured_points"] = points->size();
  return json;
}

// What the calibrator itself found odd: noisy points, points left out, a loaded machine.
Json notes_of(const Json& profile) {
  Json notes = Json::array();
  if (!profile.is_object() || !profile.contains("notes")) return notes;
  for (const Json& note : profile["notes"]) {
    if (note.is_string()) notes.push_back(note.get<std::string>());
  }
  return notes;
}

}  // namespace

Json calibration_section(const planner::Plan& plan, const Json& profile) {
  const Cluster& cluster = plan.cluster;
  Json facts = Json::array();
  add_gemm(facts, only_device(cluster));
  add_memory(facts, only_device(cluster));
  add_link(facts, cluster.intra_node, "inside a node", cluster);
  if (cluster.num_nodes > 1) add_link(facts, cluster.inter_node, "between nodes", cluster);
  Json json{{"device", only_device(cluster).name},
            {"source", only_device(cluster).source},
            {"facts", std::move(facts)},
            {"extrapolations", extrapolations(plan)}};
  json["measured"] = measured_points_section(plan);
  json["profile"] = profile_summary(profile);
  json["noise"] = noise_section(profile);
  json["devices"] = devices_section(profile);
  json["flagged"] = notes_of(profile);
  return json;
}

}  // namespace meshwright::reports
