// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/service_page.h"

#include <fmt/format.h>

#include <array>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/service_charts.h"
#include "reports/sections/service_latency.h"
#include "reports/sections/service_text.h"
#include "reports/sections/service_use.h"
#include "reports/sections/service_validation.h"
#include "reports/tables/serving_plan_tables.h"
#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

using html::escape;

std::string frontier_section(const ServingPlanFile& file) {
  const std::string chart = service_frontier_chart(file);
  if (chart.empty()) return "";
  return html::section(
      "frontier", "Throughput against speed of a user",
      html::paragraph("More users raise the throughput of a GPU and slow each user. The shaded "
                      "region meets the limit of TPOT.") +
          chart +
          html::numbers("Numbers as a table", html::table("Points of the front, in closed form",
                                                          serving_pareto_table(file))));
}

std::string cost_section(const ServingPlanFile& file) {
  const bool priced = has_money(file);
  std::string body =
      html::table(fmt::format("{} of tokens under the asked load, with 90 % intervals",
                              priced ? "Cost" : "Energy"),
                  serving_money_table(file));
  if (file.details && file.details->energy) {
    const planner::ServingEnergy& energy = *file.details->energy;
    html::TableRows rows;
    const auto add = [&](const char* name, const planner::Ranged& value, const char* unit) {
      rows.push_back({name, html::TableCell(number_text(value.value, 3), value.value),
                      html::TableCell(number_text(value.low, 3), value.low),
                      html::TableCell(number_text(value.high, 3), value.high), unit,
                      escape(value.basis)});
    };
    add("power of all GPUs, with PUE", energy.kilowatts, "kW");
    add("a million input tokens", energy.million_input, "kWh");
    add("a million output tokens", energy.million_output, "kWh");
    add("a million tokens", energy.million_total, "kWh");
    body += html::table(
        "Energy of the first deployment, with 90 % intervals",
        {{"of"}, {"value", true}, {"low", true}, {"high", true}, {"unit"}, {"basis"}}, rows);
  }
  if (body.empty()) return "";
  std::string says = fmt::format(
      "{}Cost and energy are split between input and output "
      "by the time that prompts take. The column \"all kWh/M output\" divides all energy by the "
      "output tokens alone.",
      priced ? "GPUs are paid by the hour, used or not. " : "No price is known for this cluster. ");
  if (priced && file.prices && file.prices->example) {
    says += fmt::format(" Prices are those of {} ({}), an example and no offer.", file.prices->name,
                        file.prices->date);
  }
  return html::section("cost", "Cost and energy", html::paragraph(says) + body);
}

std::string changes_section(const ServingPlanFile& file) {
  const std::string how =
      file.percentile > 0 ? "simulated at " + percentile_text(file.percentile) : "simulated means";
  const std::string table =
      html::table("The same question with one thing changed, " + how, serving_what_ifs_table(file));
  return html::section(
      "what-changes", "What would change it",
      table.empty()
          ? html::paragraph("This plan has no what-ifs. Run its command again with --what-if.")
          : html::paragraph(
                "Each row searches all layouts again, as the plan does. \"As asked\" is "
                "the plan's answer. A row without GPUs has no "
                "deployment that meets the limits and the engine's rules on the GPUs "
                "that are allowed.") +
                table);
}

std::string deployments_section(const ServingPlanFile& file) {
  if (file.plan.choices.empty()) return "";
  return html::section(
      "deployments", "Deployments",
      html::paragraph(fmt::format(
          "{} valid {} of a replica {} compared.", count_text(file.plan.layouts),
          file.plan.layouts == 1 ? "layout" : "layouts", file.plan.layouts == 1 ? "was" : "were")) +
          html::table(file.percentile > 0
                          ? "Deployments, best first; means and percentiles of a row are of one "
                            "simulation, or means in closed form"
                          : "Deployments, best first; TTFT and TPOT are means in closed form",
                      serving_choices_table(file)));
}

