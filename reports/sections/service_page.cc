// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/service_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/service_charts.h"
#include "reports/sections/service_text.h"
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

// Means in closed form sized the service; what they are in the simulation of the asked load.
std::string simulated_means(const ServingPlanFile& file) {
  if (file.percentile > 0) return "";
  for (const planner::ServingLoadPoint& one : file.details->loads) {
    if (!one.asked) continue;
    return fmt::format(
        " Limits are compared with means in closed form. In the simulation of the asked load mean "
        "TTFT is {} and mean TPOT {}.",
        latency_text(one.ttft.mean), latency_text(one.tpot.mean));
  }
  return "";
}

std::string knee_sentence(const ServingPlanFile& file) {
  const auto words = [&](const char* name, const std::optional<double>& knee) {
    return knee ? fmt::format("{} has its knee at {} {}.", name, number_text(*knee, 3),
                              load_noun(file.load))
                : fmt::format("{} has no knee up to the largest simulated load.", name);
  };
  std::string text =
      words("TTFT", file.details->ttft_knee) + " " + words("TPOT", file.details->tpot_knee);
  if (file.load.kind == LoadKind::open_loop) {
    text += fmt::format(" The deployment serves at most {} requests/s, limits aside.",
                        number_text(file.details->largest_rate, 3));
  }
  return text + simulated_means(file);
}

std::string loads_table(const ServingPlanFile& file) {
  html::TableRows rows;
  const auto ms = [](Seconds time) {
    return html::TableCell(number_text(time / milliseconds(1), 3), time / milliseconds(1));
  };
  // Users are served at a rate; requests/s are offered.
  const bool closed = file.load.kind == LoadKind::closed_loop;
  for (const planner::ServingLoadPoint& one : file.details->loads) {
    html::TableRow row{html::TableCell(number_text(load_of(one), 3), load_of(one))};
    if (closed) row.emplace_back(number_text(one.request_rate, 3), one.request_rate);
    for (const Percentiles* times : {&one.ttft, &one.tpot}) {
      for (const Seconds time : {times->mean, times->p50, times->p90, times->p99}) {
        row.push_back(ms(time));
      }
    }
    row.emplace_back(number_text(one.output_tokens_per_second, 4), one.output_tokens_per_second);
    row.emplace_back(percent_text(one.busy_share), one.busy_share);
    row.emplace_back(one.meets ? "met" : "missed");
    row.emplace_back(one.asked ? "asked" : "");
    rows.push_back(std::move(row));
  }
  std::vector<html::Heading> headings{{std::string(load_noun(file.load)), true}};
  if (closed) headings.push_back({"served requests/s", true});
  for (const char* name : {"mean TTFT", "p50 TTFT", "p90 TTFT", "p99 TTFT", "mean TPOT", "p50 TPOT",
                           "p90 TPOT", "p99 TPOT", "output tokens/s", "busy"}) {
    headings.push_back({name, true});
  }
  headings.push_back({"limits"});
  headings.push_back({"load"});
  return html::table("The deployment at other loads, simulated. Times in ms", headings, rows);
}

std::string latency_section(const ServingPlanFile& file) {
  if (!file.details || file.details->loads.empty()) return "";
  return html::section("latency", "Latency against load",
                       html::paragraph(knee_sentence(file)) +
                           service_latency_chart(file, ServiceLatency::ttft) +
                           service_latency_chart(file, ServiceLatency::tpot) +
                           html::numbers("Numbers as a table", loads_table(file)));
}

struct MemoryPartOf {
  std::string_view name;
  Bytes (*amount)(const ReplicaMemory& memory);
};
constexpr std::array kServiceMemory{
    MemoryPartOf{"weights", [](const ReplicaMemory& m) { return m.weights.total(); }},
    MemoryPartOf{"activations", [](const ReplicaMemory& m) { return m.activations; }},
    MemoryPartOf{"runtime", [](const ReplicaMemory& m) { return m.outside; }},
    MemoryPartOf{"graphs", [](const ReplicaMemory& m) { return m.graphs; }},
    MemoryPartOf{"kv_cache", [](const ReplicaMemory& m) { return m.kv_cache; }},
    MemoryPartOf{"reserve", [](const ReplicaMemory& m) { return m.unused; }}};

