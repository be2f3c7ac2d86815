// SPDX-License-Identifier: Apache-2.0
// torchtitan's commands, registry and older keys, in shapes of our own.
#include "interop/read_launch/torchtitan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/read_launch.h"
#include "sim/model/parameters.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kToml[] =
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = "
    "8192\n"
    "[parallelism]\ntensor_parallel_degree = 1\n[activation_checkpoint]\nmode = \"full\"\n";

LaunchRecord titan_run(const std::string& script, const LaunchHints& hints = {}) {
  return read_launch(script, "run.sh", hints, [](const std::string& name) {
    return name == "my.toml" ? std::optional<std::string>(kToml) : std::nullopt;
  });
}

TEST(TorchtitanScript, OptionsOverruleTheFile) {
  const LaunchRecord r = titan_run(
      "CONFIG_FILE=\"./my.toml\" NGPU=8 ./run_train.sh --parallelism.tensor_parallel_degree 2 "
      "--training.local_batch_size=4 --activation_checkpoint.mode none --metrics.log_freq 1\n");
  EXPECT_EQ(r.gpus, 8);
  EXPECT_EQ(r.model_name, "llama-3-8b");
  EXPECT_EQ(r.layout.tensor_parallel_size, 2);
  EXPECT_EQ(r.layout.micro_batch_size, 4);
  EXPECT_EQ(r.job.seq_length, 8192);
  EXPECT_EQ(r.layout.recompute_granularity, RecomputeGranularity::none);
  EXPECT_THAT(r.not_understood, IsEmpty());
}

TEST(TorchtitanScript, SwitchesAreTyros) {
  const LaunchRecord on = titan_run(
      "torchrun --nproc_per_node=4 --nnodes 2 -m torchtitan.train --job.config_file my.toml "
      "--compile.enable --model.converters float8 --float8.enable-fsdp-float8-all-gather\n");
  EXPECT_EQ(on.gpus, 8);
  EXPECT_EQ(on.job.kernel_fusion, KernelFusion::compiled);
  EXPECT_EQ(on.job.precision, Precision::fp8);
  EXPECT_TRUE(on.job.fp8_param_gather);
  const LaunchRecord off = titan_run(
      "torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file my.toml "
      "--compile.enable --compile.no-enable --metrics.no_enable_wandb\n");
  EXPECT_EQ(off.job.kernel_fusion, KernelFusion::eager);
  EXPECT_THAT(off.not_understood, IsEmpty());
}

TEST(TorchtitanScript, AFileThatTheScriptWrites) {
  const LaunchRecord r =
      titan_run("cat > made.toml <<EOF\n" + std::string(kToml) +
                "EOF\nexport CONFIG_FILE=made.toml\nexport NGPU=4\nbash run_train.sh\n");
  EXPECT_EQ(r.gpus, 4);
  EXPECT_EQ(r.layout.micro_batch_size, 1);
  EXPECT_EQ(r.layout.recompute_granularity, RecomputeGranularity::full);
}

TEST(TorchtitanScript, AFileOfTorchtitansOwnIsKnownByName) {
  const LaunchRecord r = titan_run(
      "CONFIG_FILE=./torchtitan/models/llama3/train_configs/llama3_70b.toml ./run_train.sh "
      "--training.compile\n");
  EXPECT_EQ(r.gpus, 8);
  EXPECT_EQ(r.layout.tensor_parallel_size, 8);
  EXPECT_EQ(r.layout.micro_batch_size, 8);
  EXPECT_EQ(r.job.kernel_fusion, KernelFusion::compiled);
  EXPECT_THAT(r.assumed, Contains(AllOf(Field(&Fact::field, "configuration"),
                                        Field(&Fact::said, HasSubstr("does not stand beside")))));
  EXPECT_THAT(error_of([] { titan_run("CONFIG_FILE=./else.toml ./run_train.sh\n"); }),
              HasSubstr("CONFIG_FILE=./else.toml: the file does not stand beside the script"));
}

