// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/service_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/serving/replica_search.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

std::string gpus_words(const ServingPlanFile& file, int gpus) {
  return fmt::format("{} {}", count_text(gpus), service_noun(file, gpus));
}

// "at p99", "on average".
std::string at_words(const ServingPlanFile& file) {
  return file.percentile > 0 ? "at " + percentile_text(file.percentile) : "on average";
}

planner::LatencyRange ttft_of(const ServingPlanFile& file, const planner::ServingChoice& best) {
  if (file.details) return file.details->ttft;
  return planner::latency_range(planner::limited_times(best).ttft, best.first_token_spread);
}

planner::LatencyRange tpot_of(const ServingPlanFile& file, const planner::ServingChoice& best) {
  if (file.details) return file.details->tpot;
  return planner::latency_range(planner::limited_times(best).tpot, best.token_spread);
}

std::string met_verdict(const ServingPlanFile& file, const planner::ServingChoice& best) {
  std::string text =
      fmt::format("{} as {} {} {}: TTFT {} and TPOT {} {}", gpus_words(file, best.gpus),
                  planner::short_name(best.deployment), best.gpus == 1 ? "serves" : "serve",
                  service_load_text(file.load), latency_range_text(ttft_of(file, best)),
                  latency_range_text(tpot_of(file, best)), at_words(file));
  if (best.money) {
    const planner::Ranged& price = best.money->million_total;
    text += fmt::format(", for {} {} per million tokens (90 % interval: {} to {})",
                        number_text(price.value, 3), file.currency, number_text(price.low, 3),
                        number_text(price.high, 3));
  }
  return text + ".";
}

std::string missed_verdict(const ServingPlanFile& file) {
  std::string text = "No deployment meets the limits.";
  if (file.plan.nearest && file.plan.nearest->ratio > 1.0) {
    const planner::NearestDeployment& near = *file.plan.nearest;
    return text + fmt::format(
                      " The nearest is {}: TTFT {} and TPOT {} for one request at a time, {} times "
                      "a limit.",
                      near.name, latency_text(near.ttft), latency_text(near.tpot),
                      number_text(near.ratio, 3));
  }
  if (file.plan.choices.empty()) {
    if (!file.plan.nearest) return text;
    return text + fmt::format(
                      " {} meets them for one request at a time. This load needs more GPUs than "
                      "are allowed.",
                      file.plan.nearest->name);
  }
  const planner::ServingChoice& best = file.plan.choices.front();
  text += fmt::format(" The nearest is {} on {}: TTFT {} and TPOT {} {} under this load.",
                      planner::short_name(best.deployment), gpus_words(file, best.gpus),
                      latency_range_text(ttft_of(file, best)),
                      latency_range_text(tpot_of(file, best)), at_words(file));
  text += saturation_sentence(best, file.limits);
  const Seconds whole = planner::limited_times(best).e2e;
  if (file.limits.e2e && whole > *file.limits.e2e) {
    text += fmt::format(" E2E on average is {}; the limit is {}.", latency_text(whole),
                        latency_text(*file.limits.e2e));
  }
  return text;
}

std::string missed_limit(const ServingPlanFile& file, const planner::SmallerDeployment& smaller) {
  const auto missed = [&](const std::string& what, const std::optional<Seconds>& time,
                          const std::optional<Seconds>& limit) -> std::string {
    if (!time || !limit || *time <= *limit) return "";
    return fmt::format("With {} on {}, {} is {}; the limit is {}.", smaller.deployment,
                       gpus_words(file, smaller.gpus), what, latency_text(*time),
                       latency_text(*limit));
  };
  const std::string at = at_words(file);
  std::string text = missed("TTFT " + at, smaller.ttft, file.limits.ttft);
  if (text.empty()) text = missed("TPOT " + at, smaller.tpot, file.limits.tpot);
  // Limits of whole requests are means at every percentile.
  if (text.empty()) text = missed("E2E on average", smaller.e2e, file.limits.e2e);
  return text;
}

std::string why_not_fewer_of(const ServingPlanFile& file) {
  if (!file.details || file.plan.choices.empty() || !file.plan.choices.front().meets) return "";
  const planner::ServiceDetails& details = *file.details;
  if (details.asked_gpus) {
    return fmt::format("The question states {}.", gpus_words(file, *details.asked_gpus));
  }
  if (!details.smaller && file.plan.choices.front().gpus == 1) {
    return fmt::format("One {} is the smallest deployment.", service_noun(file));
  }
  if (!details.smaller) {
    return "Each pool has one replica. Smaller layouts are rejected, or need more GPUs for this "
           "load.";
  }
  const planner::SmallerDeployment& smaller = *details.smaller;
  const std::string name =
      fmt::format("{} on {}", smaller.deployment, gpus_words(file, smaller.gpus));
  if (!smaller.ttft) {
    return fmt::format("{} {} at most {} requests/s. The queue would grow without end.", name,
                       smaller.gpus == 1 ? "serves" : "serve",
                       number_text(smaller.largest_rate, 3));
  }
  if (std::string missed = missed_limit(file, smaller); !missed.empty()) return missed;
  if (smaller.utilization > details.most_utilization) {
    return fmt::format(
        "{} would run at {} of its largest rate, {} requests/s. Plans use at most {}.", name,
        percent_text(smaller.utilization), number_text(smaller.largest_rate, 3),
        percent_text(details.most_utilization));
  }
  return "";
}

