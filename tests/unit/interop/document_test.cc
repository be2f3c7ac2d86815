// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/read_launch.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Document, YamlTomlAndJsonGiveTheSameValues) {
  Values yaml = values_of_yaml("a:\n  b: 8\n  c: [x, y]\nd: null\n", "f.yaml");
  Values toml = values_of_toml("[a]\nb = 8\nc = [\"x\", \"y\"]\n", "f.toml");
  Values json = values_of_json("{\"a\": {\"b\": 8, \"c\": [\"x\", \"y\"]}, \"d\": null}", "f.json");
  for (Values* values : {&yaml, &toml, &json}) {
    EXPECT_EQ(integer_of(*values->find("a.b"), {}), 8);
    EXPECT_THAT(values->find("a.c")->words, ElementsAre("x", "y"));
  }
  EXPECT_EQ(yaml.find("a.b")->place.text(), "f.yaml:2");
  EXPECT_EQ(toml.find("a.b")->place.text(), "f.toml:2");
  EXPECT_FALSE(json.has("d"));
}

TEST(Document, MarksAndCarriageReturnsAreNothing) {
  EXPECT_EQ(integer_of(*values_of_toml("\xEF\xBB\xBF[a]\r\nb = 1\r\n", "f").find("a.b"), {}), 1);
  EXPECT_EQ(integer_of(*values_of_yaml("\xEF\xBB\xBF"
                                       "a:\r\n  b: 1\r\n",
                                       "f")
                            .find("a.b"),
                       {}),
            1);
  EXPECT_EQ(integer_of(*values_of_json("\xEF\xBB\xBF{\"a\": 1}", "f").find("a"), {}), 1);
}

TEST(Document, WhatIsWrongHasLineAndColumn) {
  EXPECT_THAT(error_of([] { values_of_toml("[a]\nb = = 1\n", "f.toml"); }), HasSubstr("f.toml:2:"));
  EXPECT_THAT(error_of([] { values_of_yaml("a:\n  - b: [1\nc: }\n", "f.yaml"); }),
              HasSubstr("f.yaml:"));
  EXPECT_THAT(error_of([] { values_of_json("{\"a\": }", "f.json"); }), HasSubstr("line 1"));
}

TEST(Document, DepthIsLimited) {
  std::string text;
  for (int i = 0; i < 70; ++i) text += "[";
  for (int i = 0; i < 70; ++i) text += "]";
  EXPECT_THAT(error_of([&] { values_of_yaml("a: " + text, "f"); }), HasSubstr("50 levels"));
}

TEST(ReadLaunch, SaysWhatItReads) {
  EXPECT_THAT(error_of([] { read_launch("hello", "f.txt", {}); }),
              HasSubstr("f.txt: is no launch"));
}

TEST(Torchtitan, ReplicasAndShards) {
  const LaunchRecord record = read_torchtitan(
      "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nlocal_batch_size = 16\nseq_len = "
      "8192\n"
      "[parallelism]\ndata_parallel_replicate_degree = 2\ntensor_parallel_degree = 8\n"
      "pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"Interleaved1F1B\"\n"
      "pipeline_parallel_layers_per_stage = 10\nof_tomorrow = 1\n"
      "[quantize.linear.float8]\nenable_fsdp_float8_all_gather = true\n[model2]\n",
      "f.toml", {});
  EXPECT_EQ(record.model_name, "llama-3-70b");
  EXPECT_EQ(record.replicas, 2);
  EXPECT_TRUE(record.data_parallel_size_follows);
  EXPECT_EQ(record.layout.zero_stage, 2);                      // kept below a pipeline
  EXPECT_EQ(record.layout.virtual_pipeline_parallel_size, 2);  // 80 / 10 / 4
  EXPECT_EQ(record.layout.micro_batch_size, 1);
  EXPECT_EQ(record.micro_batches_a_rank, 16);
  EXPECT_EQ(record.not_understood.at(0).said, "parallelism.of_tomorrow = 1");
  EXPECT_EQ(record.not_understood.at(0).place.line, 13);
  EXPECT_FALSE(record.layout.account_for_embedding_in_pipeline_split);
}

std::string piped(const std::string& more) {
  return "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\n"
         "[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_schedule = \"1F1B\"\n" +
         more;
}

// 32 layers, embedding and head are 34 over 4 stages: 9, 9, 8, 8, of which the ends take one each.
TEST(Torchtitan, EmbeddingAndHeadCountAsLayersUnlessTold) {
  const Layout said_nothing = read_torchtitan(piped(""), "f.toml", {}).layout;
  EXPECT_EQ(said_nothing.pipeline_layout,
            std::get<PipelineLayout>(read_pipeline_layout("Et*8|t*9|t*8|t*7L")));
  const Layout even = read_torchtitan(piped("pipeline_parallel_first_stage_less_layers = 0\n"
                                            "pipeline_parallel_last_stage_less_layers = 0\n"),
                                      "f.toml", {})
                          .layout;
  EXPECT_FALSE(even.pipeline_layout);
  EXPECT_FALSE(even.account_for_embedding_in_pipeline_split);
}

