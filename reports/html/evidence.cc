// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

std::string paragraph(const std::string& text) { return fmt::format("<p>{}</p>\n", escape(text)); }

std::string list(const Json& items) {
  std::string out = "<ul>\n";
  for (const Json& item : items) {
    out += fmt::format("<li>{}</li>\n", escape(item.get<std::string>()));
  }
  return out + "</ul>\n";
}

std::string cell_text_of(const Json& cell) {
  if (cell["step_time_seconds"].is_number()) {
    return fmt::format("<span title=\"{}\">{}</span>", escape(text_at(cell, "short_name")),
                       significant(number_at(cell, "step_time_seconds")));
  }
  return fmt::format(
      "<span class=\"why\" title=\"{}\">{}</span>", escape(text_at(cell, "reason")),
      escape(text_at(cell, "rule") == "memory_capacity" ? "too large"
                                                        : spoken(text_at(cell, "rule"))));
}

std::string comparison_table(const Json& layouts) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& layout : layouts) {
    const Json& observation = layout["observation"];
    rows.push_back({fmt::format("<code>{}</code>", escape(text_at(layout, "name"))),
                    fmt::format("<code>{}</code>", escape(text_at(layout, "run_name"))),
                    fmt::format("{:.0f}", number_at(observation, "ranks")),
                    significant(number_at(layout, "predicted_seconds") * 1e3),
                    significant(number_at(layout, "predicted_low_seconds") * 1e3) + " – " +
                        significant(number_at(layout, "predicted_high_seconds") * 1e3),
                    significant(number_at(layout, "measured_seconds") * 1e3),
                    fmt::format("{:+.1f}", number_at(layout, "error") * 100.0),
                    layout["inside_interval"].get<bool>() ? "yes" : "no"});
  }
  return table("Predicted and measured step time of what was run",
               {{"layout of the plan"},
                {"really run"},
                {"ranks", true},
                {"predicted, ms", true},
                {"90 % interval, ms", true},
                {"measured, ms", true},
                {"error, %", true},
                {"inside"}},
               rows);
}

// Predicted / measured - 1; nothing where nothing was measured.
std::string error_text(const Json& term) {
  const double measured = number_at(term, "measured_seconds");
  if (measured <= 0.0) return "";
  return fmt::format("{:+.1f}", (number_at(term, "predicted_seconds") / measured - 1.0) * 100.0);
}

// How much of the step's error is this term's: predicted - measured, over the measured step.
std::string share_text(const Json& term, const Json& layout) {
  const double step = number_at(layout, "measured_seconds");
  const double error = number_at(term, "predicted_seconds") - number_at(term, "measured_seconds");
  return step > 0.0 ? fmt::format("{:+.1f}", error / step * 100.0) : "";
}

std::string comparison_terms(const Json& layouts) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& layout : layouts) {
    for (const Json& term : layout["terms"]) {
      rows.push_back({fmt::format("<code>{}</code>", escape(text_at(layout, "run_name"))),
                      escape(spoken(text_at(term, "name"))),
                      significant(number_at(term, "predicted_seconds") * 1e3),
                      significant(number_at(term, "measured_seconds") * 1e3), error_text(term),
                      share_text(term, layout)});
    }
  }
  return table("Term by term",
               {{"really run"}, {"term"}, {"predicted, ms", true}, {"measured, ms", true}}, rows);
}

// Points of one kind: measured, fitted, residual, noise.
std::string measured_table(const Json& series) {
  std::vector<std::vector<std::string>> rows;
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
                {"look twice"}},
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

}  // namespace

std::string heat_map(const Json& report) {
  const Json& map = report["heat_map"];
  if (!map.is_object() || map["cells"].empty()) return "";
  std::vector<Heading> headings{{"tensor size"}};
  for (const Json& p : map["pipeline_parallel_sizes"]) {
    headings.push_back({fmt::format("pipeline {}", p.get<int>()), true});
  }
  std::vector<std::vector<std::string>> rows;
  for (const Json& t : map["tensor_parallel_sizes"]) {
    std::vector<std::string> row{fmt::format("{}", t.get<int>())};
    for (const Json& cell : map["cells"]) {
      if (cell["tensor_parallel_size"] == t) row.push_back(cell_text_of(cell));
    }
    rows.push_back(std::move(row));
  }
  return section(
      "heat-map", "Tensor size against pipeline size",
      figure("heat_map", "Best step time of each pair of sizes, over everything else.") +
          details("The same as a table",
                  table("Best step time in seconds, or why there is none", headings, rows)));
}

std::string timeline(const Json& report) {
  const Json& timeline = report["timeline"];
  if (!timeline.is_object()) return "";
  if (timeline["events"].empty()) {
    return section(
        "timeline", "The pipeline's timeline",
        fmt::format("<p class=\"notice\">{}</p>\n", escape(text_at(timeline, "sentence"))));
  }
  std::vector<std::vector<std::string>> rows;
  int stage = 0;
  for (const Json& busy : timeline["busy_share"]) {
    rows.push_back({fmt::format("{}", stage++), fmt::format("{:.1f}", busy.get<double>() * 100.0)});
  }
  return section(
      "timeline", "The pipeline's timeline",
      paragraph(text_at(timeline, "sentence")) +
          figure("timeline", "What each pipeline stage does when.") +
          details("Busy share of each stage", table("Busy share of the shown micro-batches",
                                                    {{"stage", true}, {"busy, %", true}}, rows)));
}

