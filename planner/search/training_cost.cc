// SPDX-License-Identifier: Apache-2.0
#include "planner/search/training_cost.h"

#include <cmath>

namespace meshwright::planner {

double train_steps(double train_tokens, const Job& job) {
  return std::ceil(train_tokens / (static_cast<double>(job.global_batch_size) * job.seq_length));
}

std::optional<TrainingCost> training_cost(const Job& job, const Cluster& cluster,
                                          Seconds step_time) {
  if (!job.train_tokens) return std::nullopt;
  constexpr double kWattsPerKilowatt = 1000.0;
  TrainingCost result;
  result.steps = train_steps(*job.train_tokens, job);
  result.train_time = step_time * result.steps;
  result.gpu_hours = result.train_time.value() / kSecondsPerHour * cluster.num_gpus();
  if (cluster.price_per_gpu_hour) result.cost = result.gpu_hours * *cluster.price_per_gpu_hour;
  if (only_device(cluster).power_watts) {
    result.device_energy_kwh =
        result.gpu_hours * *only_device(cluster).power_watts / kWattsPerKilowatt;
  }
  return result;
}

}  // namespace meshwright::planner
