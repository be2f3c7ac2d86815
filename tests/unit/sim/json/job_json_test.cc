// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/hardware/framework.h"
#include "sim/json/records.h"
#include "sim/record/json.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

Job read_job(const char* text) { return job_from_json(Json::parse(text), "job.json"); }

TEST(JobJson, WhatIsWrittenIsReadBack) {
  Job job;
  job.precision = Precision::fp8;
  job.gradient_precision = Precision::bf16;
  job.fp8_param_gather = true;
  job.cross_entropy_loss_fusion = true;
  job.fp8_recipe = Fp8Recipe::mxfp8;
  job.activation_func_fp8_input_store = true;
  job.fp8_dot_product_attention = job.disable_parameter_transpose_cache = true;
  job.store_param_remainders = false;
  job.moe_dispatch_fwd_dtype = job.moe_combine_bwd_dtype = Precision::fp8;
  job.seq_length = 8192;
  EXPECT_EQ(job_from_json(to_json(job), "job.json"), job);
}

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

TEST(JobJson, Fp8WeightsAloneNeedAnFp8Job) {
  EXPECT_TRUE(read_job(R"({"precision": "fp8", "fp8_param_gather": true})").fp8_param_gather);
  try {
    read_job(R"({"precision": "bf16", "fp8_param_gather": true})");
    FAIL() << "was read";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/fp8_param_gather"));
  }
}

}  // namespace
}  // namespace meshwright
