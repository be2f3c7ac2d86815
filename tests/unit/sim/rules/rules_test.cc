// SPDX-License-Identifier: Apache-2.0
#include "sim/rules/rules.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace meshwright {
namespace {

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

constexpr std::string_view kNone;

// The rule that a layout of 64 sequences violates.
std::string_view broken(const Model& model, const Layout& layout, int sequences = 64) {
  const auto violation = check_layout(model, batch_of(sequences), layout, {});
  return violation ? rule_text(violation->rule).name : kNone;
}

Layout piped(int stages, PipelineSchedule schedule = PipelineSchedule::one_f_one_b,
             int chunks = 1) {
  Layout layout;
  layout.pipeline_parallel_size = stages;
  layout.schedule = schedule;
  layout.virtual_pipeline_parallel_size = chunks;
  return layout;
}

Layout selective(unsigned modules) {
  Layout layout;
  layout.recompute_granularity = RecomputeGranularity::selective;
  layout.recompute_modules = {static_cast<std::uint8_t>(modules)};
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
  EXPECT_EQ(broken(dense(), Layout{}), kNone);
  EXPECT_EQ(broken(dense(), tensor(8, true)), kNone);
  EXPECT_EQ(broken(dense(), piped(8)), kNone);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 3)), kNone);
  for (const auto schedule :
       {PipelineSchedule::gpipe, PipelineSchedule::zb_h1, PipelineSchedule::zb_h2}) {
    EXPECT_EQ(broken(dense(), piped(8, schedule)), kNone);
  }
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_v, 2)), kNone);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::dualpipe, 2)), kNone);
  Layout experts;
  experts.data_parallel_size = 8;
  experts.expert_parallel_size = 8;
  experts.zero_stage = 3;
  EXPECT_EQ(broken(sparse(), experts), kNone);
}

TEST(Rules, WorldSizeEqualsGpus) {
  const auto violation = check_layout(dense(), batch_of(64), tensor(8), {.gpus = 16});
  ASSERT_TRUE(violation);
  EXPECT_EQ(rule_text(violation->rule).name, "world_size_equals_gpus");
  EXPECT_EQ(violation->needed, 8);
  EXPECT_EQ(violation->available, 16);
  EXPECT_FALSE(check_layout(dense(), batch_of(64), tensor(8), {.gpus = 8}));
}

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

TEST(Rules, LayersDivideByPipelineSize) {
  EXPECT_EQ(broken(dense(), piped(5)), "layers_divide_by_pipeline_size");
  EXPECT_EQ(broken(dense(), piped(96)), "layers_divide_by_pipeline_size");
  Layout layout = piped(5);
  layout.num_layers_in_first_pipeline_stage = 8;  // 40 / 4
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, LayersDivideByVirtualPipelineSize) {
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 4)),
            "layers_divide_by_virtual_pipeline_size");
}

TEST(Rules, InterleavingNeedsPipeline) {
  EXPECT_EQ(broken(dense(), piped(1, PipelineSchedule::interleaved, 2)),
            "interleaving_needs_pipeline");
  Layout layout = piped(2, PipelineSchedule::interleaved, 2);
  EXPECT_EQ(broken(dense(), layout), "interleaving_needs_pipeline");
  layout.overlap_p2p_comm = true;
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, InterleavingNeedsMicroBatchesMultipleOfPipeline) {
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 3), 60),
            "interleaving_needs_micro_batches_multiple_of_pipeline");
}

TEST(Rules, ScheduleNeedsPipeline) {
  EXPECT_EQ(broken(dense(), piped(1, PipelineSchedule::zb_h1)), "schedule_needs_pipeline");
}

TEST(Rules, ScheduleFixesVirtualSize) {
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_v, 1)), "schedule_fixes_virtual_size");
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::one_f_one_b, 2)),
            "schedule_fixes_virtual_size");
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 1)),
            "schedule_fixes_virtual_size");
}

// 8 stages: ZB-H2 needs 15 micro-batches, DualPipe 16 and an even number.
TEST(Rules, ScheduleNeedsMicroBatches) {
  const std::string_view rule = "schedule_needs_micro_batches";
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_h2), 14), rule);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_h2), 15), kNone);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::dualpipe, 2), 14), rule);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::dualpipe, 2), 17), rule);
}

