// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <utility>

#include "reports/sections/sections_json.h"
#include "sim/hardware/placement.h"
#include "sim/layout/stages.h"
#include "sim/volume/crossing.h"

namespace meshwright::reports {
namespace {

// Of a group over the links of a tier.
struct Sum {
  int group_size = 1;
  Bytes sent, payload;
};

Json groups_of(const StageVolume& stage, const Layout& layout, const Cluster& cluster) {
  std::map<std::pair<Group, Tier>, Sum> sums;
  for (const Transfer& t : stage.transfers) {
    const LinkBytes sent = sent_over_links(t, layout, cluster);
    for (const Tier tier : {Tier::intra_node, Tier::inter_node}) {
      if (sent.on(tier).value() <= 0.0) continue;
      Sum& sum = sums[{t.group, tier}];
      sum.group_size = t.group_size;
      sum.sent += sent.on(tier);
      sum.payload += t.payload_per_step() * (sent.on(tier) / t.sent_per_step());
    }
  }
  Json json = Json::array();
  for (const auto& [key, sum] : sums) {
    json.push_back({{"group", name_of(key.first)},
                    {"tier", name_of(key.second)},
                    {"group_size", sum.group_size},
                    {"sent_bytes", sum.sent.value()},
                    {"payload_bytes", sum.payload.value()}});
  }
  return json;
}

Json transfers_of(const StageVolume& stage, const Layout& layout, const Cluster& cluster) {
  Json json = Json::array();
  for (const Transfer& t : stage.transfers) {
    json.push_back({{"name", t.name},
                    {"group", name_of(t.group)},
                    {"group_size", t.group_size},
                    {"tier", name_of(place(t.group, layout, cluster).tier())},
                    {"collective", name_of(t.collective)},
                    {"phase", name_of(t.phase)},
                    {"times_per_step", t.times_per_step},
                    {"payload_bytes", t.payload.value()},
                    {"sent_per_step_bytes", t.sent_per_step().value()},
                    {"overlappable", t.overlappable},
                    {"formula", t.formula}});
  }
  return json;
}

std::string rule_of_thumb(const PublishedOrders& orders) {
  const std::string_view tensor = orders.tensor_exceeds_data ? "more" : "less";
  const std::string_view data = orders.data_exceeds_pipeline ? "more" : "less";
  const bool holds = orders.tensor_exceeds_data && orders.data_exceeds_pipeline;
  return fmt::format(
      "The rule of thumb \"tensor > data > pipeline\" {} for this model, batch and layout: tensor "
      "parallelism moves {} than data parallelism, data parallelism {} than pipeline parallelism.",
      holds ? "holds" : "does not hold", tensor, data);
}

Json orders_of(const PublishedOrders& orders) {
  Json axes = Json::array();
  const auto add = [&](std::string_view axis, std::string_view order, double elements,
                       Bytes exact) {
    axes.push_back({{"axis", axis},
                    {"order", order},
                    {"order_elements", elements},
                    {"exact_bytes", exact.value()}});
  };
  add("data parallel", "O(h²·l)", orders.data_parallel, orders.data_exact);
  add("pipeline parallel", "O(b·s·h·l/k)", orders.pipeline_parallel, orders.pipeline_exact);
  add("tensor parallel", "O(b·s·h·l)", orders.tensor_parallel, orders.tensor_exact);
  return {{"axes", std::move(axes)}, {"sentence", rule_of_thumb(orders)}};
}

}  // namespace

Json volume_section(const planner::Plan& plan) {
  if (plan.ranked.empty()) return {};
  const Estimate& best = plan.ranked.front();
  const StageVolume& busiest = best.volume.busiest();
  Json json{{"stage", busiest.stage},
            {"sent_bytes", busiest.sent().value()},
            {"groups", groups_of(busiest, best.layout, plan.cluster)},
            {"transfers", transfers_of(busiest, best.layout, plan.cluster)}};
  json["published_orders"] = orders_of(published_orders(plan.model, plan.job, best.layout));
  json["links"] = Json::array();
  const auto add_link = [&](std::string_view tier, const Link& link) {
    json["links"].push_back({{"tier", tier},
                             {"name", link.name},
                             {"bandwidth_bytes_per_second", link.bandwidth.value()},
                             {"latency_seconds", link.latency.value()},
                             {"provenance", name_of(link.provenance)}});
  };
  add_link("intra_node", plan.cluster.intra_node);
  if (plan.cluster.num_nodes > 1) add_link("inter_node", plan.cluster.inter_node);
  return json;
}

Json memory_section(const planner::Plan& plan) {
  if (plan.ranked.empty()) return {};
  const Estimate& best = plan.ranked.front();
  const std::vector<Stage> stages = pipeline_stages(plan.model, best.layout);
  Json list = Json::array();
  for (std::size_t i = 0; i < best.memory.size(); ++i) {
    Json stage{{"stage", i}};
    if (i < stages.size()) stage["num_layers"] = stages[i].num_layers();
    stage.update(to_json(best.memory[i]));
    list.push_back(std::move(stage));
  }
  return {{"capacity_bytes", only_device(plan.cluster).memory.value()},
          {"stages", std::move(list)}};
}

}  // namespace meshwright::reports