std::string service_rejections(const ServingPlanFile& file) {
  if (file.plan.rejections.empty()) return "";
  html::TableRows rows;
  for (const planner::ServingRejection& one : file.plan.rejections) {
    rows.push_back({fmt::format("<code>{}</code>", escape(one.rule)),
                    html::TableCell(count_text(one.count), one.count), escape(one.sentence),
                    fmt::format("<code>{}</code>", escape(one.nearest)), escape(one.remedy)});
  }
  return html::section(
      "rejections", "Rejected layouts",
      html::table("Layouts that one rule turned down, and the nearest fix",
                  {{"rule"}, {"layouts", true}, {"by how much"}, {"nearest layout"}, {"fix"}},
                  rows));
}

std::string engine_facts(const ServingPlanFile& file) {
  const Engine& engine = file.scenario.engine;
  html::TableRows rows;
  const auto add = [&](const std::string& what, const std::string& value) {
    if (!value.empty()) rows.push_back({escape(what), escape(value)});
  };
  add("engine", engine.title.empty() ? engine.name : engine.title);
  add("source of its rules", engine.source);
  if (engine.fit.held_out_error) {
    add("median error of a step, data held out", percent_text(*engine.fit.held_out_error));
  }
  add("spread of a step beyond its parts (1 sigma)", percent_text(engine.relative_spread));
  if (!file.plan.choices.empty()) {
    const planner::ServingChoice& best = file.plan.choices.front();
    add("spread of TPOT (1 sigma)", percent_text(best.token_spread));
    add("spread of TTFT (1 sigma)", percent_text(best.first_token_spread));
  }
  add("GPU", only_device(file.scenario.cluster).name);
  add("source of the GPU's data", only_device(file.scenario.cluster).source);
  return html::table("Sources and spreads", {{"what"}, {"value"}}, rows);
}

std::string evidence_section(const ServingPlanFile& file) {
  std::string notes;
  if (!file.notes.empty()) notes = html::list(file.notes);
  return html::section(
      "evidence", "Evidence",
      html::paragraph("Intervals are log-normal around the prediction, from the spreads below. "
                      "Errors against published services: docs/validation/serving_2026-11-26.md.") +
          engine_facts(file) +
          html::table("Results that the engine was corrected by", serving_learning_table(file)) +
          notes);
}

std::string reproduce_section(const ServingPlanFile& file) {
  return html::section(
      "provenance", "Reproduce",
      fmt::format(
          "<p>The plan: <code>{}</code></p>\n"
          "<p>This page: <code>meshwright report plan.json {}--out page.html</code>, where "
          "plan.json is the output of that command with <code>--format json</code>{}.</p>\n",
          escape(file.origin.command), file.validation ? "--trials trials.json " : "",
          file.validation ? ", and trials.json that of <code>meshwright trial</code>" : ""));
}

std::string service_launch(const ServingPlanFile& file) {
  if (file.launch.empty()) return "";
  return html::section("launch", "Launch files of the first deployment",
                       launch_tabs(file.launch, "Launch files"));
}

constexpr std::array kServiceParts{html::PagePart{"frontier", "Frontier"},
                                   html::PagePart{"latency", "Latency"},
                                   html::PagePart{"validation", "Measured"},
                                   html::PagePart{"memory", "Memory"},
                                   html::PagePart{"steps", "Steps"},
                                   html::PagePart{"use", "Prefill and decode"},
                                   html::PagePart{"cost", "Cost and energy"},
                                   html::PagePart{"what-changes", "What-ifs"},
                                   html::PagePart{"deployments", "Deployments"},
                                   html::PagePart{"rejections", "Rejections"},
                                   html::PagePart{"launch", "Launch"},
                                   html::PagePart{"evidence", "Evidence"},
                                   html::PagePart{"provenance", "Reproduce"}};

}  // namespace

std::string service_body(const ServingPlanFile& file) {
  return frontier_section(file) + service_latency_section(file) + service_validation_section(file) +
         service_memory_section(file) + service_steps_section(file) + service_use_section(file) +
         cost_section(file) + changes_section(file) + deployments_section(file) +
         service_rejections(file) + service_launch(file) + evidence_section(file) +
         reproduce_section(file);
}

std::string service_navigation(std::string_view body) {
  return html::navigation(kServiceParts, body);
}

}  // namespace meshwright::reports