LaunchRecord titan_with(const std::string& more) {
  return read_torchtitan("[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + more, "f.toml", {});
}

TEST(Torchtitan, SelectiveRecomputeIsByOperatorOrByBlock) {
  using enum RecomputeGranularity;
  const auto option = [](const std::string& value) {
    return titan_with("[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"" +
                      value + "\"\n")
        .layout;
  };
  EXPECT_EQ(option("op").recompute_granularity, selective);
  EXPECT_EQ(option("op").recompute_modules, RecomputeModules{kRecomputeOp});
  const Layout every_fourth = option("4");  // 8 of 32 blocks
  EXPECT_EQ(every_fourth.recompute_granularity, full);
  EXPECT_EQ(every_fourth.recompute_method, RecomputeMethod::block);
  EXPECT_EQ(every_fourth.recompute_num_layers, 8);
  EXPECT_EQ(option("1").recompute_granularity, full);
  EXPECT_EQ(option("1").recompute_num_layers, 0);
  EXPECT_EQ(titan_with("").layout.recompute_granularity, full);  // its default is "2"
  EXPECT_EQ(titan_with("").layout.recompute_num_layers, 16);
}

// batch_size is the name of 2024, when the loss was not compiled.
TEST(Torchtitan, TheLossIsCompiledSince2025) {
  const std::string compiled = "[compile]\nenable = true\n";
  EXPECT_TRUE(titan_with(compiled).job.cross_entropy_loss_fusion);
  EXPECT_FALSE(titan_with("").job.cross_entropy_loss_fusion);
  EXPECT_FALSE(titan_with(compiled + "components = [\"model\"]\n").job.cross_entropy_loss_fusion);
  EXPECT_FALSE(
      titan_with("[training]\nbatch_size = 2\ncompile = true\n").job.cross_entropy_loss_fusion);
}

constexpr char kNanotron[] =
    "parallelism: { dp: 2, pp: 1, tp: 2 }\n"
    "tokens: { micro_batch_size: 1, batch_accumulation_per_replica: 1, sequence_length: 128 }\n"
    "model:\n  model_config:\n    hidden_size: 64\n    intermediate_size: 256\n"
    "    num_attention_heads: 4\n    num_hidden_layers: 2\n    vocab_size: 100\n";

// models/qwen.py takes biases from attention_bias; Starcoder2Config has one key-value head.
TEST(Nanotron, ModelsDifferByTheirClass) {
  const auto model = [](const std::string& more) {
    return read_nanotron(std::string(kNanotron) + more, "n.yaml", {}).model;
  };
  EXPECT_FALSE(model("    is_qwen2_config: true\n    attention_bias: false\n").add_qkv_bias);
  EXPECT_TRUE(model("    is_qwen2_config: true\n    attention_bias: true\n").add_qkv_bias);
  EXPECT_FALSE(model("    is_llama_config: true\n").tied_embeddings);
  const Model starcoder = model("    is_starcoder2_config: true\n    multi_query: true\n");
  EXPECT_EQ(starcoder.activation, Activation::gelu);
  EXPECT_EQ(starcoder.num_query_groups, 1);
  EXPECT_TRUE(starcoder.add_bias_linear);
}

TEST(DeepSpeed, TheScriptsJsonIsReadByName) {
  const auto read = [](const std::string& name) -> std::optional<std::string> {
    if (name != "ds.json") return std::nullopt;
    return "{\"zero_optimization\": {\"stage\": 2}, \"train_micro_batch_size_per_gpu\": \"auto\"}";
  };
  const std::string script =
      "deepspeed --num_gpus 4 t.py --deepspeed ds.json --per_device_train_batch_size 3 "
      "--gradient_accumulation_steps 5 --block_size 512 --fp16\n";
  const LaunchRecord record = read_trainer_script(script, "t.sh", {}, read);
  EXPECT_EQ(record.layout.zero_stage, 2);
  EXPECT_EQ(record.layout.micro_batch_size, 3);
  EXPECT_EQ(record.micro_batches_a_rank, 5);
  EXPECT_EQ(record.job.seq_length, 512);
  EXPECT_EQ(record.job.precision, Precision::fp16);
  EXPECT_EQ(record.gpus_per_node, 4);
  EXPECT_THAT(error_of([&] { read_trainer_script(script, "t.sh", {}, {}); }),
              HasSubstr("ds.json is not there"));
}

}  // namespace
}  // namespace meshwright::interop