TEST(TorchtitanRegistry, AConfigurationHasItsValues) {
  const LaunchRecord r = titan_run(
      "NGPU=8 MODULE=llama3 CONFIG=llama3_8b ./run_train.sh --training.local_batch_size 2 "
      "--parallelism.tensor_parallel_degree 2\n");
  EXPECT_EQ(r.target, "torchtitan");
  EXPECT_EQ(r.gpus, 8);
  EXPECT_EQ(r.model_name, "llama-3-8b");
  EXPECT_EQ(r.layout.micro_batch_size, 2);
  EXPECT_EQ(r.layout.tensor_parallel_size, 2);
  EXPECT_TRUE(r.layout.sequence_parallel);
  EXPECT_EQ(r.layout.zero_stage, 3);
  EXPECT_EQ(r.job.seq_length, 8192);
  EXPECT_EQ(r.layout.recompute_modules, RecomputeModules{kRecomputeOp});
  EXPECT_TRUE(r.data_parallel_size_follows);
  EXPECT_THAT(r.read, Contains(AllOf(Field(&Fact::field, "seq_length"),
                                     Field(&Fact::said, "CONFIG=llama3_8b"))));
}

TEST(TorchtitanRegistry, OptionsNameTheConfigurationToo) {
  const LaunchRecord r = titan_run(
      "torchrun --nproc_per_node=8 -m torchtitan.train --module llama3 --config llama3_405b "
      "activation-checkpoint:selective\n");
  EXPECT_EQ(r.job.precision, Precision::fp8);
  EXPECT_TRUE(r.layout.tp_comm_overlap);
  EXPECT_EQ(r.layout.recompute_granularity, RecomputeGranularity::selective);
  EXPECT_THAT(r.not_understood, IsEmpty());
}

// 16,384 tokens are four sequences; 8 of these go through the pipeline.
TEST(TorchtitanRegistry, BatchesInTokens) {
  const LaunchRecord r = titan_run(
      "NGPU=8 MODULE=qwen3 CONFIG=qwen3_14b ./run_train.sh "
      "--training.num-tokens-per-microbatch-per-dp-rank 16384 --training.max-context-length 4096 "
      "--parallelism.pipeline_parallel_degree 2 --parallelism.num_pp_microbatches 8\n");
  EXPECT_EQ(r.layout.micro_batch_size, 4);
  EXPECT_EQ(r.micro_batches_a_rank, 8);
  EXPECT_EQ(r.model.num_layers, 40);
  EXPECT_NEAR(static_cast<double>(total_parameters(r.model)), 14.77e9, 0.01e9);
}

TEST(TorchtitanRegistry, OneThatIsNotKnownIsRefused) {
  const std::string message = error_and_hint_of(
      [] { titan_run("NGPU=8 MODULE=llama3 CONFIG=llama3_9000b ./run_train.sh\n"); });
  EXPECT_THAT(message, AllOf(HasSubstr("CONFIG=llama3_9000b"), HasSubstr("TOML"),
                             HasSubstr("llama3_70b"), HasSubstr("run.sh:1")));
}

// 15.7 and 20.9 G parameters (the models' cards), 109 G (Scout's).
TEST(TorchtitanRegistry, FlavoursOfModelsThatAreNotShipped) {
  const auto parameters = [](const std::string& config) {
    return static_cast<double>(
        total_parameters(titan_run("CONFIG=" + config + " ./run_train.sh\n").model));
  };
  EXPECT_NEAR(parameters("deepseek_v3_16b"), 15.7e9, 0.1e9);
  EXPECT_NEAR(parameters("gpt_oss_20b"), 20.9e9, 0.1e9);
  EXPECT_NEAR(parameters("llama4_17bx16e"), 107.8e9, 0.5e9);
  EXPECT_NEAR(parameters("qwen3_0_6b"), 0.596e9, 0.002e9);
}

