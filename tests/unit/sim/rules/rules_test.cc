// SPDX-License-Identifier: Apache-2.0
#include "sim/rules/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace meshwright {
namespace {

using testing::HasSubstr;

Model dense() {
  Model model;
  model.num_layers = 48;
  model.hidden_size = 6144;
  model.ffn_hidden_size = 24576;
  model.num_attention_heads = 64;
  model.num_query_groups = 8;
  model.kv_channels = 96;
  model.vocab_size = 51200;
  return model;
}

Model sparse() {
  Model model = dense();
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 8;
  model.moe->moe_router_topk = 2;
  model.moe->moe_ffn_hidden_size = 1536;
  return model;
}

Job batch_of(int sequences) {
  Job job;
  job.seq_length = 2048;
  job.global_batch_size = sequences;
  return job;
}

// The rule that a layout of 64 sequences violates; nothing is reported as nothing.
std::optional<Rule> broken(const Model& model, const Layout& layout, int sequences = 64) {
  const auto violation = check_layout(model, batch_of(sequences), layout, 0);
  if (!violation) return std::nullopt;
  return violation->rule;
}

Layout piped(int stages, PipelineSchedule schedule = PipelineSchedule::one_f_one_b,
             int chunks = 1) {
  Layout layout;
  layout.pipeline_parallel_size = stages;
  layout.schedule = schedule;
  layout.virtual_pipeline_parallel_size = chunks;
  return layout;
}

Layout tensor(int size, bool sequence_parallel = false) {
  Layout layout;
  layout.tensor_parallel_size = size;
  layout.sequence_parallel = sequence_parallel;
  return layout;
}

TEST(Rules, EveryRuleHasTextAndItsOwnName) {
  std::set<std::string_view> names;
  ASSERT_EQ(all_rules().size(), static_cast<std::size_t>(kNumRules));
  for (const RuleText& text : all_rules()) {
    EXPECT_TRUE(names.insert(text.name).second) << text.name;
    EXPECT_EQ(rule_text(text.rule).name, text.name);
    for (const auto part : {text.requirement, text.reason, text.remedy}) {
      ASSERT_GT(part.size(), 10U) << text.name;
      EXPECT_EQ(part.back(), '.') << text.name;
    }
  }
}

TEST(Rules, LegalLayoutsViolateNothing) {
  EXPECT_EQ(broken(dense(), Layout{}), std::nullopt);
  EXPECT_EQ(broken(dense(), tensor(8, true)), std::nullopt);
  EXPECT_EQ(broken(dense(), piped(8)), std::nullopt);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 3)), std::nullopt);
  for (const auto schedule :
       {PipelineSchedule::gpipe, PipelineSchedule::zb_h1, PipelineSchedule::zb_h2}) {
    EXPECT_EQ(broken(dense(), piped(8, schedule)), std::nullopt);
  }
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_v, 2)), std::nullopt);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::dualpipe, 2)), std::nullopt);
  Layout experts;
  experts.data_parallel_size = 8;
  experts.expert_parallel_size = 8;
  experts.zero_stage = 3;
  EXPECT_EQ(broken(sparse(), experts), std::nullopt);
}

TEST(Rules, WorldSizeEqualsGpus) {
  const auto violation = check_layout(dense(), batch_of(64), tensor(8), 16);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->rule, Rule::world_size_equals_gpus);
  EXPECT_EQ(violation->needed, 8);
  EXPECT_EQ(violation->available, 16);
  EXPECT_FALSE(check_layout(dense(), batch_of(64), tensor(8), 8));
}

TEST(Rules, AttentionHeadsDivideByTensorSize) {
  EXPECT_EQ(broken(dense(), tensor(3)), Rule::attention_heads_divide_by_tensor_size);
}

// 8 groups over 16 ranks: two ranks share a group. 6 groups over 4 ranks: neither divides.
TEST(Rules, QueryGroupsDivideByTensorSizeOrAreShared) {
  EXPECT_EQ(broken(dense(), tensor(16)), std::nullopt);
  Model model = dense();
  model.num_query_groups = 6;
  EXPECT_EQ(broken(model, tensor(4)), Rule::query_groups_divide_by_tensor_size);
}

