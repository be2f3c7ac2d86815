// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/hardware/framework.h"
#include "sim/json/records.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"
#include "tests/unit/error_of.h"
#include "tests/unit/sim/layout/layout_draws.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

// No field has its default.
Layout everything_set() {
  Layout layout;
  layout.tensor_parallel_size = 8;
  layout.pipeline_parallel_size = 4;
  layout.pipeline_layout = std::get<PipelineLayout>(read_pipeline_layout("Et*4|(t*4|)*6L"));
  layout.virtual_pipeline_parallel_size = 2;
  layout.data_parallel_size = 16;
  layout.context_parallel_size = 2;
  layout.expert_parallel_size = 32;
  layout.expert_tensor_parallel_size = 1;
  layout.sequence_parallel = true;
  layout.micro_batch_size = 2;
  layout.schedule = PipelineSchedule::zb_v;
  layout.pipeline_engine = PipelineEngine::nanotron;
  layout.num_layers_in_first_pipeline_stage = 7;
  layout.num_layers_in_last_pipeline_stage = 6;
  layout.account_for_embedding_in_pipeline_split = true;
  layout.account_for_loss_in_pipeline_split = true;
  layout.scatter_gather_p2p = true;
  layout.zero_stage = 1;
  layout.zero_shard_size = 8;
  layout.all_reduce_gradients = true;
  layout.fsdp_unit = FsdpUnit::block;
  layout.defer_grad_reduce = true;
  layout.recompute_granularity = RecomputeGranularity::selective;
  layout.recompute_method = RecomputeMethod::block;
  layout.recompute_num_layers = 3;
  layout.recompute_modules = {kRecomputeLayerNorm | kRecomputeMoeActivation};
  layout.cp_comm_type = ContextParallelAlgorithm::a2a_p2p;
  layout.hierarchical_context_parallel_size = 2;
  layout.overlap_grad_reduce = true;
  layout.overlap_param_gather = true;
  layout.tp_comm_overlap = true;
  layout.overlap_p2p_comm = true;
  layout.optimizer_offload = true;
  layout.cpu_offloading_num_layers = 1;
  layout.offload_modules = {kOffloadExpertFc1 | kOffloadMoeActivation};
  layout.rank_order = {Axis::tensor, Axis::context, Axis::expert, Axis::pipeline, Axis::data};
  return layout;
}

std::string layout_error(const std::string& text) {
  return error_of([&] { layout_from_json(Json::parse(text), "layout.json"); });
}

TEST(LayoutText, WhatIsNotSaidIsAsTheFrameworkHasIt) {
  Framework framework;
  framework.defaults.layout.pipeline_engine = PipelineEngine::nanotron;
  const Layout defaults = framework.defaults.layout;
  EXPECT_EQ(layout_from_text("", defaults).pipeline_engine, PipelineEngine::nanotron);
  EXPECT_EQ(layout_from_text("pp=4", defaults).pipeline_engine, PipelineEngine::nanotron);
  EXPECT_EQ(layout_from_text("pp=4,pipeline_engine=megatron", defaults).pipeline_engine,
            PipelineEngine::megatron);
}

TEST(LayoutJson, EveryFieldSurvivesTheRoundTrip) {
  for (const Layout& layout : {Layout{}, everything_set()}) {
    const Json json = to_json(layout);
    EXPECT_EQ(json.size(), 43U);
    EXPECT_EQ(layout_from_json(Json::parse(json.dump()), "layout.json"), layout);
  }
}

TEST(LayoutJson, UnknownKeysAreRefused) {
  EXPECT_THAT(layout_error(R"({"tensor_paralel_size": 8})"), HasSubstr("tensor_paralel_size"));
}

TEST(LayoutJson, MistakesNameTheirPlace) {
  EXPECT_THAT(layout_error(R"({"tensor_parallel_size": 0})"),
              HasSubstr("layout.json: /tensor_parallel_size"));
  EXPECT_THAT(layout_error(R"({"zero_stage": 4})"), HasSubstr("4"));
  EXPECT_THAT(layout_error(R"({"schedule": "2f2b"})"), HasSubstr("1f1b"));
  EXPECT_THAT(layout_error(R"({"rank_order": "tp-tp-cp-ep-dp"})"), HasSubstr("/rank_order"));
  EXPECT_THAT(layout_error(R"({"rank_order": "tp"})"), HasSubstr("/rank_order"));
  EXPECT_THAT(layout_error(R"({"recompute_modules": ["attention"]})"), HasSubstr("core_attn"));
  EXPECT_THAT(layout_error(R"({"pipeline_layout": "Et|x|L"})"),
              testing::AllOf(HasSubstr("/pipeline_layout"), HasSubstr("'x' is none of E, t"),
                             HasSubstr("position 4")));
}