// Nanotron's engine asserts p - 1 micro-batches; its stages need not divide, but each needs a
// block, and their number is nobody else's to give.
TEST(Rules, NanotronNeedsFilledStagesAndMicroBatches) {
  Layout layout = piped(8);
  layout.pipeline_engine = PipelineEngine::nanotron;
  EXPECT_EQ(broken(dense(), layout, 7), kNone);
  EXPECT_EQ(broken(dense(), layout, 6), "schedule_needs_micro_batches");
  layout.num_layers_in_first_pipeline_stage = 1;
  EXPECT_EQ(broken(dense(), layout), "one_way_of_uneven_stages");
  layout = piped(4 * dense().num_layers);
  layout.pipeline_engine = PipelineEngine::nanotron;
  EXPECT_EQ(broken(dense(), layout), "layers_divide_by_pipeline_size");
}

TEST(Rules, DualPipeNeedsEvenPipeline) {
  EXPECT_EQ(broken(dense(), piped(3, PipelineSchedule::dualpipe, 2)),
            "dualpipe_needs_even_pipeline");
}

TEST(Rules, UnevenStagesLeaveLayersForTheRest) {
  const std::string_view rule = "uneven_stages_leave_layers_for_the_rest";
  Layout layout = piped(4);
  layout.num_layers_in_first_pipeline_stage = 24;
  layout.num_layers_in_last_pipeline_stage = 24;
  EXPECT_EQ(broken(dense(), layout), rule);
  layout.pipeline_parallel_size = 2;
  EXPECT_EQ(broken(dense(), layout), kNone);
  layout.num_layers_in_last_pipeline_stage = 23;
  EXPECT_EQ(broken(dense(), layout), rule);
  layout.pipeline_parallel_size = 1;
  EXPECT_EQ(broken(dense(), layout), rule);
}

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

TEST(Rules, ZeroShardSizeDividesData) {
  Layout layout;
  layout.data_parallel_size = 8;
  layout.zero_stage = 3;
  layout.zero_shard_size = 3;
  EXPECT_EQ(broken(dense(), layout), "zero_shard_size_divides_data");
  layout.zero_shard_size = 4;
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, ShardingOverOneRankIsLegalAndChangesNothing) {
  Layout layout;
  layout.zero_stage = 1;
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, Zero23ForbidsPipeline) {
  Layout layout = piped(2);
  layout.data_parallel_size = 2;
  layout.zero_stage = 2;
  EXPECT_EQ(broken(dense(), layout), "zero_2_3_forbids_pipeline");
  layout.zero_stage = 1;
  EXPECT_EQ(broken(dense(), layout), kNone);
  // FSDP keeps a stage's parameters gathered and its gradients whole.
  layout.zero_stage = 3;
  layout.fsdp_unit = FsdpUnit::block;
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, OverlapParamGatherNeedsOverlapGradReduceAndAShardedOptimizer) {
  Layout layout;
  layout.data_parallel_size = 2;
  layout.overlap_param_gather = true;
  EXPECT_EQ(broken(dense(), layout), "overlap_param_gather_needs_overlap_grad_reduce");
  layout.overlap_grad_reduce = true;
  EXPECT_EQ(broken(dense(), layout), "overlap_param_gather_needs_sharded_optimizer");
  layout.zero_stage = 1;
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, TpCommOverlapNeedsSequenceParallel) {
  Layout layout = tensor(2);
  layout.tp_comm_overlap = true;
  EXPECT_EQ(broken(dense(), layout), "tp_comm_overlap_needs_sequence_parallel");
}

TEST(Rules, RecomputeLayersWithinStage) {
  Layout layout = piped(8);  // 6 layers each
  layout.recompute_granularity = RecomputeGranularity::full;
  layout.recompute_num_layers = 7;
  EXPECT_EQ(broken(dense(), layout), "recompute_layers_within_stage");
  layout.recompute_num_layers = 6;
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, OffloadedLayersWithinStage) {
  Layout layout;
  layout.cpu_offloading_num_layers = 48;
  EXPECT_EQ(broken(dense(), layout), "offloaded_layers_within_stage");
  layout.cpu_offloading_num_layers = 47;
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, OffloadForbidsPipelineAndRecompute) {
  Layout layout = piped(8);
  layout.cpu_offloading_num_layers = 1;
  EXPECT_EQ(broken(dense(), layout), "offload_forbids_pipeline");
  layout.pipeline_parallel_size = 1;
  layout.recompute_granularity = RecomputeGranularity::selective;
  EXPECT_EQ(broken(dense(), layout), "offload_forbids_recompute");
}