TEST(Rules, FfnDividesByTensorSize) {
  Model model = dense();
  model.ffn_hidden_size = 24577;
  EXPECT_EQ(broken(model, tensor(2)), Rule::ffn_divides_by_tensor_size);
  Model shared = sparse();
  shared.moe->moe_shared_expert_intermediate_size = 1537;
  EXPECT_EQ(broken(shared, tensor(2, true)), Rule::ffn_divides_by_tensor_size);
}

TEST(Rules, HiddenDividesByTensorSize) {
  Model model = dense();
  model.hidden_size = 6145;
  EXPECT_EQ(broken(model, tensor(2)), Rule::hidden_divides_by_tensor_size);
}

TEST(Rules, ModelsWithoutAttentionSkipHeads) {
  Model model = dense();
  model.num_attention_heads = 0;
  model.num_query_groups = 0;
  EXPECT_EQ(broken(model, tensor(3)), std::nullopt);
}

TEST(Rules, SequenceDividesBySequenceParallelSize) {
  Job job = batch_of(64);
  job.seq_length = 2050;
  const auto violation = check_layout(dense(), job, tensor(4, true), 0);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->rule, Rule::sequence_divides_by_sequence_parallel_size);
}

TEST(Rules, SequenceParallelNeedsTensorParallel) {
  EXPECT_EQ(broken(dense(), tensor(1, true)), Rule::sequence_parallel_needs_tensor_parallel);
}

TEST(Rules, LayersDivideByPipelineSize) {
  EXPECT_EQ(broken(dense(), piped(5)), Rule::layers_divide_by_pipeline_size);
  EXPECT_EQ(broken(dense(), piped(96)), Rule::layers_divide_by_pipeline_size);
  Layout layout = piped(5);
  layout.num_layers_in_first_pipeline_stage = 8;  // 40 / 4
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
}

TEST(Rules, LayersDivideByVirtualPipelineSize) {
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 4)),
            Rule::layers_divide_by_virtual_pipeline_size);
}

TEST(Rules, InterleavingNeedsPipeline) {
  EXPECT_EQ(broken(dense(), piped(1, PipelineSchedule::interleaved, 2)),
            Rule::interleaving_needs_pipeline);
  Layout layout = piped(2, PipelineSchedule::interleaved, 2);
  EXPECT_EQ(broken(dense(), layout), Rule::interleaving_needs_pipeline);
  layout.overlap_p2p_comm = true;
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
}

TEST(Rules, InterleavingNeedsMicroBatchesMultipleOfPipeline) {
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 3), 60),
            Rule::interleaving_needs_micro_batches_multiple_of_pipeline);
}

TEST(Rules, ScheduleNeedsPipeline) {
  EXPECT_EQ(broken(dense(), piped(1, PipelineSchedule::zb_h1)), Rule::schedule_needs_pipeline);
}

TEST(Rules, ScheduleFixesVirtualSize) {
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_v, 1)),
            Rule::schedule_fixes_virtual_size);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::one_f_one_b, 2)),
            Rule::schedule_fixes_virtual_size);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 1)),
            Rule::schedule_fixes_virtual_size);
}

// 8 stages: ZB-H2 needs 15 micro-batches, DualPipe 16 and an even number.
TEST(Rules, ScheduleNeedsMicroBatches) {
  const Rule rule = Rule::schedule_needs_micro_batches;
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_h2), 14), rule);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_h2), 15), std::nullopt);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::dualpipe, 2), 14), rule);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::dualpipe, 2), 17), rule);
}

