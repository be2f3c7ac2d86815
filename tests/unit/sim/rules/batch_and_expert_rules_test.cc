// SPDX-License-Identifier: Apache-2.0
// Rules of batches, context ranks and experts.
#include <gtest/gtest.h>

#include "tests/unit/sim/rules/rules_fixture.h"

namespace meshwright::rules_test {
namespace {

TEST(Rules, BatchDividesByMicroBatchTimesData) {
  Layout layout;
  layout.micro_batch_size = 3;
  EXPECT_EQ(broken(dense(), layout), "batch_divides_by_micro_batch_times_data");
  layout.micro_batch_size = 128;
  EXPECT_EQ(broken(dense(), layout), "batch_divides_by_micro_batch_times_data");
}

TEST(Rules, SequenceDividesByContextSize) {
  Layout layout;
  layout.context_parallel_size = 3;
  EXPECT_EQ(broken(dense(), layout), "sequence_divides_by_context_size");
  // Each rank has an early and a late piece: 2048 tokens are not 2 x 2048 pieces.
  layout.context_parallel_size = 2048;
  EXPECT_EQ(broken(dense(), layout), "sequence_divides_by_context_size");
}

// 8 key-value heads over tensor size 4 leave 2 per rank: an all-to-all over 2 ranks, not over 4.
TEST(Rules, UlyssesHeadsDivideByContextSize) {
  Layout layout = tensor(4);
  layout.cp_comm_type = ContextParallelAlgorithm::a2a;
  layout.context_parallel_size = 2;
  EXPECT_EQ(broken(dense(), layout), kNone);
  layout.context_parallel_size = 4;
  EXPECT_EQ(broken(dense(), layout), "ulysses_heads_divide_by_context_size");
}

TEST(Rules, HierarchicalContextSizeDivides) {
  Layout layout;
  layout.cp_comm_type = ContextParallelAlgorithm::a2a_p2p;
  layout.context_parallel_size = 4;
  EXPECT_EQ(broken(dense(), layout), "hierarchical_context_size_divides");
  layout.hierarchical_context_parallel_size = 8;
  EXPECT_EQ(broken(dense(), layout), "hierarchical_context_size_divides");
  layout.hierarchical_context_parallel_size = 2;
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, ExpertsDivideByExpertSize) {
  Layout layout;
  layout.data_parallel_size = 16;
  layout.expert_parallel_size = 16;
  EXPECT_EQ(broken(sparse(), layout), "experts_divide_by_expert_size");
}

TEST(Rules, ExpertParallelNeedsExperts) {
  Layout layout = tensor(2);
  layout.expert_tensor_parallel_size = 1;
  EXPECT_EQ(broken(dense(), layout), "expert_parallel_needs_experts");
  layout.expert_tensor_parallel_size = 0;
  layout.data_parallel_size = 2;
  layout.expert_parallel_size = 2;
  EXPECT_EQ(broken(dense(), layout), "expert_parallel_needs_experts");
}

TEST(Rules, ExpertMeshDividesWorld) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.expert_parallel_size = 8;
  EXPECT_EQ(broken(sparse(), layout), "expert_mesh_divides_world");
}

TEST(Rules, ExpertFfnDividesByExpertTensorSize) {
  Model model = sparse();
  model.moe->moe_ffn_hidden_size = 1537;
  EXPECT_EQ(broken(model, tensor(2, true)), "expert_ffn_divides_by_expert_tensor_size");
}

TEST(Rules, ExpertsWithTensorParallelNeedSequenceParallel) {
  EXPECT_EQ(broken(sparse(), tensor(2)), "experts_with_tensor_parallel_need_sequence_parallel");
  EXPECT_EQ(broken(sparse(), tensor(2, true)), kNone);
}

TEST(Rules, TokensTravelBesideTheOtherPassWhereTheScheduleHasPairs) {
  Layout layout = piped(2, PipelineSchedule::dualpipe, 2);
  layout.data_parallel_size = layout.expert_parallel_size = 8;
  layout.overlap_moe_expert_parallel_comm = true;
  EXPECT_EQ(broken(sparse(), layout), kNone);
  layout.schedule = PipelineSchedule::one_f_one_b;
  layout.virtual_pipeline_parallel_size = 1;
  EXPECT_EQ(broken(sparse(), layout), "token_overlap_needs_virtual_stages");
}

}  // namespace

