// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calibrate/trial/trial.h"
#include "sim/json/records.h"
#include "tests/paths.h"

namespace meshwright::calibrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Model gpt() {
  Model m;
  m.num_layers = 24;
  m.hidden_size = 1024;
  m.ffn_hidden_size = 4096;
  m.num_attention_heads = m.num_query_groups = 16;
  m.kv_channels = 64;
  m.vocab_size = 50257;
  m.max_position_embeddings = 1024;
  return m;
}

Job job() {
  Job j;
  j.seq_length = 1024;
  j.global_batch_size = 64;
  j.precision = Precision::fp32;
  j.attention_kernel = AttentionKernel::unfused;
  return j;
}

Layout layout(int tensor, int pipeline, int data) {
  Layout l;
  l.tensor_parallel_size = tensor;
  l.pipeline_parallel_size = pipeline;
  l.data_parallel_size = data;
  return l;
}

TEST(RunnableLayout, ALayoutThatFitsIsRunWhole) {
  const auto r = runnable_layout(gpt(), job(), layout(2, 2, 1), 4);
  EXPECT_EQ(r.layout, layout(2, 2, 1));
  EXPECT_EQ(r.num_layers, 24);
  EXPECT_EQ(r.global_batch_size, 64);
  EXPECT_THAT(r.not_run, IsEmpty());
}

// tp2 is kept on 4 ranks; 4 / 2 = 2 ranks are left for a pipeline of 4, none for data. A stage
// holds 24 / 4 = 6 layers, two stages 12. A data rank's share of the batch is 64 / 8 = 8.
TEST(RunnableLayout, TheTensorSizeIsKeptAndPipelineAndDataAreCut) {
  const auto r = runnable_layout(gpt(), job(), layout(2, 4, 8), 4);
  EXPECT_EQ(r.layout, layout(2, 2, 1));
  EXPECT_EQ(r.num_layers, 12);
  EXPECT_EQ(r.global_batch_size, 8);
  EXPECT_THAT(r.not_run, Contains("12 of 24 layers"));
  EXPECT_THAT(r.not_run, Contains("data-parallel size 8: 1 was run"));
}

TEST(RunnableLayout, ATensorSizeThatDoesNotFitBecomesItsLargestDivisor) {
  const auto r = runnable_layout(gpt(), job(), layout(8, 1, 1), 3);
  EXPECT_EQ(r.layout.tensor_parallel_size, 2);
  EXPECT_THAT(r.not_run, Contains("tensor-parallel size 8: 2 was run"));
}

TEST(RunnableLayout, OneRankRunsOneStageAndLosesWhatNeedsPartners) {
  Layout l = layout(4, 2, 4);
  l.sequence_parallel = true;
  l.zero_stage = 1;
  const auto r = runnable_layout(gpt(), job(), l, 1);
  EXPECT_EQ(world_size(r.layout), 1);
  EXPECT_FALSE(r.layout.sequence_parallel);
  EXPECT_EQ(r.layout.zero_stage, 0);
  EXPECT_EQ(r.num_layers, 12);
  EXPECT_EQ(r.global_batch_size, 16);
  EXPECT_THAT(r.not_run, Contains("sequence parallelism"));
}

TEST(RunnableLayout, WhatIsLeftOutIsSaidEvenWhenEveryRankIsThere) {
  Layout l = layout(1, 2, 2);
  l.overlap_p2p_comm = true;
  Job j = job();
  j.attention_kernel = AttentionKernel::flash;
  const auto r = runnable_layout(gpt(), j, l, 4);
  EXPECT_FALSE(r.layout.overlap_p2p_comm);
  EXPECT_THAT(r.not_run, Contains(HasSubstr("overlap of sends")));
  EXPECT_THAT(r.not_run, Contains(HasSubstr("FlashAttention (GPUs only)")));
}

TEST(RunnableLayout, GradientsAreReducedAndWeightsGatheredBetweenLayersWhereCallsBlock) {
  Layout l = layout(1, 2, 2);
  l.zero_stage = 1;
  l.overlap_grad_reduce = l.overlap_param_gather = true;
  const auto r = runnable_layout(gpt(), job(), l, 4);
  EXPECT_EQ(r.layout, l);
  EXPECT_THAT(r.not_run, IsEmpty());
  const auto queued = runnable_layout(gpt(), job(), l, 4, {.calls_block = false});
  EXPECT_FALSE(queued.layout.overlap_grad_reduce || queued.layout.overlap_param_gather);
  EXPECT_THAT(queued.not_run,
              ElementsAre(HasSubstr("gradients' reduction"), HasSubstr("weights' gathering")));
  // One data rank reduces nothing.
  const auto two = runnable_layout(gpt(), job(), l, 2);
  EXPECT_FALSE(two.layout.overlap_grad_reduce || two.layout.overlap_param_gather);
}

