// SPDX-License-Identifier: Apache-2.0
#include "reports/capacity_text.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

constexpr double kMillion = 1e6;
constexpr double kSecondsPerDay = 86400.0;

std::string span_text(const planner::Quantiles& q, double unit) {
  return fmt::format("{:.3g} to {:.3g}", q.p10 / unit, q.p90 / unit);
}

std::string money_span(const planner::Quantiles& cost, const std::string& currency) {
  const bool millions = cost.p50 >= kMillion;
  return fmt::format("{} ({})", money_text(cost.p50, currency),
                     millions ? span_text(cost, kMillion) + " M"
                              : fmt::format("{} to {}", count_text(std::llround(cost.p10)),
                                            count_text(std::llround(cost.p90))));
}

const std::string& name_of_case(const planner::CapacityAnswer& answer,
                                const planner::CapacityRow& row) {
  return answer.question.clusters[row.cluster_case].name;
}

// "1 T", not "1.00 T".
std::string amount_text(double amount) {
  std::string text = si_text(amount);
  const std::size_t zeros = text.find(".00");
  return zeros == std::string::npos ? text : text.erase(zeros, 3);
}

std::string day_text(double days) {
  return days < 1000.0 ? fmt::format("{:.3g} days", days)
                       : fmt::format("{} days", count_text(std::llround(days)));
}

// ", done 2027-03-12 (2027-03-06 to 2027-03-18)" where the run begins on a day.
std::string done_text(const planner::CapacityAnswer& answer, const planner::Quantiles& days) {
  const auto& start = answer.question.options.start;
  if (!start) return "";
  const auto at = [&](double d) { return planner::date_text(planner::last_day(*start, d)); };
  return fmt::format(", done {} ({} to {})", at(days.p50), at(days.p10), at(days.p90));
}

std::string priced(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  if (!row.run.cost) return fmt::format("{} GPU-hours", si_text(row.run.gpu_hours.p50));
  return money_span(*row.run.cost, answer.question.options.prices.currency);
}

// "finish 15.6 T tokens in 67.2 days (61 to 74) for 66 M USD (56 to 78 M)".
std::string run_phrase(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  const planner::TrainingRun& run = row.run;
  const std::string tokens = amount_text(answer.question.tokens());
  if (answer.question.train_tokens) {
    return fmt::format("finish {} tokens in {}{} for {}", tokens, days_text(run.days),
                       done_text(answer, run.days), priced(answer, row));
  }
  const planner::Quantiles& speed = row.tokens_per_second;
  return fmt::format("train {} tokens/s ({} to {}) and take {} for {} tokens", si_text(speed.p50),
                     si_text(speed.p10), si_text(speed.p90), priced(answer, row), tokens);
}

std::string gpus_phrase(int gpus) {
  return fmt::format("{} {}", count_text(gpus), gpus == 1 ? "GPU" : "GPUs");
}

std::string run_sentence(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  return fmt::format("{} of {} {}.", gpus_phrase(row.gpus), name_of_case(answer, row),
                     run_phrase(answer, row));
}

// The next smaller count that keeps all limits, beside this one.
const planner::CapacityRow* next_smaller(const planner::CapacityAnswer& answer,
                                         const planner::CapacityRow& row) {
  const planner::CapacityRow* found = nullptr;
  for (const planner::CapacityRow& other : answer.rows) {
    const bool alike = other.cluster_case == row.cluster_case && other.scheduled == row.scheduled &&
                       other.asked_batch_size == row.asked_batch_size;
    if (!alike || !other.keeps_limits() || other.gpus >= row.gpus) continue;
    if (found == nullptr || other.gpus > found->gpus) found = &other;
  }
  return found;
}

