// SPDX-License-Identifier: Apache-2.0
// Identities that hold for every layout, asked of some hundred thousand: the parts add up, nothing
// is negative, no total is below its lower bound, better hardware is never slower, and more memory
// never turns a layout away.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "app/files/files.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"
#include "sim/schedule/traits.h"
#include "sim/step/estimate.h"
#include "tests/unit/sim/volume/lower_bound.h"

namespace meshwright {
namespace {

using Workload = Scenario;

Cluster better_links(Cluster cluster) {
  cluster.intra_node.bandwidth *= 2.0;
  cluster.inter_node.bandwidth *= 2.0;
  return cluster;
}

Cluster faster_memory(Cluster cluster) {
  cluster.device.memory_bandwidth *= 2.0;
  for (KernelRate& kernel : cluster.device.kernels) kernel.rate *= 2.0;
  return cluster;
}

void expect_parts_add_up(const Estimate& estimate) {
  double sum = 0.0;
  for (const Term& term : estimate.terms) {
    EXPECT_GE(term.cost.time.value(), 0.0) << name_of(term.kind);
    sum += term.cost.time.value();
  }
  EXPECT_TRUE(std::isfinite(sum));
  EXPECT_NEAR(sum, estimate.step_time.value(), 1e-9 * sum);
  EXPECT_LE(estimate.step_time_low, estimate.step_time);
  EXPECT_GE(estimate.step_time_high, estimate.step_time);
}

void expect_bytes_make_sense(const Estimate& estimate, const Cluster& cluster) {
  EXPECT_LE(estimate.peak_memory(), cluster.device.memory);
  for (const StageMemory& stage : estimate.memory) {
    for (const Bytes part : {stage.weights, stage.gradients, stage.optimizer, stage.activations,
                             stage.recompute_workspace, stage.operator_workspace, stage.logits,
                             stage.communication_buffers, stage.reserve}) {
      EXPECT_GE(part.value(), 0.0);
    }
  }
  for (const StageVolume& stage : estimate.volume.stages) {
    for (const Transfer& transfer : stage.transfers) {
      EXPECT_GT(transfer.group_size, 1) << transfer.name;
      const double bound = lower_bound_sent(transfer, false).value();
      EXPECT_GE(transfer.sent().value(), bound * (1.0 - 1e-12)) << transfer.name;
    }
  }
}

void expect_no_slower(const Estimate& base, const Workload& w, const Cluster& better) {
  const Outcome outcome = estimate({w.model, better, w.job}, base.layout);
  ASSERT_TRUE(std::holds_alternative<Estimate>(outcome));
  EXPECT_LE(std::get<Estimate>(outcome).step_time.value(), base.step_time.value() * (1.0 + 1e-9));
}

void look_at(const Workload& w, const Layout& layout) {
  SCOPED_TRACE(w.model.name + " " + short_name(layout));
  const Outcome outcome = estimate(w, layout);
  Cluster roomy = w.cluster;
  roomy.device.memory *= 2.0;
  const bool fits_when_larger =
      std::holds_alternative<Estimate>(estimate({w.model, roomy, w.job}, layout));
  if (const auto* no = std::get_if<Infeasible>(&outcome)) {
    EXPECT_TRUE(!fits_when_larger || no->violation.rule == Rule::memory_capacity);
    return;
  }
  const Estimate& found = std::get<Estimate>(outcome);
  EXPECT_TRUE(fits_when_larger);
  expect_parts_add_up(found);
  expect_bytes_make_sense(found, w.cluster);
  expect_no_slower(found, w, better_links(w.cluster));
  expect_no_slower(found, w, faster_memory(w.cluster));
}

// All combinations of a layout's switches.
void look_at_switches(const Workload& w, Layout layout) {
  for (int bits = 0; bits < 64; ++bits) {
    layout.sequence_parallel = (bits & 1) != 0;
    layout.overlap_grad_reduce = (bits & 2) != 0;
    layout.zero_stage = (bits & 4) == 0 ? 0 : layout.pipeline_parallel_size == 1 ? 3 : 1;
    layout.overlap_param_gather = (bits & 8) != 0;
    layout.recompute_granularity = (bits & 16) == 0   ? RecomputeGranularity::none
                                   : (bits & 32) == 0 ? RecomputeGranularity::selective
                                                      : RecomputeGranularity::full;
    if ((bits & 16) == 0 && (bits & 32) != 0) continue;
    look_at(w, layout);
  }
}

void look_at_schedules(const Workload& w, Layout layout) {
  for (const ScheduleTraits* schedule : pipeline_schedules) {
    layout.schedule = schedule->schedule;
    layout.virtual_pipeline_parallel_size = schedule->fewest_chunks;
    for (const int micro_batch : {1, 4}) {
      layout.micro_batch_size = micro_batch;
      look_at_switches(w, layout);
    }
  }
}

void look_at_sizes(const Workload& w) {
  for (const int tp : {1, 2, 4, 8, 16}) {
    for (const int pp : {1, 2, 4, 8}) {
      for (const int cp : {1, 2}) {
        Layout layout;
        layout.tensor_parallel_size = tp;
        layout.pipeline_parallel_size = pp;
        layout.context_parallel_size = cp;
        layout.data_parallel_size = w.cluster.num_gpus() / (tp * pp * cp);
        look_at_schedules(w, layout);
        if (!w.model.moe) continue;
        layout.expert_parallel_size = 8;
        look_at_schedules(w, layout);
      }
    }
  }
}

class LayoutSweep : public testing::TestWithParam<std::string> {};

TEST_P(LayoutSweep, IdentitiesHoldForEveryLayout) {
  Workload w{app::load_model(GetParam()), app::load_cluster("hgx-h100-400g"),
             app::load_job("pretrain-4k")};
  w.cluster = scaled_to(w.cluster, 128);
  look_at_sizes(w);
}

std::vector<std::string> all_models() {
  std::vector<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(app::configs_directory() + "/models")) {
    names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, LayoutSweep, testing::ValuesIn(all_models()),
                         [](const testing::TestParamInfo<std::string>& model) {
                           std::string name = model.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace meshwright
