// SPDX-License-Identifier: Apache-2.0
#include "reports/text/serving_validation_text.h"

#include <gtest/gtest.h>

namespace meshwright::reports {
namespace {

using planner::ServingComparison;
using planner::ServingValidation;

ServingComparison service(const char* name, int ranks, int requests) {
  ServingComparison one;
  one.name = name;
  one.observation.device = "cpu";
  one.observation.ranks = ranks;
  one.measured.requests = requests;
  return one;
}

ServingValidation two_services() {
  ServingValidation v;
  v.services = {service("1 x tp1", 1, 80), service("1 x tp2", 2, 80)};
  v.median_step_error = 0.052;
  v.median_decode_error = 0.041;
  v.median_tpot_error = 0.03;
  v.median_ttft_error = 0.098;
  return v;
}

TEST(ServedSentence, SaysWhatRanHowFarItAgreesAndHowGoodTheChoiceWas) {
  ServingValidation v = two_services();
  const std::string ran = "2 deployments ran on up to 2 cores, each with 80 requests. ";
  EXPECT_EQ(served_sentence(v),
            ran +
                "The predicted decode step was off by 4.1 % and the time to first token by 9.8 % "
                "(medians). The deployment predicted best was the best that ran.");
  v.regret = 0.03;
  v.at_host_speed = planner::ServicesAtHostSpeed{0.02, 0.02, 0.05, 0.012, 0.01};
  EXPECT_EQ(served_sentence(v),
            ran +
                "The predicted decode step was off by 4.1 % and the time to first token by 9.8 % "
                "(medians; 1.2 % and 5 % corrected for the host's speed). The deployment "
                "predicted best gave 3 % fewer tokens/s per core than the best that ran.");
}

TEST(ServedSentence, OfOneServiceHasNoChoiceAndOfNoneHasNoNumbers) {
  ServingValidation v = two_services();
  v.services.resize(1);
  EXPECT_EQ(served_sentence(v),
            "1 deployment ran on 1 core, with 80 requests. The predicted decode step was off by "
            "4.1 % and the time to first token by 9.8 %.");
  v.services.front().observation.device = "cuda";
  EXPECT_EQ(served_sentence(v).substr(0, 28), "1 deployment ran on 1 GPU, w");
  v.services.clear();
  EXPECT_EQ(served_sentence(v), "No trial could be compared.");
  EXPECT_TRUE(serving_findings(v).empty());
}

TEST(ServingFindings, AreTheLinesOfTheTerminal) {
  ServingValidation v = two_services();
  v.services[1].handover = {12, milliseconds(2), milliseconds(4), 0.5};
  v.services[1].unlike_steps = 1;
  v.at_host_speed = planner::ServicesAtHostSpeed{0.02, 0.02, 0.05, 0.012, 0.01};
  std::string lines;
  for (const ServingFinding& one : serving_findings(v)) lines += one.of + ": " + one.says + "\n";
  EXPECT_EQ(lines,
            "step time: median error 5.2 % of single steps, 2 % corrected for the host's speed\n"
            "decode: median error 4.1 % of the median steps, 1.2 % corrected for the host's speed\n"
            "TPOT: median error 3 % of the means, 2 % corrected for the host's speed\n"
            "TTFT: median error 9.8 % of the medians, 5 % corrected for the host's speed\n"
            "hand-over: 1 x tp2: 2 ms predicted, 4 ms measured, median of 12 caches\n"
            "choice: the service predicted best gives 0 % less than the best one, 1 % corrected "
            "for the host's speed\n"
            "bytes: as predicted in 1 of 2 services\n");
  v.services.resize(1);
  for (const ServingFinding& one : serving_findings(v)) EXPECT_NE(one.of, "choice");
}

TEST(ServedInPart, NamesTheServiceAndItsParts) {
  ServingValidation v = two_services();
  EXPECT_TRUE(served_in_part(v).empty());
  v.services[1].observation.not_run = {"4 replicas: 1 were run", "bf16 (fp32 was run)"};
  EXPECT_EQ(served_in_part(v),
            std::vector<std::string>{"1 x tp2: 4 replicas: 1 were run; bf16 (fp32 was run)"});
}

TEST(ServedBytes, AreCountedWhereTheyDiffer) {
  ServingComparison one = service("1 x tp1", 1, 80);
  EXPECT_EQ(served_bytes_text(one), "as predicted");
  one.unlike_handovers = 1;
  EXPECT_EQ(served_bytes_text(one), "not as predicted in 1 cache");
  one.unlike_steps = 3;
  EXPECT_EQ(served_bytes_text(one), "not as predicted in 3 steps and 1 cache");
}

}  // namespace
}  // namespace meshwright::reports