TEST(Rules, TpCommOverlapStaysInTheFastDomain) {
  Layout layout = tensor(16, true);
  layout.tp_comm_overlap = true;
  const auto in_nodes_of = [&](int devices) {
    return check_layout(dense(), batch_of(64), layout, {.fast_domain = devices}).has_value();
  };
  EXPECT_TRUE(in_nodes_of(8));
  EXPECT_FALSE(in_nodes_of(16));
}

TEST(Rules, AreFoundByTheirNames) {
  EXPECT_EQ(rule_named("memory_capacity"), Rule::memory_capacity);
  EXPECT_FALSE(rule_named("no_such_rule"));
}

// A layout, model or job that breaks one rule, and what is said about it.
struct Broken {
  std::string_view rule;
  std::string_view sentence;
  Model model = dense();
  Layout layout{};
  int sequences = 64;
  int seq_length = 2048;
  Devices devices{};
  bool fp8 = false;  // with delayed scaling
  Job job{};
};

template <typename Change>
Broken with(Broken broken, const Change& change) {
  change(broken);
  return broken;
}

// Tokens over 8 ranks, hidden behind another micro-batch: breaks nothing yet.
Broken overlapping(Broken broken) {
  broken.model = sparse();
  broken.layout.data_parallel_size = broken.layout.expert_parallel_size = 8;
  broken.layout.overlap_moe_expert_parallel_comm = true;
  return broken;
}

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

PipelineLayout listed(std::string_view text) {
  return std::get<PipelineLayout>(read_pipeline_layout(text));
}

// 48 layers.
std::vector<Broken> pipeline_layout_cases() {
  return {
      with({"pipeline_layout_stands_alone",
            "pipeline_layout is Et*20|t*28L with num_layers_in_first_pipeline_stage 20, "
            "num_layers_in_last_pipeline_stage 0, account_for_embedding_in_pipeline_split off, "
            "account_for_loss_in_pipeline_split off, pipeline_engine megatron and schedule 1f1b"},
           [](Broken& b) {
             b.layout = piped(2);
             b.layout.pipeline_layout = listed("Et*20|t*28L");
             b.layout.num_layers_in_first_pipeline_stage = 20;
           }),
      with({"pipeline_layout_stands_alone",
            "pipeline_layout is Et*12|(t*12|)*2t*12L with num_layers_in_first_pipeline_stage 0, "
            "num_layers_in_last_pipeline_stage 0, account_for_embedding_in_pipeline_split off, "
            "account_for_loss_in_pipeline_split off, pipeline_engine megatron and schedule zb_v"},
           [](Broken& b) {
             b.layout = piped(2, PipelineSchedule::zb_v, 2);
             b.layout.pipeline_layout = listed("Et*12|t*12|t*12|t*12L");
           }),
      with({"pipeline_layout_fills_the_stages",
            "pipeline_layout Et*20|t*28L lists 2 chunks, pipeline_parallel_size 4 x "
            "virtual_pipeline_parallel_size 1 are 4"},
           [](Broken& b) {
             b.layout = piped(4);
             b.layout.pipeline_layout = listed("Et*20|t*28L");
           }),
      with({"pipeline_layout_holds_the_model",
            "pipeline_layout Et*20|t*27L lists 47 t and 0 m, num_layers is 48 and mtp_num_layers "
            "0"},
           [](Broken& b) {
             b.layout = piped(2);
             b.layout.pipeline_layout = listed("Et*20|t*27L");
           }),
      with({"pipeline_layout_holds_the_model",
            "pipeline_layout Et*20|t*28L lists 48 t and 0 m, num_layers is 48 and mtp_num_layers "
            "1"},
           [](Broken& b) {
             b.layout = piped(2);
             b.model.mtp_num_layers = 1;
             b.layout.pipeline_layout = listed("Et*20|t*28L");
           }),
      with({"pipeline_layout_places_mtp",
            "pipeline_layout Et*20|t*28m|m|L has m in 2 of its chunks, or in one that is not the "
            "last of a stage from the second on, with pipeline_parallel_size 4"},
           [](Broken& b) {
             b.layout = piped(4);
             b.model.mtp_num_layers = 2;
             b.layout.pipeline_layout = listed("Et*20|t*28m|m|L");
           }),
      with({"pipeline_layout_places_mtp",
            "pipeline_layout Et*20|t*28|m|L has m in 1 of its chunks, or in one that is not the "
            "last of a stage from the second on, with pipeline_parallel_size 2"},
           [](Broken& b) {
             b.layout = piped(2, PipelineSchedule::interleaved, 2);
             b.layout.overlap_p2p_comm = true;
             b.model.mtp_num_layers = 1;
             b.layout.pipeline_layout = listed("Et*20|t*28|m|L");
           }),
  };
}