std::string pool_words(const planner::ServicePoolDetails& pool) {
  return pool.pool == planner::ServicePool::aggregated
             ? pool.name
             : fmt::format("{}: {}", name_of(pool.pool), pool.name);
}

std::string service_memory_bars(const ServingPlanFile& file) {
  html::TableRows rows;
  std::vector<std::string> used;
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    std::vector<html::Segment> segments;
    for (const MemoryPartOf& part : kServiceMemory) {
      const Bytes amount = part.amount(pool.memory);
      const std::string name(part.name);
      segments.push_back(
          {name, amount.value(), fmt::format("{}: {}", spoken(name), memory_text(amount))});
      const bool is_new = std::find(used.begin(), used.end(), name) == used.end();
      if (amount.value() > 0.0 && is_new) used.push_back(name);
    }
    rows.push_back(
        {escape(pool_words(pool)),
         html::bar(segments, pool.memory.device.value() * 1.02, pool.memory.device.value()),
         memory_text(pool.memory.device)});
  }
  return "<div class=\"bars\">" +
         html::table(fmt::format("Memory of the {} with the highest use; the line is its capacity",
                                 service_noun(file)),
                     {{"pool"}, {"parts"}, {"capacity", true}}, rows) +
         "</div>" + html::legend(used);
}

std::string service_memory_table(const ServingPlanFile& file) {
  std::vector<html::Heading> headings{{"part"}};
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    headings.push_back({pool_words(pool) + ", GiB", true});
  }
  html::TableRows rows;
  const auto add = [&](const std::string& name, auto amount_of) {
    html::TableRow row{escape(name)};
    for (const planner::ServicePoolDetails& pool : file.details->pools) {
      const double gib = in_gibibytes(amount_of(pool.memory));
      row.emplace_back(number_text(gib, 3), gib);
    }
    rows.push_back(std::move(row));
  };
  for (const MemoryPartOf& part : kServiceMemory) add(spoken(part.name), part.amount);
  add("capacity", [](const ReplicaMemory& m) { return m.device; });
  return html::table("Parts of the memory", headings, rows);
}

// A prefill pool decodes nothing: its cache has prompts alone.
std::string cache_sentence(const planner::ServicePoolDetails& pool) {
  const bool one = pool.admitted == 1.0;
  std::string text = fmt::format(
      "{}: the cache of an attention group holds {} tokens; {} {} of the asked length {} at once",
      pool_words(pool), number_text(pool.memory.kv_tokens), number_text(pool.admitted, 3),
      one ? "request" : "requests", one ? "fits" : "fit");
  if (pool.pool != planner::ServicePool::prefill) {
    text += fmt::format(", {} {} under the load", number_text(pool.running, 3),
                        pool.running == 1.0 ? "runs" : "run");
  }
  return text + ".";
}

std::string memory_section(const ServingPlanFile& file) {
  if (!file.details || file.details->pools.empty()) return "";
  std::string text;
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    text += html::paragraph(cache_sentence(pool));
  }
  text += html::paragraph(
      "Runtime is CUDA's context and NCCL's buffers. Reserve is what the engine's memory fraction "
      "leaves free. Other ranks of the replica use no more.");
  return html::section("memory", "Memory of a " + service_noun(file),
                       text + service_memory_bars(file) +
                           html::numbers("Numbers as a table", service_memory_table(file)));
}

std::string step_words(const planner::ServingStepParts& step) {
  if (step.step == planner::ServedStep::prefill) {
    return fmt::format("prefill of {} tokens", number_text(step.tokens));
  }
  return fmt::format("decode of {} {} at {} tokens", number_text(step.sequences, 3),
                     step.sequences == 1.0 ? "sequence" : "sequences", number_text(step.tokens));
}

std::string step_bars(const ServingPlanFile& file) {
  html::TableRows rows;
  std::vector<std::string> used;
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    for (const planner::ServingStepParts& step : pool.steps) {
      std::vector<html::Segment> segments;
      double sum = 0.0;
      for (const planner::ServingStepPart& part : step.parts) {
        const std::string name(name_of(part.term));
        segments.push_back({name, part.time.value(),
                            fmt::format("{}: {}", spoken(name), latency_text(part.time))});
        sum += part.time.value();
        if (std::find(used.begin(), used.end(), name) == used.end()) used.push_back(name);
      }
      const double ms = step.time.value / milliseconds(1), low = step.time.low / milliseconds(1);
      rows.push_back({escape(step_words(step)), html::bar(segments, sum),
                      html::TableCell(number_text(ms, 3), ms),
                      html::TableCell(fmt::format("{}–{}", number_text(low, 3),
                                                  number_text(step.time.high / milliseconds(1), 3)),
                                      low)});
    }
  }
  return "<div class=\"bars\">" +
         html::table("Parts of a step; each bar is a whole step",
                     {{"step"}, {"parts"}, {"time, ms"}, {"90 % interval, ms"}}, rows) +
         "</div>" + html::legend(used);
}

