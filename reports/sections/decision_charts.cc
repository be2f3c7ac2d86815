// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/decision_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "reports/html/escape.h"
#include "reports/html/label_places.h"
#include "reports/html/plot.h"
#include "reports/text/capacity_text.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

using html::escape;

// The unit of cost: millions of the currency or of GPU-hours.
struct Money {
  double size = 1.0;
  std::string name{};
  [[nodiscard]] std::string text(double amount) const {
    return number_text(amount / size, std::abs(amount / size) < 1.0 ? 2 : 3);
  }
};

Money money_of(const Capacity& capacity, double largest, DeviceKind kind) {
  const std::string unit = capacity.currency().empty()
                               ? fmt::format("{}-hours", device_noun(kind, 1))
                               : capacity.currency();
  if (largest >= kMillion) return {kMillion, "M " + unit};
  if (largest >= 1e3) return {1e3, "k " + unit};
  return {1.0, unit};
}

const planner::Quantiles& cost_of(const CapacityRow& row) {
  return row.cost ? static_cast<const planner::Quantiles&>(*row.cost) : row.gpu_hours;
}

bool differ_in_cluster(const Capacity& capacity) {
  return std::any_of(capacity.rows.begin(), capacity.rows.end(), [&](const CapacityRow& row) {
    return row.cluster != capacity.rows.front().cluster;
  });
}

bool differ_in_batch(const Capacity& capacity) {
  return std::any_of(capacity.rows.begin(), capacity.rows.end(), [&](const CapacityRow& row) {
    return row.global_batch != capacity.rows.front().global_batch ||
           row.schedule != capacity.rows.front().schedule;
  });
}

std::string point_name(const Capacity& capacity, const CapacityRow& row) {
  std::string name = count_text(row.gpus);
  if (differ_in_cluster(capacity)) name += " " + row.cluster;
  if (differ_in_batch(capacity)) {
    name += row.schedule ? " sched." : fmt::format(" b{}", row.global_batch);
  }
  return name + (row.recommended ? " ★" : "");
}

constexpr double kWidth = 500.0, kHeight = 262.0, kLeft = 40.0, kBottom = 226.0;

struct Plane {
  html::PlotAxis x, y;
  Money money;
};

// Dominated rows that are far slower or dearer than the frontier are left to the table.
constexpr double kMostBeyond = 1.5;

bool is_shown(const FrontierFacts& point, const Plane& plane) {
  return point.days <= plane.x.to && point.cost <= plane.y.to;
}

Plane plane_of(const Capacity& capacity, DeviceKind kind) {
  double most_days = 0.0, most_cost = 0.0;
  double least_days = 1e300, least_cost = 1e300;
  const auto include = [&](const CapacityRow& row) {
    most_days = std::max(most_days, row.days.p90);
    least_days = std::min(least_days, row.days.p10);
    most_cost = std::max(most_cost, cost_of(row).p90);
    least_cost = std::min(least_cost, cost_of(row).p10);
  };
  for (const FrontierFacts& point : capacity.frontier) {
    if (!point.dominated_by) include(*capacity.row(point.row));
  }
  for (const CalendarDay& day : capacity.calendar) {
    if (day.name == "deadline") most_days = std::max(most_days, day.day);
  }
  const double days_of_frontier = most_days, cost_of_frontier = most_cost;
  for (const FrontierFacts& point : capacity.frontier) {
    const CapacityRow& row = *capacity.row(point.row);
    const bool near = row.days.p90 <= kMostBeyond * days_of_frontier &&
                      cost_of(row).p90 <= kMostBeyond * cost_of_frontier;
    if (near) include(row);
  }
  const double x_margin = 0.06 * (most_days - least_days);
  const double y_margin = 0.06 * (most_cost - least_cost);
  return {{std::max(0.0, least_days - x_margin), most_days + 2.0 * x_margin, kLeft, kWidth - 12.0},
          {std::max(0.0, least_cost - y_margin), most_cost + y_margin, kBottom, 20.0},
          money_of(capacity, most_cost, kind)};
}

