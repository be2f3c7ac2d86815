// SPDX-License-Identifier: Apache-2.0
// Rules of tensor ranks: heads, widths and sequences that divide.
#include <gtest/gtest.h>

#include "tests/unit/sim/rules/rules_fixture.h"

namespace meshwright::rules_test {
namespace {

TEST(Rules, AttentionHeadsDivideByTensorSize) {
  EXPECT_EQ(broken(dense(), tensor(3)), "attention_heads_divide_by_tensor_size");
}

// 8 groups over 16 ranks: two ranks share a group. 6 groups over 4 ranks: neither divides.
TEST(Rules, QueryGroupsDivideByTensorSizeOrAreShared) {
  EXPECT_EQ(broken(dense(), tensor(16)), kNone);
  Model model = dense();
  model.num_query_groups = 6;
  EXPECT_EQ(broken(model, tensor(4)), "query_groups_divide_by_tensor_size");
}

TEST(Rules, FfnDividesByTensorSize) {
  Model model = dense();
  model.ffn_hidden_size = 24577;
  EXPECT_EQ(broken(model, tensor(2)), "ffn_divides_by_tensor_size");
  Model shared = sparse();
  shared.moe->moe_shared_expert_intermediate_size = 1537;
  EXPECT_EQ(broken(shared, tensor(2, true)), "ffn_divides_by_tensor_size");
}

TEST(Rules, HiddenDividesByTensorSize) {
  Model model = dense();
  model.hidden_size = 6145;
  EXPECT_EQ(broken(model, tensor(2)), "hidden_divides_by_tensor_size");
}

TEST(Rules, ModelsWithoutAttentionSkipHeads) {
  Model model = dense();
  model.num_attention_heads = 0;
  model.num_query_groups = 0;
  EXPECT_EQ(broken(model, tensor(3)), kNone);
}

TEST(Rules, SequenceDividesBySequenceParallelSize) {
  Job job = batch_of(64);
  job.seq_length = 2050;
  const auto violation = check_layout(dense(), job, tensor(4, true), {});
  ASSERT_TRUE(violation);
  EXPECT_EQ(rule_text(violation->rule).name, "sequence_divides_by_sequence_parallel_size");
}

TEST(Rules, SequenceParallelNeedsTensorParallel) {
  EXPECT_EQ(broken(dense(), tensor(1, true)), "sequence_parallel_needs_tensor_parallel");
}

}  // namespace

std::vector<Broken> tensor_cases() {
  return {
      with({"world_size_equals_gpus",
            "tensor_parallel_size 8 x pipeline_parallel_size 1 x data_parallel_size 1 x "
            "context_parallel_size 1 is 8 ranks, there are 16 GPUs"},
           [](Broken& b) { b.layout = tensor(8), b.devices.gpus = 16; }),
      with({"attention_heads_divide_by_tensor_size",
            "num_attention_heads 64 is not divisible by tensor_parallel_size 3"},
           [](Broken& b) { b.layout = tensor(3); }),
      with({"query_groups_divide_by_tensor_size",
            "num_query_groups 6 is neither a multiple nor a divisor of tensor_parallel_size 4"},
           [](Broken& b) { b.layout = tensor(4), b.model.num_query_groups = 6; }),
      with({"ffn_divides_by_tensor_size",
            "ffn_hidden_size 24577 is not divisible by tensor_parallel_size 2"},
           [](Broken& b) { b.layout = tensor(2), b.model.ffn_hidden_size = 24577; }),
      with({"ffn_divides_by_tensor_size",
            "moe_shared_expert_intermediate_size 1537 is not divisible by tensor_parallel_size 2"},
           [](Broken& b) {
             b.model = sparse(), b.layout = tensor(2, true);
             b.model.moe->moe_shared_expert_intermediate_size = 1537;
           }),
      with({"hidden_divides_by_tensor_size",
            "hidden_size 6145 is not divisible by tensor_parallel_size 2"},
           [](Broken& b) { b.layout = tensor(2), b.model.hidden_size = 6145; }),
      with({"sequence_divides_by_sequence_parallel_size",
            "seq_length 2050 is not divisible by tensor_parallel_size 4 x context_parallel_size 1 "
            "with sequence_parallel on"},
           [](Broken& b) { b.layout = tensor(4, true), b.seq_length = 2050; }),
      with({"sequence_parallel_needs_tensor_parallel",
            "sequence_parallel is on with tensor_parallel_size 1"},
           [](Broken& b) { b.layout = tensor(1, true); }),
  };
}

}  // namespace meshwright::rules_test