std::vector<Broken> pipeline_cases() {
  return {
      with({"one_way_of_uneven_stages",
            "num_layers_in_first_pipeline_stage 8 and num_layers_in_last_pipeline_stage 0 are set "
            "beside account_for_embedding_in_pipeline_split off and "
            "account_for_loss_in_pipeline_split on"},
           [](Broken& b) {
             b.layout = piped(5);
             b.layout.num_layers_in_first_pipeline_stage = 8;
             b.layout.account_for_loss_in_pipeline_split = true;
           }),
      with({"one_way_of_uneven_stages",
            "num_layers_in_first_pipeline_stage 1 and num_layers_in_last_pipeline_stage 0 are set, "
            "account_for_embedding_in_pipeline_split off and account_for_loss_in_pipeline_split "
            "off, but pipeline_engine is nanotron"},
           [](Broken& b) {
             b.layout = piped(8);
             b.layout.pipeline_engine = PipelineEngine::nanotron;
             b.layout.num_layers_in_first_pipeline_stage = 1;
           }),
      with({"layers_divide_by_pipeline_size",
            "num_layers 48 is not divisible by pipeline_parallel_size 5"},
           [](Broken& b) { b.layout = piped(5); }),
      with({"layers_divide_by_pipeline_size",
            "num_layers 48 + 1 for embedding and loss is not divisible by pipeline_parallel_size "
            "5"},
           [](Broken& b) {
             b.layout = piped(5), b.layout.account_for_loss_in_pipeline_split = true;
           }),
      with({"layers_divide_by_pipeline_size",
            "num_layers_in_first_pipeline_stage 7 and num_layers_in_last_pipeline_stage 0 of "
            "num_layers 48 leave 41 layers, not divisible by the 4 other stages of "
            "pipeline_parallel_size 5"},
           [](Broken& b) { b.layout = piped(5), b.layout.num_layers_in_first_pipeline_stage = 7; }),
      with({"layers_divide_by_virtual_pipeline_size",
            "a stage has 6 of num_layers 48, not divisible by virtual_pipeline_parallel_size 4"},
           [](Broken& b) { b.layout = piped(8, PipelineSchedule::interleaved, 4); }),
      with({"interleaving_needs_pipeline",
            "schedule interleaved with overlap_p2p_comm off needs pipeline_parallel_size 3 or "
            "more, it is 2"},
           [](Broken& b) { b.layout = piped(2, PipelineSchedule::interleaved, 2); }),
      with({"interleaving_needs_micro_batches_multiple_of_pipeline",
            "the number of micro-batches, 60, is not divisible by pipeline_parallel_size 8"},
           [](Broken& b) {
             b.layout = piped(8, PipelineSchedule::interleaved, 3), b.sequences = 60;
           }),
      with({"schedule_needs_pipeline",
            "schedule zb_h1 needs pipeline_parallel_size 2 or more, it is 1"},
           [](Broken& b) { b.layout = piped(1, PipelineSchedule::zb_h1); }),
      with({"schedule_fixes_virtual_size",
            "schedule zb_v needs virtual_pipeline_parallel_size 2, it is 1"},
           [](Broken& b) { b.layout = piped(8, PipelineSchedule::zb_v); }),
      with({"schedule_fixes_virtual_size",
            "schedule interleaved needs virtual_pipeline_parallel_size 2 or more, it is 1"},
           [](Broken& b) { b.layout = piped(8, PipelineSchedule::interleaved); }),
      with({"schedule_needs_micro_batches",
            "schedule zb_h2 with pipeline_parallel_size 8 needs at least 15 micro-batches, there "
            "are 14"},
           [](Broken& b) { b.layout = piped(8, PipelineSchedule::zb_h2), b.sequences = 14; }),
      with({"schedule_needs_micro_batches",
            "schedule dualpipe with pipeline_parallel_size 8 needs a multiple of 2 micro-batches, "
            "there are 17"},
           [](Broken& b) { b.layout = piped(8, PipelineSchedule::dualpipe, 2), b.sequences = 17; }),
      with({"dualpipe_needs_even_pipeline",
            "schedule dualpipe needs a pipeline_parallel_size that is a multiple of 2, it is 3"},
           [](Broken& b) { b.layout = piped(3, PipelineSchedule::dualpipe, 2); }),
      with({"uneven_stages_leave_layers_for_the_rest",
            "num_layers_in_first_pipeline_stage 24 and num_layers_in_last_pipeline_stage 24 of "
            "num_layers 48 leave 0 layers for 2 other stages of pipeline_parallel_size 4"},
           [](Broken& b) {
             b.layout = piped(4);
             b.layout.num_layers_in_first_pipeline_stage = 24;
             b.layout.num_layers_in_last_pipeline_stage = 24;
           }),
  };
}

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