std::string frame_of(const Capacity& capacity, const Plane& plane) {
  std::string out;
  for (const double day : html::plot_ticks(plane.x)) {
    out += html::plot_line(plane.x.at(day), plane.y.end, plane.x.at(day), kBottom, "grid") +
           html::plot_text(plane.x.at(day), kBottom + 14.0, "soft", "middle", number_text(day, 3));
  }
  for (const double cost : html::plot_ticks(plane.y)) {
    out +=
        html::plot_line(kLeft, plane.y.at(cost), plane.x.end, plane.y.at(cost), "grid") +
        html::plot_text(kLeft - 5.0, plane.y.at(cost) + 4.0, "soft", "end", plane.money.text(cost));
  }
  out += html::plot_text(0.0, 10.0, "soft", "start", plane.money.name);
  out += html::plot_text(plane.x.end, kBottom + 29.0, "soft", "end",
                         capacity.start ? "days from " + *capacity.start : "days");
  for (const CalendarDay& day : capacity.calendar) {
    if (day.name != "deadline") continue;
    const double x = plane.x.at(day.day);
    const bool right = x < (kLeft + kWidth) / 2.0;
    out += html::plot_line(x, plane.y.end, x, kBottom, "limit") +
           html::plot_text(right ? x + 4.0 : x - 4.0, plane.y.end + 8.0, "limit",
                           right ? "start" : "end", "deadline" + (day.date ? " " + *day.date : ""));
  }
  const double budget = capacity.limits.budget.value_or(0.0);
  if (budget > plane.y.from && budget < plane.y.to) {
    const double y = plane.y.at(budget);
    out += html::plot_line(kLeft, y, plane.x.end, y, "limit") +
           html::plot_text(plane.x.end, y - 4.0, "limit", "end", "budget");
  }
  return out;
}

// The ends of the line from a point of the frontier to the next slower one.
struct FrontierSegment {
  double x1 = 0.0, y1 = 0.0, x2 = 0.0, y2 = 0.0;  // pixels
};

FrontierSegment segment_of(const Capacity& capacity, const FrontierFacts& point,
                           const Plane& plane) {
  const CapacityRow& slower = *capacity.row(point.slower);
  return {plane.x.at(slower.days.p50), plane.y.at(cost_of(slower).p50), plane.x.at(point.days),
          plane.y.at(point.cost)};
}

// Labels keep off points, and off lines where there is room.
void block_marks(const Capacity& capacity, const Plane& plane, html::LabelPlaces& places) {
  constexpr double kDot = 5.0;  // pixels
  for (const FrontierFacts& point : capacity.frontier) {
    if (!is_shown(point, plane)) continue;
    places.block(
        {plane.x.at(point.days) - kDot, plane.y.at(point.cost) - kDot, 2.0 * kDot, 2.0 * kDot});
    if (!point.slower) continue;
    const FrontierSegment s = segment_of(capacity, point, plane);
    places.block_line(s.x1, s.y1, s.x2, s.y2);
  }
}

std::string segments_of(const Capacity& capacity, const Plane& plane, html::LabelPlaces& places) {
  std::string out;
  for (const FrontierFacts& point : capacity.frontier) {
    if (!point.slower) continue;
    const FrontierSegment s = segment_of(capacity, point, plane);
    out += html::plot_line(s.x1, s.y1, s.x2, s.y2, "frontier");
    const std::string words = plane.money.text(*point.cost_per_day_saved) + " a day";
    const auto label = places.place_along(s.x1, s.y1, s.x2, s.y2, words);
    if (label) out += html::plot_text(label->x, label->y, "accent", label->anchor, words);
  }
  return out;
}

std::string label_of(const Capacity& capacity, const FrontierFacts& point) {
  return point_name(capacity, *capacity.row(point.row)) + (point.dominated_by ? ": dominated" : "");
}

