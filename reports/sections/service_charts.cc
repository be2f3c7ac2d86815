// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/service_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/html/drawing.h"
#include "reports/html/escape.h"
#include "reports/html/label_places.h"
#include "reports/html/plot.h"
#include "reports/sections/service_text.h"
#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

constexpr double kServiceLeft = 56.0, kServiceRight = 610.0, kServiceTop = 24.0,
                 kServiceBottom = 270.0, kServiceWidth = 720.0, kServiceHeight = 306.0;  // pixels
constexpr double kServiceDot = 5.0;                                                      // pixels
constexpr double kServiceMargin = 1.08;  // of the largest value
// A latency above so many times the limit, and the latency at the asked load, is cut off.
constexpr double kLimitsShown = 2.0, kAskedShown = 4.0;

// From 0 to a little more than the largest value; a file may say any number.
html::PlotAxis service_axis(double most, double begin, double end) {
  return {0.0, std::clamp(most * kServiceMargin, 1e-9, 1e300), begin, end};
}

struct ServicePlane {
  html::PlotAxis x, y;
};

ServicePlane service_plane(double most_x, double most_y) {
  return {service_axis(most_x, kServiceLeft, kServiceRight),
          service_axis(most_y, kServiceBottom, kServiceTop)};
}

// `y_unit`: of the vertical axis, in its numbers.
std::string service_grid(const ServicePlane& plane, std::string_view x_name,
                         std::string_view y_name, double y_unit = 1.0) {
  std::string out;
  for (const double value : html::plot_ticks(plane.x)) {
    const double x = plane.x.at(value);
    out += html::plot_line(x, kServiceTop, x, kServiceBottom, "grid") +
           html::plot_text(x, kServiceBottom + 15.0, "soft", "middle", number_text(value, 3));
  }
  for (const double value : html::plot_ticks(plane.y)) {
    const double y = plane.y.at(value);
    out +=
        html::plot_line(kServiceLeft, y, kServiceRight, y, "grid") +
        html::plot_text(kServiceLeft - 6.0, y + 4.0, "soft", "end", number_text(value / y_unit, 3));
  }
  return out + html::plot_text(0.0, 12.0, "soft", "start", y_name) +
         html::plot_text(kServiceRight, kServiceBottom + 31.0, "soft", "end", x_name);
}

// Tokens a second that a user gets at the limit of TPOT; 0: no limit.
double least_user_speed(const LatencyLimits& limits) {
  return limits.tpot && limits.tpot->value() > 0.0 ? 1.0 / limits.tpot->value() : 0.0;
}

bool meets_targets(const planner::ServingParetoPoint& point, const LatencyLimits& limits) {
  return (!limits.ttft || point.ttft <= *limits.ttft) &&
         (!limits.tpot || point.tpot <= *limits.tpot);
}

ServicePlane frontier_plane(const ServingPlanFile& file) {
  double x = least_user_speed(file.limits), y = 0.0;
  for (const planner::ServingParetoPoint& point : file.plan.front) {
    x = std::max(x, point.tokens_per_second_per_user);
    y = std::max(y, point.tokens_per_second_per_gpu);
  }
  if (!file.plan.choices.empty()) {
    x = std::max(x, file.plan.choices.front().tokens_per_second_per_user);
    y = std::max(y, file.plan.choices.front().tokens_per_second_per_gpu);
  }
  return service_plane(x, y);
}

// Right of the slowest user that the limit of TPOT allows.
std::string target_region(const ServingPlanFile& file, const ServicePlane& plane) {
  const double least = least_user_speed(file.limits);
  if (least <= 0.0) return "";
  const double x = plane.x.at(std::min(least, plane.x.to));
  const bool left = x < (kServiceLeft + kServiceRight) / 2.0;
  return fmt::format(
             "<rect class=\"region\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
             "height=\"{:.1f}\"/>",
             x, kServiceTop, std::max(0.0, kServiceRight - x), kServiceBottom - kServiceTop) +
         html::plot_line(x, kServiceTop, x, kServiceBottom, "limit") +
         html::plot_text(left ? x + 4.0 : x - 4.0, kServiceBottom - 8.0, "limit",
                         left ? "start" : "end",
                         fmt::format("limit: TPOT {}", latency_text(*file.limits.tpot)));
}

std::string frontier_mark(const planner::ServingParetoPoint& point, const ServingPlanFile& file,
                          const ServicePlane& plane) {
  const std::string words =
      fmt::format("{}, {} users: {} tokens/s per {}, {} tokens/s per user, TTFT {}", point.name,
                  number_text(point.users, 3), number_text(point.tokens_per_second_per_gpu, 3),
                  service_noun(file), number_text(point.tokens_per_second_per_user, 3),
                  latency_text(point.ttft));
  // Hollow: the limits are missed.
  return fmt::format(
      "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"><title>{}</title></circle>",
      meets_targets(point, file.limits) ? "dot" : "dominated",
      plane.x.at(point.tokens_per_second_per_user), plane.y.at(point.tokens_per_second_per_gpu),
      html::escape(words));
}