std::string beside(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  const planner::CapacityRow* other = next_smaller(answer, row);
  if (other == nullptr) return "";
  const bool money = row.run.cost && other->run.cost;
  const double saved = money ? row.run.cost->p50 - other->run.cost->p50
                             : row.run.gpu_hours.p50 - other->run.gpu_hours.p50;
  const std::string amount =
      money ? money_text(std::abs(saved), answer.question.options.prices.currency)
            : si_text(std::abs(saved)) + " GPU-hours";
  const planner::Quantiles& speed = other->tokens_per_second;
  const std::string takes = answer.question.train_tokens
                                ? fmt::format("take {}", day_text(other->run.days.p50))
                                : fmt::format("train {} tokens/s", si_text(speed.p50));
  return fmt::format(" {} {} and {}.", gpus_phrase(other->gpus), takes,
                     saved >= 0.0 ? "save " + amount : "cost " + amount + " more");
}

std::string label_of(std::string term) {
  for (char& c : term) c = c == '_' ? ' ' : c;
  return term;
}

Cell number_or_nothing(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

Table without_empty_columns(Table table) {
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    bool filled = table.rows.empty();
    for (const auto& row : table.rows) {
      filled = filled || !std::holds_alternative<std::monostate>(row[c]);
    }
    if (filled) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(c));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
  }
  return table;
}

// "*" recommended, "~" misses its limits by least.
std::string mark_of(const planner::CapacityAnswer& answer, std::size_t place) {
  if (answer.recommendation.recommended == place) return "*";
  return answer.recommendation.closest == place ? "~" : "";
}

std::string limits_text(const planner::CapacityRow& row) {
  if (!row.fits()) return row.reason;
  return fmt::format("{}", fmt::join(row.broken_limits, "; "));
}

std::string span_or_dash(const std::optional<planner::Quantiles>& q, double unit) {
  return q ? span_text(*q, unit) : "-";
}

std::vector<Cell> narrow_row(const planner::CapacityAnswer& answer, std::size_t place) {
  const planner::CapacityRow& row = answer.rows[place];
  const std::string batch = row.scheduled ? "schedule" : count_text(row.global_batch_size);
  std::vector<Cell> cells{mark_of(answer, place), name_of_case(answer, row),
                          static_cast<double>(row.gpus), batch};
  if (!row.fits()) {
    cells.insert(cells.end(), 8, Cell());
    cells.emplace_back(limits_text(row));
    return cells;
  }
  const planner::TrainingRun& run = row.run;
  const auto& start = answer.question.options.start;
  const std::string time =
      answer.question.train_tokens
          ? fmt::format("{:.3g} ({})", run.days.p50, span_text(run.days, 1.0))
          : fmt::format("{} ({} to {})", si_text(row.tokens_per_second.p50),
                        si_text(row.tokens_per_second.p10), si_text(row.tokens_per_second.p90));
  const std::string cost = run.cost ? fmt::format("{:.3g} ({})", run.cost->p50 / kMillion,
                                                  span_or_dash(run.cost, kMillion))
                                    : "";
  cells.emplace_back(brief_name(row.main_phase().estimate.layout));
  cells.emplace_back(row.main_phase().estimate.step_time.value());
  cells.emplace_back(100.0 * row.run.time.goodput());
  cells.emplace_back(time);
  cells.emplace_back(start ? Cell(planner::date_text(planner::last_day(*start, run.days.p90)))
                           : Cell());
  cells.emplace_back(run.cost ? Cell(cost) : Cell());
  cells.emplace_back(run.energy_mwh ? Cell(run.energy_mwh->p50 / 1000.0) : Cell());
  cells.emplace_back(100.0 * row.efficiency);
  const std::string limits = limits_text(row);
  cells.emplace_back(limits.empty() ? Cell() : Cell(limits));
  return cells;
}

