// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/assumptions.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/capacity/failures.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"
#include "sim/kernel_time/slowest.h"

namespace meshwright::planner {
namespace {

// What is there as the user's number, else as bytes over the storage's bandwidth.
Ranged transfer_of(const std::optional<double>& measured, Seconds computed) {
  Ranged amount = stated(measured.value_or(computed.value()));
  if (measured) return amount;
  amount.basis = "datasheet";
  amount.source = "the checkpoint's bytes over the storage's bandwidth";
  return amount;
}

bool has_range(const Ranged& amount) { return log_deviation(amount) > 0.0; }

}  // namespace

namespace {

// Where the step's own slowest of all GPUs stands, and what the run adds to it.
Assumption slowest_of_row(const CapacityQuestion& question, const CapacityRow& row) {
  const Device& device = only_device(question.clusters[row.cluster_case].cluster);
  const int nodes = std::max(1, row.gpus / kGpusOfAReportedNode);
  Ranged spread = question.options.step_time_spread;
  spread.source += fmt::format(
      "{}the step holds the slowest of {} {}, 1 + {} x {} %; a stated spread makes "
      "all nodes wait for the slowest of {}, {} standard deviations above the mean "
      "(order statistics)",
      spread.source.empty() ? "" : ": ", row.gpus, device_noun(device.kind, row.gpus),
      number_text(expected_maximum(row.gpus), 3), number_text(speed_spread(device) * 100.0, 3),
      nodes, number_text(expected_maximum(nodes), 3));
  return {"step_time_spread", "spread of steps between nodes, beyond the step's own",
          "share of the step", spread, false};
}

}  // namespace

std::vector<Assumption> assumptions_of(const CapacityQuestion& question, const CapacityRow& row) {
  const FailureOptions& f = question.options.failures;
  const CheckpointOptions& c = question.options.checkpoint;
  const PowerOptions& p = question.options.power;
  const CheckpointPlan& plan = row.run.checkpoint;
  const Cluster& cluster = question.clusters[row.cluster_case].cluster;
  const auto words = [&](std::string_view text) { return with_device_noun(text, cluster); };
  std::vector<Assumption> all{
      {"failure_rate", "failures", words("per 1,000 node-days (nodes of 8 GPUs)"),
       f.per_thousand_node_days, has_range(f.per_thousand_node_days)},
      {"detection_seconds", "time to detect a failure", "s", f.detection_seconds,
       has_range(f.detection_seconds)},
      {"restart_seconds", "time to restart the job", "s", f.restart_seconds,
       has_range(f.restart_seconds)},
      {"load_seconds", "time to load a checkpoint", "s", transfer_of(c.load_seconds, plan.load)},
      {"pause_seconds", "pause of training for a save", "s",
       c.asynchronous ? c.pause_seconds : transfer_of(c.persist_seconds, plan.pause)}};
  if (c.asynchronous) {
    all.push_back({"persist_seconds", "time to write a save in the background", "s",
                   transfer_of(c.persist_seconds, plan.persist)});
  }
  all.push_back({"storage_gb_per_s_per_node", "storage", words("GB/s per node of 8 GPUs"),
                 c.storage_gb_per_s_per_node, has_range(c.storage_gb_per_s_per_node)});
  all.push_back(slowest_of_row(question, row));
  all.push_back({"repair_days", "repair of a node", "days", f.repair_days});
  all.push_back({"spares_target", "spares are enough", "share of the time", f.spares_target});
  if (row.price) {
    all.push_back({"price_per_gpu_hour", words("price per GPU-hour"),
                   question.options.prices.currency, *row.price, has_range(*row.price)});
  }
  if (row.kilowatts) {
    all.push_back({"kilowatts_per_gpu",
                   words("power per GPU with its share of the node, while computing"), "kW",
                   *row.kilowatts, has_range(*row.kilowatts)});
    all.push_back(
        {"waiting_share", "power of an idle node", "share of its rating", p.waiting_share});
    all.push_back({"pue", "power usage effectiveness", "", p.pue, has_range(p.pue)});
  }
  if (p.kg_co2_per_kwh) {
    all.push_back({"kg_co2_per_kwh", "CO2 of the grid", "kg per kWh", *p.kg_co2_per_kwh});
  }
  return all;
}

std::vector<std::string> included_in(const CapacityQuestion& question, const CapacityRow& row) {
  const std::string narrower = row.fits() ? row.main_phase().estimate.narrowed_by : "";
  std::vector<std::string> parts{
      "the interval of the step time, one error common to all steps, which does not "
      "average out" +
          (narrower.empty() ? "" : " (to narrow it: " + narrower + ")"),
      "the times of failures, which average out over the run"};
  const Ranged& rate = question.options.failures.per_thousand_node_days;
  if (has_range(rate)) {
    parts.push_back(fmt::format("the rate of failures, {} to {} {}", number_text(rate.low, 3),
                                number_text(rate.high, 3), "per 1,000 node-days"));
  }
  const FailureOptions& f = question.options.failures;
  const double low = f.detection_seconds.low + f.restart_seconds.low;
  const double high = f.detection_seconds.high + f.restart_seconds.high;
  if (high > low) {
    parts.push_back(fmt::format("the time from a failure to the restart, {} to {} minutes",
                                number_text(low / 60.0, 3), number_text(high / 60.0, 3)));
  }
  if (has_range(question.options.checkpoint.storage_gb_per_s_per_node)) {
    parts.emplace_back("the bandwidth of the storage");
  }
  if (row.price && has_range(*row.price)) parts.emplace_back("the price's range, in cost");
  if (row.kilowatts && has_range(*row.kilowatts)) {
    parts.emplace_back("the power's range and that of the PUE, in energy");
  }
  return parts;
}

std::vector<std::string> left_out_of(const CapacityQuestion& question) {
  std::vector<std::string> parts{
      "how many tokens reach a quality, and how a larger batch changes that",
      with_device_noun("the difference between two allocations of GPUs", question.device_kind()),
      "failures that hit several nodes at once, and the first days of a new cluster",
      "queueing, data preparation, experiments before the run",
      "cost of storage, network traffic and people"};
  if (question.options.step_time_spread.value == 0.0) {
    parts.emplace_back("nodes that are slow but do not fail");
  }
  if (question.options.evaluation_share == 0.0) parts.emplace_back("evaluation during the run");
  if (question.options.power.pue.value == 1.0) {
    parts.emplace_back("cooling and power conversion (PUE)");
  }
  if (question.options.failures.independent_replicas > 1) {
    parts.emplace_back("failures of all replicas at once");
  }
  return parts;
}

}  // namespace meshwright::planner