std::string point_mark(const Capacity& capacity, const FrontierFacts& point, const Plane& plane,
                       DeviceKind kind, const std::optional<html::LabelPlaces::Label>& label) {
  const CapacityRow& row = *capacity.row(point.row);
  const double x = plane.x.at(point.days), y = plane.y.at(point.cost);
  const planner::Quantiles& cost = cost_of(row);
  std::string out =
      fmt::format("<g><title>{}</title>",
                  escape(fmt::format("{} {}: {} days, {} {}", count_text(row.gpus),
                                     device_noun(kind, row.gpus), number_text(point.days, 3),
                                     plane.money.text(point.cost), plane.money.name)));
  out += html::plot_line(plane.x.at(row.days.p10), y, plane.x.at(row.days.p90), y, "whisker") +
         html::plot_line(x, plane.y.at(cost.p10), x, plane.y.at(cost.p90), "whisker");
  out +=
      fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>",
                  point.dominated_by ? "dominated" : "dot", x, y, row.recommended ? "6.5" : "4.5");
  if (label) {
    const char* style = row.recommended ? "strong" : point.dominated_by ? "soft" : "label";
    out += html::plot_text(label->x, label->y, style, label->anchor, label_of(capacity, point));
  }
  return out + "</g>";
}

// "restart", for a bar of the tornado.
std::string bar_name(const Lever& lever) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kShort{
      {{"global_batch_size", "batch"},
       {"failure_rate", "failures"},
       {"restart_time", "restart, s"},
       {"storage_gb_per_s_per_node", "storage, GB/s"},
       {"spare_nodes", "spare nodes"},
       {"price_per_gpu_hour", "price"},
       {"gemm_efficiency", "GEMM"},
       {"attention_efficiency", "attention"},
       {"memory_bandwidth", "memory"},
       {"overlap_slowdown", "overlap"},
       {"inter_node_bandwidth", "network"},
       {"inter_node_latency", "network latency"},
       {"intra_node_bandwidth", "links in a node"},
       {"intra_node_latency", "latency in a node"}}};
  for (const auto& [name, words] : kShort) {
    if (lever.name == name) return std::string(words);
  }
  return lever.label;
}

double change_of(const std::optional<LeverEnd>& end, const CapacityRow& front, bool cost) {
  if (!end || !end->fits) return 0.0;
  if (!cost) return end->days.p50 - front.days.p50;
  return end->cost && front.cost ? end->cost->p50 - front.cost->p50 : 0.0;
}

std::string value_text(double value) {
  if (std::abs(value) >= 1000.0) return count_text(std::llround(value));
  return number_text(value, 3);
}

struct Bars {
  double middle = 0.0, half = 0.0;  // pixels
  double largest = 0.0, size = 1.0;
  bool cost = false;

  [[nodiscard]] std::string bar(const std::optional<LeverEnd>& end, const CapacityRow& front,
                                double y, std::string_view name) const {
    const double change = change_of(end, front, cost);
    if (largest <= 0.0 || std::abs(change) < 5e-4 * largest) return "";
    const double length = std::abs(change) / largest * half;
    const double x = change < 0.0 ? middle - length : middle;
    const std::string words =
        fmt::format("{}{}", change < 0.0 ? "−" : "+", number_text(std::abs(change) / size, 2));
    return fmt::format(
               "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"13\"/>",
               name, x, y, length) +
           html::plot_text(change < 0.0 ? x - 3.0 : x + length + 3.0, y + 11.0, "soft",
                           change < 0.0 ? "end" : "start", words);
  }
};

double largest_change(const std::vector<const Lever*>& levers, const CapacityRow& front,
                      bool cost) {
  double largest = 0.0;
  for (const Lever* lever : levers) {
    for (const auto* end : {&lever->low, &lever->high}) {
      largest = std::max(largest, std::abs(change_of(*end, front, cost)));
    }
  }
  return largest;
}

