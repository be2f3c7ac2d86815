// SPDX-License-Identifier: Apache-2.0
// What stands around an engine's command: its environment, its GPUs, other nodes, and the manifest
// or compose file that starts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/serving/read_serving.h"
#include "interop/serving/serving_command.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ServingLaunch launched(const std::string& text, const ShellInputs& inputs = {}) {
  return read_serving(text, "serve.sh", inputs);
}

// The environment.

// GPUs of the process.

// Other nodes.

// Options that were passed over although their value changes the answer.

TEST(ServingOptionValues, WhatIsOnByDefaultMayBeSwitchedOff) {
  for (const char* line :
       {"vllm serve m --enable-chunked-prefill=False", "vllm serve m --async-scheduling false",
        "trtllm-serve m --cuda_graph_config.enable_padding false"}) {
    EXPECT_THAT(launched(std::string(line) + "\n").not_understood, SizeIs(1)) << line;
  }
  EXPECT_THAT(launched("vllm serve m --enable-chunked-prefill\n").not_understood, IsEmpty());
}

TEST(ServingOptionValues, ASwitchThatIsOffChangesNothing) {
  const ServingLaunch l = launched("vllm serve m --config c.yaml\n",
                                   {.read = [](const std::string&) -> std::optional<std::string> {
                                     return "enable-lora: false\nenable-eplb: false\n";
                                   }});
  EXPECT_THAT(l.not_understood, IsEmpty());
  EXPECT_THAT(launched("trtllm-serve m --disable_overlap_scheduler 1\n").not_understood, SizeIs(1));
}

TEST(ServingOptionValues, TheCompilationConfigSaysGraphs) {
  const ServingLaunch eager =
      launched("vllm serve m --compilation-config '{\"cudagraph_mode\": \"NONE\"}'\n");
  EXPECT_TRUE(eager.pools.front().options.enforce_eager);
  EXPECT_THAT(eager.not_understood, IsEmpty());
  const ServingLaunch sizes =
      launched("vllm serve m -O '{\"cudagraph_capture_sizes\": [1, 2, 64], \"level\": 3}'\n");
  EXPECT_EQ(sizes.pools.front().graph_max_batch, 64);
  EXPECT_FALSE(sizes.pools.front().options.enforce_eager);
  EXPECT_THAT(launched("vllm serve m --compilation-config.cudagraph_mode NONE\n")
                  .pools.front()
                  .options.enforce_eager,
              true);
  for (const char* line : {"vllm serve m -O0", "vllm serve m -O 0",
                           "vllm serve m --compilation-config '{\"mode\": 0}'",
                           "vllm serve m --compilation-config '{broken'"}) {
    EXPECT_THAT(launched(std::string(line) + "\n").not_understood, SizeIs(1)) << line;
  }
  EXPECT_THAT(launched("vllm serve m -O3\n").not_understood, IsEmpty());
}

TEST(ServingOptionValues, OverridesOfTheModelsShapeAreNotUnderstood) {
  for (const char* line :
       {"vllm serve m --hf-overrides '{\"num_hidden_layers\": 4}'",
        "vllm serve m --hf-overrides.num_hidden_layers 4",
        "sglang serve --model-path m --json-model-override-args '{\"num_hidden_layers\": 4}'",
        "vllm serve m --model-impl transformers"}) {
    EXPECT_THAT(launched(std::string(line) + "\n").not_understood, SizeIs(1)) << line;
  }
  EXPECT_THAT(launched("vllm serve m --model-impl auto --hf-overrides '{\"rope_scaling\": "
                       "{\"rope_type\": \"yarn\", \"factor\": 4.0}}'\n")
                  .not_understood,
              IsEmpty());
}

// The place stands in a column of its own.
TEST(ServingOptionValues, ReasonsDoNotRepeatTheOption) {
  const ServingLaunch l = launched("vllm serve m --max-num-seqs many\n");
  EXPECT_THAT(l.not_understood, ElementsAre(Field(&NotUnderstood::why,
                                                  "must be a whole number from 1 to 100000000")));
}

TEST(ServingOptionValues, ASwitchWithNoInFrontIsKnown) {
  EXPECT_THAT(launched("vllm serve m --no-disable-log-requests\n").not_understood, IsEmpty());
  EXPECT_THAT(launched("vllm serve m --no-enable-brand-new\n").not_understood, SizeIs(1));
}

TEST(ServingOptionValues, AnOptionAndItsValueInOneWordAreNamed) {
  const ServingLaunch l = launched("vllm serve m '--tensor-parallel-size 4'\n");
  EXPECT_THAT(l.not_understood,
              ElementsAre(Field(&NotUnderstood::why, HasSubstr("are one word here"))));
}

// vLLM: 32k is 32,000 and 8K is 8,192.
TEST(ServingOptionValues, TokensMayHaveASuffix) {
  const ServingLaunch l =
      launched("vllm serve m --max-model-len 32k --max-num-batched-tokens 8K\n");
  EXPECT_EQ(l.pools.front().options.max_model_len, 32000);
  EXPECT_EQ(l.pools.front().options.max_num_batched_tokens, 8192);
  EXPECT_THAT(launched("vllm serve m --max-model-len -1\n").not_understood, SizeIs(1));
}

}  // namespace
}  // namespace meshwright::interop