std::string frontier_line(const std::vector<planner::ServingParetoPoint>& front,
                          const ServicePlane& plane, html::LabelPlaces& places) {
  std::string out;
  for (std::size_t i = 0; i < front.size(); ++i) {
    const double x = plane.x.at(front[i].tokens_per_second_per_user);
    const double y = plane.y.at(front[i].tokens_per_second_per_gpu);
    places.block({x - kServiceDot, y - kServiceDot, 2.0 * kServiceDot, 2.0 * kServiceDot});
    if (i == 0) continue;
    const double before_x = plane.x.at(front[i - 1].tokens_per_second_per_user);
    const double before_y = plane.y.at(front[i - 1].tokens_per_second_per_gpu);
    places.block_line(before_x, before_y, x, y);
    out += html::plot_line(before_x, before_y, x, y, "frontier");
  }
  return out;
}

// Where the deployment changes; equal names in a row, and that of the chosen point, are told once.
std::string frontier_labels(const std::vector<planner::ServingParetoPoint>& front,
                            std::string_view chosen, const ServicePlane& plane,
                            html::LabelPlaces& places) {
  std::string out;
  for (std::size_t i = 0; i < front.size(); ++i) {
    if (front[i].name == chosen || (i > 0 && front[i].name == front[i - 1].name)) continue;
    const auto label = places.place(plane.x.at(front[i].tokens_per_second_per_user),
                                    plane.y.at(front[i].tokens_per_second_per_gpu), front[i].name);
    if (label) {
      out += html::plot_text(label->x, label->y, "label", label->anchor, front[i].name);
    }
  }
  return out;
}

bool is_simulated(const ServingPlanFile& file) {
  return !file.plan.choices.empty() && file.plan.choices.front().simulated.has_value();
}

std::string choice_mark(const ServingPlanFile& file, const ServicePlane& plane,
                        html::LabelPlaces& places) {
  if (file.plan.choices.empty()) return "";
  const planner::ServingChoice& best = file.plan.choices.front();
  const std::string name = planner::short_name(best.deployment);
  const double x = plane.x.at(best.tokens_per_second_per_user);
  const double y = plane.y.at(best.tokens_per_second_per_gpu);
  places.block({x - 7.0, y - 7.0, 14.0, 14.0});
  std::string out = fmt::format(
      "<circle class=\"chosen\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"7\" fill=\"{}\"><title>{}</title>"
      "</circle>",
      x, y, html::kTints[1].colour, "first choice at the asked load");
  if (const auto label = places.place(x, y, name)) {
    out += html::plot_text(label->x, label->y, "strong", label->anchor, name);
  }
  return out;
}

}  // namespace

std::string service_frontier_chart(const ServingPlanFile& file) {
  if (file.plan.front.empty()) return "";
  const ServicePlane plane = frontier_plane(file);
  html::LabelPlaces places(kServiceWidth);
  std::string body =
      target_region(file, plane) +
      service_grid(plane, "tokens/s per user", "output tokens/s per " + service_noun(file));
  body += frontier_line(file.plan.front, plane, places);
  for (const planner::ServingParetoPoint& point : file.plan.front) {
    body += frontier_mark(point, file, plane);
  }
  body += choice_mark(file, plane, places);
  const std::string chosen =
      file.plan.choices.empty() ? "" : planner::short_name(file.plan.choices.front().deployment);
  body += frontier_labels(file.plan.front, chosen, plane, places);
  return html::plot_figure(
      {.id = "frontier-chart",
       .caption = fmt::format(
           "Throughput of a {} against speed of a user, in closed form. Each point is the best "
           "layout at a number of users; hollow points miss a limit. The large point is the first "
           "choice at the asked load{}.",
           service_noun(file), is_simulated(file) ? ", simulated" : ""),
       .width = kServiceWidth,
       .height = kServiceHeight},
      body);
}

