// SPDX-License-Identifier: Apache-2.0
#include "reports/text/serving_validation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/number_text.h"

namespace meshwright::reports {
namespace {

using planner::ServicesAtHostSpeed;
using planner::ServingComparison;
using planner::ServingValidation;

std::string percent_number(double share) { return number_text(100.0 * share, 3); }

// "2", or "up to 2" where the services differ.
template <typename Of>
std::string largest_text(const ServingValidation& v, Of of) {
  int least = of(v.services.front()), most = least;
  for (const ServingComparison& one : v.services) {
    least = std::min(least, of(one));
    most = std::max(most, of(one));
  }
  return (least == most ? "" : "up to ") + count_text(most);
}

int most_ranks(const ServingValidation& v) {
  int most = 0;
  for (const ServingComparison& one : v.services) most = std::max(most, one.observation.ranks);
  return most;
}

std::string ran_sentence(const ServingValidation& v) {
  const auto count = static_cast<std::int64_t>(v.services.size());
  const std::string requests =
      largest_text(v, [](const ServingComparison& one) { return one.measured.requests; });
  return fmt::format(
      "{} {} ran on {} {}, {}with {} {}.", count_text(count),
      count == 1 ? "deployment" : "deployments",
      largest_text(v, [](const ServingComparison& one) { return one.observation.ranks; }),
      device_noun(served_on(v), most_ranks(v)), count == 1 ? "" : "each ", requests,
      requests == "1" ? "request" : "requests");
}

std::string errors_sentence(const ServingValidation& v) {
  std::string medians = v.services.size() > 1 ? "medians" : "";
  if (const auto& host = v.at_host_speed) {
    medians += fmt::format("{}{} % and {} % corrected for the host's speed",
                           medians.empty() ? "" : "; ", percent_number(host->median_decode_error),
                           percent_number(host->median_ttft_error));
  }
  return fmt::format(
      " The predicted decode step was off by {} % and the time to first token by {} "
      "%{}.",
      percent_number(v.median_decode_error), percent_number(v.median_ttft_error),
      medians.empty() ? "" : " (" + medians + ")");
}

std::string choice_sentence(const ServingValidation& v) {
  if (v.services.size() < 2) return "";
  if (v.regret <= 0.0) return " The deployment predicted best was the best that ran.";
  return fmt::format(
      " The deployment predicted best gave {} % fewer tokens/s per {} than the best that ran.",
      percent_number(v.regret), device_noun(served_on(v)));
}

std::string handover_text(const ServingComparison& one) {
  return fmt::format("{}: {} ms predicted, {} ms measured, median of {} caches", one.name,
                     number_text(one.handover.predicted / milliseconds(1), 3),
                     number_text(one.handover.measured / milliseconds(1), 3),
                     count_text(one.handover.count));
}

}  // namespace

std::string served_sentence(const ServingValidation& validation) {
  if (validation.services.empty()) return "No trial could be compared.";
  return ran_sentence(validation) + errors_sentence(validation) + choice_sentence(validation);
}

std::vector<ServingFinding> serving_findings(const ServingValidation& validation) {
  if (validation.services.empty()) return {};
  const auto& host = validation.at_host_speed;
  // ", 4.1 % corrected for the host's speed"
  const auto corrected = [&](double ServicesAtHostSpeed::*error) {
    return host ? fmt::format(", {} % corrected for the host's speed",
                              percent_number((*host).*error))
                : "";
  };
  using AtHost = ServicesAtHostSpeed;
  std::vector<ServingFinding> found;
  const auto add = [&](const char* of, double error, const char* population,
                       double AtHost::*at_host) {
    found.push_back({of, fmt::format("median error {} % of {}{}", percent_number(error), population,
                                     corrected(at_host))});
  };
  add("step time", validation.median_step_error, "single steps", &AtHost::median_step_error);
  add("decode", validation.median_decode_error, "the median steps", &AtHost::median_decode_error);
  add("TPOT", validation.median_tpot_error, "the means", &AtHost::median_tpot_error);
  add("TTFT", validation.median_ttft_error, "the medians", &AtHost::median_ttft_error);
  for (const ServingComparison& one : validation.services) {
    if (one.handover.count > 0) found.push_back({"hand-over", handover_text(one)});
  }
  if (validation.services.size() > 1) {
    found.push_back(
        {"choice", fmt::format("the service predicted best gives {} % less than the best one{}",
                               percent_number(validation.regret), corrected(&AtHost::regret))});
  }
  const auto same = std::count_if(validation.services.begin(), validation.services.end(),
                                  [](const auto& one) { return one.same_bytes(); });
  found.push_back({"bytes", fmt::format("as predicted in {} of {} services", same,
                                        validation.services.size())});
  return found;
}

std::vector<std::string> served_in_part(const ServingValidation& validation) {
  std::vector<std::string> parts;
  for (const ServingComparison& one : validation.services) {
    if (one.observation.not_run.empty()) continue;
    parts.push_back(fmt::format("{}: {}", one.name, fmt::join(one.observation.not_run, "; ")));
  }
  return parts;
}

std::string served_bytes_text(const ServingComparison& service) {
  if (service.same_bytes()) return "as predicted";
  const auto counted = [](int count, const char* one, const char* many) {
    return count > 0 ? fmt::format("{} {}", count_text(count), count == 1 ? one : many) : "";
  };
  const std::string steps = counted(service.unlike_steps, "step", "steps");
  const std::string caches = counted(service.unlike_handovers, "cache", "caches");
  return fmt::format("not as predicted in {}{}{}", steps,
                     steps.empty() || caches.empty() ? "" : " and ", caches);
}

DeviceKind served_on(const ServingValidation& validation) {
  const bool cores = std::all_of(validation.services.begin(), validation.services.end(),
                                 [](const auto& one) { return one.observation.device == "cpu"; });
  return cores ? DeviceKind::cpu : DeviceKind::gpu;
}

}  // namespace meshwright::reports
