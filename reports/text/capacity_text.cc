// SPDX-License-Identifier: Apache-2.0
#include "reports/text/capacity_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "planner/capacity/frontier.h"
#include "planner/capacity/limits.h"
#include "reports/text/memory_fit_text.h"
#include "reports/text/text.h"
#include "sim/base/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

// "1 T", not "1.00 T".
std::string amount_text(double amount) {
  std::string text = si_text(amount);
  const std::size_t zeros = text.find(".00");
  return zeros == std::string::npos ? text : text.erase(zeros, 3);
}

std::string day_text(double days) {
  return days < 1000.0 ? fmt::format("{} days", number_text(days, 3))
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
  if (!row.run.cost) {
    return fmt::format("{} {}-hours", si_text(row.run.gpu_hours.p50),
                       device_noun(answer.question.device_kind()));
  }
  return money_span(*row.run.cost, answer.question.options.prices.currency);
}

// "finish 15.6 T tokens in 67.2 days (61 to 74) for 66 M USD (56 to 78 M)".
std::string run_phrase(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  const planner::TrainingRun& run = row.run;
  const std::string tokens = amount_text(answer.question.tokens());
  if (answer.question.train_tokens) {
    return fmt::format("{} {} tokens in {}{} for {}", verb_for(row.gpus, "finish"), tokens,
                       days_text(run.days), done_text(answer, run.days), priced(answer, row));
  }
  const planner::Quantiles& speed = row.tokens_per_second;
  return fmt::format("{} {} tokens/s ({} to {}) and {} {} for {} tokens",
                     verb_for(row.gpus, "train"), si_text(speed.p50), si_text(speed.p10),
                     si_text(speed.p90), verb_for(row.gpus, "take"), priced(answer, row), tokens);
}

std::string gpus_phrase(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  const Cluster& cluster = answer.question.clusters[row.cluster_case].cluster;
  return fmt::format("{} {}", count_text(row.gpus), device_noun(cluster, row.gpus));
}

// " with batch 540 instead of 512"; empty: with the stated batch.
std::string batch_change(const planner::CapacityRow& row) {
  if (row.asked_batch_size == row.stated_batch_size) return "";
  return fmt::format(" with batch {} instead of {}", count_text(row.asked_batch_size),
                     count_text(row.stated_batch_size));
}

std::string run_sentence(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  return fmt::format(
      "{} of {}{} {}.{}", gpus_phrase(answer, row), name_of_case(answer, row), batch_change(row),
      run_phrase(answer, row),
      doubt_text(row.main_phase().estimate, answer.question.clusters[row.cluster_case].cluster));
}

// In words of a buyer: cost where there are prices, else GPU-hours.
std::string amount_words(const planner::CapacityAnswer& answer, double amount) {
  const double size = std::abs(amount);
  if (planner::all_priced(answer.rows)) {
    const std::string& currency = answer.question.options.prices.currency;
    if (size < 1e5 || size >= kMillion) return money_text(size, currency);
    return fmt::format("{} M {}", number_text(size / kMillion, 3), currency);
  }
  return fmt::format("{} {}-hours", si_text(size), device_noun(answer.question.device_kind()));
}

const planner::FrontierPoint* point_of(const planner::CapacityAnswer& answer,
                                       const planner::CapacityRow& row) {
  for (const planner::FrontierPoint& point : answer.frontier) {
    if (&answer.rows[point.row] == &row) return &point;
  }
  return nullptr;
}

// The next row of the frontier that is slower than this one, or faster. Null: there is none.
const planner::FrontierPoint* neighbour(const planner::CapacityAnswer& answer,
                                        const planner::CapacityRow& row, bool slower) {
  const planner::FrontierPoint* mine = point_of(answer, row);
  if (mine == nullptr) return nullptr;
  const planner::FrontierPoint* found = nullptr;
  for (const planner::FrontierPoint& other : answer.frontier) {  // slowest first
    if (other.dominated_by) continue;
    if (slower && other.days > mine->days) found = &other;
    if (!slower && other.days < mine->days) return &other;
  }
  return found;
}

// "16,384 GPUs", with the cluster where there are several.
std::string option_phrase(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  std::string text = gpus_phrase(answer, row);
  if (answer.question.clusters.size() > 1) text += " of " + name_of_case(answer, row);
  const bool batches = std::any_of(answer.rows.begin(), answer.rows.end(), [&](const auto& other) {
    return other.scheduled != row.scheduled || other.asked_batch_size != row.asked_batch_size;
  });
  if (batches) {
    text += row.scheduled ? ", scheduled batch" : ", batch " + count_text(row.global_batch_size);
  }
  return text;
}

