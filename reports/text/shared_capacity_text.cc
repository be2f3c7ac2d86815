// SPDX-License-Identifier: Apache-2.0
#include "reports/text/shared_capacity_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/capacity/limits.h"
#include "planner/shared_cluster/replicas_by_hour.h"
#include "reports/text/capacity_text.h"
#include "reports/text/text.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

using planner::SharedAnswer;
using planner::SharedCluster;
using planner::SharedHour;
using planner::SharedRow;

std::string shared_gpus_text(const SharedAnswer& answer, const SharedRow& row, int gpus) {
  const Cluster& cluster = answer.question.training.clusters[row.cluster_case].cluster;
  return fmt::format("{} {}", count_text(gpus), device_noun(cluster, gpus));
}

// "GPUs" or "cores".
std::string_view shared_noun(const SharedAnswer& answer, const SharedRow& row) {
  return device_noun(answer.question.training.clusters[row.cluster_case].cluster, 2);
}

std::string shared_size_text(const SharedAnswer& answer, const SharedRow& row) {
  return fmt::format("{} of {}", shared_gpus_text(answer, row, row.gpus),
                     answer.question.training.clusters[row.cluster_case].name);
}

std::string count_range(const SharedRow& row, int SharedHour::*gpus) {
  return span_of_hours(row.hours, gpus, " to ");
}

std::string row_sentences(const SharedAnswer& answer, const SharedRow& row) {
  const planner::CapacityQuestion& training = answer.question.training;
  const std::string_view gpus = shared_noun(answer, row);
  std::string text = fmt::format(
      "On {} the service holds {} {}, and the training uses {}. Spares of the training are {} {}, "
      "and {} are free. The training of {} tokens ends in {}.",
      shared_size_text(answer, row), count_range(row, &SharedHour::service_gpus), gpus,
      count_range(row, &SharedHour::training_gpus), count_range(row, &SharedHour::spare_gpus), gpus,
      count_range(row, &SharedHour::free_gpus), si_text(training.tokens()), days_text(row.days));
  if (row.cost) {
    text += fmt::format(" All {} cost {} for that time.", gpus,
                        money_span(*row.cost, training.options.prices.currency));
  }
  if (row.million_tokens) {
    text += fmt::format(" A million tokens of the service, prompts and answers, cost {} {}.",
                        number_text(*row.million_tokens, 3), training.options.prices.currency);
  }
  return text;
}

// Why the row does not do both within the limits.
std::string failure_text(const SharedRow& row) {
  if (!row.fits()) return row.reason;
  return fmt::format("{}", fmt::join(row.broken_limits, "; "));
}

// Why no size does both, and how near the largest comes.
std::string refusal_of(const SharedAnswer& answer) {
  std::string text;
  for (std::size_t i = 0; i < answer.clusters.size(); ++i) {
    const SharedCluster& cluster = answer.clusters[i];
    const std::string& name = answer.question.training.clusters[i].name;
    if (!text.empty()) text += " ";
    if (!cluster.service.meets()) {
      text += fmt::format("{}: {}.", name, cluster.service.reason);
    } else if (cluster.smallest && cluster.smallest->nearest) {
      const SharedRow& nearest = *cluster.smallest->nearest;
      text += fmt::format("{}: with {} {}.", name, shared_gpus_text(answer, nearest, nearest.gpus),
                          failure_text(nearest));
    } else {
      const int most = cluster.smallest ? cluster.smallest->most_gpus : 0;
      text += fmt::format("{}: no size up to {} {} has room for both.", name, count_text(most),
                          device_noun(answer.question.training.clusters[i].cluster, most));
    }
  }
  return text;
}

std::string smallest_sentence(const SharedAnswer& answer) {
  std::string text;
  for (std::size_t i = 0; i < answer.clusters.size(); ++i) {
    const auto& smallest = answer.clusters[i].smallest;
    if (!smallest || !smallest->row) continue;
    text += fmt::format(" The smallest cluster of {} that does both within the limits has {}",
                        answer.question.training.clusters[i].name,
                        shared_gpus_text(answer, *smallest->row, smallest->row->gpus));
    const int not_tried = smallest->hosts_not_tried;
    text += not_tried == 0
                ? "."
                : fmt::format("; {} below it {} not tried.",
                              not_tried == 1 ? "the size" : fmt::format("{} sizes", not_tried),
                              not_tried == 1 ? "was" : "were");
  }
  if (!planner::days_allowed(answer.question.training.options)) {
    text += " No deadline is stated, so its training may take long.";
  }
  return text;
}

}  // namespace