// Nanotron's engine asserts p - 1 micro-batches; its stages need not divide, but each needs a
// block, and their number is nobody else's to give.
TEST(Rules, NanotronNeedsFilledStagesAndMicroBatches) {
  Layout layout = piped(8);
  layout.pipeline_engine = PipelineEngine::nanotron;
  EXPECT_EQ(broken(dense(), layout, 7), std::nullopt);
  EXPECT_EQ(broken(dense(), layout, 6), Rule::schedule_needs_micro_batches);
  layout.num_layers_in_first_pipeline_stage = 1;
  EXPECT_EQ(broken(dense(), layout), Rule::one_way_of_uneven_stages);
  layout = piped(4 * dense().num_layers);
  layout.pipeline_engine = PipelineEngine::nanotron;
  EXPECT_EQ(broken(dense(), layout), Rule::layers_divide_by_pipeline_size);
}

TEST(Rules, DualPipeNeedsEvenPipeline) {
  EXPECT_EQ(broken(dense(), piped(3, PipelineSchedule::dualpipe, 2)),
            Rule::dualpipe_needs_even_pipeline);
}

TEST(Rules, UnevenStagesLeaveLayersForTheRest) {
  const Rule rule = Rule::uneven_stages_leave_layers_for_the_rest;
  Layout layout = piped(4);
  layout.num_layers_in_first_pipeline_stage = 24;
  layout.num_layers_in_last_pipeline_stage = 24;
  EXPECT_EQ(broken(dense(), layout), rule);
  layout.pipeline_parallel_size = 2;
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
  layout.num_layers_in_last_pipeline_stage = 23;
  EXPECT_EQ(broken(dense(), layout), rule);
  layout.pipeline_parallel_size = 1;
  EXPECT_EQ(broken(dense(), layout), rule);
}

TEST(Rules, BatchDividesByMicroBatchTimesData) {
  Layout layout;
  layout.micro_batch_size = 3;
  EXPECT_EQ(broken(dense(), layout), Rule::batch_divides_by_micro_batch_times_data);
  layout.micro_batch_size = 128;
  EXPECT_EQ(broken(dense(), layout), Rule::batch_divides_by_micro_batch_times_data);
}

TEST(Rules, SequenceDividesByContextSize) {
  Layout layout;
  layout.context_parallel_size = 3;
  EXPECT_EQ(broken(dense(), layout), Rule::sequence_divides_by_context_size);
}

// 8 key-value heads over tensor size 4 leave 2 a rank: an all-to-all over 2 ranks, not over 4.
TEST(Rules, UlyssesHeadsDivideByContextSize) {
  Layout layout = tensor(4);
  layout.cp_comm_type = ContextParallelAlgorithm::a2a;
  layout.context_parallel_size = 2;
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
  layout.context_parallel_size = 4;
  EXPECT_EQ(broken(dense(), layout), Rule::ulysses_heads_divide_by_context_size);
}

TEST(Rules, HierarchicalContextSizeDivides) {
  Layout layout;
  layout.cp_comm_type = ContextParallelAlgorithm::a2a_p2p;
  layout.context_parallel_size = 4;
  EXPECT_EQ(broken(dense(), layout), Rule::hierarchical_context_size_divides);
  layout.hierarchical_context_parallel_size = 8;
  EXPECT_EQ(broken(dense(), layout), Rule::hierarchical_context_size_divides);
  layout.hierarchical_context_parallel_size = 2;
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
}

TEST(Rules, ExpertsDivideByExpertSize) {
  Layout layout;
  layout.data_parallel_size = 16;
  layout.expert_parallel_size = 16;
  EXPECT_EQ(broken(sparse(), layout), Rule::experts_divide_by_expert_size);
}

TEST(Rules, ExpertParallelNeedsExperts) {
  Layout layout = tensor(2);
  layout.expert_tensor_parallel_size = 1;
  EXPECT_EQ(broken(dense(), layout), Rule::expert_parallel_needs_experts);
  layout.expert_tensor_parallel_size = 0;
  layout.data_parallel_size = 2;
  layout.expert_parallel_size = 2;
  EXPECT_EQ(broken(dense(), layout), Rule::expert_parallel_needs_experts);
}

TEST(Rules, ExpertMeshDividesWorld) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.expert_parallel_size = 8;
  EXPECT_EQ(broken(sparse(), layout), Rule::expert_mesh_divides_world);
}

