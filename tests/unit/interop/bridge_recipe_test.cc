// SPDX-License-Identifier: Apache-2.0
// Recipes of Megatron-Bridge by name, overrides of the optimizer's types, graphs and adapters.
#include "interop/read_launch/bridge_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/megatron_bridge.h"
#include "interop/read_launch/read_launch.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(BridgeRecipe, ItsNameSaysModelTaskDevicesChipAndPrecision) {
  const auto name = bridge_recipe_name("qwen3_30b_a3b_pretrain_16gpu_h100_fp8cs_config");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->model, "qwen3-30b-a3b");
  EXPECT_EQ(name->task, "pretrain");
  EXPECT_EQ(name->gpus, 16);
  EXPECT_EQ(name->chip, "h100");
  EXPECT_EQ(name->precision, "bf16_with_fp8_current_scaling_mixed");
  EXPECT_EQ(bridge_recipe_name("llama3_8b_lora_config")->task, "peft");
  EXPECT_EQ(bridge_recipe_name("llama3_8b_lora_config")->gpus, 0);
  EXPECT_FALSE(bridge_recipe_name("train.yaml"));
  EXPECT_FALSE(bridge_recipe_name("some_model_config"));
}

LaunchRecord read_script(const std::string& text) { return read_launch(text, "run.sh", {}); }

std::string refusal_of(const std::string& text) {
  try {
    read_script(text);
  } catch (const InputError& error) {
    return error.what() + error.hint();
  }
  return "";
}

TEST(BridgeRecipe, AListedOneHasItsSizes) {
  const LaunchRecord r = read_script(
      "./scripts/training/train.sh --nodes 2 --gpus-per-node 8 "
      "--recipe qwen3_8b_pretrain_16gpu_h100_bf16_config --mode pretrain --max_steps 100 "
      "logger.log_throughput=true\n");
  EXPECT_EQ(r.target, "Megatron-Bridge");
  EXPECT_EQ(r.model_name, "qwen3-8b");
  EXPECT_EQ(r.gpus, 16);
  EXPECT_EQ(r.layout.tensor_parallel_size, 1);
  EXPECT_EQ(r.layout.micro_batch_size, 1);
  EXPECT_EQ(r.layout.zero_stage, 1);
  EXPECT_EQ(r.job.global_batch_size, 1024);
  EXPECT_EQ(r.job.seq_length, 4096);
  EXPECT_EQ(r.job.gradient_precision, Precision::bf16);
  EXPECT_TRUE(r.job.cross_entropy_loss_fusion);
  EXPECT_THAT(r.assumed, Contains(Field(&Fact::field, "recipe")));
  EXPECT_THAT(r.not_understood, IsEmpty());
}

TEST(BridgeRecipe, OverridesAndOptionsStandAboveIt) {
  const LaunchRecord r = read_script(
      "torchrun --nproc_per_node=8 scripts/training/run_recipe.py "
      "--recipe=qwen3_32b_pretrain_config model.tensor_model_parallel_size=4 "
      "model.recompute_granularity=null train.global_batch_size=64 --seq_length 8192\n");
  EXPECT_EQ(r.gpus, 8);
  EXPECT_EQ(r.layout.tensor_parallel_size, 4);
  EXPECT_EQ(r.layout.pipeline_parallel_size, 2);
  EXPECT_EQ(r.layout.recompute_granularity, RecomputeGranularity::none);
  EXPECT_EQ(r.job.global_batch_size, 64);
  EXPECT_EQ(r.job.seq_length, 8192);
}

TEST(BridgeRecipe, ThePerformanceScriptNamesOneByParts) {
  const LaunchRecord r = read_script(
      "python scripts/performance/setup_experiment.py -m llama -mr llama3_70b --task pretrain "
      "-ng 64 -gn 8 -g h100 -c fp8_cs -a account -p batch -tp 2 -gb 512\n");
  EXPECT_EQ(r.model_name, "llama-3-70b");
  EXPECT_EQ(r.gpus, 64);
  EXPECT_EQ(r.gpus_per_node, 8);
  EXPECT_EQ(r.layout.tensor_parallel_size, 2);
  EXPECT_EQ(r.layout.pipeline_parallel_size, 8);
  EXPECT_EQ(r.job.global_batch_size, 512);
  EXPECT_EQ(r.job.precision, Precision::fp8);
  EXPECT_EQ(r.job.fp8_recipe, Fp8Recipe::tensorwise);
  EXPECT_TRUE(r.job.fp8_param_gather);
}

