// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/serving_results.h"

#include <algorithm>
#include <span>
#include <utility>

namespace meshwright::calibrate {

NumberRows rows_of_replicas(Communicator& world, const NumberRows& own, std::size_t width) {
  const auto most = static_cast<std::size_t>(world.host_max(static_cast<double>(own.size())));
  std::vector<double> padded(most * width + 1, 0.0);
  padded[0] = static_cast<double>(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    std::copy(own[i].begin(), own[i].end(),
              padded.begin() + static_cast<std::ptrdiff_t>(1 + i * width));
  }
  std::vector<double> all(padded.size() * static_cast<std::size_t>(world.size()));
  world.host_gather(padded.data(), all.data(), padded.size() * sizeof(double));
  NumberRows rows;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world.size()); ++rank) {
    const double* of_rank = all.data() + rank * padded.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(of_rank[0]); ++i) {
      rows.emplace_back(of_rank + 1 + i * width, of_rank + 1 + (i + 1) * width);
    }
  }
  return rows;
}

void gather_requests(const ServingEngine* engine, Communicator& world, ServingObservation& o) {
  NumberRows own;
  for (std::size_t i = 0; engine != nullptr && i < engine->requests().size(); ++i) {
    std::vector<double> row = numbers_of(engine->observed().requests[i]);
    row.insert(row.begin(), static_cast<double>(engine->requests()[i]));
    own.push_back(std::move(row));
  }
  NumberRows all = rows_of_replicas(world, own, 1 + kRequestTimingNumbers);
  std::sort(all.begin(), all.end());
  for (const std::vector<double>& row : all) {
    o.requests.push_back(static_cast<int>(row[0]));
    o.run.requests.push_back(request_timing_of(std::span(row).subspan(1)));
    o.run.duration = std::max(o.run.duration, o.run.requests.back().end);
  }
  own.clear();
  if (engine != nullptr) {
    for (const TokenGap& gap : engine->observed().gaps) own.push_back({gap.gap.value()});
  }
  for (const std::vector<double>& row : rows_of_replicas(world, own, 1)) {
    o.run.gaps.push_back({seconds(row[0]), 1.0});
  }
}

void gather_steps(const ServingEngine* engine, int replica, Communicator& world,
                  ServingObservation& o) {
  NumberRows own;
  if (engine != nullptr) {
    for (ObservedServingStep step : engine->steps()) {
      step.replica = replica;
      own.push_back(numbers_of(step));
    }
  }
  for (const std::vector<double>& row : rows_of_replicas(world, own, kServingStepNumbers)) {
    o.steps.push_back(serving_step_of(row));
  }
  own.clear();
  if (engine != nullptr) {
    const ServingRun& run = engine->observed();
    own.push_back({static_cast<double>(engine->steps().size()),
                   static_cast<double>(run.preemptions), run.busy_share * run.duration.value(),
                   static_cast<double>(replica)});
  }
  const int prefill_replicas = o.prefill ? o.prefill->replicas : 0;
  Seconds busy, prefill_busy;
  for (const std::vector<double>& row : rows_of_replicas(world, own, 4)) {
    o.run.steps += static_cast<std::int64_t>(row[0]);
    o.run.preemptions += static_cast<std::int64_t>(row[1]);
    (row[3] < prefill_replicas ? prefill_busy : busy) += seconds(row[2]);
  }
  o.run.busy_share = busy / (o.run.duration * static_cast<double>(o.run_replicas));
  if (o.prefill) {
    o.run.prefill_busy_share =
        prefill_busy / (o.run.duration * static_cast<double>(prefill_replicas));
  }
}

void gather_handovers(const std::vector<ObservedHandover>& handovers, Communicator& world,
                      ServingObservation& o) {
  NumberRows own;
  for (const ObservedHandover& h : handovers) {
    own.push_back({static_cast<double>(h.request), h.ready.value(), h.begin.value(),
                   h.received.value(), h.bytes_as_said ? 1.0 : 0.0});
  }
  NumberRows all = rows_of_replicas(world, own, 5);
  std::sort(all.begin(), all.end());
  for (const std::vector<double>& row : all) {
    ObservedHandover h;
    h.request = static_cast<int>(row[0]);
    h.ready = seconds(row[1]);
    h.begin = seconds(row[2]);
    h.received = bytes(row[3]);
    h.bytes_as_said = row[4] != 0.0;
    const auto place = std::lower_bound(o.requests.begin(), o.requests.end(), h.request);
    h.end = o.run.requests[static_cast<std::size_t>(place - o.requests.begin())].first_token;
    o.handovers.push_back(h);
  }
}

}  // namespace meshwright::calibrate