// "54.1 days more and 6.18 M USD less than 16,384 GPUs".
std::string compared(const planner::CapacityAnswer& answer, const planner::FrontierPoint& other,
                     const planner::FrontierPoint& mine) {
  const double days = other.days - mine.days;
  const double cost = other.cost - mine.cost;
  return fmt::format("{} {} and {} {} than {}", day_text(std::abs(days)),
                     days >= 0.0 ? "more" : "less", amount_words(answer, cost),
                     cost >= 0.0 ? "more" : "less", option_phrase(answer, answer.rows[mine.row]));
}

std::string next_smaller(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  const planner::FrontierPoint* other = neighbour(answer, row, true);
  if (other == nullptr || !answer.question.train_tokens) return "";
  const planner::CapacityRow& there = answer.rows[other->row];
  return fmt::format(" Next cheaper option: {}, {}.", option_phrase(answer, there),
                     compared(answer, *other, *point_of(answer, row)));
}

// "8,192 to 16,384 GPUs: 0.11 M USD".
std::string day_prices(const planner::CapacityAnswer& answer) {
  std::string text;
  for (const planner::FrontierPoint& point : answer.frontier) {
    if (!point.cost_per_day_saved) continue;
    append_to_list(
        text, "; ",
        fmt::format("{} instead of {}: {}", option_phrase(answer, answer.rows[point.row]),
                    option_phrase(answer, answer.rows[*point.slower]),
                    amount_words(answer, *point.cost_per_day_saved)));
  }
  return text.empty() ? "" : " Each day saved costs: " + text + ".";
}

std::string prices_note(const planner::CapacityAnswer& answer) {
  const planner::PriceList& prices = answer.question.options.prices;
  if (!prices.example || prices.prices.empty()) return "";
  return fmt::format(" Prices are examples ({}, {}), not an offer.", prices.name, prices.date);
}

// " by 41 days", before or after the deadline.
std::string deadline_phrase(const planner::CapacityAnswer& answer,
                            const planner::CapacityRow& row) {
  const auto allowed = planner::days_allowed(answer.question.options);
  if (!allowed) return "";
  const auto& options = answer.question.options;
  if (options.start && options.limits.deadline) {
    const double days = planner::days_between(planner::last_day(*options.start, row.run.days.p90),
                                              *options.limits.deadline);
    return fmt::format(", {} before the deadline", day_text(days));
  }
  return fmt::format(", {} before the deadline", day_text(*allowed - row.run.days.p90));
}

std::string set_aside(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  if (!row.run.cost) {
    return fmt::format("Set aside {} {}-hours (P90).", si_text(row.run.gpu_hours.p90),
                       device_noun(answer.question.device_kind()));
  }
  return fmt::format("Set aside {} (P90).",
                     money_text(row.run.cost->p90, answer.question.options.prices.currency));
}

std::string reserve_sentence(const planner::CapacityAnswer& answer,
                             const planner::CapacityRow& row) {
  const auto& start = answer.question.options.start;
  const std::string done =
      start ? "done by " + planner::date_text(planner::last_day(*start, row.run.days.p90))
            : "done in " + day_text(row.run.days.p90);
  return fmt::format("Reserve {}: {} (P90){}. {}", option_phrase(answer, row), done,
                     deadline_phrase(answer, row), set_aside(answer, row));
}

std::string missed(const planner::CapacityRow& row) {
  return fmt::format("{}", fmt::join(row.broken_limits, "; "));
}

// The cheapest row that meets all limits, of counts that were not asked for.
std::string other_count(const planner::CapacityAnswer& answer) {
  const planner::CapacityRow* found = nullptr;
  for (const planner::CapacityRow& row : answer.rows) {
    if (!row.keeps_limits()) continue;
    const auto cost = [](const planner::CapacityRow& each) {
      return each.run.cost ? each.run.cost->p50 : each.run.gpu_hours.p50;
    };
    if (found == nullptr || cost(row) < cost(*found)) found = &row;
  }
  if (found == nullptr) return "";
  return fmt::format(" {} meet{} all limits: plan with --gpus {}.", gpus_phrase(answer, *found),
                     found->gpus == 1 ? "s" : "", found->gpus);
}

}  // namespace

std::string span_text(const planner::Quantiles& q, double unit) {
  return fmt::format("{} to {}", number_text(q.p10 / unit, 3), number_text(q.p90 / unit, 3));
}

