// SPDX-License-Identifier: Apache-2.0
#include "reports/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "reports/html/blocks.h"
#include "reports/html/drawing.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/records/sha256.h"
#include "reports/sections/comparison.h"
#include "reports/sections/decision_page.h"
#include "reports/sections/decision_table.h"
#include "reports/sections/first_screen.h"
#include "reports/sections/ranking.h"
#include "reports/sections/section_registry.h"
#include "reports/sections/service_page.h"
#include "reports/sections/service_text.h"
#include "reports/sections/shared_capacity.h"
#include "reports/tables/capacity_tables.h"
#include "reports/text/text.h"
#include "sim/layout/short_name.h"
#include "sim/record/without_key.h"

namespace meshwright::reports {
namespace {

// Nothing is loaded and nothing is sent; the one script is known by its hash. Inline style is
// needed by the charts' tooltips.
std::string policy(const std::string& script) {
  const std::string scripts = script.empty() ? "'none'" : html::csp_hash(script);
  return fmt::format(
      "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data: blob:; "
      "base-uri 'none'; form-action 'none'",
      scripts);
}

// On every sheet of paper: the record's hash and the page. The viewer adds the day of the print.
std::string sheet_footer(std::string_view hash) {
  if (hash.empty()) return "";
  return fmt::format(
      "@page {{ @bottom-left {{ content: \"record {}\"; font: 8pt system-ui, sans-serif; }} "
      "@bottom-right {{ content: \"page \" counter(page) \" of \" counter(pages); font: 8pt "
      "system-ui, sans-serif; }} }}\n",
      hash.substr(0, 16));
}

std::string head(std::string_view title, const std::string& script, std::string_view hash) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{} - meshwright</title>\n<style>\n{}{}</style>\n</head>\n",
      policy(script), html::escape(title), page_style(), sheet_footer(hash));
}

std::string navigation(const std::string& body) {
  std::vector<html::PagePart> parts;
  for (const ReportSection* section : report_sections()) {
    parts.push_back({section->id, section->word});
  }
  return html::navigation(parts, body);
}

// A place for the viewer's theme button.
constexpr std::string_view kThemeBar = "<nav aria-label=\"Page\"><ul></ul></nav>\n";

std::string notices() { return fmt::format("<!--\n{}-->\n", third_party_notices()); }

std::string data_block(std::string_view id, const Json& data) {
  return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id,
                     html::json_in_script(record_text(data)));
}

// Ten thousand layouts in full are 30 MB that no reader opens: beyond the first, the page holds of
// each layout what its ranking and its scatter chart show, as rows. The record beside it has all.
constexpr std::size_t kLayoutsInFull = 20;
constexpr std::array kShortNumbers{"step_time_seconds",         "step_time_low_seconds",
                                   "step_time_high_seconds",    "relative_to_best",
                                   "tokens_per_second_per_gpu", "model_flops_utilization",
                                   "peak_memory_bytes",         "provenance_share"};

// Charts and sorting need no more digits.
Json seven_digits(const Json& number) {
  if (!number.is_number()) return number;
  return Json::parse(fmt::format("{:.7g}", number.get<double>()), nullptr, false);
}

// [texts of the ranking's row, numbers, name, provenance, Pareto]. `written`: the layout's record.
Json short_row(const RankedLayout& layout, const Json& written) {
  Json numbers = Json::array();
  for (const char* key : kShortNumbers) numbers.push_back(seven_digits(written[key]));
  return Json::array({ranking_texts(layout), std::move(numbers), short_name(layout.layout),
                      name_of(layout.provenance), layout.pareto});
}

// The record, less what the page has as texts: the grid of what-ifs, and layouts far down.
Json embedded(const Report& report) {
  Json page = report_record().write(report);
  page["capacity"] = without_key(page["capacity"], "what_if");
  const Json ranked = page["ranked"];
  if (ranked.size() <= kLayoutsInFull) return page;
  Json rows = Json::array();
  for (std::size_t i = kLayoutsInFull; i < ranked.size(); ++i) {
    rows.push_back(short_row(report.ranked[i], ranked[i]));
  }
  page["ranked"] = Json(ranked.begin(), ranked.begin() + kLayoutsInFull);
  page["ranked_rest"] = {{"numbers", kShortNumbers}, {"rows", std::move(rows)}};
  return page;
}