std::vector<Broken> library_and_format_cases() {
  const auto flex = [](Broken& b, MoeFlexDispatcherBackend backend) {
    b.model = sparse();
    b.layout.data_parallel_size = b.layout.expert_parallel_size = 8;
    b.layout.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
    b.layout.moe_flex_dispatcher_backend = backend;
  };
  return {
      with({"deepep_needs_domains_of_eight", "deepep is asked for, and NVLink joins 72 devices"},
           [&](Broken& b) {
             flex(b, MoeFlexDispatcherBackend::deepep);
             b.devices.fast_domain = 72;
           }),
      with({"fp8_dispatch_needs_library_that_sends_it",
            "tokens are to travel in fp8 with moe_token_dispatcher_type flex and "
            "moe_flex_dispatcher_backend hybridep"},
           [&](Broken& b) {
             static const Framework software = [] {
               Framework f;
               f.name = "some";
               f.experts.sends_fp8 = {false, false, true};
               return f;
             }();
             flex(b, MoeFlexDispatcherBackend::hybridep);
             b.devices.framework = &software;
             b.job.moe_dispatch_fwd_dtype = Precision::fp8;
           }),
      with({"fp8_dispatch_needs_library_that_sends_it",
            "tokens are to travel in fp8 with moe_token_dispatcher_type alltoall and "
            "moe_flex_dispatcher_backend hybridep"},
           [&](Broken& b) {
             flex(b, MoeFlexDispatcherBackend::hybridep);
             b.layout.moe_token_dispatcher_type = MoeTokenDispatcherType::alltoall;
             b.job.moe_combine_bwd_dtype = Precision::fp8;
           }),
      with({"block_scaling_needs_devices_that_have_it",
            "the devices have no scaled blocks, which mxfp8 needs"},
           [](Broken& b) {
             b.job.precision = Precision::fp8, b.job.fp8_recipe = Fp8Recipe::mxfp8;
             b.devices.block_scaling = false;
           }),
      with({"block_scaling_needs_devices_that_have_it",
            "the devices have no scaled blocks, which fp4 needs"},
           [](Broken& b) { b.job.precision = Precision::fp4, b.devices.block_scaling = false; }),
      with({"blocks_divide_widths", "a width of 2880 is not divisible by blocks of 128"},
           [](Broken& b) {
             b.job.precision = Precision::fp8, b.job.fp8_recipe = Fp8Recipe::blockwise;
             b.model.hidden_size = 2880;
           }),
  };
}