TEST(Rules, ExpertFfnDividesByExpertTensorSize) {
  Model model = sparse();
  model.moe->moe_ffn_hidden_size = 1537;
  EXPECT_EQ(broken(model, tensor(2, true)), Rule::expert_ffn_divides_by_expert_tensor_size);
}

TEST(Rules, ExpertsWithTensorParallelNeedSequenceParallel) {
  EXPECT_EQ(broken(sparse(), tensor(2)), Rule::experts_with_tensor_parallel_need_sequence_parallel);
  EXPECT_EQ(broken(sparse(), tensor(2, true)), std::nullopt);
}

TEST(Rules, ZeroShardSizeDividesData) {
  Layout layout;
  layout.data_parallel_size = 8;
  layout.zero_stage = 3;
  layout.zero_shard_size = 3;
  EXPECT_EQ(broken(dense(), layout), Rule::zero_shard_size_divides_data);
  layout.zero_shard_size = 4;
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
}

TEST(Rules, ShardingOverOneRankIsLegalAndChangesNothing) {
  Layout layout;
  layout.zero_stage = 1;
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
}

TEST(Rules, Zero23ForbidsPipeline) {
  Layout layout = piped(2);
  layout.data_parallel_size = 2;
  layout.zero_stage = 2;
  EXPECT_EQ(broken(dense(), layout), Rule::zero_2_3_forbids_pipeline);
  layout.zero_stage = 1;
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
}

TEST(Rules, OverlapParamGatherNeedsOverlapGradReduceAndAShardedOptimizer) {
  Layout layout;
  layout.data_parallel_size = 2;
  layout.overlap_param_gather = true;
  EXPECT_EQ(broken(dense(), layout), Rule::overlap_param_gather_needs_overlap_grad_reduce);
  layout.overlap_grad_reduce = true;
  EXPECT_EQ(broken(dense(), layout), Rule::overlap_param_gather_needs_sharded_optimizer);
  layout.zero_stage = 1;
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
}

TEST(Rules, TpCommOverlapNeedsSequenceParallel) {
  Layout layout = tensor(2);
  layout.tp_comm_overlap = true;
  EXPECT_EQ(broken(dense(), layout), Rule::tp_comm_overlap_needs_sequence_parallel);
}

TEST(Rules, RecomputeLayersWithinStage) {
  Layout layout = piped(8);  // 6 layers each
  layout.recompute_granularity = RecomputeGranularity::full;
  layout.recompute_num_layers = 7;
  EXPECT_EQ(broken(dense(), layout), Rule::recompute_layers_within_stage);
  layout.recompute_num_layers = 6;
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
}

TEST(Rules, OffloadedLayersWithinStage) {
  Layout layout = piped(8);
  layout.cpu_offloading_num_layers = 6;
  EXPECT_EQ(broken(dense(), layout), Rule::offloaded_layers_within_stage);
  layout.cpu_offloading_num_layers = 5;
  EXPECT_EQ(broken(dense(), layout), std::nullopt);
}

TEST(Rules, DescriptionsNameTheNumbers) {
  const Job job = batch_of(64);
  const Layout layout = tensor(3);
  const auto violation = check_layout(dense(), job, layout, 0);
  ASSERT_TRUE(violation);
  EXPECT_EQ(describe(*violation, dense(), job, layout),
            "64 attention heads do not divide by tensor size 3");
  const Violation memory{Rule::memory_capacity, gibibytes(96).value(), gibibytes(80).value()};
  EXPECT_THAT(describe(memory, dense(), job, Layout{}), HasSubstr("96.00 GiB of 80.00 GiB"));
}

TEST(Rules, EveryRuleHasADescription) {
  for (const RuleText& text : all_rules()) {
    const std::string sentence =
        describe(Violation{text.rule, 2, 3}, dense(), batch_of(64), piped(2));
    EXPECT_GT(sentence.size(), 15U) << text.name;
  }
}

}  // namespace
}  // namespace meshwright