TEST(BridgeRecipe, OneThatIsNotListedAsksForAllThatIsMissing) {
  const std::string ask = refusal_of(
      "./scripts/training/train.sh --recipe glm45_air_106b_pretrain_config "
      "model.pipeline_model_parallel_size=4 train.micro_batch_size=1\n");
  EXPECT_THAT(ask, HasSubstr("in Python"));
  EXPECT_THAT(ask, HasSubstr("model.tensor_model_parallel_size=..."));
  EXPECT_THAT(ask, HasSubstr("model.expert_model_parallel_size=..."));
  EXPECT_THAT(ask, HasSubstr("train.global_batch_size=..."));
  EXPECT_THAT(ask, HasSubstr("model.seq_length=..."));
  EXPECT_THAT(ask, Not(HasSubstr("pipeline_model_parallel_size=...")));
  EXPECT_THAT(ask, Not(HasSubstr("micro_batch_size=...")));
  EXPECT_THAT(refusal_of("./scripts/training/train.sh --recipe llama32_1b_peft_config\n"),
              HasSubstr("peft.dim=..."));
  EXPECT_THAT(refusal_of("./train.sh --recipe llama32_1b_dpo_config model.seq_length=1\n"),
              HasSubstr("DPO"));
  const LaunchRecord r = read_script(
      "./scripts/training/train.sh --recipe llama32_1b_pretrain_8gpu_h100_bf16_config "
      "model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=1 "
      "model.context_parallel_size=1 train.micro_batch_size=2 train.global_batch_size=64 "
      "model.seq_length=4096\n");
  EXPECT_EQ(r.gpus, 8);
  EXPECT_EQ(r.model_name, "llama32-1b");
  EXPECT_EQ(r.layout.zero_stage, 1);
}

constexpr const char* kOverrides =
    "model: { tensor_model_parallel_size: 1, seq_length: 4096 }\n"
    "train: { micro_batch_size: 1, global_batch_size: 64 }\n";

LaunchRecord read_yaml(const std::string& more) {
  return read_megatron_bridge(kOverrides + more, "b.yaml", {});
}

TEST(BridgeRecipe, SizesOfAnotherModelThanTheNamedOneAreRefused) {
  LaunchHints hints;
  hints.model = Model{};
  hints.model->num_layers = 48;
  const auto read = [&](const std::string& layers) {
    return read_megatron_bridge("model: { tensor_model_parallel_size: 1, num_layers: " + layers +
                                    " }\ntrain: { micro_batch_size: 1 }\n",
                                "b.yaml", hints);
  };
  EXPECT_THAT(read("48").not_understood, IsEmpty());
  EXPECT_THROW(read("4"), InputError);
}

TEST(BridgePrecision, TypesOfStatesCountWithThePrecisionAwareOptimizer) {
  const std::string types =
      "main_grads_dtype: torch.bfloat16, exp_avg_dtype: torch.bfloat16, exp_avg_sq_dtype: "
      "bfloat16, main_params_dtype: torch.float32 }\n";
  const LaunchRecord on = read_yaml("optimizer: { use_precision_aware_optimizer: true, " + types);
  EXPECT_EQ(on.job.gradient_precision, Precision::bf16);
  EXPECT_EQ(on.job.exp_avg_precision, Precision::bf16);
  EXPECT_EQ(on.job.exp_avg_sq_precision, Precision::bf16);
  EXPECT_TRUE(on.says_job("exp_avg_precision"));
  EXPECT_EQ(on.job.store_param_remainders, false);  // main_params_dtype is named
  EXPECT_THAT(on.not_understood, IsEmpty());
  const LaunchRecord off = read_yaml("optimizer: { use_precision_aware_optimizer: false, " + types);
  EXPECT_EQ(off.job.exp_avg_precision, Precision::fp32);
  EXPECT_EQ(off.job.store_param_remainders, false);
  const LaunchRecord plain = read_yaml("optimizer: { use_precision_aware_optimizer: true }\n");
  EXPECT_EQ(plain.job.store_param_remainders, true);
  EXPECT_EQ(off.job.gradient_precision, Precision::fp32);
  const LaunchRecord half = read_yaml(
      "optimizer: { use_precision_aware_optimizer: true, main_params_dtype: torch.float16 }\n");
  EXPECT_EQ(half.not_understood.size(), 1U);
}

