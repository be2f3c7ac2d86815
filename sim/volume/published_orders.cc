// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/volume/volume.h"

namespace meshwright {

PublishedOrders published_orders(const Model& model, const Job& job, const Layout& layout) {
  const double h = model.hidden_size;
  const double l = model.num_layers;
  const double s = job.seq_length;
  const double b = static_cast<double>(job.global_batch_size) / layout.data_parallel_size;
  const double k = l / layout.pipeline_parallel_size;
  PublishedOrders orders;
  orders.data_parallel = h * h * l;
  orders.pipeline_parallel = b * s * h * l / k;
  orders.tensor_parallel = b * s * h * l;
  for (const StageVolume& stage : volume(model, job, layout).stages) {
    orders.data_exact =
        std::max(orders.data_exact, stage.sent(Group::data) + stage.sent(Group::expert_data));
    orders.pipeline_exact = std::max(orders.pipeline_exact, stage.sent(Group::pipeline));
    orders.tensor_exact = std::max(orders.tensor_exact, stage.sent(Group::tensor));
  }
  orders.tensor_exceeds_data = orders.tensor_exact > orders.data_exact;
  orders.data_exceeds_pipeline = orders.data_exact > orders.pipeline_exact;
  return orders;
}

}  // namespace meshwright
