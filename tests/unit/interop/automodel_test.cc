// SPDX-License-Identifier: Apache-2.0
// NeMo AutoModel's recipes, in shapes of our own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/read_launch.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kBegin[] =
    "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"
    "step_scheduler: { global_batch_size: 128, local_batch_size: 2, max_steps: 10 }\n"
    "dist_env: { backend: nccl, timeout_minutes: 1 }\n"
    "dataset: { _target_: nemo_automodel.components.datasets.llm.mock_iterable_dataset."
    "MockIterableDataset, seq_len: 4096 }\n"
    "loss_fn: { _target_: nemo_automodel.components.loss.masked_ce.MaskedCrossEntropy }\n"
    "optimizer: { _target_: torch.optim.Adam, lr: 1.0e-5 }\n";

constexpr char kDense[] =
    "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n"
    "  pretrained_model_name_or_path: meta-llama/Llama-3.1-8B\n";

LaunchRecord automodel(const std::string& more) {
  return read_launch(std::string(kBegin) + more, "a.yaml", {});
}

TEST(AutoModel, ADenseRecipe) {
  const LaunchRecord r =
      automodel(std::string(kDense) +
                "distributed:\n  strategy: fsdp2\n  dp_size: none\n  tp_size: 2\n"
                "  cp_size: 1\n  dp_replicate_size: 2\n  sequence_parallel: true\n"
                "  activation_checkpointing: true\n  defer_fsdp_grad_sync: false\n");
  EXPECT_EQ(r.target, "NeMo AutoModel");
  EXPECT_EQ(r.framework, "automodel-2026");
  EXPECT_EQ(r.model_name, "meta-llama/Llama-3.1-8B");
  EXPECT_TRUE(r.data_parallel_size_follows);
  EXPECT_EQ(r.replicas, 2);
  EXPECT_EQ(r.layout.tensor_parallel_size, 2);
  EXPECT_TRUE(r.layout.sequence_parallel);
  EXPECT_EQ(r.layout.recompute_granularity, RecomputeGranularity::full);
  EXPECT_EQ(r.layout.zero_stage, 3);
  EXPECT_FALSE(r.layout.defer_grad_reduce);
  EXPECT_EQ(r.layout.micro_batch_size, 2);
  EXPECT_EQ(r.job.global_batch_size, 128);
  EXPECT_EQ(r.job.seq_length, 4096);
  EXPECT_FALSE(r.job.master_weights);
  EXPECT_EQ(r.job.exp_avg_precision, Precision::bf16);
  EXPECT_EQ(r.job.gradient_precision, Precision::fp32);
  EXPECT_FALSE(r.job.cross_entropy_loss_fusion);
  EXPECT_THAT(r.not_understood, IsEmpty());
}

TEST(AutoModel, ExpertsKeepParametersGathered) {
  const LaunchRecord r = automodel(
      "model:\n  _target_: nemo_automodel.components.models.qwen3_moe.model.Qwen3MoeForCausalLM."
      "from_config\n  config:\n    _target_: transformers.AutoConfig.from_pretrained\n"
      "    pretrained_model_name_or_path: Qwen/Qwen3-30B-A3B\n"
      "  backend: { attn: te, linear: te, enable_deepep: true, fake_balanced_gate: true }\n"
      "distributed:\n  _target_: nemo_automodel.components.distributed.fsdp2.FSDP2Manager\n"
      "  tp_size: 1\n  pp_size: 1\n  ep_size: 8\nbenchmark: { num_nodes: 2 }\n"
      "parallelizer: { activation_checkpointing: true, _target_: x.parallelize_model }\n");
  EXPECT_EQ(r.model_name, "Qwen/Qwen3-30B-A3B");
  EXPECT_EQ(r.layout.expert_parallel_size, 8);
  EXPECT_EQ(r.layout.zero_stage, 2);
  EXPECT_EQ(r.layout.moe_token_dispatcher_type, MoeTokenDispatcherType::flex);
  EXPECT_EQ(r.layout.recompute_granularity, RecomputeGranularity::full);
  EXPECT_EQ(r.job.gradient_precision, Precision::bf16);  // FSDP2Manager of 2025
  EXPECT_EQ(r.gpus, 16);
  EXPECT_THAT(r.not_understood, IsEmpty());
}

TEST(AutoModel, APipeline) {
  const LaunchRecord r =
      automodel(std::string(kDense) +
                "distributed:\n  strategy: fsdp2\n  dp_size: 4\n  tp_size: 4\n"
                "  pp_size: 2\n  pipeline:\n    pp_schedule: interleaved1f1b\n"
                "    pp_microbatch_size: 1\n    layers_per_stage: 4\n"
                "    round_virtual_stages_to_pp_multiple: up\n    dtype: bf16\n");
  EXPECT_EQ(r.layout.schedule, PipelineSchedule::interleaved);
  EXPECT_EQ(r.layers_per_chunk, 4);
  EXPECT_TRUE(r.rounds_chunks_up);
  EXPECT_EQ(r.layout.micro_batch_size, 1);
  EXPECT_EQ(r.layout.data_parallel_size, 4);
  EXPECT_FALSE(r.data_parallel_size_follows);
  ASSERT_EQ(r.not_understood.size(), 1U);
  EXPECT_THAT(r.not_understood.front().why, HasSubstr("runs empty"));
}

