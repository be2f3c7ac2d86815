// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/service_by_hour.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>

#include "planner/serving/deployment_choices.h"
#include "planner/shared_cluster/replicas_by_hour.h"
#include "sim/base/number_text.h"

namespace meshwright::planner {
namespace {

// The deployment that meets the targets at one rate.
struct RateChoice {
  bool meets = false;
  ServingChoice choice{};
};

std::string milliseconds_text(Seconds time) {
  return number_text(time / milliseconds(1), 3) + " ms";
}

// How often the times at the percentile are a target's; the larger of both.
double times_over(const LatencyLimits& limits, Seconds ttft, Seconds tpot) {
  double ratio = 0.0;
  if (limits.ttft) ratio = std::max(ratio, ttft / *limits.ttft);
  if (limits.tpot) ratio = std::max(ratio, tpot / *limits.tpot);
  return ratio;
}

// Why no deployment meets the targets at the peak, and how near the nearest is.
void explain_refusal(ServiceByHour& service, const ServingQuestion& question,
                     const ServingPlan& plan) {
  const std::string load = fmt::format("{} requests/s", number_text(question.load.request_rate, 3));
  if (plan.nearest && plan.nearest->ratio > 1.0) {
    const NearestDeployment& nearest = *plan.nearest;
    service.times_over_target = nearest.ratio;
    service.reason = fmt::format(
        "no deployment meets the targets: the nearest, {}, takes {} to the first token and {} per "
        "token for one request at a time, {} times a target",
        short_name(nearest.deployment), milliseconds_text(nearest.ttft),
        milliseconds_text(nearest.tpot), number_text(nearest.ratio, 3));
  } else if (!plan.choices.empty() && plan.choices.front().simulated_ttft) {
    const ServingChoice& best = plan.choices.front();
    const Seconds ttft = *best.simulated_ttft;
    const Seconds tpot = best.simulated_tpot.value_or(Seconds{});
    service.times_over_target = times_over(question.limits, ttft, tpot);
    service.reason = fmt::format(
        "no deployment meets the targets at p{} and {}: the nearest, {}, takes {} to the first "
        "token and {} per token, {} times a target",
        number_text(question.percentile), load, short_name(best.deployment),
        milliseconds_text(ttft), milliseconds_text(tpot),
        number_text(*service.times_over_target, 3));
  } else if (!plan.choices.empty()) {
    const ServingChoice& best = plan.choices.front();
    service.reason = fmt::format(
        "no deployment meets the targets at {}: the nearest is {}, which serves {} requests/s "
        "within them",
        load, short_name(best.deployment), number_text(best.largest_rate, 3));
  } else if (plan.nearest) {
    service.reason = fmt::format("{} needs more than {} GPUs", load, question.max_gpus);
  } else if (!plan.rejections.empty()) {
    service.reason = fmt::format("no replica is possible: {}", plan.rejections.front().sentence);
  } else {
    service.reason = "no replica is possible";
  }
}

ServingQuestion at_rate(ServingQuestion question, double rate) {
  question.load.kind = LoadKind::open_loop;
  question.load.request_rate = rate;
  return question;
}

// Replicas of the peak's layout for a rate above 0.
RateChoice choice_for(const ServingQuestion& asked, const ServiceByHour& service, double rate,
                      int least) {
  const ServingQuestion question = at_rate(asked, rate);
  RateChoice found{true, service.peak};
  ServingChoice& choice = found.choice;
  choice.deployment.pool.replicas =
      std::max({1, least, replicas_for(rate, service.rate_of_replica)});
  choice.gpus = num_gpus(choice.deployment);
  choice.simulated.reset();
  choice.simulated_ttft.reset();
  choice.simulated_tpot.reset();
  if (question.percentile > 0.0) {
    choice.meets = false;
    simulate_until_met(question, choice, least);
    found.meets = choice.meets;
  }
  const CompiledService compiled =
      compiled_service(question.scenario, choice.deployment, question.load);
  if (const auto state = service_state(compiled, question.load)) {
    choice.state = *state;
  } else {
    found.meets = false;
  }
  return found;
}

// One choice for each rate that some hour has.
std::map<double, RateChoice> choices_by_rate(const ServingQuestion& question,
                                             const ServiceByHour& service,
                                             const std::vector<HourLoad>& loads, int least) {
  std::map<double, RateChoice> choices;
  for (const HourLoad& load : loads) {
    if (load.peak > 0.0) choices[load.peak] = {};
  }
  std::vector<std::pair<double, RateChoice*>> open;
  for (auto& [rate, choice] : choices) open.emplace_back(rate, &choice);
  tbb::parallel_for(std::size_t{0}, open.size(), [&](std::size_t i) {
    *open[i].second = choice_for(question, service, open[i].first, least);
  });
  return choices;
}

ServiceHour served_hour_of(const HourLoad& load, const RateChoice* found, int least) {
  ServiceHour hour{.requests_per_second = load.mean, .peak_requests_per_second = load.peak};
  hour.replicas = least;
  if (found == nullptr) return hour;  // no request in this hour
  hour.replicas = found->choice.deployment.pool.replicas;
  const ServiceTimes means = mean_times(found->choice);
  hour.ttft = means.ttft;
  hour.tpot = means.tpot;
  hour.ttft_at_percentile = found->choice.simulated_ttft;
  hour.tpot_at_percentile = found->choice.simulated_tpot;
  return hour;
}

void hold_replicas(ServiceByHour& service, const ServiceOptions& options) {
  std::vector<int> needed;
  for (const ServiceHour& hour : service.hours) needed.push_back(hour.replicas);
  service.lead_hours = lead_hours(options.start_seconds());
  const std::vector<int> held =
      held_replicas(needed, service.lead_hours, options.least_release_hours);
  for (std::size_t h = 0; h < held.size(); ++h) {
    ServiceHour& hour = service.hours[h];
    hour.held_replicas = held[h];
    const double most = held[h] * service.rate_of_replica;
    hour.load = most > 0.0 ? std::min(1.0, hour.requests_per_second / most) : 0.0;
  }
}

}  // namespace

int ServiceByHour::most_held() const {
  int most = 0;
  for (const ServiceHour& hour : hours) most = std::max(most, hour.held_replicas);
  return most;
}

ServiceByHour service_by_hour(ServingQuestion question, const ServiceOptions& options) {
  question = at_rate(std::move(question), peak_rate(options.load_curve));
  question.aggregated = true;
  question.disaggregated = false;
  question.gpus.reset();
  ServiceByHour service;
  const ServingPlan plan = serving_plan(question);
  if (plan.choices.empty() || !plan.choices.front().meets) {
    explain_refusal(service, question, plan);
    return service;
  }
  service.peak = plan.choices.front();
  const ServingPool& pool = service.peak.deployment.pool;
  service.gpus_of_replica = num_gpus(pool.options.layout);
  service.rate_of_replica = service.peak.largest_rate / pool.replicas;
  const std::vector<HourLoad> loads = hourly_load(options.load_curve);
  const auto choices = choices_by_rate(question, service, loads, options.least_replicas);
  for (std::size_t h = 0; h < loads.size(); ++h) {
    const auto found = choices.find(loads[h].peak);
    const RateChoice* choice = found == choices.end() ? nullptr : &found->second;
    if (choice != nullptr && !choice->meets) {
      service.reason = fmt::format(
          "the replicas of {} do not meet the targets at {} requests/s in hour {}",
          meshwright::short_name(pool.options.layout), number_text(loads[h].peak, 3), h);
      service.hours.clear();
      return service;
    }
    service.hours.push_back(served_hour_of(loads[h], choice, options.least_replicas));
  }
  hold_replicas(service, options);
  return service;
}

}  // namespace meshwright::planner