// DeepSpeed's pipeline has Megatron-LM's stages, and sends pieces between them.
TEST(RunnableLayout, DeepSpeedsLayoutsRunAsMegatronsThatSendPieces) {
  Layout l = layout(2, 2, 1);
  l.pipeline_engine = PipelineEngine::deepspeed;
  const auto r = runnable_layout(gpt(), job(), l, 4);
  EXPECT_EQ(r.layout.pipeline_engine, PipelineEngine::megatron);
  EXPECT_TRUE(r.layout.scatter_gather_p2p);
  EXPECT_THAT(r.not_run, IsEmpty());
}

TEST(RunnableLayout, InterleavedStagesAreRunAndSendBesideComputing) {
  Layout l = layout(1, 4, 1);
  l.schedule = PipelineSchedule::interleaved;
  l.virtual_pipeline_parallel_size = 2;
  EXPECT_EQ(runnable_layout(gpt(), job(), l, 4).layout, l);
  // Two stages of 6 layers each are left; between two, interleaving overlaps its sends.
  const auto two = runnable_layout(gpt(), job(), l, 2);
  EXPECT_EQ(two.layout.virtual_pipeline_parallel_size, 2);
  EXPECT_TRUE(two.layout.overlap_p2p_comm);
  EXPECT_EQ(two.num_layers, 12);
  const auto one = runnable_layout(gpt(), job(), l, 1);
  EXPECT_EQ(one.layout.schedule, PipelineSchedule::one_f_one_b);
  EXPECT_EQ(one.layout.virtual_pipeline_parallel_size, 1);
  EXPECT_THAT(one.not_run, Contains(HasSubstr("interleaved")));
}

TEST(RunnableLayout, WhereCallsQueueInterleavedStagesAreRunAndDoNotSendBesideComputing) {
  Layout l = layout(1, 4, 1);
  l.schedule = PipelineSchedule::interleaved;
  l.virtual_pipeline_parallel_size = 2;
  l.overlap_p2p_comm = true;
  const auto r = runnable_layout(gpt(), job(), l, 4, {.sends_alone = false});
  EXPECT_EQ(r.layout.schedule, PipelineSchedule::interleaved);
  EXPECT_FALSE(r.layout.overlap_p2p_comm);
  EXPECT_THAT(r.not_run, ElementsAre("overlap of sends with computing"));
}

// From both ends an even number of stages is needed: of 6 on 3 ranks, 1F1B is run.
TEST(RunnableLayout, MicroBatchesFromBothEndsAreRunOnAnEvenNumberOfStages) {
  Layout l = layout(1, 6, 1);
  l.schedule = PipelineSchedule::dualpipe;
  l.virtual_pipeline_parallel_size = 2;
  EXPECT_EQ(runnable_layout(gpt(), job(), l, 6).layout, l);
  EXPECT_EQ(runnable_layout(gpt(), job(), l, 2).layout.schedule, PipelineSchedule::dualpipe);
  const auto odd = runnable_layout(gpt(), job(), l, 3);
  EXPECT_EQ(odd.layout.schedule, PipelineSchedule::one_f_one_b);
  EXPECT_THAT(odd.not_run, Contains(HasSubstr("dualpipe")));
}

TEST(RunnableLayout, SchedulesThatSplitTheBackwardPassOrTurnRoundAreRun) {
  Layout l = layout(1, 4, 1);
  l.schedule = PipelineSchedule::zb_h1;
  EXPECT_EQ(runnable_layout(gpt(), job(), l, 4).layout, l);
  EXPECT_THAT(runnable_layout(gpt(), job(), l, 4).not_run, IsEmpty());
  l.virtual_pipeline_parallel_size = 2;
  l.schedule = PipelineSchedule::dualpipe_v;
  EXPECT_EQ(runnable_layout(gpt(), job(), l, 4).layout, l);
  // 12 layers are left for two stages; one alone runs 1F1B.
  EXPECT_EQ(runnable_layout(gpt(), job(), l, 2).layout.schedule, PipelineSchedule::dualpipe_v);
  EXPECT_EQ(runnable_layout(gpt(), job(), l, 2).num_layers, 12);
  EXPECT_EQ(runnable_layout(gpt(), job(), l, 1).layout.schedule, PipelineSchedule::one_f_one_b);
}

