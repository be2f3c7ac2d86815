// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

constexpr std::array<std::string_view, 9> kMemoryParts{"weights",
                                                       "gradients",
                                                       "optimizer",
                                                       "activations",
                                                       "recompute_workspace",
                                                       "operator_workspace",
                                                       "logits",
                                                       "communication_buffers",
                                                       "reserve"};

std::string gigabytes_text(double amount) { return significant(amount / 1e9); }
std::string gibibytes_text(double amount) { return significant(in_gibibytes(bytes(amount)), 3); }

std::string group_bars(const Json& volume, std::string_view noun) {
  double most = 0.0;
  for (const Json& group : volume["groups"]) most = std::max(most, number_at(group, "sent_bytes"));
  TableRows rows;
  for (const Json& group : volume["groups"]) {
    const double sent = number_at(group, "sent_bytes");
    const std::string tier = text_at(group, "tier");
    rows.push_back({escape(spoken(text_at(group, "group"))), escape(spoken(tier)),
                    fmt::format("{}", group["group_size"].get<int>()), gigabytes_text(sent),
                    bar({{tier, sent, traffic_text(bytes(sent))}}, most)});
  }
  return "<div class=\"bars\">" +
         table(fmt::format("Sent by one {} in one step", noun),
               {{"group"}, {"link"}, {"ranks", true}, {"sent, GB", true}, {"share"}}, rows) +
         "</div>" + legend({"intra_node", "inter_node"});
}

std::string orders(const Json& published, std::string_view noun) {
  TableRows rows;
  for (const Json& axis : published["axes"]) {
    rows.push_back({escape(text_at(axis, "axis")), escape(text_at(axis, "order")),
                    significant(number_at(axis, "order_elements")),
                    gigabytes_text(number_at(axis, "exact_bytes"))});
  }
  return table("The three published orders beside this layout's exact bytes",
               {{"axis"},
                {"published order"},
                {"order, elements per batch", true},
                {fmt::format("exact, GB sent per {} and step", noun), true}},
               rows) +
         fmt::format("<p>{}</p>\n", escape(text_at(published, "sentence")));
}

std::string transfers(const Json& volume) {
  TableRows rows;
  for (const Json& t : volume["transfers"]) {
    rows.push_back({escape(text_at(t, "name")), escape(spoken(text_at(t, "group"))),
                    escape(spoken(text_at(t, "collective"))), escape(text_at(t, "phase")),
                    escape(spoken(text_at(t, "tier"))),
                    fmt::format("{}", t["group_size"].get<int>()),
                    significant(number_at(t, "times_per_step")),
                    significant(number_at(t, "payload_bytes") / 1e6),
                    gigabytes_text(number_at(t, "sent_per_step_bytes")),
                    fmt::format("<code>{}</code>", escape(text_at(t, "formula")))});
  }
  return table(fmt::format("Every transfer of stage {}", volume["stage"].get<int>()),
               {{"transfer"},
                {"group"},
                {"collective"},
                {"phase"},
                {"link"},
                {"ranks", true},
                {"calls per step", true},
                {"payload a call, MB", true},
                {"sent per step, GB", true},
                {"payload is"}},
               rows);
}

std::vector<std::string> used_parts(const Json& stages) {
  std::vector<std::string> used;
  for (const std::string_view part : kMemoryParts) {
    const bool any = std::any_of(stages.begin(), stages.end(), [&](const Json& stage) {
      return number_at(stage, fmt::format("{}_bytes", part)) > 0.0;
    });
    if (any) used.emplace_back(part);
  }
  return used;
}

std::string stage_bars(const Json& stages, double capacity, std::string_view noun) {
  TableRows rows;
  for (const Json& stage : stages) {
    std::vector<Segment> segments;
    for (const std::string_view part : kMemoryParts) {
      const double amount = number_at(stage, fmt::format("{}_bytes", part));
      segments.push_back({std::string(part), amount,
                          fmt::format("{}: {}", spoken(part), memory_text(bytes(amount)))});
    }
    rows.push_back({fmt::format("stage {}", stage["stage"].get<int>()),
                    bar(segments, capacity * 1.02, capacity),
                    gibibytes_text(number_at(stage, "total_bytes"))});
  }
  return "<div class=\"bars\">" +
         table(fmt::format("Memory of one {} of each stage; the line is {}", noun,
                           memory_text(bytes(capacity))),
               {{"stage"}, {"parts"}, {"total, GiB", true}}, rows) +
         "</div>" + legend(used_parts(stages));
}

std::string stage_table(const Json& stages, double capacity, std::string_view noun) {
  const std::vector<std::string> used = used_parts(stages);
  std::vector<Heading> headings{{"stage", true}, {"layers", true}};
  for (const std::string& part : used) headings.push_back({spoken(part) + ", GiB", true});
  headings.push_back({"total, GiB", true});
  headings.push_back({"free, GiB", true});
  TableRows rows;
  for (const Json& stage : stages) {
    TableRow row{fmt::format("{}", stage["stage"].get<int>()),
                 fmt::format("{:.0f}", number_at(stage, "num_layers"))};
    for (const std::string& part : used) {
      row.push_back(gibibytes_text(number_at(stage, part + "_bytes")));
    }
    const double total = number_at(stage, "total_bytes");
    row.push_back(gibibytes_text(total));
    row.push_back(gibibytes_text(capacity - total));
    rows.push_back(std::move(row));
  }
  return table(fmt::format("Memory of one {} of each stage", noun), headings, rows);
}

std::string fullest(const Json& stages, double capacity, std::string_view noun) {
  const auto total = [](const Json& stage) { return number_at(stage, "total_bytes"); };
  const auto most =
      std::max_element(stages.begin(), stages.end(),
                       [&](const Json& a, const Json& b) { return total(a) < total(b); });
  if (most == stages.end()) return "";
  return fmt::format("Stage {} is the fullest: {} of {} per {}, {} free.",
                     (*most)["stage"].get<int>(), memory_text(bytes(total(*most))),
                     memory_text(bytes(capacity)), noun,
                     memory_text(bytes(capacity - total(*most))));
}

}  // namespace

std::string traffic(const Json& report) {
  const Json& volume = report["volume"];
  if (!volume.is_object()) return "";
  std::string body = fmt::format("<p>One {} of stage {}, the busiest, sends {} per step.</p>\n",
                                 device_noun(report), volume["stage"].get<int>(),
                                 traffic_text(bytes(number_at(volume, "sent_bytes"))));
  if (!volume["groups"].empty()) {
    body += figure(
        "traffic",
        fmt::format("Bytes that one {} sends per step, by group and link.", device_noun(report)),
        group_bars(volume, device_noun(report)));
  }
  body += orders(volume["published_orders"], device_noun(report));
  if (!volume["transfers"].empty()) body += details("Every transfer", transfers(volume));
  return section("traffic", "Traffic", body);
}

std::string memory(const Json& report) {
  const Json& memory = report["memory"];
  if (!memory.is_object()) return "";
  const Json& stages = memory["stages"];
  const double capacity = number_at(memory, "capacity_bytes");
  return section(
      "memory", "What fits in memory",
      paragraph(fullest(stages, capacity, device_noun(report))) +
          figure("memory", "Memory of each pipeline stage against the device's capacity.",
                 stage_bars(stages, capacity, device_noun(report))) +
          numbers("Every part of every stage", stage_table(stages, capacity, device_noun(report))));
}

}  // namespace meshwright::reports::html
