// SPDX-License-Identifier: Apache-2.0
// Jobs under software. What is read and refused: cases/job_and_software.txt.
#include <gtest/gtest.h>

#include "sim/hardware/framework.h"
#include "sim/json/records.h"
#include "sim/record/json.h"

namespace meshwright {
namespace {

TEST(JobJson, WhatIsNotSaidIsAsTheFrameworkHasIt) {
  Framework framework;
  framework.defaults.job.kernel_fusion = KernelFusion::eager;
  const Job defaults = framework.defaults.job;
  const auto read_with = [&](const char* text) {
    return job_from_json(Json::parse(text), "job.json", "", defaults).kernel_fusion;
  };
  EXPECT_EQ(read_with("{}"), KernelFusion::eager);
  EXPECT_EQ(read_with(R"({"kernel_fusion": "fused"})"), KernelFusion::fused);
}

// bf16 with bf16 gradients, where the job does not say and the software's recipes do so.
TEST(JobJson, RemaindersAreAsTheSoftwaresRecipes) {
  Framework framework;
  Job job;
  job.gradient_precision = Precision::bf16;
  EXPECT_EQ(job_under(job, framework).store_param_remainders, false);
  framework.memory.recipes_store_remainders = true;
  EXPECT_EQ(job_under(job, framework).store_param_remainders, true);
  job.store_param_remainders = false;
  EXPECT_EQ(job_under(job, framework).store_param_remainders, false);
  Job wide;
  EXPECT_EQ(job_under(wide, framework).store_param_remainders, false);
}

// DDP's gradients have the type of the weights that the optimizer updates.
TEST(JobJson, ReplicasKeepFp32GradientsOfFp32WeightsAlone) {
  Framework framework;
  Job job;
  EXPECT_FALSE(job_under(job, framework).replicas_keep_fp32_gradients);
  framework.memory.replicas_keep_fp32_gradients = true;
  EXPECT_TRUE(job_under(job, framework).replicas_keep_fp32_gradients);
  job.master_weights = false;
  EXPECT_FALSE(job_under(job, framework).replicas_keep_fp32_gradients);
}

}  // namespace
}  // namespace meshwright