LaunchRecord titan_toml(const std::string& more) {
  return read_torchtitan("[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + more, "f.toml", {});
}

TEST(Torchtitan, SplitPointsAreStages) {
  const LaunchRecord r = titan_toml(
      "[training]\nbatch_size = 8\n[experimental]\npipeline_parallel_degree = 2\n"
      "pipeline_parallel_split_points = \"layers.14\"\n");
  EXPECT_EQ(r.layout.pipeline_layout,
            std::get<PipelineLayout>(read_pipeline_layout("Et*14|t*18L")));
  EXPECT_EQ(r.layout.micro_batch_size, 4);  // one part a stage, before 2025-05
  const LaunchRecord listed = titan_toml(
      "[training]\nlocal_batch_size = 8\n[parallelism]\npipeline_parallel_degree = 2\n"
      "module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\", \"layers.1\"], "
      "[\"layers.2\", \"norm\", \"output\"]]\n");
  EXPECT_EQ(listed.layout.pipeline_layout,
            std::get<PipelineLayout>(read_pipeline_layout("Ett|tL")));
}

TEST(Torchtitan, KeysOf2024) {
  const LaunchRecord r = titan_toml(
      "[training]\nbatch_size = 2\ndata_parallel_degree = 4\ntensor_parallel_degree = 2\n"
      "compile = true\n[float8]\nenable_float8_linear = true\n");
  EXPECT_FALSE(r.data_parallel_size_follows);
  EXPECT_EQ(r.layout.data_parallel_size, 4);
  EXPECT_EQ(r.layout.tensor_parallel_size, 2);
  EXPECT_EQ(r.job.precision, Precision::fp8);
  EXPECT_EQ(r.layout.zero_stage, 3);
}

TEST(Torchtitan, NarrowFormats) {
  EXPECT_EQ(titan_toml("[model2]\n[float8]\nenable_fsdp_float8_all_gather = true\n").job.precision,
            Precision::bf16);  // no converter
  const LaunchRecord rowwise = read_torchtitan(
      "[model]\nconverters = [\"quantize.linear.float8\"]\n"
      "[quantize.linear.float8]\nrecipe_name = \"rowwise\"\nfilter_fqns = [\"output\", "
      "\"attention.wq\"]\n",
      "f.toml", {});
  EXPECT_EQ(rowwise.job.precision, Precision::fp8);
  ASSERT_EQ(rowwise.not_understood.size(), 2U);
  EXPECT_THAT(rowwise.not_understood.at(0).why, HasSubstr("a scale a row"));
  EXPECT_THAT(rowwise.not_understood.at(1).why, HasSubstr("attention.wq"));
  const LaunchRecord emulated =
      read_torchtitan("[model]\nconverters = \"float8\"\n[float8]\nemulate = true\n", "f.toml", {});
  EXPECT_EQ(emulated.job.precision, Precision::bf16);
  const LaunchRecord mx =
      read_torchtitan("[model]\nconverters = [\"quantize.linear.mx\"]\n", "f.toml", {});
  EXPECT_EQ(mx.job.fp8_recipe, Fp8Recipe::mxfp8);
}

TEST(Torchtitan, CompilingTheLossAloneLeavesBlocksEager) {
  const LaunchRecord r = titan_toml("[compile]\nenable = true\ncomponents = [\"loss\"]\n");
  EXPECT_EQ(r.job.kernel_fusion, KernelFusion::eager);
  EXPECT_TRUE(r.job.cross_entropy_loss_fusion);
}

TEST(Torchtitan, AMemoryBudgetIsTheCompilersChoice) {
  const LaunchRecord r =
      titan_toml("[activation_checkpoint]\nmode = \"memory_budget\"\nmemory_budget = 0.5\n");
  EXPECT_EQ(r.layout.recompute_modules, RecomputeModules{kRecomputeOp});
  ASSERT_EQ(r.not_understood.size(), 1U);
  EXPECT_THAT(r.not_understood.front().said, HasSubstr("0.5"));
  EXPECT_THAT(error_of([] { titan_toml("[activation_checkpoint]\nmode = \"some\"\n"); }),
              HasSubstr("must be one of selective"));
}

}  // namespace
}  // namespace meshwright::interop