std::string span_of_hours(const std::vector<SharedHour>& hours, int SharedHour::*gpus,
                          std::string_view between) {
  const auto [least, most] =
      std::minmax_element(hours.begin(), hours.end(),
                          [gpus](const auto& a, const auto& b) { return a.*gpus < b.*gpus; });
  if ((*least).*gpus == (*most).*gpus) return count_text((*most).*gpus);
  return fmt::format("{}{}{}", count_text((*least).*gpus), between, count_text((*most).*gpus));
}

std::string shared_headline(const SharedAnswer& answer) {
  const SharedRow* front = answer.front();
  if (!answer.recommended || front == nullptr) {
    return "No evaluated cluster serves and trains within the limits.";
  }
  const auto allowed = planner::days_allowed(answer.question.training.options);
  const std::string until =
      allowed ? fmt::format("in {} days (P90) of {} allowed", number_text(front->days.p90, 3),
                            number_text(*allowed, 3))
              : fmt::format("in {} days (P90)", number_text(front->days.p90, 3));
  const planner::ServiceOptions& service = answer.question.service;
  const bool has_targets = service.ttft_seconds || service.tpot_seconds || service.e2e_seconds;
  return fmt::format("Reserve {}: the service {} in every hour, and the training ends {}.",
                     shared_size_text(answer, *front),
                     has_targets ? "meets its targets" : "keeps up with its load", until);
}

std::string shared_verdict(const SharedAnswer& answer) {
  const SharedRow* front = answer.front();
  if (!answer.recommended) {
    std::string text = refusal_of(answer);
    if (front != nullptr) text += " This size comes nearest: " + row_sentences(answer, *front);
    return text;
  }
  return row_sentences(answer, *front) + smallest_sentence(answer);
}

namespace {

// When a replica gets its GPUs.
std::string start_rule(const planner::ServiceOptions& service) {
  const int lead = planner::lead_hours(service.start_seconds());
  if (lead == 0) return "a replica gets its GPUs in the hour of its first request";
  return fmt::format("a replica gets its GPUs {} before its first request: it starts in {}",
                     lead == 1 ? "an hour" : fmt::format("{} hours", lead),
                     duration_text(seconds(service.start_seconds())));
}

}  // namespace

std::vector<std::string> shared_rules(const SharedAnswer& answer) {
  const planner::ServiceOptions& service = answer.question.service;
  std::vector<std::string> rules{
      "the service comes first: each hour has the replicas that its largest rate needs",
      "the layout of a replica is searched once, at the peak of the load curve",
      start_rule(service),
      fmt::format("GPUs go back to the training for {} or more",
                  service.least_release_hours == 1
                      ? "an hour"
                      : fmt::format("{} hours", service.least_release_hours)),
      "GPUs change between service and training in whole hosts, at the full hour"};
  if (service.training_gpus == planner::TrainingGpus::elastic) {
    rules.emplace_back(
        "the training restarts from a checkpoint when its GPUs change: pause and write of a save, "
        "restart and load; the global batch stays; it changes only where that ends earlier");
  } else {
    rules.emplace_back("the training keeps the GPUs that are free in every hour");
  }
  const DeviceKind kind = answer.question.training.device_kind();
  for (std::string& rule : rules) rule = with_device_noun(rule, kind);
  return rules;
}

std::vector<std::string> shared_assumptions(const SharedAnswer& answer) {
  std::vector<std::string> assumptions;
  if (!answer.question.service.replica_start_seconds) {
    assumptions.push_back(fmt::format("a replica needs {} s to start (assumed)",
                                      number_text(planner::kReplicaStartSeconds)));
  }
  if (answer.question.service.training_gpus == planner::TrainingGpus::elastic) {
    assumptions.emplace_back(
        "the training software loads a checkpoint on another number of GPUs (not checked)");
  }
  assumptions.emplace_back(
      "P10, P50 and P90 of days, cost and energy are those of one error for all hours");
  return assumptions;
}

std::vector<std::string> left_out_of_sharing(const SharedAnswer& answer) {
  std::vector<std::string> left_out{
      "separate pools for prompts and answers", "failures of the service's GPUs",
      "traffic of the service on the network of the training", "growth of the load",
      "the error of the service's rates (see meshwright serve)"};
  if (answer.question.service.percentile <= 0.0) {
    left_out.emplace_back("percentiles of the latencies: the targets are means");
  }
  return left_out;
}

}  // namespace meshwright::reports
