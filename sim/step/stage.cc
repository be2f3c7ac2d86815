// SPDX-License-Identifier: Apache-2.0
#include "sim/step/stage.h"

#include "sim/volume/transfer.h"

namespace meshwright {
namespace {

// While one message passes to a neighbour, another one passes from it: a stage waits for two
// exchanges a micro-batch. In program order it sends and receives an activation and a gradient.
constexpr double kMessagesInTurn = 2.0;

}  // namespace

SendCost send_cost(const Scenario& scenario, const Layout& layout) {
  if (layout.pipeline_parallel_size == 1) return {};
  const Cluster& cluster = scenario.cluster;
  const Transfer send = stage_send(scenario.model, scenario.job, layout);
  Cost cost = transfer_cost(send, layout, cluster);
  if (scatters_sends(layout)) {
    cost = cost +
           transfer_cost(received_gather(scenario.model, scenario.job, layout), layout, cluster);
  }
  if (cluster.framework.pipeline.blocking_sends) cost.time *= kMessagesInTurn;
  return {cost, layout.overlap_p2p_comm, only_device(cluster).overlap_slowdown,
          place(send, layout, cluster).tier()};
}

}  // namespace meshwright