TEST(LayoutText, ShortAndLongNamesMeanTheSame) {
  const Layout layout =
      layout_from_text("tp=8,pp=4,dp=16,cp=2,ep=1,etp=1,mbs=2,sp,zero=1,recompute=selective");
  EXPECT_EQ(layout.tensor_parallel_size, 8);
  EXPECT_EQ(layout.pipeline_parallel_size, 4);
  EXPECT_EQ(layout.data_parallel_size, 16);
  EXPECT_EQ(layout.context_parallel_size, 2);
  EXPECT_EQ(layout.expert_tensor_parallel_size, 1);
  EXPECT_EQ(layout.micro_batch_size, 2);
  EXPECT_TRUE(layout.sequence_parallel);
  EXPECT_EQ(layout.zero_stage, 1);
  EXPECT_EQ(layout.recompute_granularity, RecomputeGranularity::selective);
  EXPECT_EQ(layout_from_text("tensor_parallel_size=8,sequence_parallel=true"),
            layout_from_text("tp=8,sp"));
}

TEST(LayoutText, NothingIsOneRank) { EXPECT_EQ(layout_from_text(""), Layout{}); }

TEST(LayoutText, SeveralChunksMeanInterleavingUnlessAnotherScheduleIsNamed) {
  EXPECT_EQ(layout_from_text("pp=4,vpp=2").schedule, PipelineSchedule::interleaved);
  EXPECT_EQ(layout_from_text("pp=4,vpp=2,schedule=zb_v").schedule, PipelineSchedule::zb_v);
}

// 16 chunks over 4 stages.
TEST(LayoutText, AListOfStagesSaysTheVirtualSize) {
  const Layout layout = layout_from_text("pp4,stages=Et*4|(t*4|)*14tmL");
  EXPECT_EQ(layout.pipeline_layout.num_chunks(), 16);
  EXPECT_EQ(layout.virtual_pipeline_parallel_size, 4);
  EXPECT_EQ(layout.schedule, PipelineSchedule::interleaved);
  EXPECT_EQ(short_name(layout), "pp4 stages=Et*4|(t*4|)*14tmL overlap_p2p_comm=false");
  EXPECT_EQ(layout_from_text(short_name(layout)), layout);
  EXPECT_EQ(layout_from_text("pp4,vpp4,stages=Et*4|(t*4|)*14tmL"), layout);
  EXPECT_EQ(layout_from_text("stages=Et*4|(t*4|)*14,t,mL,pp4"), layout);
}

TEST(LayoutText, ModulesAreJoinedByPlus) {
  EXPECT_EQ(
      layout_from_text("recompute=selective,recompute_modules=layernorm+moe_act").recompute_modules,
      RecomputeModules{kRecomputeLayerNorm | kRecomputeMoeActivation});
  EXPECT_EQ(layout_from_text("offload_modules=expert_fc1+moe_act").offload_modules,
            OffloadModules{kOffloadExpertFc1 | kOffloadMoeActivation});
  EXPECT_EQ(layout_from_text("offload_modules=none").offload_modules, OffloadModules{});
}

TEST(LayoutText, AnOldNameOfAModuleIsRead) {
  EXPECT_EQ(layout_from_text("recompute=selective:layernorm+mlp_act").recompute_modules,
            RecomputeModules{kRecomputeLayerNorm | kRecomputeMoeActivation});
}

TEST(LayoutText, MistakesAreRefused) {
  EXPECT_THROW(layout_from_text("tp=0"), InputError);
  EXPECT_THROW(layout_from_text("tp=eight"), InputError);
  EXPECT_THROW(layout_from_text("tp=99999999999999999999"), InputError);
  EXPECT_THROW(layout_from_text("tp"), InputError);
  EXPECT_THROW(layout_from_text("tp=2,tp=4"), InputError);
  EXPECT_THROW(layout_from_text("tp=2,tensor_parallel_size=4"), InputError);
  EXPECT_THROW(layout_from_text("tp=2,,pp=2"), InputError);
  EXPECT_THROW(layout_from_text("speed=2"), InputError);
}