Model with_experts() {
  Model m = gpt();
  m.moe = MixtureOfExperts{.num_moe_experts = 64, .moe_router_topk = 6, .moe_ffn_hidden_size = 512};
  return m;
}

// 8 of 16 expert ranks are run; with them go the experts of the others, 4 each.
TEST(RunnableLayout, ExpertRanksThatAreLeftOutTakeTheirExpertsWithThem) {
  Layout l = layout(1, 1, 16);
  l.expert_parallel_size = 16;
  const auto whole = runnable_layout(with_experts(), job(), l, 16);
  EXPECT_EQ(whole.num_moe_experts, 64);
  EXPECT_THAT(whole.not_run, IsEmpty());
  const auto half = runnable_layout(with_experts(), job(), l, 8);
  EXPECT_EQ(half.layout.expert_parallel_size, 8);
  EXPECT_EQ(half.num_moe_experts, 32);
  EXPECT_THAT(half.not_run, Contains("32 of 64 experts"));
  EXPECT_THAT(half.not_run, Contains("expert-parallel size 16: 8 was run"));
  // One rank would have 4 experts, and a token has 6: 8 are run.
  EXPECT_EQ(runnable_layout(with_experts(), job(), l, 1).num_moe_experts, 8);
}

TEST(RunnableLayout, LibrariesOfGpusAreNamedAndAlltoallRuns) {
  Layout l = layout(1, 1, 4);
  l.expert_parallel_size = 4;
  l.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
  const auto r = runnable_layout(with_experts(), job(), l, 4);
  EXPECT_EQ(r.layout.moe_token_dispatcher_type, MoeTokenDispatcherType::alltoall);
  EXPECT_THAT(r.not_run, Contains(HasSubstr("deepep")));
}

TEST(RunnableLayout, TokensTravelBetweenAnotherMicroBatchsLayersWhereCallsBlock) {
  Layout l = layout(1, 2, 4);
  l.expert_parallel_size = 4;
  l.schedule = PipelineSchedule::interleaved;
  l.virtual_pipeline_parallel_size = 2;
  l.overlap_p2p_comm = l.overlap_moe_expert_parallel_comm = l.delay_wgrad_compute = true;
  const auto r = runnable_layout(with_experts(), job(), l, 8);
  EXPECT_EQ(r.layout, l);
  EXPECT_THAT(r.not_run, IsEmpty());
  const auto queued = runnable_layout(with_experts(), job(), l, 8, {.calls_block = false});
  EXPECT_FALSE(queued.layout.overlap_moe_expert_parallel_comm || queued.layout.delay_wgrad_compute);
  EXPECT_THAT(queued.not_run, ElementsAre(HasSubstr("tokens on their way")));
  // One expert rank sends its tokens nowhere.
  const auto two = runnable_layout(with_experts(), job(), l, 2);
  EXPECT_FALSE(two.layout.overlap_moe_expert_parallel_comm || two.layout.delay_wgrad_compute);
  EXPECT_THAT(two.not_run, Contains(HasSubstr("tokens on their way")));
}

TEST(RunnableLayout, TheSharedExpertRunsBesideTokensOnTheirWay) {
  Layout l = layout(1, 1, 4);
  l.expert_parallel_size = 4;
  l.moe_shared_expert_overlap = true;
  EXPECT_EQ(runnable_layout(with_experts(), job(), l, 4).layout, l);
  EXPECT_THAT(runnable_layout(with_experts(), job(), l, 4).not_run, IsEmpty());
  EXPECT_THAT(runnable_layout(with_experts(), job(), l, 4, {.calls_block = false}).not_run,
              ElementsAre(HasSubstr("the shared expert")));
}

TEST(RunnableLayout, WhatExistsOnGpusOnlyIsNamedSo) {
  Layout l = layout(4, 1, 1);
  l.sequence_parallel = l.tp_comm_overlap = true;
  l.cuda_graph_impl = CudaGraphImpl::full_iteration;
  const auto r = runnable_layout(gpt(), job(), l, 4);
  EXPECT_FALSE(r.layout.tp_comm_overlap);
  EXPECT_EQ(r.layout.cuda_graph_impl, CudaGraphImpl::none);
  EXPECT_THAT(r.not_run, ElementsAre(HasSubstr("userbuffers (GPUs only)"),
                                     HasSubstr("CUDA graphs (GPUs only): full_iteration")));
}