std::string step_table(const planner::ServicePoolDetails& pool,
                       const planner::ServingStepParts& step) {
  html::TableRows rows;
  for (const planner::ServingStepPart& part : step.parts) {
    const double ms = part.time / milliseconds(1);
    rows.push_back({escape(spoken(name_of(part.term))), html::TableCell(number_text(ms, 3), ms),
                    html::TableCell(percent_text(part.relative_spread), part.relative_spread),
                    html::badge(name_of(part.provenance))});
  }
  return html::table(fmt::format("{}, {}", pool_words(pool), step_words(step)),
                     {{"part"}, {"time, ms", true}, {"± (1 sigma)", true}, {"source"}}, rows);
}

std::string steps_section(const ServingPlanFile& file) {
  if (!file.details || file.details->pools.empty()) return "";
  std::string tables;
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    for (const planner::ServingStepParts& step : pool.steps) tables += step_table(pool, step);
  }
  const std::string why =
      html::table("Decode steps of the first two deployments, each at its batch",
                  serving_explanation_table(file));
  return html::section("steps", "What a step consists of",
                       step_bars(file) + html::numbers("Numbers as tables", tables) + why);
}

std::string use_section(const ServingPlanFile& file) {
  if (!file.details || file.details->pools.empty()) return "";
  html::TableRows rows;
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    const std::array shares{std::pair{"prefill", pool.prompt_share},
                            std::pair{"decode", pool.decode_share},
                            std::pair{"idle", pool.idle_share}};
    std::vector<html::Segment> segments;
    html::TableRow row{escape(pool_words(pool)), ""};
    for (const auto& [name, share] : shares) {
      segments.push_back({name, share, fmt::format("{}: {}", name, percent_text(share))});
      row.emplace_back(percent_text(share), share);
    }
    row[1] = html::bar(segments, 1.0);
    rows.push_back(std::move(row));
  }
  return html::section(
      "use", "Prefill and decode",
      html::paragraph("Shares of the GPUs' time under the asked load. Idle GPUs are paid for.") +
          "<div class=\"bars\">" +
          html::table("Use of each pool's time",
                      {{"pool"}, {"shares"}, {"prefill", true}, {"decode", true}, {"idle", true}},
                      rows) +
          "</div>" + html::legend({"prefill", "decode", "idle"}));
}

// Energy of all tokens over the output alone, not the share of the answers.
Table page_money_table(const ServingPlanFile& file) {
  Table table = serving_money_table(file);
  for (Column& column : table.columns) {
    if (column.key == "kwh") column.heading = "all kWh/M output";
  }
  return table;
}

std::string cost_section(const ServingPlanFile& file) {
  const bool priced = has_money(file);
  std::string body =
      html::table(fmt::format("{} of tokens under the asked load, with 90 % intervals",
                              priced ? "Cost" : "Energy"),
                  page_money_table(file));
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
      file.percentile > 0 ? "simulated at " + percentile_text(file.percentile) : "in closed form";
  const std::string table =
      html::table("The same question with one thing changed, " + how, serving_what_ifs_table(file));
  return html::section(
      "what-changes", "What would change it",
      table.empty()
          ? html::paragraph("This plan has no what-ifs. Run its command again with --what-if.")
          : html::paragraph(
                "Each row searches all layouts again, as the plan does; \"as asked\" is "
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
          escape(file.command), file.validation ? "--trials trials.json " : "",
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
  return frontier_section(file) + latency_section(file) + service_validation_section(file) +
         memory_section(file) + steps_section(file) + use_section(file) + cost_section(file) +
         changes_section(file) + deployments_section(file) + service_rejections(file) +
         service_launch(file) + evidence_section(file) + reproduce_section(file);
}

std::string service_navigation(std::string_view body) {
  return html::navigation(kServiceParts, body);
}

}  // namespace meshwright::reports