// A layout that tables print can be pasted.
TEST(LayoutText, ReadsWhatShortNameWrites) {
  LayoutDraws draws;
  for (int i = 0; i < 5000; ++i) {
    const Layout layout = draws.next();
    EXPECT_EQ(layout_from_text(short_name(layout)), layout) << short_name(layout);
    EXPECT_NO_THROW(layout_from_text(brief_name(layout))) << brief_name(layout);
  }
  Layout plain;
  EXPECT_EQ(layout_from_text(short_name(plain)), plain);
  plain.recompute_modules = {0};
  EXPECT_EQ(layout_from_text(short_name(plain)), plain);
  EXPECT_EQ(layout_from_text("tp4 pp4 vpp5 mbs2 sp zero1 recompute=selective:core_attn"),
            layout_from_text("tp=4,pp=4,vpp=5,mbs=2,sp,zero=1,recompute=selective"));
}

TEST(LayoutText, WhatRecomputeCoversStandsAfterAColon) {
  const Layout full = layout_from_text("recompute=full:3");
  EXPECT_EQ(full.recompute_num_layers, 3);
  EXPECT_EQ(full.recompute_method, RecomputeMethod::block);
  EXPECT_EQ(layout_from_text("recompute=selective:layernorm+mlp").recompute_modules,
            RecomputeModules{kRecomputeLayerNorm | kRecomputeMlp});
}

std::string mistake_in(const std::string& text) {
  return error_and_hint_of([&] { layout_from_text(text); });
}

TEST(LayoutText, MistakesNameTheWordAndTheNearestField) {
  EXPECT_THAT(mistake_in("tp4 vvp5"), testing::AllOf(HasSubstr("\"vvp5\""), HasSubstr("\"vpp\"")));
  EXPECT_THAT(mistake_in("tp4 overlap_grad"), HasSubstr("\"overlap_grad\""));
  EXPECT_THAT(mistake_in("sequence_paralel"), HasSubstr("\"sequence_parallel\""));
  EXPECT_THAT(mistake_in("recompute=selective:core"), HasSubstr("core_attn"));
  EXPECT_THAT(mistake_in("recompute=half:3"), HasSubstr("none, selective, full"));
  EXPECT_THAT(mistake_in("speed=2"), HasSubstr("fields are tp, pp"));
}

// Software overlaps gradients and interleaved sends by default, shards under FSDP, and may have
// another dispatcher: a line says where a layout differs from that.
TEST(ShortName, SaysWhatSoftwareSetsAndTheLayoutLacks) {
  EXPECT_EQ(short_name(layout_from_text("dp2")), "dp2 overlap_grad_reduce=false");
  EXPECT_EQ(short_name(layout_from_text("dp2,zero1,overlap_grad_reduce")),
            "dp2 zero1 overlap_grad_reduce overlap_param_gather=false");
  EXPECT_EQ(short_name(layout_from_text("fsdp=block")), "zero0 fsdp=block");
  EXPECT_EQ(short_name(layout_from_text("dp2,ep2,overlap_grad_reduce")),
            "dp2 ep2 overlap_grad_reduce dispatcher=alltoall");
  Layout software;
  software.zero_stage = 3;
  software.fsdp_unit = FsdpUnit::block;
  software.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
  software.moe_flex_dispatcher_backend = MoeFlexDispatcherBackend::hybridep;
  for (const char* text : {"dp2,zero0,fsdp=block", "dp2,ep2,fsdp=block,dispatcher=alltoall",
                           "dp2,ep2,fsdp=block,zero2,dispatcher=flex,backend=deepep"}) {
    const Layout layout = layout_from_text(text);
    EXPECT_EQ(layout_from_text(short_name(layout), software), layout) << short_name(layout);
  }
}

TEST(ShortName, SaysWhatIsNotOneAndWhatIsOn) {
  EXPECT_EQ(short_name(layout_from_text("tp=8,pp=4,dp=16,mbs=2,sp,zero=1,recompute=selective")),
            "tp8 pp4 dp16 mbs2 sp zero1 recompute=selective overlap_grad_reduce=false");
  EXPECT_EQ(short_name(Layout{}), "one rank");
  EXPECT_EQ(short_name(layout_from_text("pp=4,vpp=2")), "pp4 vpp2 overlap_p2p_comm=false");
  EXPECT_EQ(short_name(layout_from_text("pp=4,vpp=2,schedule=zb_v")), "pp4 vpp2 schedule=zb_v");
}

TEST(ShortName, BriefNamesLeaveOutWhatLayoutsOfAPlanShare) {
  EXPECT_EQ(brief_name(layout_from_text(
                "tp2 sp overlap_grad_reduce overlap_p2p_comm account_for_loss_in_pipeline_split")),
            "tp2 sp");
}

}  // namespace
}  // namespace meshwright
