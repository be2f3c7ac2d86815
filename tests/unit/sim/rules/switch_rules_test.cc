// SPDX-License-Identifier: Apache-2.0
// Rules of sharding, overlap, recompute, offload, libraries and number formats.
#include <gtest/gtest.h>

#include "tests/unit/sim/rules/rules_fixture.h"

namespace meshwright::rules_test {
namespace {

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

TEST(Rules, MultiTokenPredictionRecomputesByOne) {
  Model model = dense();
  model.mtp_num_layers = 1;
  Layout layout;
  layout.recompute_granularity = RecomputeGranularity::full;
  layout.recompute_num_layers = 2;
  EXPECT_EQ(broken(dense(), layout), kNone);
  EXPECT_EQ(broken(model, layout), "multi_token_prediction_recomputes_by_one");
  layout.recompute_method = RecomputeMethod::block;
  EXPECT_EQ(broken(model, layout), kNone);
  layout.recompute_method = RecomputeMethod::uniform;
  layout.recompute_num_layers = 1;
  EXPECT_EQ(broken(model, layout), kNone);
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

}  // namespace

std::vector<Broken> library_and_format_cases() {
  const auto flex = [](Broken& b, MoeFlexDispatcherBackend backend) {
    b.model = sparse();
    b.layout.data_parallel_size = b.layout.expert_parallel_size = 8;
    b.layout.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
    b.layout.moe_flex_dispatcher_backend = backend;
  };
  return {
      with({"flex_dispatcher_needs_fast_links",
            "moe_flex_dispatcher_backend is hybridep, and PCIe alone joins the devices"},
           [&](Broken& b) {
             flex(b, MoeFlexDispatcherBackend::hybridep);
             b.devices.fast_domain = 1;
           }),
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
      with({"recompute_op_stands_alone", "recompute_modules has op beside other modules"},
           [](Broken& b) {
             b.layout.recompute_granularity = RecomputeGranularity::selective;
             b.layout.recompute_modules = {kRecomputeOp | kRecomputeMlp};
           }),
      with({"selective_recompute_is_the_frameworks", "some recomputes by module, not by op"},
           [](Broken& b) {
             static const Framework software = [] {
               Framework f;
               f.name = "some";
               return f;
             }();
             b.layout.recompute_granularity = RecomputeGranularity::selective;
             b.layout.recompute_modules = {kRecomputeOp};
             b.devices.framework = &software;
           }),
      with({"selective_recompute_is_the_frameworks", "some recomputes by op, not by module"},
           [](Broken& b) {
             static const Framework software = [] {
               Framework f;
               f.name = "some";
               f.defaults.layout.recompute_modules = {kRecomputeOp};
               return f;
             }();
             b.layout.recompute_granularity = RecomputeGranularity::selective;
             b.devices.framework = &software;
           }),
      with({"devices_have_the_number_format", "the devices have no bf16; they have fp32 and fp16"},
           [](Broken& b) {
             b.devices.formats = format_bit(Precision::fp16) | format_bit(Precision::fp32);
           }),
      with({"devices_have_the_number_format", "the devices have no fp8; they have fp16 and bf16"},
           [](Broken& b) {
             b.job.moe_dispatch_fwd_dtype = Precision::fp8;
             b.devices.formats = format_bit(Precision::fp16) | format_bit(Precision::bf16);
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
      with({"multi_token_prediction_recomputes_by_one",
            "recompute_num_layers is 2 by the uniform method, mtp_num_layers 1"},
           [](Broken& b) {
             b.model.mtp_num_layers = 1, b.layout.recompute_num_layers = 2;
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

}  // namespace meshwright::rules_test