TEST(AutoModel, AdaptersOfLinears) {
  const LaunchRecord all =
      automodel(std::string(kDense) +
                "distributed: { strategy: fsdp2 }\n"
                "peft: { _target_: nemo_automodel.components._peft.lora.PeftConfig, "
                "match_all_linear: true, dim: 16, alpha: 32 }\n"
                "quantization: { load_in_4bit: true, bnb_4bit_quant_type: nf4 }\n");
  EXPECT_EQ(all.job.lora_rank, 16);
  EXPECT_EQ(all.job.lora_target_modules.bits,
            kLoraQ | kLoraK | kLoraV | kLoraProj | kLoraFc1Gate | kLoraFc1Up | kLoraFc2);
  EXPECT_EQ(all.job.frozen_weight_precision, Precision::fp4);
  const LaunchRecord some =
      automodel(std::string(kDense) +
                "distributed: { strategy: fsdp2 }\n"
                "peft: { target_modules: ['*.q_proj', '*.v_proj'], alpha: 32 }\n");
  EXPECT_EQ(some.job.lora_rank, 8);
  EXPECT_EQ(some.job.lora_target_modules.bits, kLoraQ | kLoraV);
}

TEST(AutoModel, PackedSequencesAndFormats) {
  const LaunchRecord r =
      automodel(std::string(kDense) +
                "  torch_dtype: float32\ndistributed: { dp_size: none, tp_size: 1 }\n"
                "distributed_config:\n  _target_: nemo_automodel.components."
                "distributed.config.FSDP2Config\n"
                "packed_sequence: { packed_sequence_size: 8192 }\n"
                "compile: { enabled: true }\n"
                "fp8: { enabled: true, recipe_name: tensorwise, "
                "enable_fsdp_float8_all_gather: true }\n");
  EXPECT_EQ(r.job.seq_length, 8192);
  EXPECT_TRUE(r.job.master_weights);
  EXPECT_EQ(r.job.precision, Precision::fp8);
  EXPECT_TRUE(r.job.fp8_param_gather);
  EXPECT_EQ(r.job.kernel_fusion, KernelFusion::compiled);
  EXPECT_THAT(r.not_understood, IsEmpty());
}

TEST(AutoModel, OptionsOfTheCommandOverruleTheFile) {
  const std::string yaml = std::string(kBegin) + kDense + "distributed: { strategy: fsdp2 }\n";
  const LaunchRecord r = read_launch(
      "automodel my.yaml --nproc-per-node 8 --step_scheduler.local_batch_size 4 "
      "--distributed.tp_size=2\n",
      "run.sh", {}, [&](const std::string& name) {
        return name == "my.yaml" ? std::optional(yaml) : std::nullopt;
      });
  EXPECT_EQ(r.gpus, 8);
  EXPECT_EQ(r.layout.micro_batch_size, 4);
  EXPECT_EQ(r.layout.tensor_parallel_size, 2);
}

TEST(AutoModel, AModelBySizesIsAConfigJson) {
  const LaunchRecord r = automodel(
      "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_config\n  config:\n"
      "    _target_: transformers.Qwen3Config\n    architectures: [Qwen3ForCausalLM]\n"
      "    vocab_size: 151936\n    hidden_size: 4096\n    intermediate_size: 12288\n"
      "    num_hidden_layers: 36\n    num_attention_heads: 32\n    num_key_value_heads: 8\n"
      "    head_dim: 128\n    max_position_embeddings: 40960\n    hidden_act: silu\n"
      "    rms_norm_eps: 1.0e-6\n    tie_word_embeddings: false\n  use_liger_kernel: false\n"
      "distributed: { strategy: fsdp2, tp_size: 2 }\n");
  EXPECT_THAT(r.model_config,
              AllOf(HasSubstr("\"model_type\":\"qwen3\""), HasSubstr("\"hidden_size\":4096"),
                    HasSubstr("\"tie_word_embeddings\":false")));
  EXPECT_EQ(r.job.kernel_fusion, KernelFusion::eager);
  EXPECT_THAT(r.not_understood, IsEmpty());
}

TEST(AutoModel, WhatIsMissingIsNamed) {
  EXPECT_THAT(error_of([] {
                read_launch(
                    "step_scheduler: { global_batch_size: 8, local_batch_size: 1 }\n"
                    "distributed: { strategy: fsdp2, tp_size: 2 }\n",
                    "a.yaml", {});
              }),
              HasSubstr("packed_sequence_size"));
}

}  // namespace
}  // namespace meshwright::interop
