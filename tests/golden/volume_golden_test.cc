// SPDX-License-Identifier: Apache-2.0
// The ledger beside two other simulators on the same model and layout: Calculon (caa4b11) and
// SimuMax (4dcaae5). Equal definitions must give equal bytes; every difference is worked out here.
#include <gtest/gtest.h>

#include "sim/volume/volume.h"

namespace meshwright {
namespace {

Model gpt(int num_layers, int hidden_size, int heads) {
  Model model;
  model.num_layers = num_layers;
  model.hidden_size = hidden_size;
  model.ffn_hidden_size = 4 * hidden_size;
  model.num_attention_heads = heads;
  model.num_query_groups = heads;
  model.kv_channels = hidden_size / heads;
  model.vocab_size = 51200;
  model.max_position_embeddings = 2048;
  return model;
}

Job job_of(int global_batch_size, int seq_length = 2048) {
  Job job;
  job.seq_length = seq_length;
  job.global_batch_size = global_batch_size;
  return job;
}

Layout layout_of(int tp, int pp, int dp, int micro_batch_size, bool sequence_parallel) {
  Layout layout;
  layout.tensor_parallel_size = tp;
  layout.pipeline_parallel_size = pp;
  layout.data_parallel_size = dp;
  layout.micro_batch_size = micro_batch_size;
  layout.sequence_parallel = sequence_parallel;
  return layout;
}

double payload(const StageVolume& stage, Group group) {
  Bytes sum;
  for (const Transfer& t : stage.transfers) {
    // Both peers leave out what happens once a step on the tensor group.
    if (t.group == group && t.phase != Phase::step) sum += t.payload_per_step();
  }
  return sum.value();
}

double payload_of(const StageVolume& stage, std::string_view name) {
  Bytes sum;
  for (const Transfer& t : stage.transfers) {
    if (t.name == name) sum += t.payload_per_step();
  }
  return sum.value();
}

// 22B on 8 GPUs, full recompute, no sequence parallelism. Calculon: 288 all-reduces of 100,663,296,
// 28,991,029,248 B. It has no embedding, logits or cross-entropy: 2 * 100,663,296 + 3 * 32,768.
// SimuMax: 29,192,454,144 B, the same three included and nothing else: equal.
TEST(VolumeGolden, Megatron22BWithFullRecompute) {
  Layout layout = layout_of(8, 1, 1, 4, false);
  layout.recompute_granularity = RecomputeGranularity::full;
  const Volume v = volume(gpt(48, 6144, 64), job_of(4), layout);
  EXPECT_EQ(payload(v.stages[0], Group::tensor), 28'991'029'248.0 + 2 * 100'663'296.0 + 98'304.0);
  EXPECT_EQ(payload(v.stages[0], Group::tensor), 29'192'454'144.0);
}

// 22B, sequence parallelism, selective recompute. Calculon: 480 calls, 48,318,382,080 B; what it
// books as recompute is the second gather for the weight gradient. SimuMax: 48,645,636,096 B with
// logits, loss, and the embedding's two calls counted as one rank's piece (1/8 of the array):
// 2 * 7/8 * 100,663,296 less than the arrays that are really handed over.
TEST(VolumeGolden, Megatron22BWithSequenceParallelism) {
  Layout layout = layout_of(8, 1, 1, 4, true);
  layout.recompute_granularity = RecomputeGranularity::selective;
  const Volume v = volume(gpt(48, 6144, 64), job_of(4), layout);
  EXPECT_EQ(payload(v.stages[0], Group::tensor),
            48'318'382'080.0 + (2 + 3) * 100'663'296.0 + 98'304.0);
  EXPECT_EQ(payload(v.stages[0], Group::tensor), 48'645'636'096.0 + 2 * 88'080'384.0);
}

Volume gpt3_volume() {
  Layout layout = layout_of(8, 8, 1, 1, true);
  layout.schedule = PipelineSchedule::interleaved;
  layout.virtual_pipeline_parallel_size = 3;
  layout.recompute_granularity = RecomputeGranularity::selective;
  return volume(gpt(96, 12288, 96), job_of(64), layout);
}

// GPT-3 175B, TP 8, PP 8, 3 chunks, 64 micro-batches, sequence parallelism, selective recompute.
// Middle stage, Calculon and SimuMax alike: 386,547,056,640 B. Last stage, SimuMax:
// 396,212,305,920 B. First stage, SimuMax: 387,352,363,008 B, the embedding's two calls of
// 50,331,648 B counted as 1/8 again.
TEST(VolumeGolden, Gpt3TensorGroup) {
  const Volume v = gpt3_volume();
  for (std::size_t stage = 1; stage < 7; ++stage) {
    EXPECT_EQ(payload(v.stages[stage], Group::tensor), 386'547'056'640.0);
  }
  EXPECT_EQ(payload(v.stages[7], Group::tensor), 396'212'305'920.0);
  EXPECT_EQ(payload(v.stages[0], Group::tensor), 387'352'363'008.0 + 64 * 2 * 44'040'192.0);
}

// Both peers: 384 messages of 6,291,456 B, 2,415,919,104 B, on every stage. That holds for the
// middle; the first stage has no gradient to send from its first chunk and the last no activation
// from its last: 64 messages fewer each.
TEST(VolumeGolden, Gpt3Pipeline) {
  const Volume v = gpt3_volume();
  EXPECT_EQ(payload(v.stages[3], Group::pipeline), 2'415'919'104.0);
  EXPECT_EQ(payload(v.stages[0], Group::pipeline), 2'415'919'104.0 - 64 * 6'291'456.0);
  EXPECT_EQ(payload(v.stages[7], Group::pipeline), 2'415'919'104.0 - 64 * 6'291'456.0);
}

// 1T, TP 8, PP 64, 512 micro-batches. Both peers, middle stage: 1,073,741,824,000 B and 1024
// messages, 13,421,772,800 B. SimuMax, last stage: 1,234,815,680,512 B; first and last stage send
// one way: 6,710,886,400 B.
TEST(VolumeGolden, Megatron1T) {
  Layout layout = layout_of(8, 64, 1, 1, true);
  layout.recompute_granularity = RecomputeGranularity::selective;
  const Volume v = volume(gpt(128, 25600, 160), job_of(512), layout);
  EXPECT_EQ(payload(v.stages[30], Group::tensor), 1'073'741'824'000.0);
  EXPECT_EQ(payload(v.stages[63], Group::tensor), 1'234'815'680'512.0);
  EXPECT_EQ(payload(v.stages[30], Group::pipeline), 13'421'772'800.0);
  EXPECT_EQ(payload(v.stages[0], Group::pipeline), 6'710'886'400.0);
  EXPECT_EQ(payload(v.stages[63], Group::pipeline), 6'710'886'400.0);
}

// GPT-3 175B, TP 8, PP 8, DP 8, full recompute, no sequence parallelism. Both peers, middle stage:
// 231,928,233,984 B and 6,442,450,944 B. SimuMax, ends: 235,149,459,456 and 235,151,032,320 B.
//
// Gradients of the middle stage's 12 layers. Per layer and rank, weights 12h^2/8 = 226,492,416.
// Calculon adds 4h of norms and sends 2-byte gradients: 5,436,997,632 B. SimuMax counts norms of 2h
// (no bias) and sends 4 bytes: 10,872,815,616 B. With the biases of linears, 7h/8 + 2h more than
// Calculon: 226,541,568 + 35,328 = 226,576,896; 12 layers, 4 bytes: 10,875,691,008 B.
TEST(VolumeGolden, Gpt3WithDataParallelism) {
  Layout layout = layout_of(8, 8, 8, 1, false);
  layout.recompute_granularity = RecomputeGranularity::full;
  const Model model = gpt(96, 12288, 96);
  Volume v = volume(model, job_of(512), layout);
  EXPECT_EQ(payload(v.stages[3], Group::tensor), 231'928'233'984.0);
  EXPECT_EQ(payload(v.stages[0], Group::tensor), 235'149'459'456.0);
  EXPECT_EQ(payload(v.stages[7], Group::tensor), 235'151'032'320.0);
  EXPECT_EQ(payload(v.stages[3], Group::pipeline), 6'442'450'944.0);
  EXPECT_EQ(payload_of(v.stages[3], "gradient all-reduce"), 10'875'691'008.0);

  Model without_biases = model;
  without_biases.add_bias_linear = false;
  Job half = job_of(512);
  half.gradient_precision = Precision::fp16;
  v = volume(without_biases, half, layout);
  EXPECT_EQ(payload_of(v.stages[3], "gradient all-reduce"), 5'436'997'632.0);
  without_biases.normalization = Normalization::rms_norm;
  v = volume(without_biases, job_of(512), layout);
  EXPECT_EQ(payload_of(v.stages[3], "gradient all-reduce"), 10'872'815'616.0);
}

// 22B, TP 2, PP 4, DP 4, ZeRO-1, full recompute with sequence parallelism. SimuMax, middle stage:
// 135,291,469,824 B, 14 units a layer. Calculon: 115,964,116,992 B, 12 units: it leaves out the
// second gather for the weight gradient, which the recomputed layer needs too, for its input is
// again kept as a piece.
TEST(VolumeGolden, Megatron22BWithFullRecomputeAndSequenceParallelism) {
  Layout layout = layout_of(2, 4, 4, 2, true);
  layout.zero_stage = 1;
  layout.recompute_granularity = RecomputeGranularity::full;
  Model model = gpt(48, 6144, 64);
  Volume v = volume(model, job_of(128), layout);
  EXPECT_EQ(payload(v.stages[1], Group::tensor), 135'291'469'824.0);
  EXPECT_EQ(payload(v.stages[1], Group::tensor) * 12 / 14, 115'964'116'992.0);
  EXPECT_EQ(payload(v.stages[3], Group::tensor), 137'708'175'360.0);
  // SimuMax's sharded gradients and weights, with its norms: 10,872,225,792 and 5,436,112,896 B.
  model.add_bias_linear = false;
  model.normalization = Normalization::rms_norm;
  v = volume(model, job_of(128), layout);
  EXPECT_EQ(payload_of(v.stages[1], "gradient reduce-scatter"), 10'872'225'792.0);
  EXPECT_EQ(payload_of(v.stages[1], "updated weight all-gather"), 5'436'112'896.0);
}

// 175B forward over one micro-batch of 8 (Calculon's inference prefill): 192 all-reduces of
// 402,653,184 B, 77,309,411,328 B. Training's forward adds the embedding and the cross-entropy.
TEST(VolumeGolden, Gpt3ForwardOnly) {
  const Volume v = volume(gpt(96, 12288, 96), job_of(8), layout_of(8, 1, 1, 8, false));
  double layers = 0;
  for (const std::string_view name : {"attention output all-reduce", "MLP output all-reduce"}) {
    layers += payload_of(v.stages[0], name);
  }
  EXPECT_EQ(layers, 77'309'411'328.0);
}

// Llama-3-8B, TP 2, DP 4, sequence parallelism, 8 micro-batches of 4096. SimuMax: 86,973,480,960 B,
// with the embedding's two calls counted as halves: one array of 33,554,432 B short a micro-batch.
TEST(VolumeGolden, Llama3WithSequenceParallelism) {
  Model model = gpt(32, 4096, 32);
  model.ffn_hidden_size = 14336;
  model.num_query_groups = 8;
  model.vocab_size = 128257;
  model.activation = Activation::swiglu;
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::rope;
  model.add_bias_linear = false;
  model.tied_embeddings = false;
  Layout layout = layout_of(2, 1, 4, 1, true);
  layout.zero_stage = 1;
  const Volume v = volume(model, job_of(32, 4096), layout);
  EXPECT_EQ(payload(v.stages[0], Group::tensor), 86'973'480'960.0 + 8 * 33'554'432.0);
}

// DeepSeek-V2 with 4 layers, 3 of them experts, EP 8, 4 micro-batches of 4096 tokens to 6 of 160
// experts. SimuMax: 252,313,600 B a dispatch or combine, which is tokens * topk * h * 2 =
// 251,658,240 and tokens * experts * 1 = 655,360 of its own; probabilities as a full bf16 map of
// tokens * experts (1,310,720 B) where the dispatcher sends the chosen ones, 49,152 B. Here 8 ranks
// also gather 160 counts of 8 bytes each before a dispatch, 10,240 B.
TEST(VolumeGolden, DeepSeekV2Experts) {
  Model model = gpt(4, 5120, 128);
  model.ffn_hidden_size = 12288;
  model.vocab_size = 102400;
  model.activation = Activation::swiglu;
  model.mla = LatentAttention{1536, 512, 128, 64, 128};
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 160;
  model.moe->moe_router_topk = 6;
  model.moe->moe_ffn_hidden_size = 1536;
  model.moe->moe_shared_expert_intermediate_size = 3072;
  model.moe->num_first_dense_layers = 1;
  Layout layout = layout_of(1, 1, 8, 1, false);
  layout.expert_parallel_size = 8;
  const Volume v = volume(model, job_of(32, 4096), layout);
  const double simumax = 12'142'510'080.0;
  const double extra = 4 * 3 * (4 * 655'360.0 + 2 * (1'310'720.0 - 49'152.0) - 10'240.0);
  EXPECT_EQ(payload(v.stages[0], Group::expert), simumax - extra);
  EXPECT_EQ(payload_of(v.stages[0], "expert dispatch all-to-all"), 4 * 3 * 251'658'240.0);
}

}  // namespace
}  // namespace meshwright