TEST(BridgePrecision, PresetsSayHowFp8IsScaledAndKept) {
  const auto job = [](const std::string& preset) {
    return read_yaml("mixed_precision: " + preset + "\n").job;
  };
  EXPECT_TRUE(job("bf16_with_fp8_current_scaling_mixed").fp8_param_gather);
  EXPECT_EQ(job("bf16-with-mxfp8-mixed").fp8_recipe, Fp8Recipe::mxfp8);
  EXPECT_FALSE(job("bf16_with_fp8_subchannel_scaling_mixed").fp8_param_gather);
  EXPECT_EQ(job("bf16_with_nvfp4_mixed").precision, Precision::fp4);
  EXPECT_EQ(job("{ bf16: true, grad_reduce_in_fp32: false }").gradient_precision, Precision::bf16);
  EXPECT_EQ(job("bf16_mixed\nddp: { grad_reduce_in_fp32: false }").gradient_precision,
            Precision::fp32);
}

TEST(BridgeGraphs, AllTheirNamesAreRead) {
  const auto layout = [](const std::string& keys) {
    return read_megatron_bridge("model: { tensor_model_parallel_size: 1, seq_length: 4096, " +
                                    keys +
                                    " }\ntrain: { micro_batch_size: 1, global_batch_size: 64 }\n",
                                "b.yaml", {})
        .layout;
  };
  const Layout parts =
      layout("cuda_graph_impl: transformer_engine, cuda_graph_scope: [moe_router, moe_preprocess]");
  EXPECT_EQ(parts.cuda_graph_impl, CudaGraphImpl::transformer_engine);
  EXPECT_EQ(parts.cuda_graph_modules, CudaGraphModules::moe_router_preprocess);
  EXPECT_EQ(layout("cuda_graph_impl: local, cuda_graph_scope: full_iteration").cuda_graph_impl,
            CudaGraphImpl::full_iteration);
  EXPECT_EQ(layout("cuda_graph_impl: none, cuda_graph_scope: full").cuda_graph_impl,
            CudaGraphImpl::none);
  EXPECT_EQ(layout("external_cuda_graph: true").cuda_graph_impl, CudaGraphImpl::transformer_engine);
  EXPECT_EQ(layout("enable_cuda_graph: true, cuda_graph_scope: attn").cuda_graph_modules,
            CudaGraphModules::attn);
  const Layout mlp = layout("cuda_graph_impl: transformer_engine, cuda_graph_scope: [mlp]");
  EXPECT_EQ(mlp.cuda_graph_impl, CudaGraphImpl::none);
}

TEST(BridgePeft, LoraIsReadAndDoraIsRefused) {
  const LaunchRecord r = read_yaml("peft: { dim: 16, target_modules: [linear_qkv], alpha: 32 }\n");
  EXPECT_EQ(r.job.lora_rank, 16);
  EXPECT_EQ(r.job.lora_target_modules.bits, static_cast<unsigned>(kLoraQkv));
  EXPECT_TRUE(r.says_job("lora_rank"));
  EXPECT_THAT(r.not_understood, IsEmpty());
  EXPECT_EQ(read_yaml("peft: { dim: 8 }\n").job.lora_target_modules.bits,
            kLoraQkv | kLoraProj | kLoraFc1 | kLoraFc2);
  EXPECT_THROW(read_yaml("peft: dora\n"), InputError);
  EXPECT_THROW(read_yaml("peft: { _target_: megatron.bridge.peft.dora.DoRA, dim: 8 }\n"),
               InputError);
  EXPECT_THROW(read_yaml("peft: { dim: 8, target_modules: ['*.layers.0.*.linear_qkv'] }\n"),
               InputError);
  EXPECT_EQ(read_yaml("peft: none\n").job.lora_rank, 0);
}

}  // namespace
}  // namespace meshwright::interop