TEST(RunnableLayout, ContextRanksAreCutBeforeDataRanks) {
  Layout l = layout(2, 1, 4);
  l.context_parallel_size = 4;
  const auto r = runnable_layout(gpt(), job(), l, 8);
  EXPECT_EQ(r.layout.context_parallel_size, 4);
  EXPECT_EQ(r.layout.data_parallel_size, 1);
  EXPECT_EQ(runnable_layout(gpt(), job(), l, 4).layout.context_parallel_size, 2);
}

// 24 layers and two stand-ins over 2 stages are 13 each: 12 layers and the embedding, 12 and the
// loss. One stage alone runs its 13 as layers.
TEST(RunnableLayout, EmbeddingAndLossThatCountAsLayersAreLayersOfAnInnerStage) {
  Layout l = layout(1, 2, 1);
  l.account_for_embedding_in_pipeline_split = l.account_for_loss_in_pipeline_split = true;
  EXPECT_EQ(runnable_layout(gpt(), job(), l, 2).num_layers, 24);
  const auto one = runnable_layout(gpt(), job(), l, 1);
  EXPECT_EQ(one.num_layers, 13);
  EXPECT_FALSE(one.layout.account_for_loss_in_pipeline_split);
}

TEST(TrialUnsupported, GptAndLlamaAreSupportedAndOthersAreNamed) {
  EXPECT_EQ(trial_unsupported(gpt(), job(), layout(2, 2, 2)), "");
  Model llama = gpt();
  llama.num_query_groups = 4;
  llama.activation = Activation::swiglu;
  llama.normalization = Normalization::rms_norm;
  llama.position_embedding = PositionEmbedding::rope;
  EXPECT_EQ(trial_unsupported(llama, job(), layout(8, 1, 1)), "");
  Model window = llama;
  window.sliding_window = 256;
  EXPECT_EQ(trial_unsupported(window, job(), {}), "");
  Model sinks = llama;
  sinks.attention_sinks = true;
  EXPECT_EQ(trial_unsupported(sinks, job(), {}), "");
  Model xielu = gpt();
  xielu.activation = Activation::xielu;
  EXPECT_THAT(trial_unsupported(xielu, job(), {}), HasSubstr("xIELU"));
  Model odd = gpt();  // 16 * 6 + 2 * 6 = 108 columns
  odd.kv_channels = 6;
  odd.num_query_groups = 1;
  EXPECT_THAT(trial_unsupported(odd, job(), layout(8, 1, 1)), HasSubstr("query-key-value"));
  Layout zero = layout(1, 1, 2);
  zero.zero_stage = 3;
  EXPECT_EQ(trial_unsupported(gpt(), job(), zero), "");
  zero.optimizer_offload = true;
  EXPECT_EQ(trial_unsupported(gpt(), job(), zero), "");
  EXPECT_THAT(trial_unsupported(gpt(), job(), layout(3, 1, 1)), HasSubstr("3"));  // a broken rule
}

// As in Megatron-LM, which asks for rotary positions or none; and the embedding's matrix of a tied
// head would be on three stages.
TEST(TrialUnsupported, MultiTokenPredictionWithLearnedPositionsOrApartFromATiedHead) {
  Model predicts = gpt();
  predicts.mtp_num_layers = 1;
  EXPECT_THAT(trial_unsupported(predicts, job(), {}), HasSubstr("learned positions"));
  predicts.position_embedding = PositionEmbedding::rope;
  EXPECT_EQ(trial_unsupported(predicts, job(), {}), "");
  Layout apart = layout(1, 4, 1);
  apart.pipeline_layout = std::get<PipelineLayout>(read_pipeline_layout("Et*12|t*12|m|L"));
  EXPECT_THAT(trial_unsupported(predicts, job(), apart), HasSubstr("tied head"));
  predicts.tied_embeddings = false;
  EXPECT_EQ(trial_unsupported(predicts, job(), apart), "");
}

TEST(TrialUnsupported, PublishedExpertModelsAreSupportedAsTheyAre) {
  for (const std::string name : {"deepseek-v3", "glm-4.5"}) {
    std::ifstream file(std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/models/" + name + ".json");
    const Model model = model_from_json(Json::parse(file), name);
    EXPECT_EQ(model.mtp_num_layers, 1);
    EXPECT_EQ(trial_unsupported(model, job(), {}), "");
  }
}

}  // namespace
}  // namespace meshwright::calibrate
