// SPDX-License-Identifier: Apache-2.0
// What `plan` looks at unasked is what the trial runs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "app/files/files.h"
#include "calibrate/trial/trial.h"
#include "planner/search/space.h"
#include "planner/search/space_defaults.h"
#include "sim/layout/short_name.h"
#include "sim/rules/rules.h"

namespace meshwright {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Layouts of the default space, on as many ranks as they need: those that a trial changes, and
// those that it refuses.
struct LeftOut {
  std::set<std::string> not_run, refused;
  int layouts = 0;
};

void try_layout(const Model& model, const Cluster& cluster, const Job& job, const Layout& layout,
                LeftOut& left_out) {
  if (check_layout(model, job, layout, devices_of(cluster))) return;
  ++left_out.layouts;
  const auto runnable = calibrate::runnable_layout(model, job, layout, world_size(layout), {});
  left_out.not_run.insert(runnable.not_run.begin(), runnable.not_run.end());
  const std::string refusal = calibrate::trial_unsupported(model, job, layout);
  if (!refusal.empty()) left_out.refused.insert(short_name(layout) + ": " + refusal);
}

LeftOut left_out_of(const std::string& model_name, const std::string& framework) {
  const Model model = app::load_model(model_name);
  Cluster cluster = app::load_cluster("h100-8");
  cluster.framework = app::load_framework(framework);
  Job job = cluster.framework.defaults.job;
  job.global_batch_size = 16;
  job.seq_length = 256;
  job.precision = Precision::fp32;
  job.attention_kernel = AttentionKernel::unfused;
  const planner::SearchSpace space = planner::with_defaults({}, model, job, cluster);
  LeftOut left_out;
  for (const auto& sizes : planner::parallel_sizes_of({model, cluster, job}, space)) {
    for (const Layout& setting : planner::pipeline_settings(model, job, space, sizes)) {
      for (const Layout& layout : planner::layouts_of(space, setting)) {
        try_layout(model, cluster, job, layout, left_out);
      }
    }
  }
  return left_out;
}

constexpr const char* kUserbuffers =
    "userbuffers (GPUs only): overlap of tensor-parallel communication with products";

TEST(TrialSpace, OfMegatronsLayoutsOnlyWhatGpusAloneHaveIsLeftOut) {
  for (const char* model : {"small-llama", "small-moe", "small-mla"}) {
    SCOPED_TRACE(model);
    const LeftOut left_out = left_out_of(model, "megatron-core-2026");
    EXPECT_GT(left_out.layouts, 500);
    EXPECT_THAT(left_out.refused, IsEmpty());
    std::set<std::string> more = left_out.not_run;
    more.erase(kUserbuffers);
    more.erase("the hybridep dispatcher (GPUs only): alltoall was run");
    EXPECT_THAT(more, IsEmpty());
  }
  EXPECT_THAT(
      left_out_of("small-moe", "megatron-core-2026").not_run,
      UnorderedElementsAre(kUserbuffers, "the hybridep dispatcher (GPUs only): alltoall was run"));
}

TEST(TrialSpace, OfOtherFrameworksLayoutsOnlyWhatGpusAloneHaveIsLeftOut) {
  for (const char* framework :
       {"accelerate-2026", "automodel-2026", "deepspeed-2025", "hai-llm-2024", "megatron-core-2025",
        "megatron-lm-2021", "megatron-lm-2023", "nanotron-2024", "pytorch-fsdp-2023",
        "torchtitan-0.3", "torchtitan-2025", "zero-bubble-2023"}) {
    for (const char* model : {"small-llama", "small-moe"}) {
      SCOPED_TRACE(fmt::format("{} {}", framework, model));
      LeftOut left_out = left_out_of(model, framework);
      const bool has_experts = !app::load_framework(framework).limits.lacks(Unsupported::experts);
      EXPECT_EQ(left_out.layouts > 0, has_experts || model == std::string("small-llama"));
      EXPECT_THAT(left_out.refused, IsEmpty());
      left_out.not_run.erase(kUserbuffers);
      left_out.not_run.erase("the deepep dispatcher (GPUs only): alltoall was run");
      left_out.not_run.erase("tokens in fp8 (GPUs only): they have the job's format");
      left_out.not_run.erase("recompute by operator (op): nothing was run again");
      left_out.not_run.erase("PyTorch's collectives inside layers: Megatron-LM's were run");
      left_out.not_run.erase("embedding and head as units of FSDP: they were in the root");
      EXPECT_THAT(left_out.not_run, IsEmpty());
    }
  }
}

}  // namespace
}  // namespace meshwright