std::string validation(const Json& report) {
  const Json& validation = report["validation"];
  if (!validation.is_object()) return "";
  const Json& layouts = validation["layouts"];
  std::string body = paragraph(fmt::format(
      "{} layouts were run: median error {}, worst {}; {} measured inside the 90 % interval.",
      layouts.size(), percent_text(number_at(validation, "median_absolute_error")),
      percent_text(number_at(validation, "worst_absolute_error")),
      percent_text(number_at(validation, "interval_coverage"))));
  if (layouts.size() >= 3) {
    body += paragraph(fmt::format("Rank agreement (Kendall's tau): {}.",
                                  significant(number_at(validation, "kendall_tau"), 3)));
  }
  if (!layouts.empty()) {
    body += figure("parity", "Predicted against measured step time; on the diagonal they agree.");
    body += comparison_table(layouts) + details("Term by term", comparison_terms(layouts));
  }
  std::string partial;
  for (const Json& layout : layouts) {
    for (const Json& what : layout["observation"].value("not_run", Json::array())) {
      partial += fmt::format("<li><code>{}</code>: {}</li>\n", escape(text_at(layout, "name")),
                             escape(what.get<std::string>()));
    }
  }
  if (!partial.empty()) body += "<h3>What was not run</h3>\n<ul>\n" + partial + "</ul>\n";
  if (!validation["skipped"].empty()) {
    body += "<h3>Runs that failed</h3>\n" + list(validation["skipped"]);
  }
  return section("validation", "Predicted and measured", body);
}

std::string rejections(const Json& report) {
  if (report["rejections"].empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const Json& r : report["rejections"]) {
    rows.push_back({escape(spoken(text_at(r, "rule"))), count_text(r["count"].get<std::int64_t>()),
                    escape(text_at(r, "requirement")), escape(text_at(r, "sentence")),
                    fmt::format("<code>{}</code>", escape(text_at(r, "example"))),
                    escape(text_at(r, "smallest_change"))});
  }
  const Json& statistics = report["statistics"];
  return section(
      "rejections", "What was rejected, and why",
      paragraph(fmt::format("{} layouts were looked at; {} obey every rule and {} fit in memory.",
                            count_text(statistics["enumerated"].get<std::int64_t>()),
                            count_text(statistics["legal"].get<std::int64_t>()),
                            count_text(statistics["fitting"].get<std::int64_t>()))) +
          table("Rejected layouts by rule",
                {{"rule"},
                 {"layouts", true},
                 {"what must hold"},
                 {"nearest miss"},
                 {"of layout"},
                 {"smallest change"}},
                rows));
}

std::string calibration(const Json& report) {
  const Json& calibration = report["calibration"];
  std::vector<std::vector<std::string>> rows;
  for (const Json& fact : calibration["facts"]) {
    const double points = number_at(fact, "measured_points");
    rows.push_back({escape(text_at(fact, "what")), escape(text_at(fact, "value")),
                    badge(text_at(fact, "provenance")),
                    points > 0.0 ? fmt::format("{:.0f}", points) : "none"});
  }
  std::string body = paragraph(
      fmt::format("{}: {}", text_at(calibration, "device"), text_at(calibration, "source")));
  body += table("What the machine can do",
                {{"what"}, {"value"}, {"number is"}, {"measured points", true}}, rows);
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
  if (!calibration["flagged"].empty()) {
    body += "<h3>Measurements to look at twice</h3>\n" + list(calibration["flagged"]);
  }
  return section("calibration", "What the numbers rest on", body);
}

std::string assumptions(const Json& report) {
  std::string glossary = "<dl class=\"glossary\">\n";
  for (const Json& entry : report["glossary"]) {
    glossary += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape(text_at(entry, "word")),
                            escape(text_at(entry, "meaning")));
  }
  return section("assumptions", "Assumptions", list(report["assumptions"])) +
         section("glossary", "Words", glossary + "</dl>\n");
}

std::string provenance(const Json& report) {
  std::vector<std::vector<std::string>> rows;
  for (const Json* artefact : {&report, &report["plan"]}) {
    for (const Json& input : (*artefact)["inputs"]) {
      rows.push_back(
          {escape(text_at(input, "name")), escape(text_at(input, "file")),
           fmt::format("<code class=\"hash\">{}</code>", escape(text_at(input, "sha256")))});
    }
  }
  std::string body = fmt::format(
      "<dl class=\"origin\"><dt>plan made by</dt><dd>meshwright {}: <code>{}</code></dd>"
      "<dt>report made by</dt><dd>meshwright {}: <code>{}</code></dd>"
      "<dt>record</dt><dd>{}, embedded in this page</dd></dl>\n",
      escape(text_at(report["plan"], "tool_version")), escape(text_at(report["plan"], "command")),
      escape(text_at(report, "tool_version")), escape(text_at(report, "command")),
      escape(text_at(report, "schema")));
  if (!rows.empty()) body += table("Inputs", {{"part"}, {"file"}, {"SHA-256"}}, rows);
  return section("provenance", "How to make this again", body);
}

}  // namespace meshwright::reports::html
