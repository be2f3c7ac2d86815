// SPDX-License-Identifier: Apache-2.0
#include "reports/text/capacity_text.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

std::string money_span(const planner::Quantiles& cost, const std::string& currency) {
  const bool millions = cost.p50 >= kMillion;
  return fmt::format("{} ({})", money_text(cost.p50, currency),
                     millions ? span_text(cost, kMillion) + " M"
                              : fmt::format("{} to {}", count_text(std::llround(cost.p10)),
                                            count_text(std::llround(cost.p90))));
}

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

std::string run_sentence(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  return fmt::format("{} of {} {}.", gpus_phrase(answer, row), name_of_case(answer, row),
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
            : fmt::format("{} {}-hours", si_text(std::abs(saved)),
                          device_noun(answer.question.device_kind()));
  const planner::Quantiles& speed = other->tokens_per_second;
  const std::string takes =
      answer.question.train_tokens
          ? fmt::format("{} {}", verb_for(other->gpus, "take"), day_text(other->run.days.p50))
          : fmt::format("{} {} tokens/s", verb_for(other->gpus, "train"), si_text(speed.p50));
  return fmt::format(" {} {} and {}.", gpus_phrase(answer, *other), takes,
                     saved >= 0.0 ? verb_for(other->gpus, "save") + " " + amount
                                  : verb_for(other->gpus, "cost") + " " + amount + " more");
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
    return fmt::format("{} days ({})", number_text(days.p50, 3), span_text(days, 1.0));
  return fmt::format("{} days ({} to {})", count_text(std::llround(days.p50)),
                     count_text(std::llround(days.p10)), count_text(std::llround(days.p90)));
}

std::string verdict_of(const planner::CapacityAnswer& answer) {
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr) return "No layout fits on any row.";
  const std::string sentence = run_sentence(answer, *front);
  const std::string rest = beside(answer, *front) + " Ranges are P10 to P90.";
  const auto& recommended = answer.recommendation.recommended;
  if (!recommended) return "No row meets all limits. Nearest: " + sentence + rest;
  const planner::CapacityRow& best = answer.rows[*recommended];
  if (front == &best) return sentence + rest;
  return fmt::format(
      "{} Recommended: {} {}.{}", sentence,
      best.cluster_case == front->cluster_case
          ? gpus_phrase(answer, best)
          : fmt::format("{} of {}", gpus_phrase(answer, best), name_of_case(answer, best)),
      run_phrase(answer, best), rest);
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
