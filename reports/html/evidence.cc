// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/rules/rules.h"
#include "sim/step/observation.h"

namespace meshwright::reports::html {
namespace {

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

// Milliseconds; empty where the run did not say.
std::string quantile_text(const Json& observation, const char* key) {
  const double time = number_at(observation, key);
  return time > 0.0 ? significant(time * 1e3) : "";
}

double fastest_of(const Json& layouts) {
  double fastest = number_at(layouts.front(), "measured_seconds");
  for (const Json& layout : layouts) {
    fastest = std::min(fastest, number_at(layout, "measured_seconds"));
  }
  return fastest;
}

std::string comparison_table(const Json& layouts) {
  const double fastest = fastest_of(layouts);
  TableRows rows;
  for (const Json& layout : layouts) {
    const Json& observation = layout["observation"];
    rows.push_back(
        {fmt::format("<code>{}</code>", escape(text_at(layout, "name"))),
         fmt::format("<code>{}</code>", escape(text_at(layout, "run_name"))),
         fmt::format("{:.0f}", number_at(observation, "ranks")),
         significant(number_at(layout, "predicted_seconds") * 1e3),
         significant(number_at(layout, "predicted_low_seconds") * 1e3) + " – " +
             significant(number_at(layout, "predicted_high_seconds") * 1e3),
         significant(number_at(layout, "measured_seconds") * 1e3),
         quantile_text(observation, "step_time_min_seconds"),
         quantile_text(observation, "step_time_p10_seconds"),
         quantile_text(observation, "step_time_p90_seconds"),
         fmt::format("{:+.1f}", (number_at(layout, "measured_seconds") / fastest - 1.0) * 100.0),
         fmt::format("{:+.1f}", number_at(layout, "error") * 100.0),
         layout["inside_interval"].get<bool>() ? "yes" : "no"});
  }
  return table("Predicted and measured step time of what was run",
               {{"layout of the plan"},
                {"executed"},
                {"ranks", true},
                {"predicted, ms", true},
                {"90 % interval, ms", true},
                {"measured median, ms", true},
                {"fastest step, ms", true},
                {"10th percentile, ms", true},
                {"90th percentile, ms", true},
                {"slower than fastest run, %", true},
                {"error, %", true},
                {"inside interval"}},
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
  TableRows rows;
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
               {{"executed"},
                {"term"},
                {"predicted, ms", true},
                {"measured, ms", true},
                {"error, %", true},
                {"part of the step's error, %", true}},
               rows);
}

}  // namespace

std::string heat_map(const Json& report) {
  const Json& map = report["heat_map"];
  if (!map.is_object() || map["cells"].empty()) return "";
  std::vector<Heading> headings{{"tensor size"}};
  for (const Json& p : map["pipeline_parallel_sizes"]) {
    headings.push_back({fmt::format("pipeline {}", p.get<int>()), true});
  }
  TableRows rows;
  for (const Json& t : map["tensor_parallel_sizes"]) {
    TableRow row{fmt::format("{}", t.get<int>())};
    for (const Json& cell : map["cells"]) {
      if (cell["tensor_parallel_size"] == t) row.push_back(cell_text_of(cell));
    }
    rows.push_back(std::move(row));
  }
  return section(
      "heat-map", "Tensor size against pipeline size",
      figure("heat_map",
             "Best step time of each pair of sizes, in seconds, over everything else. The colours "
             "end at three times the fastest: cells marked * are slower still and share "
             "the last colour.") +
          numbers("The same as a table",
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
  TableRows rows;
  int stage = 0;
  for (const Json& share : timeline["stage_shares"]) {
    rows.push_back({fmt::format("{}", stage++),
                    fmt::format("{:.1f}", number_at(share, "compute") * 100.0),
                    fmt::format("{:.1f}", number_at(share, "communication") * 100.0),
                    fmt::format("{:.1f}", number_at(share, "idle") * 100.0)});
  }
  return section(
      "timeline", "The pipeline's timeline",
      paragraph(text_at(timeline, "sentence")) +
          figure("timeline",
                 "What each pipeline stage does when: compute above, communication below it. The "
                 "axis ends with the step. Zoom with the buttons, or with Ctrl and the wheel.") +
          numbers("Shares of the step of each stage", table("Shares of the whole step",
                                                            {{"stage", true},
                                                             {"compute, %", true},
                                                             {"communication, %", true},
                                                             {"waiting, %", true}},
                                                            rows)));
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
  if (!validation.value("median_absolute_error_at_host_speed", Json()).is_null()) {
    body += paragraph(fmt::format(
        "Predicted for the host as fast as it was during each run: median error {}; {} inside.",
        percent_text(number_at(validation, "median_absolute_error_at_host_speed")),
        percent_text(number_at(validation, "interval_coverage_at_host_speed"))));
  }
  const auto outside = std::count_if(layouts.begin(), layouts.end(), [](const Json& layout) {
    return !flag_at(layout, "inside_interval");
  });
  if (outside > 0) {
    body += paragraph(fmt::format("Outliers: {} measured outside the interval.", outside));
  }
  if (layouts.size() >= 2) {
    body += paragraph(fmt::format(
        "Regret: the layout predicted fastest was {} slower than the fastest that was executed.",
        percent_text(number_at(validation, "regret"))));
  }
  if (layouts.size() >= 3) {
    body += paragraph(fmt::format("Rank agreement (Kendall's tau): {}.",
                                  significant(number_at(validation, "kendall_tau"), 3)));
  }
  if (!layouts.empty()) {
    body += figure("parity", "Predicted against measured step time; on the diagonal they agree.");
    body += comparison_table(layouts);
    body += figure("term_errors",
                   "What each term of the prediction is off by, as a share of the measured step: "
                   "right of zero too long, left too short.") +
            numbers("Term by term", comparison_terms(layouts));
  }
  std::string noisy;
  for (const Json& layout : layouts) {
    const Json& o = layout["observation"];
    if (!o.value("noisy", false)) continue;
    std::optional<double> host;
    if (o.contains("host_time_ratio")) host = number_at(o, "host_time_ratio");
    noisy += fmt::format("<li><code>{}</code>: {} steps, {}</li>\n",
                         escape(text_at(layout, "name")), o.value("steps", 0),
                         noise_words(number_at(o, "step_time_error"),
                                     number_at(o, "step_time_drift"), host, o.value("runs", 1)));
  }
  if (!noisy.empty()) body += "<h3>Runs on a noisy host</h3>\n<ul>\n" + noisy + "</ul>\n";
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

namespace {

// Bytes where memory is missed; else a size or a divisor.
std::string amount_of(const Json& rejection, std::string_view key) {
  const double amount = number_at(rejection, key);
  const bool is_memory = text_at(rejection, "rule") == rule_text(Rule::memory_capacity).name;
  return is_memory ? significant(in_gibibytes(bytes(amount))) + " GiB"
                   : fmt::format("{:.0f}", amount);
}

// Long names may break after an underscore.
std::string rule_code(const std::string& rule) {
  std::string code;
  for (const char c : escape(rule)) {
    code += c;
    if (c == '_') code += "<wbr>";
  }
  return "<code>" + code + "</code>";
}

std::string change_of(const Json& rejection) {
  const std::string change = text_at(rejection, "smallest_change");
  return change.empty() ? "none found" : escape(change);
}

}  // namespace

std::string rejections(const Json& report) {
  if (report["rejections"].empty()) return "";
  TableRows rows;
  for (const Json& r : report["rejections"]) {
    rows.push_back({rule_code(text_at(r, "rule")), count_text(r["count"].get<std::int64_t>()),
                    escape(text_at(r, "requirement")), amount_of(r, "needed"),
                    amount_of(r, "available"),
                    fmt::format("<span title=\"{}\">{}</span>", escape(text_at(r, "example")),
                                escape(text_at(r, "sentence"))),
                    change_of(r)});
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
                 {"needed", true},
                 {"available", true},
                 {"nearest miss"},
                 {"smallest change that admits it"}},
                rows) +
          "<p class=\"mix\"><code>meshwright explain RULE</code> says why a rule stands and where "
          "it "
          "comes from. A layout is counted under the first rule that it breaks.</p>\n");
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
  TableRows rows;
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
  return section("provenance", "Reproduce", body);
}

}  // namespace meshwright::reports::html
