// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

constexpr std::size_t kMostRanks = 256;  // of a table; the record has all

// Points of one kind: measured, fitted, residual, noise.
std::string measured_table(const Json& series) {
  TableRows rows;
  for (const Json& point : series["points"]) {
    rows.push_back({escape(text_at(point, "what")),
                    significant(number_at(point, "measured_seconds") * 1e3),
                    significant(number_at(point, "fitted_seconds") * 1e3),
                    fmt::format("{:+.1f}", number_at(point, "residual") * 100.0),
                    fmt::format("{:.1f}", number_at(point, "relative_spread") * 100.0),
                    point["noisy"].get<bool>() ? "noisy" : ""});
  }
  return table(fmt::format("{}: typical residual {}", text_at(series, "name"),
                           percent_text(number_at(series, "typical_residual"))),
               {{"size"},
                {"measured, ms", true},
                {"fitted model, ms", true},
                {"residual, %", true},
                {"noise (1 sigma), %", true},
                {"flagged"}},
               rows);
}

std::string measured_points(const Json& measured) {
  if (measured.empty()) return "";
  std::string tables;
  for (const Json& series : measured) tables += measured_table(series);
  return "<h3>Measured points and the model fitted to them</h3>\n" +
         paragraph(
             "Near a measured point the prediction is the measurement itself; the fitted model "
             "answers further away. Its residuals here say how far it can be trusted there.") +
         figure("residuals",
                "What the fitted model misses at each measured point; the whiskers are "
                "the measurement's own noise, two standard deviations.") +
         details("Every measured point", tables);
}

// How well points repeat, by kind of what was timed.
std::string noise(const Json& noise) {
  if (!noise.is_object()) return "";
  TableRows rows;
  for (const Json& kind : noise["kinds"]) {
    rows.push_back({escape(spoken(text_at(kind, "kind"))),
                    fmt::format("{:.0f}", number_at(kind, "num_points")),
                    fmt::format("{:.1f}", number_at(kind, "median_relative_spread") * 100.0),
                    fmt::format("{:.1f}", number_at(kind, "worst_relative_spread") * 100.0),
                    fmt::format("{:.0f}", number_at(kind, "noisy"))});
  }
  return "<h3>Noise of the measurements</h3>\n" + paragraph(text_at(noise, "sentence")) +
         figure("noise", "One standard deviation of each measured point over its time.") +
         table("Noise by what was timed",
               {{"timed"},
                {"points", true},
                {"median 1σ, %", true},
                {"worst 1σ, %", true},
                {"noisy when repeated", true}},
               rows);
}

// "1.04", or nothing where it was not measured.
std::string relative_time(const Json& rank, const char* what) {
  const double time = number_at(rank, what);
  return time > 0.0 ? significant(time, 3) : "";
}

std::string rank_rows(const Json& ranks) {
  TableRows rows;
  for (const Json& rank : ranks) {
    if (rows.size() == kMostRanks) break;
    rows.push_back({fmt::format("{:.0f}", number_at(rank, "rank")), escape(text_at(rank, "host")),
                    fmt::format("{:.0f}", number_at(rank, "local_rank")),
                    relative_time(rank, "gemm"), relative_time(rank, "memory"),
                    relative_time(rank, "network")});
  }
  return table("Time of each rank over the median rank's; above 1 is slower",
               {{"rank", true},
                {"host"},
                {"device", true},
                {"GEMM", true},
                {"memory", true},
                {"network", true}},
               rows);
}

std::string devices(const Json& devices) {
  if (!devices.is_object()) return "";
  std::string out = "<h3>Slow devices</h3>\n" + paragraph(text_at(devices, "sentence"));
  if (!devices["stragglers"].empty()) {
    out += "<ul>\n";
    for (const Json& slow : devices["stragglers"]) {
      out += fmt::format("<li>{}</li>\n", escape(text_at(slow, "sentence")));
    }
    out += "</ul>\n";
  }
  return out + details("Every rank", rank_rows(devices["ranks"]));
}

constexpr std::size_t kFewNotes = 5;

std::string flagged(const Json& notes) {
  if (notes.size() <= kFewNotes) {
    return "<h3>Measurements to look at twice</h3>\n" + list(notes);
  }
  return details(fmt::format("{} measurements to look at twice", notes.size()), list(notes));
}

}  // namespace

std::string calibration(const Json& report) {
  const Json& calibration = report["calibration"];
  TableRows rows;
  for (const Json& fact : calibration["facts"]) {
    const double points = number_at(fact, "measured_points");
    rows.push_back({escape(text_at(fact, "what")), escape(text_at(fact, "value")),
                    badge(text_at(fact, "provenance")),
                    points > 0.0 ? fmt::format("{:.0f}", points) : "none"});
  }
  std::string body = paragraph(
      fmt::format("{}: {}", text_at(calibration, "device"), text_at(calibration, "source")));
  body += table("What the machine can do",
                {{"what"}, {"value"}, {"source"}, {"measured points", true}}, rows);
  if (!calibration["extrapolations"].empty()) {
    body += "<h3>Beyond what was measured</h3>\n" + list(calibration["extrapolations"]);
  }
  if (calibration["profile"].is_object()) {
    const Json& profile = calibration["profile"];
    body += fmt::format("<p>Measured {} with <code>{}</code>: {:.0f} points.</p>\n",
                        escape(text_at(profile, "created")), escape(text_at(profile, "command")),
                        number_at(profile, "measured_points"));
  }
  body += measured_points(calibration["measured"]);
  body += noise(calibration["noise"]) + devices(calibration["devices"]);
  if (!calibration["flagged"].empty()) {
    body += flagged(calibration["flagged"]);
  }
  return section("calibration", "What the numbers rest on", body);
}

}  // namespace meshwright::reports::html