Json what_ifs(const Report& report) {
  const std::optional<WhatIfBlock> block = what_if_block(report);
  return block ? what_if_block_record().write(*block) : Json();
}

// The record goes along, so that the page can be read by programs too.
std::string page_of(std::string_view title, const std::string& top, const std::string& body,
                    const Json& record, const Json& what_ifs, std::string_view hash = "") {
  const std::string script = html::code_in_script(viewer_script());
  std::string page = head(title, script, hash);
  page += fmt::format(
      "<body data-hash=\"{}\">\n<a class=\"skip\" href=\"#main\">Skip to the sections</a>\n"
      "{}{}<main id=\"main\" tabindex=\"-1\">\n{}</main>\n",
      html::escape(hash.substr(0, 16)), html::bar_patterns(), top, body);
  page += data_block("report", record) + data_block("drawing", html::drawing()) +
          data_block("what-ifs", what_ifs);
  if (!script.empty()) page += notices() + "<script>" + script + "</script>\n";
  return page + "</body>\n</html>\n";
}

}  // namespace

std::string record_text(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_html(const Report& report) {
  std::string body;
  for (const ReportSection* section : report_sections()) {
    if (section->page != nullptr) body += section->page(report);
  }
  const std::string hash = sha256(record_text(report_record().write(report)));
  return page_of(report.title, first_screen(report, hash) + navigation(body), body,
                 embedded(report), what_ifs(report), hash);
}

std::string capacity_html(const CapacityFile& file) {
  const Capacity& capacity = file.capacity;
  const Json record = capacity_file_record().write(file);
  const std::string hash = sha256(record_text(record));
  std::string subject = file.model.name;
  if (capacity.tokens_stated)
    subject += fmt::format(" · {} tokens", si_text(capacity.train_tokens));
  std::vector<std::string> clusters;
  for (const CapacityRow& row : capacity.rows) {
    if (std::find(clusters.begin(), clusters.end(), row.cluster) != clusters.end()) continue;
    clusters.push_back(row.cluster);
    subject += " · " + row.cluster;
  }
  const std::string top = decision_header({.capacity = capacity,
                                           .kind = capacity.device_kind,
                                           .subject = subject,
                                           .verdict = capacity.headline,
                                           .note = "",
                                           .hash = hash});
  std::string body = capacity_body(capacity, capacity.device_kind);
  if (!capacity.levers.empty()) {
    body += html::section(
        "levers", "Levers",
        html::table("Days and cost at the ends of each lever", levers_table(capacity)));
  }
  std::string notes;
  for (const std::string& note : file.notes) notes += html::paragraph(note);
  body += html::section("provenance", "Reproduce",
                        fmt::format("<p>meshwright {}: <code>{}</code></p>\n{}",
                                    html::escape(file.origin.tool_version),
                                    html::escape(file.origin.command), notes));
  Json page = record;
  page["capacity"] = without_key(page["capacity"], "what_if");
  return page_of(subject, top + std::string(kThemeBar), body, page, Json(), hash);
}

std::string service_html(const ServingPlanFile& file) {
  const Json record = serving_plan_record().write(file);
  const std::string hash = sha256(record_text(record));
  const std::string body = service_body(file);
  return page_of(service_subject(file), service_header(file, hash) + service_navigation(body), body,
                 record, Json(), hash);
}

std::string shared_capacity_html(const SharedCapacityFile& file) {
  const Json record = shared_capacity_file_record().write(file);
  const std::string hash = sha256(record_text(record));
  const std::string title = fmt::format("{} and {}", file.model.name, file.service.model);
  const std::string body = shared_capacity_body(file);
  return page_of(title, shared_capacity_header(file, hash) + shared_capacity_navigation(body), body,
                 record, Json(), hash);
}

std::string comparison_html(const Comparison& comparison) {
  return page_of("Reports compared", comparison_headline(comparison).append(kThemeBar),
                 comparison_page_body(comparison), comparison_record().write(comparison), Json());
}

}  // namespace meshwright::reports
