// SPDX-License-Identifier: Apache-2.0
// NeMo's YAML in a shape of our own, with the traps of its own: null, references, two names of one
// thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/document.h"
#include "interop/read_launch/read_launch.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;

std::string config(const std::string& more) {
  return "name: gpt\ntrainer:\n  devices: 8\n  num_nodes: 4\n  precision: bf16-mixed\n"
         "  max_steps: 1000\nexp_manager:\n  explicit_log_dir: null\n"
         "  checkpoint: ${multiply:${model.tensor_model_parallel_size}, 2}\n"
         "model:\n  mcore_gpt: True\n  micro_batch_size: 1\n  global_batch_size: 256\n"
         "  tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 2\n"
         "  virtual_pipeline_model_parallel_size: null\n  sequence_parallel: True\n"
         "  encoder_seq_length: 4096\n  max_position_embeddings: ${.encoder_seq_length}\n"
         "  num_layers: 32\n  hidden_size: 4096\n  ffn_hidden_size: 14336\n"
         "  num_attention_heads: 32\n  num_query_groups: 8\n  kv_channels: null\n"
         "  normalization: rmsnorm\n  bias: False\n  activation: fast-swiglu\n"
         "  position_embedding_type: rope\n  share_embeddings_and_output_weights: False\n"
         "  hidden_dropout: 0.0\n  attention_dropout: 0.0\n"
         "  tokenizer:\n    library: huggingface\n    type: some/tokenizer\n"
         "  data:\n    seq_length: ${model.encoder_seq_length}\n    num_workers: 2\n"
         "  optim:\n    name: distributed_fused_adam\n    lr: 2e-4\n" +
         more;
}

LaunchHints with_vocabulary() {
  LaunchHints hints;
  hints.vocab_size = 128256;
  return hints;
}

TEST(Nemo, IsReadInMegatronCoresWords) {
  const LaunchRecord r = read_launch(config(""), "gpt.yaml", with_vocabulary());
  EXPECT_EQ(r.target, "NeMo");
  EXPECT_EQ(r.framework, "megatron-core-2025");
  EXPECT_EQ(r.gpus, 32);
  EXPECT_EQ(r.model.num_query_groups, 8);
  EXPECT_EQ(r.model.activation, Activation::swiglu);
  EXPECT_EQ(r.model.normalization, Normalization::rms_norm);
  EXPECT_FALSE(r.model.add_bias_linear);
  EXPECT_FALSE(r.model.tied_embeddings);
  EXPECT_EQ(r.model.max_position_embeddings, 4096);
  EXPECT_EQ(r.job.seq_length, 4096);
  EXPECT_EQ(r.job.precision, Precision::bf16);
  EXPECT_FALSE(r.job.dropout);
  EXPECT_EQ(r.layout.tensor_parallel_size, 4);
  EXPECT_EQ(r.layout.pipeline_parallel_size, 2);
  EXPECT_EQ(r.layout.virtual_pipeline_parallel_size, 1);
  EXPECT_TRUE(r.layout.sequence_parallel);
  EXPECT_EQ(r.layout.zero_stage, 1);
  EXPECT_TRUE(r.layout.overlap_grad_reduce);  // apex's default
  EXPECT_FALSE(r.layout.overlap_param_gather);
  EXPECT_TRUE(r.not_understood.empty());
  EXPECT_THAT(r.read, Contains(Field(&Fact::said, "model.normalization = rmsnorm")));
}

TEST(Nemo, RecomputeHasItsOlderName) {
  const auto with = [](const std::string& granularity) {
    std::string text = config("");
    const std::string before = "  num_layers: 32\n";
    text.insert(text.find(before), "  activations_checkpoint_granularity: " + granularity +
                                       "\n  activations_checkpoint_method: block\n"
                                       "  activations_checkpoint_num_layers: 3\n");
    return read_launch(text, "gpt.yaml", with_vocabulary()).layout;
  };
  EXPECT_EQ(with("full").recompute_granularity, RecomputeGranularity::full);
  EXPECT_EQ(with("full").recompute_num_layers, 3);
}