// Levers that move something, the largest first; the count of GPUs is the other chart's.
std::vector<const Lever*> shown_levers(const Capacity& capacity, const CapacityRow& front) {
  constexpr std::size_t kMost = 9;
  std::vector<const Lever*> levers;
  for (const Lever& lever : capacity.levers) {
    if (lever.name != "gpus" && (lever.swing_days > 0.0 || lever.swing_cost > 0.0)) {
      levers.push_back(&lever);
    }
  }
  const bool priced = front.cost.has_value();
  std::stable_sort(levers.begin(), levers.end(), [priced](const Lever* a, const Lever* b) {
    return priced ? a->swing_cost > b->swing_cost : a->swing_days > b->swing_days;
  });
  if (levers.size() > kMost) levers.resize(kMost);
  return levers;
}

}  // namespace

std::string frontier_chart(const Capacity& capacity, DeviceKind kind) {
  if (!capacity.tokens_stated || capacity.frontier.size() < 2) return "";
  const Plane plane = plane_of(capacity, kind);
  std::string out = fmt::format(
      "<svg class=\"decision\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Cost "
      "against "
      "days of each row; the decision table has the same numbers\">",
      kWidth, kHeight);
  html::LabelPlaces places(kWidth);
  block_marks(capacity, plane, places);
  for (const CalendarDay& day : capacity.calendar) {
    if (day.name == "deadline") places.block({plane.x.at(day.day) - 130.0, 8.0, 260.0, 18.0});
  }
  std::string marks;
  // Names of the frontier come first, then prices of a day, then names of dominated rows.
  const auto mark = [&](bool dominated) {
    for (const FrontierFacts& point : capacity.frontier) {
      if (point.dominated_by.has_value() != dominated || !is_shown(point, plane)) continue;
      const auto label =
          places.place(plane.x.at(point.days), plane.y.at(point.cost), label_of(capacity, point));
      marks += point_mark(capacity, point, plane, kind, label);
    }
  };
  mark(false);
  out += frame_of(capacity, plane) + segments_of(capacity, plane, places);
  mark(true);
  out += marks;
  return out + "</svg>\n";
}

std::string tornado_chart(const Capacity& capacity) {
  const CapacityRow* front = capacity.front();
  if (front == nullptr || !front->fits || !capacity.tokens_stated) return "";
  const std::vector<const Lever*> levers = shown_levers(capacity, *front);
  if (levers.empty()) return "";
  const bool priced = front->cost.has_value();
  const double largest_cost = largest_change(levers, *front, true);
  const double size = largest_cost >= kMillion ? kMillion : largest_cost >= 1e3 ? 1e3 : 1.0;
  const Bars days{priced ? 235.0 : 310.0, priced ? 32.0 : 85.0,
                  largest_change(levers, *front, false), 1.0, false};
  const Bars cost{380.0, 32.0, largest_cost, size, true};
  const double height = 22.0 + 21.0 * static_cast<double>(levers.size());
  std::string out = fmt::format(
      "<svg class=\"decision\" viewBox=\"0 0 450 {:.0f}\" role=\"img\" aria-label=\"Change in days "
      "{}of each lever; the table of levers has the same numbers\">",
      height + 4.0, priced ? "and cost " : "");
  out += html::plot_text(days.middle, 11.0, "soft", "middle", "days");
  out += html::plot_line(days.middle, 16.0, days.middle, height, "axis");
  if (priced) {
    const char* prefix = size == kMillion ? "M " : size > 1.0 ? "k " : "";
    out += html::plot_text(cost.middle, 11.0, "soft", "middle", prefix + front->cost->currency) +
           html::plot_line(cost.middle, 16.0, cost.middle, height, "axis");
  }
  double y = 19.0;
  for (const Lever* lever : levers) {
    const std::string ends = fmt::format(
        "{} {} – {}", bar_name(*lever), value_text(lever->low ? lever->low->value : lever->value),
        value_text(lever->high ? lever->high->value : lever->value));
    out += html::plot_text(170.0, y + 11.0, "label", "end", ends);
    out += days.bar(lever->low, *front, y, "low") + days.bar(lever->high, *front, y, "high");
    if (priced) {
      out += cost.bar(lever->low, *front, y, "low") + cost.bar(lever->high, *front, y, "high");
    }
    y += 21.0;
  }
  return out + "</svg>\n";
}

}  // namespace meshwright::reports
