// SPDX-License-Identifier: Apache-2.0
// Checks a calibration of cores with whole steps of the trial's inference engine. Some sequences of
// equal length begin at once: their prompts are one step, and each token of their answers is
// another. Each is compared with the predicted sum of its parts. The remainder is dispatch, the
// allocator, what parts leave in the caches, and waits between tensor ranks.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/sweep.h"
#include "calibrate/whole_step.h"
#include "sim/hardware/inference_rates.h"
#include "sim/serving/estimate.h"

namespace meshwright::calibrate {

class ServingEngine;

// The model with few layers on these tensor ranks and stages. None where the trial cannot serve it,
// or where one step would take a core more than about two seconds.
std::optional<ServiceDemand> service_alone(const Model& model, const Engine& engine,
                                           int tensor_parallel_size, int pipeline_parallel_size);

// The points of the steps, without times: of each number of sequences the prompts, then a decode.
std::vector<MeasuredPoint> served_steps(const ServiceDemand& service);

class ServiceCheck final : public WholeStep {
 public:
  // Times are without what ranks wait for their cores, where `core_waits` says it.
  ServiceCheck(const ServiceDemand& service, Compute& compute, Communicator& world,
               Clock core_waits = {});
  ~ServiceCheck() override;
  // A run of each number of sequences, by as many replicas as there are ranks for.
  void run() override;
  [[nodiscard]] bool has_enough() const override;
  // The next run is the first that counts.
  [[nodiscard]] bool is_warm() const;
  // Times of the last run, as served_steps(): means over the replicas.
  [[nodiscard]] std::vector<Seconds> last_times() const;
  [[nodiscard]] std::vector<MeasuredPoint> points() const override;

 private:
  double run_load(std::int64_t sequences);

  ServiceDemand service_;
  Communicator& world_;
  std::unique_ptr<Communicator> replica_;
  std::unique_ptr<ServingScenario> scenario_;  // the engine refers to it
  std::unique_ptr<ServingEngine> engine_;      // null: a rank that is left over
  Clock core_waits_;
  std::vector<MeasuredPoint> steps_;
  std::vector<std::vector<double>> samples_;  // seconds, of each step
  int runs_ = 0;
};

// Gives the service's points among `points` the sums of their parts on this cluster, which knows no
// remainders of services.
void predict_parts(const ServiceDemand& service, const ServingCluster& cluster,
                   std::vector<MeasuredPoint>& points);

// "steps of small-llama served, tp2 pp1, beside the sum of their parts: 1 decodes +12 %, ...";
// empty where no point is of it.
std::string remainder_words(const ServiceDemand& service, const std::vector<MeasuredPoint>& points);

}  // namespace meshwright::calibrate