Table narrow_table(const planner::CapacityAnswer& answer) {
  const bool stated = answer.question.train_tokens.has_value();
  const std::string of = stated ? "" : fmt::format(" of {}", si_text(answer.question.tokens()));
  Table table{"",
              {{"mark", "", ""},
               {"cluster", "cluster", ""},
               {"gpus", "GPUs", "", 7},
               {"global_batch", "batch", ""},
               {"layout", "best layout", ""},
               {"step_seconds", "step", "s", 3},
               {"goodput_percent", "goodput", "%", 3},
               {"time", stated ? "days (10-90 %)" : "tokens/s (10-90 %)", ""},
               {"done", "done, 90 %", ""},
               {"cost", "cost" + of + ", M " + answer.question.options.prices.currency, ""},
               {"energy_gwh", "energy" + of, "GWh", 3},
               {"efficiency_percent", "scaling", "%", 3},
               {"limits", "limits that fail", ""}},
              {}};
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    table.rows.push_back(narrow_row(answer, i));
  }
  return without_empty_columns(table);
}

void add_quantiles(std::vector<Cell>& cells, const std::optional<planner::Quantiles>& q) {
  cells.push_back(q ? Cell(q->p10) : Cell());
  cells.push_back(q ? Cell(q->p50) : Cell());
  cells.push_back(q ? Cell(q->p90) : Cell());
}

std::vector<Cell> wide_row(const planner::CapacityAnswer& answer, std::size_t place,
                           std::size_t columns) {
  const planner::CapacityRow& row = answer.rows[place];
  const planner::TrainingRun& run = row.run;
  const std::string mark = answer.recommendation.recommended == place ? "yes" : "no";
  std::vector<Cell> cells{name_of_case(answer, row),
                          static_cast<double>(row.gpus),
                          static_cast<double>(row.global_batch_size),
                          static_cast<double>(row.seq_length),
                          row.scheduled ? "yes" : "no",
                          mark,
                          limits_text(row)};
  if (!row.fits()) {
    cells.resize(columns);
    return cells;
  }
  const Estimate& e = row.main_phase().estimate;
  const auto& start = answer.question.options.start;
  cells.insert(
      cells.end(),
      {short_name(e.layout), e.step_time.value(), e.step_time_low.value(), e.step_time_high.value(),
       e.tokens_per_second_per_gpu * row.gpus, 100.0 * e.model_flops_utilization,
       in_gibibytes(e.peak_memory()), 100.0 * run.time.goodput(), run.checkpoint.interval.value(),
       run.checkpoint.size.value(), run.time.failures, static_cast<double>(run.spare_nodes)});
  add_quantiles(cells, row.tokens_per_second);
  add_quantiles(cells, run.days);
  for (const double days : {run.days.p10, run.days.p50, run.days.p90}) {
    cells.emplace_back(start ? Cell(planner::date_text(planner::last_day(*start, days))) : Cell());
  }
  add_quantiles(cells, run.gpu_hours);
  add_quantiles(cells, run.cost);
  cells.emplace_back(run.cost ? Cell(answer.question.options.prices.currency) : Cell());
  add_quantiles(cells, run.energy_mwh);
  cells.push_back(number_or_nothing(run.megawatts));
  add_quantiles(cells, run.co2_tonnes);
  cells.emplace_back(100.0 * row.efficiency);
  return cells;
}