const std::string& name_of_case(const planner::CapacityAnswer& answer,
                                const planner::CapacityRow& row) {
  const planner::ClusterCase& asked = answer.question.clusters[row.cluster_case];
  return asked.label.empty() ? asked.name : asked.label;
}

std::string money_span(const planner::Quantiles& cost, const std::string& currency) {
  const bool millions = cost.p50 >= kMillion;
  return fmt::format("{} (P10-P90: {})", money_text(cost.p50, currency),
                     millions ? span_text(cost, kMillion) + " M"
                              : fmt::format("{} to {}", count_text(std::llround(cost.p10)),
                                            count_text(std::llround(cost.p90))));
}

std::string money_text(double amount, const std::string& currency) {
  if (amount >= kMillion)
    return fmt::format("{} M {}", number_text(amount / kMillion, 3), currency);
  return fmt::format("{} {}", count_text(std::llround(amount)), currency);
}

std::string cost_explanation(const planner::CapacityAnswer& answer,
                             const planner::CapacityRow& row) {
  if (!row.run.cost_parts) return "";
  const planner::CostParts& parts = *row.run.cost_parts;
  const std::string& currency = answer.question.options.prices.currency;
  std::string gpus = gpus_phrase(answer, row);
  if (parts.spare_nodes > 0) {
    gpus = fmt::format("({} + {} in {} spare node{})", gpus, count_text(parts.spare_gpus()),
                       count_text(parts.spare_nodes), parts.spare_nodes == 1 ? "" : "s");
  }
  std::string text = fmt::format("{} {} = {} x {} h x {} {} per {}-hour",
                                 count_text(std::llround(row.run.cost->p50)), currency, gpus,
                                 number_text(parts.hours, 6), number_text(parts.price, 6), currency,
                                 device_noun(answer.question.device_kind()));
  constexpr double kShown = 5e-5;
  if (std::abs(parts.range_factor - 1.0) > kShown) {
    text +=
        fmt::format(" x {:.4f} (the ranges of days and price move the median)", parts.range_factor);
  }
  return text;
}

std::string days_text(const planner::Quantiles& days) {
  if (days.p50 < 1000.0)
    return fmt::format("{} days (P10-P90: {})", number_text(days.p50, 3), span_text(days, 1.0));
  return fmt::format("{} days (P10-P90: {} to {})", count_text(std::llround(days.p50)),
                     count_text(std::llround(days.p10)), count_text(std::llround(days.p90)));
}

std::string verdict_of(const planner::CapacityAnswer& answer) {
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr) return "No layout fits on any row.";
  const std::string sentence = run_sentence(answer, *front);
  const std::string rest = next_smaller(answer, *front) + prices_note(answer);
  if (answer.recommendation.closest) {
    return fmt::format("No row meets all limits. Nearest: {} It misses: {}.{}{}", sentence,
                       missed(*front), other_count(answer), rest);
  }
  if (answer.recommendation.recommended) return sentence + rest;
  if (!answer.question.train_tokens) return sentence + prices_note(answer);
  return fmt::format(
      "No row is recommended without a deadline, a budget or the worth of a day. "
      "{}: {}{}{}",
      answer.planned ? "The plan" : "The cheapest row", sentence, day_prices(answer),
      prices_note(answer));
}

std::string tried_text(const planner::CapacityAnswer& answer) {
  std::string counts, batches;
  for (const planner::CapacityRow& row : answer.rows) {
    std::string place = count_text(row.gpus);
    if (answer.question.clusters.size() > 1) place += " of " + name_of_case(answer, row);
    if (row.between) append_to_list(counts, ", ", place);
    const std::string change = batch_change(row);
    if (!change.empty()) append_to_list(batches, ", ", place + change);
  }
  std::string text;
  if (!counts.empty()) {
    text = fmt::format("{} tried around the limit, down to one node or 2 %: {}.",
                       with_device_noun("GPU counts", answer.question.device_kind()), counts);
  }
  if (!batches.empty()) {
    append_to_list(text, " ", fmt::format("Batches that follow a count: {}.", batches));
  }
  return text;
}

std::string headline_of(const planner::CapacityAnswer& answer) {
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr) return "No layout fits on any row.";
  if (!answer.question.train_tokens) return run_sentence(answer, *front);
  if (answer.recommendation.recommended) return reserve_sentence(answer, *front);
  if (answer.recommendation.closest) {
    return fmt::format("No row meets all limits. Nearest: {}; {}.{}", option_phrase(answer, *front),
                       missed(*front), other_count(answer));
  }
  return fmt::format(
      "No row is recommended: state a deadline, a budget or the worth of a day. {}: {}, {} for "
      "{}.",
      answer.planned ? "Described here, the plan" : "Described here, the cheapest row",
      option_phrase(answer, *front), days_text(front->run.days), priced(answer, *front));
}