TEST(Nemo, WhatItCannotSayIsNamed) {
  const auto error = [](const std::string& text, const LaunchHints& hints) {
    try {
      read_launch(text, "gpt.yaml", hints);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(error(config(""), {}), HasSubstr("tokenizer's files"));
  std::string text = config("");
  text.replace(text.find("fast-swiglu"), 11, "reglu");
  EXPECT_THAT(error(text, with_vocabulary()), HasSubstr("must be gelu, swiglu"));
  text = config("");
  text.replace(text.find("${.encoder_seq_length}"), 22, "${lookup:2,1024}");
  EXPECT_THAT(error(text, with_vocabulary()), HasSubstr("gpt.yaml:19"));
  const LaunchRecord r =
      read_launch(config("") + "  fsdp: True\n  of_tomorrow: 1\n", "g", with_vocabulary());
  ASSERT_EQ(r.not_understood.size(), 2U);
  EXPECT_EQ(r.not_understood[0].said, "model.fsdp = True");
  EXPECT_EQ(r.not_understood[1].said, "model.of_tomorrow = 1");
}

// A Hydra command: NeMo's where a trainer is named, Megatron-Bridge's otherwise.
TEST(Overrides, AreReadFromACommand) {
  const LaunchRecord bridge = read_launch(
      "TP=4\nuv run python -m torch.distributed.run --nproc_per_node=8 --nnodes=4 run_recipe.py "
      "\\\n"
      "  --recipe some_config model.tensor_model_parallel_size=$TP +model.sequence_parallel=true "
      "\\\n"
      "  model.recompute_granularity=selective 'model.recompute_modules=[core_attn,moe_act]' \\\n"
      "  train.micro_batch_size=2 train.global_batch_size=128 dataset.seq_length=4096 "
      "model.virtual_pipeline_model_parallel_size=null model.pipeline_model_parallel_size=1 "
      "model.context_parallel_size=1\n",
      "run.sh", {});
  EXPECT_EQ(bridge.target, "Megatron-Bridge");
  EXPECT_EQ(bridge.gpus, 32);
  EXPECT_EQ(bridge.layout.tensor_parallel_size, 4);
  EXPECT_TRUE(bridge.layout.sequence_parallel);
  EXPECT_EQ(bridge.layout.recompute_modules.bits,
            kRecomputeCoreAttention | kRecomputeMoeActivation);
  EXPECT_EQ(bridge.job.global_batch_size, 128);
  EXPECT_EQ(bridge.job.seq_length, 4096);
  EXPECT_TRUE(bridge.not_understood.empty());
  LaunchHints hints;
  hints.model = Model{};
  const LaunchRecord nemo = read_launch(
      "python megatron_gpt_pretraining.py trainer.devices=8 trainer.num_nodes=2 "
      "trainer.precision=bf16 model.micro_batch_size=1 model.global_batch_size=64 "
      "model.encoder_seq_length=2048 model.tensor_model_parallel_size=2\n",
      "run.sh", hints);
  EXPECT_EQ(nemo.target, "NeMo");
  EXPECT_EQ(nemo.gpus, 16);
  EXPECT_EQ(nemo.job.seq_length, 2048);
}

TEST(References, ArePutInFromBesideAboveAndAnywhere) {
  Values values = with_references(values_of_yaml(
      "variables: { n: 5 }\na:\n  x: 1\n  y: ${.x}\n  b:\n    z: ${..x}\n    v: ${n}\nw: ${a.b.z}\n"
      "q: ${nowhere}\nr: ${r}\n",
      "f.yaml"));
  for (const char* key : {"a.y", "a.b.z", "w"}) EXPECT_EQ(integer_of(*values.find(key), {}), 1);
  EXPECT_EQ(integer_of(*values.find("a.b.v"), {}), 5);
  EXPECT_THAT(values.find("q")->unknown, HasSubstr("has no nowhere"));
  EXPECT_THAT(values.find("r")->unknown, HasSubstr("lead to themselves"));
}

TEST(References, ResolversThatComputeAreRun) {
  Values values = with_references(
      values_of_yaml(
          "m:\n  h: 8192\n  l: 80\n  f: ${multiply:4, ${.h}}\n  half: ${divide:${.h},2}\n"
          "  more: ${add:${m.h},64,1}\n  up: ${divide_ceil:${.l}, 3}\n"
          "  down: ${int_div:${.l},3}\n  name: run-${.l}-${.h}\n"
          "  list: [\"${.l}\", 2]\n  env: ${oc.env:TP,8}\n  none: ${oc.env:PP}\n"
          "  either: ${oc.select:m.gone, 7}\n  bad: ${multiply:x, 2}\n"
          "  zero: ${divide:1,0}\n  odd: ${lookup:1}\n",
          "f.yaml"),
      {{"TP", "4"}});
  EXPECT_EQ(integer_of(*values.find("m.f"), {}), 32768);
  EXPECT_EQ(integer_of(*values.find("m.half"), {}), 4096);
  EXPECT_EQ(integer_of(*values.find("m.more"), {}), 8257);
  EXPECT_EQ(integer_of(*values.find("m.up"), {}), 27);
  EXPECT_EQ(integer_of(*values.find("m.down"), {}), 26);
  EXPECT_EQ(word_of(*values.find("m.name")), "run-80-8192");
  EXPECT_THAT(values.find("m.list")->words, testing::ElementsAre("80", "2"));
  EXPECT_EQ(integer_of(*values.find("m.env"), {}), 4);
  EXPECT_EQ(integer_of(*values.find("m.either"), {}), 7);
  EXPECT_THAT(values.find("m.none")->unknown, HasSubstr("PP is not known"));
  EXPECT_THAT(values.find("m.bad")->unknown, HasSubstr("x of multiply is no number"));
  EXPECT_THAT(values.find("m.zero")->unknown, HasSubstr("divides by zero"));
  EXPECT_THAT(values.find("m.odd")->unknown, HasSubstr("lookup of OmegaConf is not run"));
}

// 1 byte a weight in place of 2, and gradients in 16 bits.
TEST(Nemo, PrimaryWeightsMayBeInFp8) {
  const auto read = [](const std::string& more) {
    return read_launch(
        config("    grad_sync_dtype: bf16\n  fp8: True\n  fp8_hybrid: True\n" + more), "gpt.yaml",
        with_vocabulary());
  };
  const LaunchRecord kept = read("  fp8_params: True\n");
  EXPECT_EQ(kept.job.precision, Precision::fp8);
  EXPECT_TRUE(kept.job.fp8_param_gather);
  EXPECT_EQ(kept.job.gradient_precision, Precision::bf16);
  EXPECT_FALSE(read("  fp8_params: False\n").job.fp8_param_gather);
}

TEST(Nemo, LoraIsReadAndOtherAdaptersAreRefused) {
  const auto read = [](const std::string& peft) {
    return read_launch(config("  peft:\n    peft_scheme: " + peft), "gpt.yaml", with_vocabulary());
  };
  const LaunchRecord lora = read(
      "lora\n    lora_tuning:\n      target_modules: [attention_qkv, mlp_fc1]\n"
      "      adapter_dim: 16\n      adapter_dropout: 0.0\n");
  EXPECT_EQ(lora.job.lora_rank, 16);
  EXPECT_EQ(lora.job.lora_target_modules.bits, kLoraQkv | kLoraFc1);
  EXPECT_EQ(read("lora\n").job.lora_rank, 32);
  EXPECT_EQ(read("null\n").job.lora_rank, 0);
  EXPECT_THROW(read("ptuning\n"), InputError);
  EXPECT_THROW(read("ia3\n"), InputError);
}

}  // namespace
}  // namespace meshwright::interop