Table wide_table(const planner::CapacityAnswer& answer) {
  Table table{"",
              {{"cluster", "cluster", ""},
               {"gpus", "GPUs", "", 7},
               {"global_batch", "batch", ""},
               {"seq_length", "sequence", ""},
               {"schedule", "schedule", ""},
               {"recommended", "recommended", ""},
               {"limits", "limits that fail", ""},
               {"layout", "best layout", ""},
               {"step_seconds", "step", "s"},
               {"step_low_seconds", "low", "s"},
               {"step_high_seconds", "high", "s"},
               {"tokens_per_second", "tokens", "1/s"},
               {"model_flops_utilization_percent", "MFU", "%", 3},
               {"memory_gib", "memory", "GiB", 3},
               {"goodput_percent", "goodput", "%", 3},
               {"checkpoint_interval_seconds", "checkpoint each", "s"},
               {"checkpoint_bytes", "checkpoint", "bytes"},
               {"interruptions", "interruptions", ""},
               {"spare_nodes", "spares", "nodes"}},
              {}};
  const auto add = [&](const std::string& key, const std::string& heading,
                       const std::string& unit) {
    for (const char* quantile : {"p10", "p50", "p90"}) {
      table.columns.push_back({key + "_" + quantile, heading + " " + quantile, unit});
    }
  };
  add("effective_tokens_per_second", "tokens with failures", "1/s");
  add("days", "days", "");
  add("done", "done", "");
  add("gpu_hours", "GPU-hours", "");
  add("cost", "cost", "");
  table.columns.push_back({"currency", "currency", ""});
  add("energy_mwh", "energy", "MWh");
  table.columns.push_back({"power_mw", "power", "MW"});
  add("co2_tonnes", "CO2", "t");
  table.columns.push_back({"scaling_efficiency_percent", "scaling", "%", 3});
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    table.rows.push_back(wide_row(answer, i, table.columns.size()));
  }
  return table;
}

}  // namespace

std::string money_text(double amount, const std::string& currency) {
  if (amount >= kMillion) return fmt::format("{:.3g} M {}", amount / kMillion, currency);
  return fmt::format("{} {}", count_text(std::llround(amount)), currency);
}

std::string days_text(const planner::Quantiles& days) {
  if (days.p50 < 1000.0) return fmt::format("{:.3g} days ({})", days.p50, span_text(days, 1.0));
  return fmt::format("{} days ({} to {})", count_text(std::llround(days.p50)),
                     count_text(std::llround(days.p10)), count_text(std::llround(days.p90)));
}

std::string verdict_of(const planner::CapacityAnswer& answer) {
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr) return "No layout fits on any of the rows.";
  const std::string sentence = run_sentence(answer, *front);
  const std::string rest = beside(answer, *front) + " The ranges hold 8 of 10 cases.";
  const auto& recommended = answer.recommendation.recommended;
  if (!recommended) return "No row keeps all limits. Nearest: " + sentence + rest;
  const planner::CapacityRow& best = answer.rows[*recommended];
  if (front == &best) return sentence + rest;
  return fmt::format(
      "{} Recommended: {} {}.{}", sentence,
      best.cluster_case == front->cluster_case
          ? gpus_phrase(best.gpus)
          : fmt::format("{} of {}", gpus_phrase(best.gpus), name_of_case(answer, best)),
      run_phrase(answer, best), rest);
}

std::string bend_of(const planner::CapacityAnswer& answer, const planner::ScalingSeries& series) {
  if (!series.bend) return "";
  const planner::ScalingStep& step = series.steps[*series.bend];
  const planner::CapacityRow& from = answer.rows[step.from];
  const planner::CapacityRow& to = answer.rows[step.to];
  const double more = static_cast<double>(to.gpus) / from.gpus - 1.0;
  return fmt::format(
      "{}, {}: bends from {} to {} GPUs, {:.0f} % faster for {:.0f} % more GPUs; {:.0f} % of "
      "what a token then costs more is {}.",
      name_of_case(answer, to),
      to.scheduled ? "the schedule" : "batch " + count_text(to.global_batch_size),
      count_text(from.gpus), count_text(to.gpus), 100.0 * step.gain * more, 100.0 * more,
      100.0 * step.share_of_growth, label_of(step.term));
}

Table capacity_table(const planner::CapacityAnswer& answer, bool wide) {
  return wide ? wide_table(answer) : narrow_table(answer);
}

Table time_table(const planner::CapacityRow& row) {
  Table table{
      "", {{"part", "time", ""}, {"days", "days", "", 3}, {"share_percent", "share", "%", 3}}, {}};
  const planner::TimeParts& time = row.run.time;
  const auto add = [&](std::string_view name, Seconds part) {
    if (part.value() == 0.0) return;
    table.rows.push_back(
        {std::string(name), part.value() / kSecondsPerDay, 100.0 * (part / time.elapsed)});
  };
  add("productive", time.productive);
  for (const auto& entry : planner::kLostTimeNames) add(entry.name, time[entry.value]);
  add("elapsed", time.elapsed);
  return table;
}

