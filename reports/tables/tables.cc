// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "reports/text/text.h"
#include "sim/base/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"
#include "sim/volume/crossing.h"

namespace meshwright::reports {
namespace {

Cell text(std::string_view value) { return std::string(value); }
Cell milliseconds_of(Seconds time) { return time / milliseconds(1); }
Cell gibibytes_of(Bytes amount) { return in_gibibytes(amount); }
Cell gigabytes_of(Bytes amount) { return amount / gigabytes(1); }

// Share of the step that waits for communication which nothing hides.
double exposed_share(const Estimate& estimate) {
  Seconds exposed;
  for (const TermKind kind :
       {TermKind::tensor_parallel_communication, TermKind::context_parallel_communication,
        TermKind::expert_parallel_communication, TermKind::pipeline_communication,
        TermKind::data_parallel_communication}) {
    exposed += estimate.terms[static_cast<std::size_t>(kind)].cost.time;
  }
  return exposed / estimate.step_time;
}

// Sizes ("tp8", "mbs2") stay in every row.
bool is_switch(const LayoutWord& word) {
  const bool of_sizes =
      word.level == SearchLevel::parallel_sizes || word.level == SearchLevel::pipeline;
  return !of_sizes || std::isdigit(static_cast<unsigned char>(word.text.back())) == 0;
}

std::string joined(const std::vector<LayoutWord>& words) {
  std::string text;
  for (const LayoutWord& word : words) append_to_list(text, " ", word.text);
  return text;
}

std::vector<LayoutWord> without(std::vector<LayoutWord> words,
                                const std::vector<LayoutWord>& others) {
  std::erase_if(words, [&](const LayoutWord& word) {
    return std::find(others.begin(), others.end(), word) != others.end();
  });
  return words;
}

// Switches that all these layouts have.
std::vector<LayoutWord> shared_switches(const std::vector<Layout>& layouts) {
  if (layouts.empty()) return {};
  std::vector<LayoutWord> shared = words_of(layouts.front());
  std::erase_if(shared, [](const LayoutWord& word) { return !is_switch(word); });
  for (const Layout& layout : layouts) {
    shared = without(shared, without(shared, words_of(layout)));
  }
  return shared;
}

std::string name_without(const Layout& layout, const std::vector<LayoutWord>& shared) {
  const std::string name = joined(without(words_of(layout), shared));
  return name.empty() ? "one rank" : name;
}

}  // namespace

Table fastest_table(const planner::Plan& plan, int top) {
  const std::size_t count = std::min(plan.ranked.size(), static_cast<std::size_t>(top));
  std::vector<Layout> layouts;
  for (std::size_t i = 0; i < count; ++i) layouts.push_back(plan.ranked[i].layout);
  const std::vector<LayoutWord> shared = shared_switches(layouts);
  Table table = ranked_table(plan);
  table.rows.resize(count);
  const bool sure = std::all_of(plan.ranked.begin(), plan.ranked.end(),
                                [](const Estimate& e) { return e.memory_fit == MemoryFit::yes; });
  if (sure)
    table = without_columns(std::move(table), std::array<std::string_view, 1>{"memory_fit"});
  if (shared.empty()) return table;
  table.title = "all with " + joined(shared);
  for (std::size_t i = 0; i < count; ++i) {
    table.rows[i][1] = name_without(layouts[i], shared);
  }
  return table;
}

Table scaling_table(const std::vector<planner::ScalePoint>& points, const Job& job,
                    DeviceKind device) {
  const std::string noun(device_noun(device));
  const double tokens = static_cast<double>(job.global_batch_size) * job.seq_length;
  Table table{"",
              {{"gpus", noun + "s", ""},
               {.key = "layout", .heading = "best layout", .face = Face::code},
               {"step_time_seconds", "step", "s"},
               {"tokens_per_second_per_gpu", "tokens/s per " + noun, "", 4, true},
               {"efficiency_percent", "efficiency", "%", 3},
               {"model_flops_utilization_percent", "MFU", "%", 3},
               {"peak_memory_gib", "peak", "GiB", 3},
               {"gpu_hours_per_billion_tokens", noun + "-hours per billion tokens", "", 4, true},
               {"train_days", "days of steps", ""},
               {"cost", "cost", ""},
               {"device_energy_kwh", "device energy of steps", "kWh"},
               {"step_time_low_seconds", "low", "s", 4, true},
               {"step_time_high_seconds", "high", "s", 4, true},
               {"tokens_per_second", "tokens/s", "", 4, true}},
              {}};
  for (const planner::ScalePoint& p : points) {
    if (!p.layout) {
      table.rows.emplace_back(table.columns.size());
      table.rows.back()[0] = static_cast<double>(p.gpus);
      table.rows.back()[1] = p.reason;
      continue;
    }
    const double gpu_hours = p.gpus * p.step_time.value() / 3600.0;
    const double rate = tokens / p.step_time.value();
    table.rows.push_back({static_cast<double>(p.gpus), brief_name(*p.layout), p.step_time.value(),
                          p.tokens_per_second_per_gpu, p.efficiency * 100.0,
                          p.model_flops_utilization * 100.0, gibibytes_of(p.peak_memory),
                          gpu_hours * 1e9 / tokens,
                          job.train_tokens ? Cell(*job.train_tokens / rate / 86400.0) : Cell(),
                          optional_cell(p.cost), optional_cell(p.device_energy_kwh),
                          p.step_time_low.value(), p.step_time_high.value(), rate});
  }
  return without_empty_columns(table);
}

Table ranked_table(const planner::Plan& plan) {
  Table table{"",
              {{"rank", "#", ""},
               {"layout", "layout", ""},
               {"step_time_seconds", "step", "s"},
               {"step_time_low_seconds", "90 % low", "s"},
               {"step_time_high_seconds", "90 % high", "s"},
               {"tokens_per_second_per_gpu",
                "tokens/s per " + std::string(device_noun(plan.cluster)), "", 4, true},
               {"model_flops_utilization_percent", "MFU", "%", 3},
               {"peak_memory_gib", "memory", "GiB", 3},
               {"memory_used_percent", "used", "%", 3, true},
               {"exposed_communication_percent", "exposed", "%", 3},
               {"provenance", "weakest input", "", 4, true},
               {"memory_fit", "fits", ""}},
              {}};
  double rank = 0;
  for (const Estimate& e : plan.ranked) {
    table.rows.push_back(
        {++rank, short_name(e.layout), e.step_time.value(), e.step_time_low.value(),
         e.step_time_high.value(), e.tokens_per_second_per_gpu, e.model_flops_utilization * 100.0,
         gibibytes_of(e.peak_memory()), e.peak_memory() / only_device(plan.cluster).memory * 100.0,
         exposed_share(e) * 100.0, text(name_of(e.provenance)), text(name_of(e.memory_fit))});
  }
  return table;
}

Table rejections_table(const std::vector<RejectionRow>& rejections) {
  Table table{"",
              {{.key = "rule", .heading = "rule", .face = Face::code},
               {"count", "layouts", ""},
               {"requirement", "what must hold", "", 4, true},
               {"needed", "needed", "", 4, true},
               {"available", "available", "", 4, true},
               {"nearest_miss", "nearest miss", ""},
               {"smallest_change", "smallest change that makes it valid", ""}},
              {}};
  // Bytes where memory is missed; else a size or a divisor.
  const auto amount = [](Rule rule, const std::string& key, double value) {
    const double gib = in_gibibytes(bytes(value));
    return rule == Rule::memory_capacity ? Numbers{significant(gib) + " GiB", {{key + "_gib", gib}}}
                                         : Numbers{fmt::format("{:.0f}", value), {{key, value}}};
  };
  for (const RejectionRow& r : rejections) {
    const RuleText& rule = rule_text(r.rule);
    table.rows.push_back({text(rule.name), static_cast<double>(r.count), text(rule.requirement),
                          amount(r.rule, "needed", r.needed),
                          amount(r.rule, "available", r.available), r.sentence, r.smallest_change});
  }
  return table;
}

Table terms_table(std::span<const Term> terms, Seconds step) {
  Table table{"",
              {{.key = "term", .heading = "term", .face = Face::name},
               {"time_ms", "time", "ms"},
               {"share_percent", "share", "%", 3},
               {"relative_spread_percent", "spread (1 sigma)", "%", 3},
               {.key = "provenance", .heading = "source", .face = Face::source}},
              {}};
  for (const Term& term : terms) {
    if (term.cost.time.value() == 0.0) continue;
    table.rows.push_back({text(name_of(term.kind)), milliseconds_of(term.cost.time),
                          term.cost.time / step * 100.0, term.cost.relative_spread * 100.0,
                          text(name_of(term.cost.provenance))});
  }
  return table;
}

Table memory_table(const std::vector<StageHolds>& stages, Bytes capacity) {
  Table table{"",
              {{"stage", "stage", ""},
               {"weights_gib", "weights", "GiB", 3},
               {"gradients_gib", "gradients", "GiB", 3},
               {"optimizer_gib", "optimizer", "GiB", 3},
               {"activations_gib", "activations", "GiB", 3},
               {"recompute_workspace_gib", "recompute", "GiB", 3},
               {"operator_workspace_gib", "workspace", "GiB", 3},
               {"logits_gib", "logits", "GiB", 3},
               {"communication_buffers_gib", "buffers", "GiB", 3},
               {"reserve_gib", "reserve", "GiB", 3},
               {"total_gib", "total", "GiB", 3},
               {"free_gib", "free", "GiB", 3},
               {"num_layers", "layers", ""}},
              {}};
  for (const StageHolds& m : stages) {
    table.rows.push_back({static_cast<double>(m.stage), gibibytes_of(m.weights),
                          gibibytes_of(m.gradients), gibibytes_of(m.optimizer),
                          gibibytes_of(m.activations), gibibytes_of(m.recompute_workspace),
                          gibibytes_of(m.operator_workspace), gibibytes_of(m.logits),
                          gibibytes_of(m.communication_buffers), gibibytes_of(m.reserve),
                          gibibytes_of(m.total()), gibibytes_of(capacity - m.total()),
                          m.num_layers ? Cell(static_cast<double>(*m.num_layers)) : Cell()});
  }
  return table;
}

Table volume_table(const StageVolume& volume, const Layout& layout, const Cluster& cluster) {
  Table table{"",
              {{"transfer", "transfer", ""},
               {"group", "group", ""},
               {"group_size", "ranks", ""},
               {"tier", "link", ""},
               {"collective", "collective", "", 4, true},
               {"phase", "phase", ""},
               {"times_per_step", "calls per step", ""},
               {"payload_bytes", "payload per call", "B"},
               {"sent_gb_per_step", "sent per step", "GB"},
               {"inter_node_gb_per_step", "between nodes", "GB"},
               {"formula", "payload", ""}},
              {}};
  for (const Transfer& t : volume.transfers) {
    table.rows.push_back({text(t.name), text(name_of(t.group)), static_cast<double>(t.group_size),
                          text(name_of(place(t.group, layout, cluster).tier())),
                          text(name_of(t.collective)), text(name_of(t.phase)), t.times_per_step,
                          t.payload.value(), gigabytes_of(t.sent_per_step()),
                          gigabytes_of(sent_over_links(t, layout, cluster).inter_node),
                          text(t.formula)});
  }
  return table;
}

Table orders_table(const PublishedOrders& orders) {
  return {"",
          {{"axis", "axis", ""},
           {"order", "published order", ""},
           {"order_elements", "elements per batch", ""},
           {"exact_gb", "sent per rank and step", "GB"}},
          {{text("data parallel"), text("O(h^2 l)"), orders.data_parallel,
            gigabytes_of(orders.data_exact)},
           {text("pipeline parallel"), text("O(b s h l / k)"), orders.pipeline_parallel,
            gigabytes_of(orders.pipeline_exact)},
           {text("tensor parallel"), text("O(b s h l)"), orders.tensor_parallel,
            gigabytes_of(orders.tensor_exact)}}};
}

Table picks_table(const planner::MeasuredSet& set, const std::vector<planner::Pick>& picks) {
  Table table{"",
              {{"run", "run", ""},
               {"layout", "team's layout", ""},
               {"reported_seconds", "reported", "s"},
               {"predicted_seconds", "predicted", "s"},
               {"error_percent", "error", "%", 3},
               {"pick", "our pick", ""},
               {"pick_seconds", "our step", "s"},
               {"claim_percent", "claim", "%", 3},
               {"tensor_ranks_leave_node", "tp leaves node", ""},
               {"cause", "mostly by", ""},
               {"term", "in", ""}},
              {}};
  for (const planner::Pick& pick : picks) {
    const planner::MeasuredRun& run = set.runs[pick.run];
    const auto step = [](const std::optional<Estimate>& e) {
      return e ? Cell(e->step_time.value()) : Cell();
    };
    const bool both = run.step_time && pick.theirs;
    table.rows.push_back(
        {run.id, brief_name(run.layout), run.step_time ? Cell(run.step_time->value()) : Cell(),
         step(pick.theirs),
         both ? Cell(100.0 * (pick.theirs->step_time / *run.step_time - 1.0)) : Cell(),
         pick.ours ? Cell(brief_name(pick.ours->layout)) : Cell(), step(pick.ours),
         pick.theirs && pick.ours ? Cell(100.0 * pick.claim) : Cell(),
         pick.ours ? text(pick.leaves_domain ? "yes" : "no") : Cell(), text(pick.cause),
         text(pick.term)});
  }
  return table;
}

Table validation_table(const planner::Validation& validation) {
  const bool knows_host = validation.median_absolute_error_at_host_speed.has_value();
  Table table{"",
              {{.key = "layout", .heading = "layout", .face = Face::code},
               {.key = "run_layout", .heading = "executed", .face = Face::code},
               {"ranks", "ranks", ""},
               {"predicted_ms", "predicted", "ms"},
               {"measured_ms", "measured", "ms"},
               {"error_percent", "error", "%", 3},
               {"inside_interval", "in 90 % interval", ""},
               {"memory_error_percent", "memory error", "%", 3},
               {"same_bytes", "bytes as predicted", ""}},
              {}};
  if (knows_host) {
    table.columns.push_back({"host_time_ratio", "host slowdown", "", 3});
    table.columns.push_back(
        {"error_at_host_speed_percent", "error, corrected for host speed", "%", 3});
  }
  const std::vector<Column> rest{
      {"predicted_low_ms", "low", "ms", 4, true},
      {"predicted_high_ms", "high", "ms", 4, true},
      {"measured_min_ms", "fastest step", "ms", 4, true},
      {"measured_p10_ms", "10th percentile", "ms", 4, true},
      {"measured_p90_ms", "90th percentile", "ms", 4, true},
      {"slower_than_fastest_percent", "step relative to fastest run", "%", 3, true}};
  table.columns.insert(table.columns.end(), rest.begin(), rest.end());
  // Nothing where the run did not say.
  const auto said = [](Seconds time) {
    return time.value() > 0.0 ? milliseconds_of(time) : Cell();
  };
  const auto fastest = std::min_element(validation.layouts.begin(), validation.layouts.end(),
                                        [](const auto& a, const auto& b) {
                                          return a.observation.step_time < b.observation.step_time;
                                        });
  for (const planner::LayoutComparison& c : validation.layouts) {
    const Observation& o = c.observation;
    std::vector<Cell> row{short_name(o.layout),
                          short_name(o.run_layout),
                          static_cast<double>(o.ranks),
                          milliseconds_of(c.predicted.step_time),
                          milliseconds_of(o.step_time),
                          c.error * 100.0,
                          text(c.inside_interval ? "yes" : "no"),
                          c.memory_error * 100.0,
                          text(c.same_bytes ? "yes" : "no")};
    if (knows_host) {
      row.push_back(optional_cell(o.host_time_ratio));
      row.push_back(c.at_host_speed ? Cell(c.at_host_speed->error * 100.0) : Cell());
    }
    row.insert(row.end(), {milliseconds_of(c.predicted.step_time_low),
                           milliseconds_of(c.predicted.step_time_high), said(o.step_time_min),
                           said(o.step_time_p10), said(o.step_time_p90),
                           (o.step_time / fastest->observation.step_time - 1.0) * 100.0});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table validation_screen_table(const planner::Validation& validation) {
  std::vector<Layout> layouts;
  bool alike = true;
  for (const planner::LayoutComparison& c : validation.layouts) {
    layouts.push_back(c.observation.layout);
    layouts.push_back(c.observation.run_layout);
    alike = alike && c.observation.layout == c.observation.run_layout;
  }
  const std::vector<LayoutWord> shared = shared_switches(layouts);
  Table table{"", {{"layout", "layout", ""}}, {}};
  if (!shared.empty()) table.title = "all with " + joined(shared);
  if (!alike) table.columns.push_back({"run_layout", "executed", ""});
  const std::vector<Column> rest{{"predicted_ms", "predicted", "ms"},
                                 {"measured_ms", "measured", "ms"},
                                 {"error_percent", "error", "%", 3},
                                 {"inside_interval", "in 90 % interval", ""},
                                 {"memory_error_percent", "memory error", "%", 3},
                                 {"same_bytes", "bytes as predicted", ""}};
  table.columns.insert(table.columns.end(), rest.begin(), rest.end());
  for (const planner::LayoutComparison& c : validation.layouts) {
    std::vector<Cell> row{name_without(c.observation.layout, shared)};
    if (!alike) row.emplace_back(name_without(c.observation.run_layout, shared));
    row.insert(row.end(),
               {milliseconds_of(c.predicted.step_time), milliseconds_of(c.observation.step_time),
                c.error * 100.0, text(c.inside_interval ? "yes" : "no"), c.memory_error * 100.0,
                text(c.same_bytes ? "yes" : "no")});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace meshwright::reports