std::vector<Broken> batch_and_expert_cases() {
  const auto context = [](ContextParallelAlgorithm how, int size) {
    Layout layout = tensor(4);
    layout.cp_comm_type = how;
    layout.context_parallel_size = size;
    return layout;
  };
  return {
      with({"batch_divides_by_micro_batch_times_data",
            "global_batch_size 64 is not divisible by micro_batch_size 3 x data_parallel_size 1"},
           [](Broken& b) { b.layout.micro_batch_size = 3; }),
      with({"sequence_divides_by_context_size",
            "seq_length 2048 is not divisible by 2 x context_parallel_size 3"},
           [](Broken& b) { b.layout.context_parallel_size = 3; }),
      with({"ulysses_heads_divide_by_context_size",
            "num_query_groups 8 over tensor_parallel_size 4 leave 2 per rank, not divisible by "
            "context_parallel_size 4"},
           [&](Broken& b) { b.layout = context(ContextParallelAlgorithm::a2a, 4); }),
      with(
          {"ulysses_heads_divide_by_context_size",
           "num_attention_heads 64 over tensor_parallel_size 4 leave 16 per rank, not divisible by "
           "hierarchical_context_parallel_size 32"},
          [&](Broken& b) {
            b.layout = context(ContextParallelAlgorithm::a2a_p2p, 64);
            b.layout.hierarchical_context_parallel_size = 32;
          }),
      with({"hierarchical_context_size_divides",
            "hierarchical_context_parallel_size is 0, with cp_comm_type a2a+p2p it must be at "
            "least 1"},
           [&](Broken& b) { b.layout = context(ContextParallelAlgorithm::a2a_p2p, 4); }),
      with({"hierarchical_context_size_divides",
            "context_parallel_size 4 is not divisible by hierarchical_context_parallel_size 8"},
           [&](Broken& b) {
             b.layout = context(ContextParallelAlgorithm::a2a_p2p, 4);
             b.layout.tensor_parallel_size = 1;
             b.layout.hierarchical_context_parallel_size = 8;
           }),
      with({"experts_divide_by_expert_size",
            "num_moe_experts 8 is not divisible by expert_parallel_size 16"},
           [](Broken& b) {
             b.model = sparse();
             b.layout.data_parallel_size = b.layout.expert_parallel_size = 16;
           }),
      with({"expert_parallel_needs_experts",
            "expert_parallel_size is 2 and expert_tensor_parallel_size 1, but the model has no "
            "experts"},
           [](Broken& b) { b.layout.data_parallel_size = b.layout.expert_parallel_size = 2; }),
      with({"expert_mesh_divides_world",
            "tensor_parallel_size 1 x data_parallel_size 4 x context_parallel_size 1 is 4, not "
            "divisible by expert_tensor_parallel_size 1 x expert_parallel_size 8"},
           [](Broken& b) {
             b.model = sparse();
             b.layout.data_parallel_size = 4, b.layout.expert_parallel_size = 8;
           }),
      with({"expert_ffn_divides_by_expert_tensor_size",
            "moe_ffn_hidden_size 1537 is not divisible by expert_tensor_parallel_size 2"},
           [](Broken& b) {
             b.model = sparse(), b.model.moe->moe_ffn_hidden_size = 1537;
             b.layout = tensor(2, true);
           }),
      with({"experts_with_tensor_parallel_need_sequence_parallel",
            "sequence_parallel is off with tensor_parallel_size 2 and a model with experts"},
           [](Broken& b) { b.model = sparse(), b.layout = tensor(2); }),
      with({"token_overlap_needs_sent_tokens",
            "overlap_moe_expert_parallel_comm is on with expert_parallel_size 1 and "
            "moe_token_dispatcher_type alltoall"},
           [](Broken& b) { b.model = sparse(), b.layout.overlap_moe_expert_parallel_comm = true; }),
      with({"token_overlap_needs_sent_tokens",
            "overlap_moe_expert_parallel_comm is on with expert_parallel_size 8 and "
            "moe_token_dispatcher_type allgather"},
           [](Broken& b) {
             b = overlapping(b);
             b.layout.moe_token_dispatcher_type = MoeTokenDispatcherType::allgather;
           }),
      with({"token_overlap_needs_virtual_stages",
            "overlap_moe_expert_parallel_comm is on with pipeline_parallel_size 2 and "
            "virtual_pipeline_parallel_size 1"},
           [](Broken& b) { b = overlapping(b), b.layout.pipeline_parallel_size = 2; }),
      with({"token_overlap_forbids_recomputed_experts",
            "overlap_moe_expert_parallel_comm is on with full recompute"},
           [](Broken& b) {
             b = overlapping(b), b.layout.recompute_granularity = RecomputeGranularity::full;
           }),
      with({"token_overlap_forbids_shared_expert_overlap",
            "overlap_moe_expert_parallel_comm and moe_shared_expert_overlap are both on"},
           [](Broken& b) { b = overlapping(b), b.layout.moe_shared_expert_overlap = true; }),
      with({"delay_wgrad_compute_needs_token_overlap",
            "delay_wgrad_compute is on without overlap_moe_expert_parallel_comm"},
           [](Broken& b) { b.model = sparse(), b.layout.delay_wgrad_compute = true; }),
      with({"whole_step_graph_needs_fixed_sizes",
            "cuda_graph_impl is full_iteration with moe_token_dispatcher_type flex and "
            "moe_flex_dispatcher_backend deepep"},
           [](Broken& b) {
             b = overlapping(b), b.layout.cuda_graph_impl = CudaGraphImpl::full_iteration;
             b.layout.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
           }),
  };
}

}  // namespace meshwright::rules_test
