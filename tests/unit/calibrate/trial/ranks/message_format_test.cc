// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/message_format.h"

#include <gtest/gtest.h>

#include "sim/block/transfer_names.h"

namespace meshwright::calibrate {
namespace {

using namespace transfer_names;

Job job_of(Precision products, Precision gradients) {
  Job job;
  job.precision = products;
  job.gradient_precision = gradients;
  return job;
}

TEST(MessageFormat, AJobOf32BitsSendsNothingElse) {
  for (const Precision products : {Precision::fp32, Precision::tf32}) {
    const MessageFormats formats = message_formats(job_of(products, Precision::bf16));
    for (const auto& name : {kActivationSend, kWeightGather, kGradientAllReduce}) {
      EXPECT_EQ(format_of(name, formats), Precision::fp32) << name;
    }
  }
}

TEST(MessageFormat, ActivationsAndWeightsTravelIn16BitsAndGradientsAsTheJobSays) {
  const MessageFormats formats = message_formats(job_of(Precision::bf16, Precision::fp32));
  for (const auto& name : {kActivationSend, kKeyRing, kExperts.dispatch, kGatheredExperts.dispatch,
                           kMlp.output_all_reduce, kEmbeddingGradientAllGather,
                           kUpdatedWeightAllGather, kRootGather}) {
    EXPECT_EQ(format_of(name, formats), Precision::bf16) << name;
  }
  for (const auto& name : {kGradientAllReduce, kUnitReduceScatter, kReplicatedGradientAllReduce}) {
    EXPECT_EQ(format_of(name, formats), Precision::fp32) << name;
    EXPECT_EQ(format_of(name, message_formats(job_of(Precision::fp16, Precision::bf16))),
              Precision::bf16);
  }
}

TEST(MessageFormat, LossAndSoftmaxStayIn32Bits) {
  const MessageFormats formats = message_formats(job_of(Precision::bf16, Precision::bf16));
  for (const auto& name :
       {kCrossEntropyAllReduce, kLossAllReduce, kMeanSquareAllReduce, kRoutingMapGather}) {
    EXPECT_EQ(format_of(name, formats), Precision::fp32) << name;
  }
}

TEST(MessageFormat, ProbabilitiesHaveTheRoutersFormat) {
  Job job = job_of(Precision::bf16, Precision::bf16);
  for (const bool wide : {false, true}) {
    job.moe_router_fp32 = wide;
    for (const auto& name : {kRouterProbability, kExpertProbabilityGradientScatter,
                             kGatheredExperts.combine, kGatheredExperts.combine_gradient}) {
      EXPECT_EQ(format_of(name, message_formats(job)), wide ? Precision::fp32 : Precision::bf16)
          << name;
    }
  }
}

}  // namespace
}  // namespace meshwright::calibrate