// The part of a decode step whose own spread moves the step most.
const planner::ServingStepPart* most_uncertain(const planner::ServingStepParts& step) {
  const auto moved = [](const planner::ServingStepPart& part) {
    return part.time.value() * part.relative_spread;
  };
  const auto found =
      std::max_element(step.parts.begin(), step.parts.end(),
                       [&](const auto& a, const auto& b) { return moved(a) < moved(b); });
  return found == step.parts.end() ? nullptr : &*found;
}

std::string weakest_part(const ServingPlanFile& file) {
  if (!file.details || file.details->pools.empty()) return "";
  const planner::ServicePoolDetails& pool = file.details->pools.back();
  for (const planner::ServingStepParts& step : pool.steps) {
    if (step.step != planner::ServedStep::decode || step.time.value.value() <= 0.0) continue;
    const planner::ServingStepPart* part = most_uncertain(step);
    if (part == nullptr) continue;
    return fmt::format(" The least certain part of a decode step is {}: {} of its time, {}.",
                       spoken(name_of(part->term)), percent_text(part->time / step.time.value),
                       name_of(part->provenance));
  }
  return "";
}

std::string how_sure_of(const ServingPlanFile& file) {
  if (file.plan.choices.empty()) return "";
  const planner::ServingChoice& best = file.plan.choices.front();
  std::string text;
  if (best.gpus_low > 0 && best.gpus_low == best.gpus_high) {
    text = fmt::format("At both ends of the steps' 90 % interval the load needs {}.",
                       gpus_words(file, best.gpus_low));
  } else if (best.gpus_low > 0 && best.gpus_high > 0) {
    text = fmt::format("With steps at the ends of their 90 % interval, the load needs {} to {}.",
                       count_text(best.gpus_low), gpus_words(file, best.gpus_high));
  } else {
    const planner::LatencyRange tpot = tpot_of(file, best);
    text = fmt::format("The 90 % interval of TPOT is {} to {}.", latency_text(tpot.low),
                       latency_text(tpot.high));
  }
  text += weakest_part(file);
  if (file.learning) {
    return text +
           fmt::format(" The engine is corrected by {} measured {}.",
                       count_text(file.learning->configurations),
                       file.learning->configurations == 1 ? "configuration" : "configurations");
  }
  return text + " Results of your own service narrow the interval (meshwright serve --learn).";
}

}  // namespace

std::string latency_text(Seconds time) {
  return time.value() < 1.0 ? number_text(time / milliseconds(1), 3) + " ms"
                            : number_text(time.value(), 3) + " s";
}

std::string latency_range_text(const planner::LatencyRange& range) {
  return fmt::format("{} (90 % interval: {} to {})", latency_text(range.value),
                     latency_text(range.low), latency_text(range.high));
}

std::string service_load_text(const ServingLoad& load) {
  const std::string lengths = fmt::format("{} + {} tokens", number_text(mean_input(load.lengths)),
                                          number_text(mean_output(load.lengths)));
  if (load.kind == LoadKind::closed_loop) {
    return fmt::format("{} {} with {}", number_text(load.concurrency),
                       load.concurrency == 1.0 ? "user" : "users", lengths);
  }
  return fmt::format("{} requests/s of {}", number_text(load.request_rate), lengths);
}

bool has_money(const ServingPlanFile& file) {
  return std::any_of(file.plan.choices.begin(), file.plan.choices.end(),
                     [](const planner::ServingChoice& one) { return one.money.has_value(); });
}

std::string percentile_text(double percentile) {
  return percentile > 0 ? "p" + number_text(percentile) : "mean";
}

std::string_view load_noun(const ServingLoad& load) {
  return load.kind == LoadKind::closed_loop ? "users" : "requests/s";
}

std::string service_noun(const ServingPlanFile& file, std::int64_t count) {
  return std::string(meshwright::device_noun(file.scenario.cluster, count));
}

double load_of(const planner::ServingLoadPoint& point) {
  return point.users > 0 ? point.users : point.request_rate;
}

std::string saturation_sentence(const planner::ServingChoice& choice, const LatencyLimits& limits) {
  if (choice.meets || !choice.simulated ||
      !planner::within(planner::limited_times(choice), limits)) {
    return "";
  }
  return fmt::format(
      " Its simulation meets the limits, but the load is too near to the rate above which the "
      "queue "
      "grows without end: plans use at most {} of that.",
      percent_text(planner::kMostUtilization));
}

std::string service_subject(const ServingPlanFile& file) {
  std::string model = file.model;
  if (!file.plan.choices.empty()) {
    const ReplicaOptions& options = file.plan.choices.front().deployment.pool.options;
    model += fmt::format(" ({} weights, {} cache)", name_of(options.weights.format),
                         name_of(options.kv_cache));
  }
  return fmt::format("{} · {} · {} · {}", model, file.engine, file.cluster,
                     service_load_text(file.load));
}

std::vector<std::string> service_tags(const ServingPlanFile& file) {
  std::vector<std::string> tags;
  if (file.prices && file.prices->example && has_money(file)) {
    tags.push_back(fmt::format("example prices of {}, no offer", file.prices->date));
  }
  if (!file.learning) tags.emplace_back("not corrected by results of this service");
  return tags;
}

void add_service_sentences(ServingPlanFile& file) {
  const bool met = !file.plan.choices.empty() && file.plan.choices.front().meets;
  file.verdict = met ? met_verdict(file, file.plan.choices.front()) : missed_verdict(file);
  if (file.validation && !file.validation->caution.empty()) {
    file.verdict = file.validation->caution + " " + file.verdict;
  }
  file.why_not_fewer = why_not_fewer_of(file);
  file.how_sure = how_sure_of(file);
}

}  // namespace meshwright::reports
