// SPDX-License-Identifier: Apache-2.0
// The words of configs/launchers: each has one class, and an effect if it is not modelled.
#include "interop/read_launch/launcher_words.h"

#include <gtest/gtest.h>

#include <set>

#include "interop/read_launch/megatron_arguments.h"
#include "interop/serving/serving_options.h"

namespace meshwright::interop {
namespace {

TEST(LauncherWords, EachHasOneClass) {
  EXPECT_EQ(launchers_with_words().size(), 8U);
  for (const std::string_view name : launchers_with_words()) {
    const LauncherWords& launcher = launcher_words(name);
    EXPECT_FALSE(launcher.version.empty()) << name;
    std::set<std::string> seen;
    for (const WordGroup& group : launcher.words) {
      EXPECT_EQ(group.word_class == WordClass::not_modelled, changes_answer(group.effect))
          << name << ": " << group.why;
      EXPECT_FALSE(group.why.empty() || group.names.empty()) << name;
      for (const std::string& word : group.names) {
        EXPECT_TRUE(seen.insert(word.substr(0, word.find('='))).second) << name << ": " << word;
      }
    }
  }
}

TEST(LauncherWords, NoArgumentOfMegatronIsReadAndAWord) {
  const std::vector<std::string> flags = megatron_flags();
  EXPECT_EQ(std::set<std::string>(flags.begin(), flags.end()).size(), flags.size());
  EXPECT_EQ(megatron_argument("--hidden-size")->group, nullptr);
  EXPECT_TRUE(megatron_argument("--log-interval")->is_of(WordClass::harmless));
  const MegatronArgument* fusion = megatron_argument("--no-rope-fusion");
  EXPECT_TRUE(fusion->is_of(WordClass::not_modelled));
  EXPECT_EQ(fusion->key, "apply_rope_fusion");
  EXPECT_EQ(fusion->kind, ArgumentKind::off);
}

TEST(LauncherWords, AreFoundByTheLastPartOfAKeyOrByTheirBeginning) {
  const LauncherWords& accelerate = launcher_words("accelerate");
  const WordGroup* offload =
      group_of(accelerate, "fsdp_config.fsdp_activation_checkpointing_offload");
  ASSERT_NE(offload, nullptr);
  EXPECT_EQ(offload->effect, OptionEffect::memory);
  EXPECT_EQ(group_of(accelerate, "fp8_config.opt_level")->effect, OptionEffect::precision);
  EXPECT_EQ(group_of(accelerate, "fsdp_version"), nullptr);
}

// argparse completes "--max-num-b" to the one option that begins so. "--max-num" begins several.
// TensorRT-LLM's parser completes none.
TEST(LauncherWords, ServingOptionsMayBeBeginnings) {
  const ServingOption* tokens = serving_option(EngineKind::vllm, "max-num-batched-tokens");
  EXPECT_EQ(serving_option(EngineKind::vllm, "max-num-b"), tokens);
  EXPECT_EQ(serving_option(EngineKind::vllm, "max-num"), nullptr);
  EXPECT_EQ(serving_option(EngineKind::tensorrt_llm, "max-num-tok"), nullptr);
  EXPECT_EQ(why_unknown_option(EngineKind::vllm, "max-num-seq"),
            "is no known option of vLLM " + launcher_words("vllm").version +
                "; the nearest is --max-num-seqs");
}

}  // namespace
}  // namespace meshwright::interop