namespace {

struct LatencyCurve {
  std::string_view name;
  Seconds Percentiles::*part;
};
constexpr std::array kLatencyCurves{LatencyCurve{"p50", &Percentiles::p50},
                                    LatencyCurve{"p90", &Percentiles::p90},
                                    LatencyCurve{"p99", &Percentiles::p99}};

const Percentiles& times_of(const planner::ServingLoadPoint& point, ServiceLatency latency) {
  return latency == ServiceLatency::ttft ? point.ttft : point.tpot;
}

std::string_view name_of_latency(ServiceLatency latency) {
  return latency == ServiceLatency::ttft ? "TTFT" : "TPOT";
}

// Near saturation latencies grow without bounds and hide the others.
double highest_shown(const ServingPlanFile& file, ServiceLatency latency) {
  const auto& limit = latency == ServiceLatency::ttft ? file.limits.ttft : file.limits.tpot;
  double most = 0.0, shown = limit ? kLimitsShown * limit->value() : 0.0;
  for (const planner::ServingLoadPoint& point : file.details->loads) {
    const double p99 = times_of(point, latency).p99.value();
    most = std::max(most, p99);
    if (point.asked) shown = std::max(shown, kAskedShown * p99);
  }
  return shown > 0.0 ? std::min(most, shown) : most;
}

// The curve up to the upper edge.
std::string curve_path(const ServingPlanFile& file, ServiceLatency latency,
                       Seconds Percentiles::*part, const ServicePlane& plane) {
  std::string path;
  double before_load = 0.0, before = 0.0;
  for (const planner::ServingLoadPoint& point : file.details->loads) {
    const double load = load_of(point), value = (times_of(point, latency).*part).value();
    const char* sign = path.empty() ? "M" : "L";
    if (value > plane.y.to) {
      if (path.empty()) continue;
      const double way = (plane.y.to - before) / (value - before);
      return path + fmt::format("L{:.1f} {:.1f}",
                                plane.x.at(before_load + way * (load - before_load)), kServiceTop);
    }
    path += fmt::format("{}{:.1f} {:.1f}", sign, plane.x.at(load), plane.y.at(value));
    before_load = load;
    before = value;
  }
  return path;
}

std::string curve_points(const ServingPlanFile& file, ServiceLatency latency,
                         const LatencyCurve& curve, std::string_view colour,
                         const ServicePlane& plane) {
  std::string out;
  for (const planner::ServingLoadPoint& point : file.details->loads) {
    const Seconds time = times_of(point, latency).*curve.part;
    if (time.value() > plane.y.to) continue;
    out += html::plot_point(
        plane.x.at(load_of(point)), plane.y.at(time.value()), colour,
        fmt::format("{} {}: {} of {} {}", number_text(load_of(point), 3), load_noun(file.load),
                    latency_text(time), curve.name, name_of_latency(latency)));
  }
  return out;
}

std::string load_mark(double load, const ServicePlane& plane, std::string_view line,
                      const std::string& words, double y) {
  if (load > plane.x.to) return "";
  const double x = plane.x.at(load);
  const bool right = x < (kServiceLeft + kServiceRight) / 2.0;
  return html::plot_line(x, kServiceTop, x, kServiceBottom, line) +
         html::plot_text(right ? x + 4.0 : x - 4.0, y, "label", right ? "start" : "end", words);
}

std::string latency_marks(const ServingPlanFile& file, ServiceLatency latency,
                          const ServicePlane& plane) {
  const bool first = latency == ServiceLatency::ttft;
  const auto& limit = first ? file.limits.ttft : file.limits.tpot;
  std::string out;
  if (limit && limit->value() <= plane.y.to) {
    const double y = plane.y.at(limit->value());
    out += html::plot_line(kServiceLeft, y, kServiceRight, y, "limit") +
           html::plot_text(kServiceRight + 6.0, y + 4.0, "limit", "start",
                           "limit " + latency_text(*limit));
  }
  for (const planner::ServingLoadPoint& point : file.details->loads) {
    if (!point.asked) continue;
    out += load_mark(load_of(point), plane, "frontier",
                     fmt::format("asked: {}", number_text(load_of(point), 3)), kServiceTop + 10.0);
  }
  const auto& knee = first ? file.details->ttft_knee : file.details->tpot_knee;
  if (knee) {
    out += load_mark(*knee, plane, "whisker", fmt::format("knee: {}", number_text(*knee, 3)),
                     kServiceTop + 26.0);
  }
  return out;
}

}  // namespace

std::string service_latency_chart(const ServingPlanFile& file, ServiceLatency latency) {
  if (!file.details || file.details->loads.size() < 2) return "";
  double most_load = 0.0;
  for (const planner::ServingLoadPoint& point : file.details->loads) {
    most_load = std::max(most_load, load_of(point));
  }
  const ServicePlane plane = service_plane(most_load, highest_shown(file, latency));
  const bool is_short = plane.y.to < 1.0;
  std::string body =
      service_grid(plane, load_noun(file.load),
                   fmt::format("{}, {}", name_of_latency(latency), is_short ? "ms" : "s"),
                   is_short ? milliseconds(1).value() : 1.0);
  body += latency_marks(file, latency, plane);
  for (std::size_t i = 0; i < kLatencyCurves.size(); ++i) {
    const LatencyCurve& curve = kLatencyCurves[i];
    const std::string_view colour = html::kTints[i].colour;
    const double y = kServiceBottom - 34.0 + 16.0 * static_cast<double>(i);
    body += fmt::format("<path class=\"curve\" style=\"stroke:{}\" d=\"{}\"/>", colour,
                        curve_path(file, latency, curve.part, plane)) +
            curve_points(file, latency, curve, colour, plane) +
            html::plot_point(kServiceRight + 12.0, y - 4.0, colour, curve.name) +
            html::plot_text(kServiceRight + 22.0, y, "label", "start", curve.name);
  }
  const std::string_view name = name_of_latency(latency);
  return html::plot_figure(
      {.id = latency == ServiceLatency::ttft ? "ttft-chart" : "tpot-chart",
       .caption = fmt::format("Percentiles of {} against the load, simulated. Knee: the load at "
                              "which {} is twice that at the smallest load. Lines end at the upper "
                              "edge where {} is longer.",
                              name, name, name),
       .width = kServiceWidth,
       .height = kServiceHeight},
      body);
}

}  // namespace meshwright::reports