std::string why_not_fewer(const planner::CapacityAnswer& answer) {
  const planner::CapacityRow* front = answer.front();
  const planner::FrontierPoint* other =
      front == nullptr ? nullptr : neighbour(answer, *front, true);
  if (other == nullptr || !answer.question.train_tokens) return "";
  const planner::CapacityRow& there = answer.rows[other->row];
  const planner::FrontierPoint& mine = *point_of(answer, *front);
  const std::string limits =
      there.keeps_limits()
          ? fmt::format("Each of these days costs {}",
                        amount_words(answer, planner::cost_per_day_saved(*other, mine)))
          : "They miss a limit: " + missed(there);
  return fmt::format("{} {} {}. {}.", option_phrase(answer, there), verb_for(there.gpus, "take"),
                     compared(answer, *other, mine), limits);
}

std::string why_not_more(const planner::CapacityAnswer& answer) {
  const planner::CapacityRow* front = answer.front();
  const planner::FrontierPoint* other =
      front == nullptr ? nullptr : neighbour(answer, *front, false);
  if (other == nullptr || !answer.question.train_tokens) return "";
  const planner::CapacityRow& there = answer.rows[other->row];
  const planner::FrontierPoint& mine = *point_of(answer, *front);
  return fmt::format("{} {} {}: {} for each day saved. Mean time between failures: {}.{}",
                     option_phrase(answer, there), verb_for(there.gpus, "take"),
                     compared(answer, *other, mine),
                     amount_words(answer, planner::cost_per_day_saved(mine, *other)),
                     duration_text(there.run.disruption.mean_time_between),
                     there.keeps_limits() ? "" : " They miss a limit: " + missed(there) + ".");
}

std::string weakest_point(const planner::CapacityAnswer& answer) {
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr || !answer.question.train_tokens) return "";
  for (const planner::Lever& lever : answer.levers.levers) {  // the largest swing first
    const bool known = lever.choice || lever.basis == "measured" || lever.basis == "stated" ||
                       lever.basis == "interpolated";
    if (known || !lever.low || !lever.high || lever.swing_days <= 0.0) continue;
    return fmt::format(
        "The {} is {}, not measured: {}{} ± {:.0f} % (1 sigma). From the low to the high value the "
        "end moves by {}.",
        lever.label, lever.basis, number_text(lever.value, 3),
        lever.unit.empty() ? "" : " " + lever.unit, 100.0 * lever.relative_spread,
        day_text(lever.swing_days));
  }
  return "";
}

std::vector<std::string> tags_of(const planner::CapacityAnswer& answer) {
  std::vector<std::string> tags;
  const planner::PriceList& prices = answer.question.options.prices;
  if (!prices.prices.empty() && prices.example) {
    tags.push_back(fmt::format("example prices of {}, no offer", prices.date));
  }
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr) return tags;
  switch (front->main_phase().estimate.interval_regime) {
    case IntervalRegime::unknown_software:
      tags.emplace_back("nothing measured on this cluster");
      tags.emplace_back("framework assumed");
      break;
    case IntervalRegime::known_chip:
      tags.emplace_back("nothing measured on this cluster");
      break;
    case IntervalRegime::unknown_chip:
      tags.emplace_back("chip known only from its datasheet");
      break;
    case IntervalRegime::profiled_machine:
    case IntervalRegime::profiled_cores:
      break;
  }
  return tags;
}

std::string bend_of(const planner::CapacityAnswer& answer, const planner::ScalingSeries& series) {
  if (!series.bend) return "";
  const planner::ScalingStep& step = series.steps[*series.bend];
  const planner::CapacityRow& from = answer.rows[step.from];
  const planner::CapacityRow& to = answer.rows[step.to];
  const double more = static_cast<double>(to.gpus) / from.gpus - 1.0;
  return fmt::format(
      "{}, {}: scaling weakens from {} to {} {} ({:.0f} % faster for {:.0f} % more "
      "{}). {:.0f} % of the extra cost per token is {}.",
      name_of_case(answer, to),
      to.scheduled ? "the schedule" : "batch " + count_text(to.global_batch_size),
      count_text(from.gpus), count_text(to.gpus), device_noun(answer.question.device_kind(), 2),
      100.0 * step.gain * more, 100.0 * more, device_noun(answer.question.device_kind(), 2),
      100.0 * step.share_of_growth, spoken(step.term));
}

}  // namespace meshwright::reports
