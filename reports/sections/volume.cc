// SPDX-License-Identifier: Apache-2.0
// Bytes that one rank of the busiest stage sends in a step, by group and link, and beside them the
// three published orders.
#include "sim/volume/volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/html/plot.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/text/text.h"
#include "sim/volume/crossing.h"

namespace meshwright::reports {
namespace {

using html::escape;

const Record<GroupTraffic>& group_traffic_record() {
  return described([](Record<GroupTraffic>& r) {
    using R = GroupTraffic;
    r.about("What a group sends over the links of a tier.");
    r.row<&R::group>(kGroupNames);
    r.row<&R::tier>(kTierNames);
    r.rows<&R::group_size, &R::sent, &R::payload>();
    r.named("GroupTraffic").all_required();
  });
}

const Record<PlacedTransfer>& placed_transfer_record() {
  return described([](Record<PlacedTransfer>& r) {
    using R = PlacedTransfer;
    r.about("An entry of the busiest stage's ledger.");
    r.row<&R::name>();
    r.row<&R::group>(kGroupNames);
    r.row<&R::group_size>();
    r.row<&R::tier>(kTierNames, "That the group spans.");
    r.row<&R::collective>(kCollectiveNames);
    r.row<&R::phase>(kPhaseNames);
    r.row<&R::times_per_step>("Calls by one rank.");
    r.row<&R::payload>("Of a call.");
    r.row<&R::sent_per_step>();
    r.row<&R::overlappable>("Something is computed meanwhile.");
    r.row<&R::formula>("Of the payload, in the field's letters.");
    r.named("PlacedTransfer").all_required();
  });
}

const Record<OrderAxis>& order_axis_record() {
  return described([](Record<OrderAxis>& r) {
    using R = OrderAxis;
    r.about("A published order and the layout's exact bytes.");
    r.rows<&R::axis, &R::order>();
    r.row<&R::order_elements>("Elements per batch.");
    r.row<&R::exact>("Sent by one rank in a step.");
    r.named("OrderAxis").all_required();
  });
}

const Record<OrdersPart>& orders_record() {
  return described([](Record<OrdersPart>& r) {
    r.about("The published orders.");
    r.row<&OrdersPart::axes>(order_axis_record);
    r.row<&OrdersPart::sentence>();
    r.named("PublishedOrders").all_required();
  });
}

const Record<LinkFacts>& link_facts_record() {
  return described([](Record<LinkFacts>& r) {
    using R = LinkFacts;
    r.about("A link of the machine.");
    r.row<&R::tier>(kTierNames);
    r.rows<&R::name, &R::bandwidth, &R::latency>();
    r.row<&R::provenance>(kProvenanceNames);
    r.named("LinkFacts").all_required();
  });
}

// A job has thousands of cells: each is a row of numbers.
Kind<std::vector<planner::TrafficCell>> traffic_cells() {
  using Cells = std::vector<planner::TrafficCell>;
  const auto rows = kind::number_rows(3);
  return {{.read =
               [rows](ObjectReader& reader, const std::string& key, Cells& cells) {
                 std::vector<std::vector<double>> read;
                 rows.read(reader, key, read);
                 cells.clear();
                 for (const std::vector<double>& row : read) {
                   const auto place = [&row](std::size_t column) {
                     return static_cast<int>(std::clamp(row[column], 0.0, 1e9));
                   };
                   cells.push_back({place(0), place(1), Bytes(row[2])});
                 }
               },
           .write =
               [](Json& json, const std::string& key, const Cells& cells) {
                 Json& list = json[key] = Json::array();
                 for (const planner::TrafficCell& cell : cells) {
                   list.push_back({cell.from, cell.to, cell.sent.value()});
                 }
               },
           .schema = [rows] { return rows.schema(); }}};
}

const Record<planner::TrafficMatrix>& traffic_matrix_record() {
  return described([](Record<planner::TrafficMatrix>& r) {
    using R = planner::TrafficMatrix;
    r.about("Bytes that each group of ranks sends to each other in a step.");
    r.row<&R::ranks_per_group>("Consecutive ranks.");
    r.row<&R::groups>();
    r.row<&R::cells>(traffic_cells(),
                     "Rows of numbers: sender, receiver, bytes; collectives as rings.");
    r.named("TrafficMatrix").all_required();
  });
}

const Record<VolumePart>& volume_record() {
  return described([](Record<VolumePart>& r) {
    using R = VolumePart;
    r.about("Bytes that one rank of the busiest stage sends in a step.");
    r.row<&R::stage>(IntRange{.low = 0});
    r.row<&R::sent>();
    r.row<&R::groups>(group_traffic_record);
    r.row<&R::transfers>(placed_transfer_record);
    r.row<&R::published_orders>(orders_record);
    r.row<&R::links>(link_facts_record);
    r.row<&R::matrix>(traffic_matrix_record);
    r.named("Volume").all_required();
  });
}

void volume_rows(Record<Report>& r) { r.row<&Report::volume>(nullable(volume_record)); }

std::vector<GroupTraffic> group_traffic(const StageVolume& stage, const Layout& layout,
                                        const Cluster& cluster) {
  std::map<std::pair<Group, Tier>, GroupTraffic> sums;
  for (const Transfer& t : stage.transfers) {
    const LinkBytes sent = sent_over_links(t, layout, cluster);
    for (const Tier tier : {Tier::intra_node, Tier::inter_node}) {
      if (sent.on(tier).value() <= 0.0) continue;
      GroupTraffic& sum = sums[{t.group, tier}];
      sum.group = t.group;
      sum.tier = tier;
      sum.group_size = t.group_size;
      sum.sent += sent.on(tier);
      sum.payload += t.payload_per_step() * (sent.on(tier) / t.sent_per_step());
    }
  }
  std::vector<GroupTraffic> groups;
  for (const auto& entry : sums) groups.push_back(entry.second);
  return groups;
}

PlacedTransfer placed(const Transfer& t, const Layout& layout, const Cluster& cluster) {
  return {.name = std::string(t.name),
          .group = t.group,
          .group_size = t.group_size,
          .tier = place(t.group, layout, cluster).tier(),
          .collective = t.collective,
          .phase = t.phase,
          .times_per_step = t.times_per_step,
          .payload = t.payload,
          .sent_per_step = t.sent_per_step(),
          .overlappable = t.overlappable,
          .formula = std::string(t.formula)};
}

std::string order_sentence(const PublishedOrders& orders) {
  const std::string_view tensor = orders.tensor_exceeds_data ? "more" : "fewer";
  const std::string_view data = orders.data_exceeds_pipeline ? "more" : "fewer";
  const bool holds = orders.tensor_exceeds_data && orders.data_exceeds_pipeline;
  return fmt::format(
      "The rule of thumb \"tensor > data > pipeline\" {} for this model, batch and layout. Tensor "
      "parallelism moves {} bytes than data parallelism. Data parallelism moves {} bytes than "
      "pipeline parallelism.",
      holds ? "holds" : "does not hold", tensor, data);
}

OrdersPart orders_of(const PublishedOrders& orders) {
  return {.axes = {{"data parallel", "O(h²·l)", orders.data_parallel, orders.data_exact},
                   {"pipeline parallel", "O(b·s·h·l/k)", orders.pipeline_parallel,
                    orders.pipeline_exact},
                   {"tensor parallel", "O(b·s·h·l)", orders.tensor_parallel, orders.tensor_exact}},
          .sentence = order_sentence(orders)};
}

LinkFacts link_facts(Tier tier, const Link& link) {
  return {tier, link.name, link.bandwidth, link.latency, link.provenance};
}

void fill_volume(Report& report, const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  if (plan.ranked.empty()) return;
  const Estimate& best = plan.ranked.front();
  const StageVolume& busiest = best.volume.busiest();
  VolumePart& volume = report.volume.emplace();
  volume.stage = busiest.stage;
  volume.sent = busiest.sent();
  volume.groups = group_traffic(busiest, best.layout, plan.cluster);
  for (const Transfer& t : busiest.transfers) {
    volume.transfers.push_back(placed(t, best.layout, plan.cluster));
  }
  volume.matrix = planner::traffic_matrix(best);
  volume.published_orders = orders_of(published_orders(plan.model, plan.job, best.layout));
  volume.links.push_back(link_facts(Tier::intra_node, plan.cluster.intra_node));
  if (plan.cluster.num_nodes > 1) {
    volume.links.push_back(link_facts(Tier::inter_node, plan.cluster.inter_node));
  }
}

std::string gigabytes_text(Bytes amount) { return significant(amount / gigabytes(1)); }

std::string group_bars(const std::vector<GroupTraffic>& groups, std::string_view noun) {
  Bytes most;
  for (const GroupTraffic& group : groups) most = std::max(most, group.sent);
  html::TableRows rows;
  for (const GroupTraffic& group : groups) {
    const std::string tier(name_of(group.tier));
    rows.push_back(
        {escape(spoken(name_of(group.group))), escape(spoken(tier)),
         fmt::format("{}", group.group_size), gigabytes_text(group.sent),
         html::bar({{tier, group.sent.value(), traffic_text(group.sent)}}, most.value())});
  }
  return "<div class=\"bars\">" +
         html::table(fmt::format("Sent by one {} in one step", noun),
                     {{"group"}, {"link"}, {"ranks", true}, {"sent, GB", true}, {"share"}}, rows) +
         "</div>" + html::legend({"intra_node", "inter_node"});
}

std::string orders_table(const OrdersPart& published, std::string_view noun) {
  html::TableRows rows;
  for (const OrderAxis& axis : published.axes) {
    rows.push_back({escape(axis.axis), escape(axis.order), significant(axis.order_elements),
                    gigabytes_text(axis.exact)});
  }
  return html::table("The three published orders and this layout's exact bytes",
                     {{"axis"},
                      {"published order"},
                      {"order, elements per batch", true},
                      {fmt::format("exact, GB sent per {} and step", noun), true}},
                     rows) +
         html::paragraph(published.sentence);
}

std::string transfers_table(const VolumePart& volume) {
  html::TableRows rows;
  for (const PlacedTransfer& t : volume.transfers) {
    rows.push_back(
        {escape(t.name), escape(spoken(name_of(t.group))), escape(spoken(name_of(t.collective))),
         escape(name_of(t.phase)), escape(spoken(name_of(t.tier))), fmt::format("{}", t.group_size),
         significant(t.times_per_step), significant(t.payload.value() / 1e6),
         gigabytes_text(t.sent_per_step), fmt::format("<code>{}</code>", escape(t.formula))});
  }
  return html::table(fmt::format("Every transfer of stage {}", volume.stage),
                     {{"transfer"},
                      {"group"},
                      {"collective"},
                      {"phase"},
                      {"link"},
                      {"ranks", true},
                      {"calls per step", true},
                      {"payload per call, MB", true},
                      {"sent per step, GB", true},
                      {"payload is"}},
                     rows);
}

constexpr double kMatrixSide = 512.0, kMatrixLeft = 70.0, kMatrixTop = 34.0;  // pixels
constexpr int kShades = 5;  // of a logarithmic scale

// 1 for the smallest amount, kShades for the largest.
int shade_of(Bytes sent, Bytes least, Bytes most) {
  if (most <= least) return kShades;
  const double way = std::log(sent / least) / std::log(most / least);
  return 1 + std::min(kShades - 1, static_cast<int>(way * kShades));
}

// Neighbours of one shade are one box, so that the page stays small.
std::string matrix_cells(const planner::TrafficMatrix& matrix, Bytes least, Bytes most) {
  const double side = kMatrixSide / matrix.groups;
  std::array<std::string, kShades> paths;
  for (std::size_t i = 0; i < matrix.cells.size();) {
    const planner::TrafficCell& first = matrix.cells[i];
    const int shade = shade_of(first.sent, least, most);
    int wide = 1;
    for (++i; i < matrix.cells.size(); ++i, ++wide) {
      const planner::TrafficCell& next = matrix.cells[i];
      const bool continues = next.from == first.from && next.to == first.to + wide &&
                             shade_of(next.sent, least, most) == shade;
      if (!continues) break;
    }
    paths[static_cast<std::size_t>(shade - 1)] +=
        fmt::format("M{:.5g} {:.5g}h{:.5g}v{:.5g}h-{:.5g}z", kMatrixLeft + first.to * side,
                    kMatrixTop + first.from * side, wide * side, side, wide * side);
  }
  std::string out;
  for (int shade = 1; shade <= kShades; ++shade) {
    const std::string& path = paths[static_cast<std::size_t>(shade - 1)];
    if (path.empty()) continue;
    out += fmt::format("<path class=\"cell\" opacity=\"{:.2f}\" d=\"{}\"/>",
                       static_cast<double>(shade) / kShades, path);
  }
  return out;
}

std::string matrix_frame(const planner::TrafficMatrix& matrix) {
  const double end_x = kMatrixLeft + kMatrixSide, end_y = kMatrixTop + kMatrixSide;
  std::string out = html::plot_line(kMatrixLeft, kMatrixTop, end_x, kMatrixTop, "axis") +
                    html::plot_line(kMatrixLeft, kMatrixTop, kMatrixLeft, end_y, "axis");
  const int step = std::max(1, matrix.groups / 8);
  const double side = kMatrixSide / matrix.groups;
  for (int group = 0; group < matrix.groups; group += step) {
    const std::string rank = count_text(group * matrix.ranks_per_group);
    const double middle = (group + 0.5) * side;
    out += html::plot_text(kMatrixLeft + middle, kMatrixTop - 6.0, "soft", "middle", rank) +
           html::plot_text(kMatrixLeft - 6.0, kMatrixTop + middle + 4.0, "soft", "end", rank);
  }
  return out + html::plot_text(end_x, 12.0, "soft", "end", "receiving rank") +
         html::plot_text(0.0, 12.0, "soft", "start", "sending rank");
}

std::string matrix_chart(const planner::TrafficMatrix& matrix) {
  if (matrix.cells.empty()) return "";
  const auto [least, most] =
      std::minmax_element(matrix.cells.begin(), matrix.cells.end(),
                          [](const auto& a, const auto& b) { return a.sent < b.sent; });
  const double legend = kMatrixTop + kMatrixSide + 18.0;
  const std::string scale =
      fmt::format("{} to {} per cell; a stronger colour is more bytes (logarithmic scale)",
                  traffic_text(least->sent), traffic_text(most->sent));
  const std::string caption =
      matrix.ranks_per_group == 1
          ? std::string(
                "Bytes that each rank sends to each other rank in a step, with "
                "collectives as rings.")
          : fmt::format(
                "Bytes that each {} consecutive ranks send to each other {} in a step, "
                "with collectives as rings.",
                count_text(matrix.ranks_per_group), count_text(matrix.ranks_per_group));
  return html::plot_figure({.id = "rank-traffic",
                            .caption = caption,
                            .width = kMatrixLeft + kMatrixSide + 20.0,
                            .height = legend + 8.0},
                           matrix_frame(matrix) + matrix_cells(matrix, least->sent, most->sent) +
                               html::plot_text(kMatrixLeft, legend, "soft", "start", scale));
}

std::string traffic_page(const Report& report) {
  if (!report.volume) return "";
  const VolumePart& volume = *report.volume;
  const std::string_view noun = device_noun(report);
  std::string body = fmt::format("<p>One {} of stage {}, the busiest, sends {} per step.</p>\n",
                                 noun, volume.stage, traffic_text(volume.sent));
  if (!volume.groups.empty()) {
    body += html::figure("traffic",
                         fmt::format("Bytes that one {} sends per step, by group and link.", noun),
                         group_bars(volume.groups, noun));
  }
  body += matrix_chart(volume.matrix);
  body += orders_table(volume.published_orders, noun);
  if (!volume.transfers.empty()) body += html::details("Every transfer", transfers_table(volume));
  return html::section("traffic", "Traffic", body);
}

}  // namespace

extern const ReportSection kTrafficSection;
constexpr ReportSection kTrafficSection{.rows = volume_rows,
                                        .fill = fill_volume,
                                        .page = traffic_page,
                                        .id = "traffic",
                                        .word = "Traffic",
                                        .charts = "traffic"};

}  // namespace meshwright::reports
