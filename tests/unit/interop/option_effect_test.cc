// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/option_effect.h"

#include <gtest/gtest.h>

namespace meshwright::interop {
namespace {

std::string_view field(std::string_view key) {
  const SizeSpelling* size = size_spelled(key);
  return size == nullptr ? "" : size->field;
}

TEST(OptionEffect, SizesAreFoundInAnySpelling) {
  for (const char* key : {"tp", "--tp", "TP_SIZE", "ACTOR_TP", "--tensor_model_parallel_size",
                          "tensor-parallel-size", "actor.megatron.tensor_model_parallel_size",
                          "model_parallel_size", "parallelism.tensor_parallel_degree"}) {
    EXPECT_EQ(field(key), "tensor_parallel_size") << key;
  }
  EXPECT_EQ(field("ep_size"), "expert_parallel_size");
  EXPECT_EQ(field("expert_tensor_parallel_size"), "expert_tensor_parallel_size");
  EXPECT_EQ(field("pipe-parallel-size"), "pipeline_parallel_size");
  EXPECT_EQ(field("per_device_train_batch_size"), "micro_batch_size");
  EXPECT_EQ(field("ulysses_sequence_parallel_size"), "context_parallel_size");
  for (const char* key : {"--sequence-parallel", "step", "per_device_eval_batch_size", "rollout.tp",
                          "validation.seq_len", "--hidden-size"}) {
    EXPECT_EQ(field(key), "") << key;
  }
}

TEST(OptionEffect, NamesSayWhatMayChange) {
  using enum OptionEffect;
  for (const auto& [key, effect] : {std::pair{"--lr-warmup-of-tomorrow", none},
                                    {"wandb_run_group", none},
                                    {"--save-every", none},
                                    {"dataset.num_workers", none},
                                    {"model.optim.lr", none},
                                    {"--moe-aux-loss-coeff", none},
                                    {"load_in_4bit", precision},
                                    {"--fp8-params", precision},
                                    {"--linear-attention-x", attention},
                                    {"sliding_window", attention},
                                    {"activation_offload", memory},
                                    {"fsdp_reshard", memory},
                                    {"use_lora", optimizer},
                                    {"optimizer.kind", optimizer},
                                    {"--overlap-everything", schedule},
                                    {"torch_compile", schedule},
                                    {"num_experts_of_tomorrow", sizes},
                                    {"--of-tomorrow", unknown}}) {
    EXPECT_EQ(name_of(effect_of(key)), name_of(effect)) << key;
  }
  EXPECT_FALSE(changes_answer(none));
  EXPECT_FALSE(changes_answer(unknown));
  EXPECT_TRUE(changes_answer(sizes));
}

TEST(OptionEffect, OneIsNoSize) {
  for (const char* word : {"1", "0", "-1", "none", "None", "false", "auto", "null"}) {
    EXPECT_TRUE(is_off({.key = "tp", .words = {word}, .said = "", .place = {}})) << word;
  }
  EXPECT_FALSE(is_off({.key = "tp", .words = {"2"}, .said = "", .place = {}}));
  EXPECT_FALSE(is_off({.key = "tp", .words = {}, .said = "", .place = {}}));
}

}  // namespace
}  // namespace meshwright::interop
