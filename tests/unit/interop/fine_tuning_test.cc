// SPDX-License-Identifier: Apache-2.0
// Fine-tuning launches of axolotl, LLaMA-Factory, TRL and the Trainer, in shapes of our own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/read_launch.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr unsigned kSeven =
    kLoraQ | kLoraK | kLoraV | kLoraProj | kLoraFc1Gate | kLoraFc1Up | kLoraFc2;

LaunchRecord tuning(const std::string& text, const std::string& file = "x.yaml",
                    const ReadNamedFile& beside = {}) {
  return read_launch(text, file, {}, beside);
}

std::string tuning_refusal(const std::string& text, const std::string& file = "x.yaml") {
  return error_and_hint_of([&] { tuning(text, file); });
}

std::vector<std::string> tuning_listed(const LaunchRecord& record) {
  std::vector<std::string> said;
  for (const NotUnderstood& item : record.not_understood) {
    if (!item.off) said.push_back(item.said);
  }
  return said;
}

std::vector<std::string> tuning_assumed(const LaunchRecord& record) {
  std::vector<std::string> said;
  for (const Fact& fact : record.assumed) said.push_back(fact.field + " " + fact.value);
  return said;
}

// Shards of 4 times 2 copies times 2 tensor ranks are 16 devices.
TEST(Axolotl, ReadsItsMesh) {
  const LaunchRecord record = tuning(
      "base_model: meta-llama/Llama-3.1-8B\ndp_shard_size: 4\ndp_replicate_size: 2\n"
      "tensor_parallel_size: 2\nfsdp_version: 2\nfsdp_config:\n  offload_params: false\n"
      "  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  reshard_after_forward: true\n"
      "  transformer_layer_cls_to_wrap: LlamaDecoderLayer\n  state_dict_type: FULL_STATE_DICT\n"
      "datasets:\n  - path: a/b\n    type: alpaca\nsequence_len: 2048\nsample_packing: true\n"
      "gradient_accumulation_steps: 1\nmicro_batch_size: 1\noptimizer: adamw_torch_fused\n"
      "bf16: true\ntf32: true\nwandb_project:\nlogging_steps: 1\nspecial_tokens:\n"
      "  pad_token: <|end_of_text|>\n");
  EXPECT_EQ(record.target, "axolotl");
  EXPECT_EQ(record.framework, "accelerate-2026");
  EXPECT_EQ(record.model_name, "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(record.layout.data_parallel_size, 8);
  EXPECT_FALSE(record.data_parallel_size_follows);
  EXPECT_EQ(record.replicas, 2);
  EXPECT_EQ(record.layout.tensor_parallel_size, 2);
  EXPECT_EQ(record.layout.zero_stage, 3);
  EXPECT_EQ(record.layout.fsdp_unit, FsdpUnit::block);
  EXPECT_EQ(record.layout.recompute_granularity, RecomputeGranularity::none);
  EXPECT_EQ(record.job.seq_length, 2048);
  EXPECT_EQ(record.job.precision, Precision::bf16);
  EXPECT_EQ(record.job.kernel_fusion, KernelFusion::transformers);
  EXPECT_TRUE(record.job.master_weights);  // FSDP keeps fp32 shards
  EXPECT_EQ(record.micro_batches_a_rank, 1);
  EXPECT_THAT(tuning_listed(record), IsEmpty());
}

TEST(Axolotl, SixteenBitWeightsHaveSixteenBitMomentsUnlessTheOptimizerSaysEight) {
  const std::string common =
      "base_model: a/b\nsequence_len: 4096\nmicro_batch_size: 2\nflash_attention: true\n"
      "bf16: auto\nfp16:\ngradient_checkpointing: false\noptimizer: ";
  const Job eight = tuning(common + "adamw_8bit\n").job;
  EXPECT_FALSE(eight.master_weights);
  EXPECT_EQ(eight.gradient_precision, Precision::bf16);
  EXPECT_EQ(eight.exp_avg_precision, Precision::fp8);
  EXPECT_EQ(eight.exp_avg_sq_precision, Precision::fp8);
  EXPECT_EQ(eight.attention_kernel, AttentionKernel::flash);
  const Job plain = tuning(common + "adamw_torch\n").job;
  EXPECT_EQ(plain.exp_avg_precision, Precision::bf16);
  EXPECT_EQ(tuning(common + "paged_adamw_32bit\n").job.exp_avg_precision, Precision::fp32);
  EXPECT_THAT(tuning_listed(tuning(common + "muon\n")), Contains("optimizer = muon"));
}

TEST(Axolotl, ReadsQloraUnderFsdp1) {
  const LaunchRecord record = tuning(
      "base_model: a/b\nload_in_8bit: false\nload_in_4bit: true\nadapter: qlora\nlora_r: 16\n"
      "lora_alpha: 16\nlora_dropout: 0.05\nlora_target_modules:\nlora_target_linear: true\n"
      "sequence_len: 512\nsample_packing: false\npad_to_sequence_len: true\n"
      "gradient_accumulation_steps: 4\nmicro_batch_size: 1\noptimizer: adamw_torch\nbf16: auto\n"
      "gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: true\n"
      "flash_attention: true\nfsdp:\n  - full_shard\n  - auto_wrap\nfsdp_config:\n"
      "  fsdp_offload_params: true\n  fsdp_sharding_strategy: FULL_SHARD\n"
      "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n");
  EXPECT_EQ(record.framework, "accelerate-2026");  // whose models may have experts
  EXPECT_EQ(record.job.lora_rank, 16);
  EXPECT_EQ(record.job.lora_target_modules.bits, kSeven);
  EXPECT_EQ(record.job.frozen_weight_precision, Precision::fp4);
  EXPECT_EQ(record.layout.recompute_granularity, RecomputeGranularity::full);
  EXPECT_EQ(record.micro_batches_a_rank, 4);
  EXPECT_THAT(tuning_listed(record),
              testing::ElementsAre("fsdp_config.fsdp_offload_params = true"));
}

TEST(Axolotl, ReadsTargetsOfAdaptersByListAndByExpression) {
  const std::string common =
      "base_model: a/b\nsequence_len: 2048\nmicro_batch_size: 1\nadapter: lora\nlora_r: 8\n"
      "load_in_8bit: true\n";
  const auto bits = [&](const std::string& more) {
    return tuning(common + more).job.lora_target_modules.bits;
  };
  EXPECT_EQ(bits("lora_target_modules: [q_proj, v_proj]\n"), kLoraQ | kLoraV);
  EXPECT_EQ(bits("lora_target_modules: 'layers.[\\d]+.(mlp|attn).(up|down|gate)_proj'\n"),
            kLoraFc1Up | kLoraFc2 | kLoraFc1Gate);
  EXPECT_EQ(tuning(common).job.frozen_weight_precision, Precision::fp8);
  const LaunchRecord saved = tuning(common + "lora_modules_to_save: [embed_tokens, lm_head]\n");
  EXPECT_THAT(tuning_listed(saved), Contains("lora_modules_to_save = embed_tokens lm_head"));
}

TEST(Axolotl, KnowsTheFilesOfDeepspeedThatItShips) {
  const std::string text =
      "base_model: a/b\nsequence_len: 8192\nmicro_batch_size: 1\nbf16: true\n"
      "deepspeed: deepspeed_configs/";
  const LaunchRecord shipped = tuning(text + "zero3_bf16_cpuoffload_all.json\n");
  EXPECT_EQ(shipped.layout.zero_stage, 3);
  EXPECT_TRUE(shipped.layout.optimizer_offload);
  EXPECT_EQ(shipped.framework, "deepspeed-2025");
  EXPECT_EQ(shipped.target, "axolotl");
  EXPECT_THAT(tuning_assumed(shipped), Contains("zero_stage 3"));
  const LaunchRecord beside = tuning(text + "zero3.json\n", "x.yaml", [](const std::string& name) {
    return name == "zero3.json"
               ? std::optional<std::string>("{\"zero_optimization\": {\"stage\": 1}}")
               : std::nullopt;
  });
  EXPECT_EQ(beside.layout.zero_stage, 1);
  EXPECT_THAT(tuning_refusal(text + "mine.json\n"), HasSubstr("mine.json is not there"));
}

TEST(Axolotl, ContextRanksGatherPackedSamples) {
  const LaunchRecord record = tuning(
      "base_model: Qwen/Qwen3-8B\nplugins:\n"
      "  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\ndp_shard_size: 2\n"
      "context_parallel_size: 2\ntensor_parallel_size: 2\nfsdp_version: 2\nfsdp_config:\n"
      "  reshard_after_forward: true\nsequence_len: 8_192\nsample_packing: true\n"
      "attn_implementation: flash_attention_2\nbf16: true\n");
  EXPECT_EQ(record.job.seq_length, 8192);
  EXPECT_EQ(record.layout.context_parallel_size, 2);
  EXPECT_EQ(record.layout.cp_comm_type, ContextParallelAlgorithm::all_gather);
  EXPECT_TRUE(record.job.cross_entropy_loss_fusion);
  EXPECT_EQ(record.layout.data_parallel_size, 2);
}

TEST(Axolotl, LigersKernelsKeepWhatFusedOnesKeep) {
  const Job job =
      tuning(
          "base_model: a/b\nsequence_len: 4096\nmicro_batch_size: 1\nbf16: true\nplugins:\n"
          "  - axolotl.integrations.liger.LigerPlugin\nliger_rope: true\n"
          "liger_rms_norm: true\nliger_glu_activation: true\n"
          "liger_fused_linear_cross_entropy: true\n")
          .job;
  EXPECT_EQ(job.kernel_fusion, KernelFusion::fused);
  EXPECT_TRUE(job.cross_entropy_loss_fusion);
}

TEST(Axolotl, RefusesWhatItDoesNotTrainByThisStep) {
  const std::string text = "base_model: a/b\nsequence_len: 2048\n";
  EXPECT_THAT(tuning_refusal(text + "rl: dpo\n"), HasSubstr("reinforcement"));
  EXPECT_THAT(tuning_refusal(text + "reward_model: true\n"), HasSubstr("reinforcement"));
  EXPECT_THAT(tuning_refusal(text + "expert_parallel_size: 2\n"), HasSubstr("experts"));
  EXPECT_THAT(tuning_refusal(text + "unfrozen_parameters: [lm_head]\n"), HasSubstr("not modelled"));
  EXPECT_THAT(tuning_refusal(text + "adapter: llama-adapter\n"), HasSubstr("not modelled"));
  EXPECT_THAT(tuning_refusal(text + "load_in_4bit: true\n"), HasSubstr("without adapters"));
}

constexpr const char* kFactory =
    "### model\nmodel_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\n"
    "trust_remote_code: true\n\n### method\nstage: sft\ndo_train: true\n"
    "### dataset\ndataset: identity,alpaca_en_demo\ntemplate: llama3\nmax_samples: 1000\n"
    "overwrite_cache: true\npreprocessing_num_workers: 16\n### output\noutput_dir: saves/x\n"
    "logging_steps: 10\nplot_loss: true\nsave_only_model: false\nreport_to: none\n"
    "### train\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-4\nnum_train_epochs: 3.0\n"
    "lr_scheduler_type: cosine\nddp_timeout: 180000000\nresume_from_checkpoint: null\n";

TEST(LlamaFactory, ReadsLoraWithItsDefaults) {
  const LaunchRecord record =
      tuning(std::string(kFactory) +
             "finetuning_type: lora\nlora_rank: 8\nlora_target: all\n"
             "cutoff_len: 2048\ngradient_accumulation_steps: 8\nbf16: true\n");
  EXPECT_EQ(record.target, "LLaMA-Factory");
  EXPECT_EQ(record.job.lora_rank, 8);
  EXPECT_EQ(record.job.lora_target_modules.bits, kSeven);
  EXPECT_FALSE(record.job.frozen_weight_precision);
  EXPECT_EQ(record.layout.recompute_granularity, RecomputeGranularity::full);
  EXPECT_EQ(record.job.attention_kernel, AttentionKernel::flash);
  EXPECT_EQ(record.micro_batches_a_rank, 8);
  EXPECT_THAT(tuning_assumed(record),
              AllOf(Contains("recompute_granularity full"), Contains("zero_stage 0")));
  EXPECT_THAT(tuning_listed(record), IsEmpty());
}

TEST(LlamaFactory, ReadsFullTrainingUnderAShippedFile) {
  const LaunchRecord record =
      tuning(std::string(kFactory) +
             "finetuning_type: full\ndeepspeed: examples/deepspeed/ds_z3_config.json\nbf16: true\n"
             "gradient_accumulation_steps: 2\nflash_attn: fa2\nenable_liger_kernel: true\n"
             "disable_gradient_checkpointing: true\n");
  EXPECT_EQ(record.job.lora_rank, 0);
  EXPECT_EQ(record.layout.zero_stage, 3);
  EXPECT_EQ(record.job.seq_length, 2048);
  EXPECT_EQ(record.layout.recompute_granularity, RecomputeGranularity::none);
  EXPECT_EQ(record.job.kernel_fusion, KernelFusion::fused);
  EXPECT_TRUE(record.job.master_weights);
}

TEST(LlamaFactory, ReadsNarrowWeightsAndPartialTargets) {
  const LaunchRecord record = tuning(std::string(kFactory) +
                                     "finetuning_type: lora\nlora_target: q_proj,v_proj\n"
                                     "quantization_bit: 4\nquantization_method: bnb\n"
                                     "double_quantization: false\ncutoff_len: 1024\nfp16: true\n"
                                     "optim: paged_adamw_8bit\nneat_packing: true\n");
  EXPECT_EQ(record.job.lora_target_modules.bits, kLoraQ | kLoraV);
  EXPECT_EQ(record.job.frozen_weight_precision, Precision::fp4);
  EXPECT_EQ(record.job.exp_avg_precision, Precision::fp8);
  EXPECT_EQ(record.job.precision, Precision::fp16);
}

TEST(LlamaFactory, RefusesPreferencesAndOtherWaysOfTraining) {
  const std::string text = "model_name_or_path: a/b\ntemplate: llama3\ncutoff_len: 1024\n";
  EXPECT_THAT(tuning_refusal(text + "stage: dpo\nfinetuning_type: lora\n"),
              HasSubstr("reinforcement"));
  EXPECT_THAT(tuning_refusal(text + "stage: sft\nfinetuning_type: freeze\n"),
              HasSubstr("not modelled"));
  EXPECT_THAT(tuning_refusal(text + "stage: sft\nfinetuning_type: full\nuse_galore: true\n"),
              HasSubstr("not modelled"));
  EXPECT_NO_THROW(tuning(text + "stage: pt\nfinetuning_type: full\nuse_galore: false\n"));
}

TEST(LlamaFactory, ReadsTheSecondVersionsSections) {
  const LaunchRecord record = tuning(
      "model: Qwen/Qwen3-4B\nmodel_class: llm\ntemplate: qwen3_nothink\nkernel_config: null\n"
      "peft_config:\n  name: lora\n  r: 16\n  target_modules: all\ndist_config:\n  name: fsdp2\n"
      "train_dataset: data/x.yaml\nmicro_batch_size: 1\nglobal_batch_size: 4\ncutoff_len: 4096\n"
      "bf16: true\n");
  EXPECT_EQ(record.job.lora_rank, 16);
  EXPECT_EQ(record.framework, "accelerate-2026");
  EXPECT_EQ(record.job.global_batch_size, 4);
  EXPECT_EQ(record.model_name, "Qwen/Qwen3-4B");
}

TEST(LlamaFactory, ReadsItsCommandWithAndWithoutYaml) {
  const LaunchRecord options = tuning(
      "export NCCL_P2P_DISABLE=1\nCUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train \\\n"
      "  --stage sft --do_train True --model_name_or_path a/b --finetuning_type lora \\\n"
      "  --cutoff_len 2048 --per_device_train_batch_size 4 --gradient_accumulation_steps 16 \\\n"
      "  --fp16 True --optim adamw_torch --lora_rank 32 --lora_alpha 16 --lora_target all\n",
      "x.sh");
  EXPECT_EQ(options.job.lora_rank, 32);
  EXPECT_EQ(options.gpus, 2);
  EXPECT_EQ(options.target, "LLaMA-Factory");
  const ReadNamedFile beside = [](const std::string& name) -> std::optional<std::string> {
    if (name != "sft.yaml") return std::nullopt;
    return std::string(kFactory) + "finetuning_type: full\ncutoff_len: 1024\nbf16: true\n";
  };
  const LaunchRecord named = tuning(
      "FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train examples/sft.yaml "
      "cutoff_len=4096 per_device_train_batch_size=3\n",
      "x.sh", beside);
  EXPECT_EQ(named.job.seq_length, 4096);
  EXPECT_EQ(named.layout.micro_batch_size, 3);
  EXPECT_EQ(named.gpus, 16);
  EXPECT_THAT(tuning_refusal("llamafactory-cli train missing.yaml\n", "x.sh"),
              HasSubstr("missing.yaml is not there"));
}

TEST(Trl, ReadsItsYaml) {
  const LaunchRecord record = tuning(
      "model_name_or_path: mistralai/Mistral-7B-v0.1\nmodel_revision: main\n"
      "torch_dtype: bfloat16\nattn_implementation: flash_attention_2\nload_in_4bit: true\n"
      "use_peft: true\nlora_r: 16\nlora_alpha: 16\nlora_dropout: 0.05\nlora_target_modules:\n"
      "- q_proj\n- k_proj\n- v_proj\n- o_proj\n- gate_proj\n- up_proj\n- down_proj\n"
      "dataset_mixture:\n  datasets:\n    - id: a/b\n      weight: 1.0\nbf16: true\n"
      "gradient_accumulation_steps: 2\ngradient_checkpointing: true\n"
      "gradient_checkpointing_kwargs:\n  use_reentrant: false\nmax_length: 2048\n"
      "per_device_train_batch_size: 4\nreport_to:\n- tensorboard\nseed: 42\n");
  EXPECT_EQ(record.target, "TRL");
  EXPECT_EQ(record.job.lora_target_modules.bits, kSeven);
  EXPECT_EQ(record.job.frozen_weight_precision, Precision::fp4);
  EXPECT_EQ(record.layout.micro_batch_size, 4);
  EXPECT_EQ(record.job.seq_length, 2048);
  EXPECT_THAT(tuning_listed(record), IsEmpty());
}

TEST(Trl, ReadsItsCommandUnderAShippedConfiguration) {
  const LaunchRecord record = tuning(
      "accelerate launch --config_file ../trl/examples/accelerate_configs/deepspeed_zero3.yaml "
      "--num_processes=8 \\\n  trl/scripts/sft.py --model_name_or_path a/b --dataset_name c/d "
      "\\\n  --per_device_train_batch_size 2 --gradient_accumulation_steps 1 --max_length 4096 "
      "\\\n  --packing --output_dir out --dtype bfloat16\n",
      "x.sh");
  EXPECT_EQ(record.gpus, 8);
  EXPECT_EQ(record.layout.zero_stage, 3);
  EXPECT_EQ(record.job.lora_rank, 0);
  EXPECT_EQ(record.job.precision, Precision::bf16);
  const LaunchRecord cli = tuning(
      "trl sft --model_name_or_path a/b --dataset_name c/d --accelerate_config fsdp2 "
      "--num_processes 4 --use_peft --lora_r 32 --lora_target_modules q_proj k_proj\n",
      "x.sh");
  EXPECT_EQ(cli.framework, "accelerate-2026");
  EXPECT_EQ(cli.gpus, 4);
  EXPECT_EQ(cli.job.lora_rank, 32);
  EXPECT_EQ(cli.job.lora_target_modules.bits, kLoraQ | kLoraK);
  EXPECT_EQ(cli.layout.micro_batch_size, 8);
  EXPECT_EQ(cli.job.seq_length, 1024);
}

TEST(Trl, RefusesPreferencePrograms) {
  EXPECT_THAT(tuning_refusal(
                  "accelerate launch scripts/run_dpo.py --per_device_train_batch_size 1\n", "x.sh"),
              HasSubstr("run_dpo.py"));
  EXPECT_THAT(tuning_refusal("model_name_or_path: a/b\nnum_generations: 8\n"
                             "per_device_train_batch_size: 2\n"),
              HasSubstr("reinforcement"));
}

TEST(Trainer, ReadsItsOwnFsdpWords) {
  const LaunchRecord record = tuning(
      "torchrun --nproc_per_node=4 train.py --model_name_or_path a/b --bf16 True \\\n"
      "  --per_device_train_batch_size 2 --gradient_accumulation_steps 8 \\\n"
      "  --fsdp \"full_shard auto_wrap\" --model_max_length 2048 \\\n"
      "  --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer --tf32 True\n",
      "x.sh");
  EXPECT_EQ(record.gpus, 4);
  EXPECT_EQ(record.layout.zero_stage, 3);
  EXPECT_EQ(record.layout.fsdp_unit, FsdpUnit::block);
  EXPECT_EQ(record.job.gradient_precision, Precision::bf16);
  EXPECT_EQ(record.job.seq_length, 2048);
  EXPECT_THAT(tuning_listed(record), IsEmpty());
}

TEST(Trainer, ReadsAcceleratesSwitches) {
  const LaunchRecord record = tuning(
      "accelerate launch --use_fsdp --fsdp_sharding_strategy FULL_SHARD --mixed_precision bf16 "
      "--num_processes 8 --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP run_clm.py "
      "--model_name_or_path a/b --block_size 1024 --per_device_train_batch_size 1\n",
      "x.sh");
  EXPECT_EQ(record.layout.zero_stage, 3);
  EXPECT_EQ(record.gpus, 8);
  EXPECT_EQ(record.job.precision, Precision::bf16);
}

TEST(Trainer, SaysThatWeightsAreFp32UnlessATypeIsNamed) {
  const std::string command =
      "python run_clm.py --model_name_or_path a/b --block_size 512 "
      "--per_device_train_batch_size 8 --bf16 ";
  const LaunchRecord loaded = tuning(command + "\n", "x.sh");
  EXPECT_TRUE(loaded.job.master_weights);
  EXPECT_EQ(loaded.job.gradient_precision, Precision::fp32);
  const LaunchRecord half = tuning(command + "--torch_dtype bfloat16\n", "x.sh");
  EXPECT_FALSE(half.job.master_weights);
  EXPECT_EQ(half.job.exp_avg_precision, Precision::bf16);
}

TEST(Trainer, EagerAttentionIsSaid) {
  const LaunchRecord record = tuning(
      "model_name_or_path: a/b\nper_device_train_batch_size: 1\nmax_seq_length: 512\n"
      "attn_implementation: eager\nbf16: true\n");
  EXPECT_EQ(record.job.attention_kernel, AttentionKernel::unfused);
}

// Batch size 8 is the Trainer's default.
TEST(Trainer, TakesTheTrainersBatchWhereNobodySaysIt) {
  const LaunchRecord record = tuning(
      "torchrun --nproc_per_node 2 run_clm.py --model_name_or_path a/b --block_size 512\n", "x.sh");
  EXPECT_EQ(record.layout.micro_batch_size, 8);
  EXPECT_EQ(record.job.precision, Precision::fp32);
}

TEST(Swift, ReadsItsTrainer) {
  const LaunchRecord record = tuning(
      "NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 swift sft --model Qwen/Qwen2.5-7B-Instruct "
      "--train_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 --lora_rank 8 "
      "--lora_alpha 32 --target_modules all-linear --gradient_accumulation_steps 16 "
      "--max_length 2048 --deepspeed zero2 --system 'You are a helpful assistant.'\n",
      "x.sh");
  EXPECT_EQ(record.target, "ms-swift's Trainer");
  EXPECT_EQ(record.job.lora_target_modules.bits, kSeven);
  EXPECT_EQ(record.layout.zero_stage, 2);
  EXPECT_EQ(record.gpus, 2);
  EXPECT_THAT(tuning_listed(record), IsEmpty());
}

TEST(Axolotl, ReadsItsCommand) {
  const ReadNamedFile beside = [](const std::string& name) -> std::optional<std::string> {
    if (name != "q.yml") return std::nullopt;
    return "base_model: a/b\nsequence_len: 4096\nmicro_batch_size: 2\nbf16: true\n";
  };
  for (const char* command :
       {"accelerate launch --num_processes 8 -m axolotl.cli.train examples/q.yml\n",
        "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 axolotl train q.yml\n"}) {
    const LaunchRecord record = tuning(command, "x.sh", beside);
    EXPECT_EQ(record.target, "axolotl") << command;
    EXPECT_EQ(record.gpus, 8) << command;
    EXPECT_EQ(record.layout.micro_batch_size, 2) << command;
  }
  EXPECT_EQ(
      tuning("axolotl train q.yml --micro-batch-size 4\n", "x.sh", beside).layout.micro_batch_size,
      4);
}

// Tools without a Python file on the command take options from variables, too.
TEST(FineTuning, UnknownOptionsOfAToolAreNamed) {
  for (const char* text :
       {"trl sft --model_name_or_path meta-llama/Llama-3.1-8B --max_length 4096 "
        "--per_device_train_batch_size 1 --bf16 true $EXTRA\n",
        "llamafactory-cli train --stage sft --model_name_or_path meta-llama/Meta-Llama-3-8B "
        "--finetuning_type full --cutoff_len 2048 --per_device_train_batch_size 1 $EXTRA\n"}) {
    EXPECT_THAT(tuning_listed(tuning(text, "train.sh")), Contains("$EXTRA")) << text;
  }
  const LaunchRecord swift = tuning(
      "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --tensor_model_parallel_size 2 "
      "--micro_batch_size 1 --global_batch_size 16 --max_length 4096 --packing true \"$@\"\n",
      "train.sh");
  EXPECT_THAT(tuning_listed(swift), Contains("$@"));
}

}  // namespace
}  // namespace meshwright::interop