std::vector<Broken> switch_cases() {
  return {
      with({"zero_shard_size_divides_data",
            "data_parallel_size 8 x context_parallel_size 1 is not divisible by zero_shard_size 3"},
           [](Broken& b) { b.layout.data_parallel_size = 8, b.layout.zero_shard_size = 3; }),
      with({"zero_2_3_forbids_pipeline", "zero_stage is 2 with pipeline_parallel_size 2"},
           [](Broken& b) { b.layout = piped(2), b.layout.zero_stage = 2; }),
      with({"overlap_param_gather_needs_overlap_grad_reduce",
            "overlap_param_gather is on, overlap_grad_reduce is off"},
           [](Broken& b) { b.layout.overlap_param_gather = true; }),
      with({"overlap_param_gather_needs_sharded_optimizer",
            "overlap_param_gather is on with zero_stage 0"},
           [](Broken& b) { b.layout.overlap_param_gather = b.layout.overlap_grad_reduce = true; }),
      with({"tp_comm_overlap_needs_sequence_parallel",
            "tp_comm_overlap is on, sequence_parallel is off"},
           [](Broken& b) { b.layout = tensor(2), b.layout.tp_comm_overlap = true; }),
      with({"recompute_layers_within_stage",
            "recompute_num_layers is 7, the smallest stage has 6 layers"},
           [](Broken& b) {
             b.layout = piped(8), b.layout.recompute_num_layers = 7;
             b.layout.recompute_granularity = RecomputeGranularity::full;
           }),
      with({"offloaded_layers_within_stage",
            "cpu_offloading_num_layers is 48, the smallest stage has 48 layers"},
           [](Broken& b) { b.layout.cpu_offloading_num_layers = 48; }),
      with({"offload_forbids_pipeline",
            "cpu_offloading_num_layers is 1 with pipeline_parallel_size 8"},
           [](Broken& b) { b.layout = piped(8), b.layout.cpu_offloading_num_layers = 1; }),
      with({"offload_forbids_recompute",
            "cpu_offloading_num_layers is 1 with recompute_granularity full"},
           [](Broken& b) {
             b.layout.cpu_offloading_num_layers = 1;
             b.layout.recompute_granularity = RecomputeGranularity::full;
           }),
      with({"overlap_p2p_comm_needs_interleaving", "overlap_p2p_comm is on with schedule 1f1b"},
           [](Broken& b) { b.layout = piped(8), b.layout.overlap_p2p_comm = true; }),
      with({"offload_modules_forbid_offloaded_layers",
            "cpu_offloading_num_layers is 2 with offload_modules"},
           [](Broken& b) {
             b.layout.cpu_offloading_num_layers = 2;
             b.layout.offload_modules = {kOffloadQkvLinear};
           }),
      with({"offload_attn_proj_needs_core_attn", "offload_modules has attn_proj without core_attn"},
           [](Broken& b) { b.layout.offload_modules = {kOffloadAttentionProjection}; }),
      with({"offload_modules_outside_recomputed_experts",
            "offload_modules is expert_fc1+moe_act with recompute_modules moe"},
           [](Broken& b) {
             b.model = sparse(), b.layout = selective(kRecomputeMoe);
             b.layout.offload_modules = {kOffloadExpertFc1 | kOffloadMoeActivation};
           }),
      with({"recompute_moe_act_needs_experts",
            "recompute_modules has moe_act, but the model has no experts"},
           [](Broken& b) { b.layout = selective(kRecomputeMoeActivation); }),
      with({"recompute_mla_up_proj_needs_latent_attention",
            "recompute_modules has mla_up_proj, but the model has no latent attention"},
           [](Broken& b) { b.layout = selective(kRecomputeMlaUpProjection); }),
      with({"recompute_forbids_delayed_scaling",
            "recompute_modules has layernorm or moe_act with fp8_recipe delayed"},
           [](Broken& b) { b.layout = selective(kRecomputeLayerNorm), b.fp8 = true; }),
      with({"tp_comm_overlap_within_fast_domain",
            "tp_comm_overlap is on, tensor_parallel_size is 16, 8 devices share fast links"},
           [](Broken& b) {
             b.layout = tensor(16, true), b.layout.tp_comm_overlap = true;
             b.devices.fast_domain = 8;
           }),
  };
}

TEST(Rules, EverySentenceNamesItsOwnFieldsAndNumbers) {
  std::set<std::string_view> seen{"memory_capacity"};
  // tests/unit/sim/rules/framework_rules_test.cc has the others.
  const auto of_framework = [](std::string_view name) { return name.starts_with("framework_"); };
  for (const auto& cases : {tensor_cases(), pipeline_layout_cases(), pipeline_cases(),
                            batch_and_expert_cases(), library_and_format_cases(), switch_cases()}) {
    for (const Broken& b : cases) {
      Job job = b.job;
      job.global_batch_size = b.sequences;
      job.seq_length = b.seq_length;
      if (b.fp8) job.precision = Precision::fp8, job.fp8_recipe = Fp8Recipe::delayed;
      const auto violation = check_layout(b.model, job, b.layout, b.devices);
      ASSERT_TRUE(violation) << b.rule;
      EXPECT_EQ(rule_text(violation->rule).name, b.rule);
      EXPECT_EQ(describe(*violation, b.model, job, b.layout, b.devices), b.sentence);
      seen.insert(b.rule);
    }
  }
  for (const RuleText& text : all_rules()) {
    EXPECT_TRUE(seen.count(text.name) == 1 || of_framework(text.name)) << text.name;
  }
  const Violation memory{Rule::memory_capacity, gibibytes(96).value(), gibibytes(80).value()};
  EXPECT_EQ(describe(memory, dense(), batch_of(64), Layout{}, {}),
            "the fullest rank needs 96.00 GiB of 80.00 GiB");
}

}  // namespace
}  // namespace meshwright