Table levers_table(const planner::CapacityAnswer& answer) {
  const std::string& currency = answer.question.options.prices.currency;
  const bool stated = answer.question.train_tokens.has_value();
  const std::string what = stated ? "days" : "tokens/s";
  Table table{"",
              {{"lever", "lever", ""},
               {"unit", "unit", ""},
               {"low", "low", "", 3},
               {"value", "today", "", 3},
               {"high", "high", "", 3},
               {stated ? "days_low" : "tokens_per_second_low", what + " at low", "", 3},
               {stated ? "days_high" : "tokens_per_second_high", what + " at high", "", 3},
               {"step_low", stated ? "" : "step at low", "s", 3},
               {"step_high", stated ? "" : "step at high", "s", 3},
               {"cost_low", "cost at low", "M " + currency, 3},
               {"cost_high", "cost at high", "M " + currency, 3},
               {"basis", "spread is", ""}},
              {}};
  using End = std::optional<planner::LeverEnd>;
  const auto at = [](const End& end, const auto& number) {
    return end && end->row.fits() ? Cell(number(end->row)) : Cell();
  };
  const auto time = [&](const planner::CapacityRow& row) {
    return stated ? row.run.days.p50 : row.tokens_per_second.p50;
  };
  const auto step = [&](const End& end) {
    if (stated || !end || !end->row.fits()) return Cell();
    return Cell(end->row.main_phase().estimate.step_time.value());
  };
  const auto cost = [](const End& end) {
    return end && end->row.fits() && end->row.run.cost ? Cell(end->row.run.cost->p50 / kMillion)
                                                       : Cell();
  };
  for (const planner::Lever& lever : answer.levers.levers) {
    table.rows.push_back({lever.label, lever.unit, lever.low ? Cell(lever.low->value) : Cell(),
                          lever.value, lever.high ? Cell(lever.high->value) : Cell(),
                          at(lever.low, time), at(lever.high, time), step(lever.low),
                          step(lever.high), cost(lever.low), cost(lever.high),
                          lever.choice ? "a choice" : lever.basis});
  }
  return without_empty_columns(table);
}

Table reference_table(const planner::CapacityAnswer& answer) {
  const planner::ReferenceComparison& reference = *answer.reference;
  Table table{
      "", {{"part", "part", ""}, {"gpu_hours_m", "GPU-hours", "M", 4}, {"reason", "why", ""}}, {}};
  const auto add = [&](const std::string& part, double hours, const std::string& why) {
    table.rows.push_back({part, hours / kMillion, why});
  };
  add("this row", reference.gpu_hours, "median");
  for (const planner::ReferencePart& part : reference.parts) {
    add(part.name, part.gpu_hours, part.sentence);
  }
  const planner::ReferenceRun& run = *answer.question.options.reference;
  add("stated", run.gpu_hours, run.source);
  return table;
}

Table assumptions_table(const std::vector<planner::Assumption>& assumptions) {
  Table table{"",
              {{"input", "input", ""},
               {"value", "value", "", 3},
               {"low", "low", "", 3},
               {"high", "high", "", 3},
               {"unit", "unit", ""},
               {"basis", "is", ""},
               {"source", "source", ""}},
              {}};
  for (const planner::Assumption& a : assumptions) {
    const bool range = a.amount.high > a.amount.low;
    table.rows.push_back({a.label, a.amount.value, range ? Cell(a.amount.low) : Cell(),
                          range ? Cell(a.amount.high) : Cell(), a.unit, a.amount.basis,
                          a.amount.source});
  }
  return table;
}

}  // namespace meshwright::reports
