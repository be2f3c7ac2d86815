// SPDX-License-Identifier: Apache-2.0
// GPT-NeoX's keys that change neither time nor memory of a step (megatron/neox_arguments/
// neox_args.py and deepspeed_args.py), and those of its model where the user names another one.
#include <array>

#include "interop/read_launch/gpt_neox_parts.h"

namespace meshwright::interop {
namespace {

// Sections, or the beginnings of names that only one purpose has.
constexpr std::array kNeoxPrefixes{
    // Logs.
    "wandb", "tensorboard", "csv_monitor.", "comet", "log_", "flops_profiler.", "comms_logger.",
    "gradient_noise_scale_", "monitor_config.",
    // Learning rates, loss scales and first weights.
    "lr", "scheduler.", "optimizer.params.", "fp16.", "bf16.", "bfloat16.", "init_method",
    "output_layer_init_method", "mup_",
    // Files, and text that is generated after training.
    "save", "load", "no_save_", "no_load_", "s3_", "config_files.", "checkpoint.", "eval_",
    "sample_", "text_gen_",
    // Experts: losses and evaluation.
    "moe_loss", "moe_eval", "moe_lbl", "moe_jitter", "moe_min_capacity"};

constexpr std::array kNeoxData{"data_path",
                               "train_data_paths",
                               "label_data_paths",
                               "test_data_paths",
                               "valid_data_paths",
                               "train_data_weights",
                               "valid_data_weights",
                               "test_data_weights",
                               "data_impl",
                               "mmap_warmup",
                               "weight_by_num_documents",
                               "weighted_sampler_alpha",
                               "split",
                               "vocab_file",
                               "merge_file",
                               "tokenizer_type",
                               "padded_vocab_size",
                               "num_workers",
                               "use_shared_fs",
                               "dataset_impl",
                               "pack_impl",
                               "allow_chopped",
                               "short_seq_prob",
                               "eod_mask_loss",
                               "char_level_ppl"};

constexpr std::array kNeoxTraining{"train_iters",
                                   "train_epochs",
                                   "min_lr",
                                   "warmup",
                                   "override_lr_scheduler",
                                   "use_checkpoint_lr_scheduler",
                                   "weight_decay",
                                   "clip_grad",
                                   "gradient_clipping",
                                   "hysteresis",
                                   "dynamic_loss_scale",
                                   "min_scale",
                                   "loss_scale",
                                   "loss_scale_window",
                                   "use_mup",
                                   "coord_check",
                                   "base_shapes_file",
                                   "use_cpu_initialization",
                                   "seed",
                                   "finetune",
                                   "iteration",
                                   "exit_interval",
                                   "extra_save_iters",
                                   "keep_last_n_checkpoints",
                                   "checkpoint_factor",
                                   "checkpoint_scale",
                                   "checkpoint_validation_with_forward_pass",
                                   "steps_per_print",
                                   "wall_clock_breakdown",
                                   "use_wandb",
                                   "git_hash",
                                   "prescale_gradients",
                                   "gradient_predivide_factor",
                                   "optimizer_type",
                                   "zero_stage",
                                   "batch_size",
                                   "gas",
                                   "do_train",
                                   "do_valid",
                                   "do_test"};

constexpr std::array kNeoxLaunching{"deepspeed",
                                    "distributed_backend",
                                    "local_rank",
                                    "rank",
                                    "lazy_mpu_init",
                                    "user_script",
                                    "deepspeed_mpi",
                                    "deepspeed_slurm",
                                    "launcher",
                                    "hostfile",
                                    "include",
                                    "exclude",
                                    "master_addr",
                                    "master_port",
                                    "adlr_autoresume",
                                    "adlr_autoresume_interval",
                                    "onnx_safe",
                                    "is_pipe_parallel",
                                    "deepspeed_extra_args"};

// Numbers inside kernels, and kernels fused with their neighbours, as the framework has them.
constexpr std::array kNeoxKernels{"rotary_pct",
                                  "rotary_emb_base",
                                  "rotary_save_freqs_buffer",
                                  "layernorm_epsilon",
                                  "rms_norm_epsilon",
                                  "scalenorm_epsilon",
                                  "rpe_num_buckets",
                                  "rpe_max_distance",
                                  "scaled_upper_triang_masked_softmax_fusion",
                                  "scaled_masked_softmax_fusion",
                                  "bias_gelu_fusion",
                                  "bias_dropout_fusion",
                                  "rope_fusion",
                                  "layernorm_fusion",
                                  "rmsnorm_fusion",
                                  "use_flashattn_swiglu",
                                  "attention_softmax_in_fp32",
                                  "apply_query_key_layer_scaling",
                                  "output_layer_parallelism",
                                  "synchronize_each_layer",
                                  "deepspeed_activation_checkpointing",
                                  "contiguous_checkpointing"};

constexpr std::array kNeoxModel{"num_layers",
                                "hidden_size",
                                "intermediate_size",
                                "expansion_factor",
                                "mlp_multiple_of",
                                "mlp_type",
                                "activation",
                                "num_attention_heads",
                                "num_kv_heads",
                                "sliding_window_width",
                                "use_qk_layernorm",
                                "max_position_embeddings",
                                "opt_pos_emb_offset",
                                "pos_emb",
                                "no_weight_tying",
                                "gpt_j_residual",
                                "gpt_j_tied",
                                "norm",
                                "use_bias_in_norms",
                                "use_bias_in_attn_linear",
                                "use_bias_in_mlp",
                                "moe_num_experts",
                                "moe_top_k",
                                "moe_token_dropping",
                                "moe_train_capacity_factor",
                                "expert_interval"};

template <typename Names>
void pass_over_names(Values& values, const Names& names) {
  for (const char* name : names) values.pass_over(name);
}

}  // namespace

void pass_over_gpt_neox(Values& values) {
  for (const char* prefix : kNeoxPrefixes) values.pass_over_below(prefix);
  pass_over_names(values, kNeoxData);
  pass_over_names(values, kNeoxTraining);
  pass_over_names(values, kNeoxLaunching);
  pass_over_names(values, kNeoxKernels);
  pass_over_names(values, kNeoxModel);
}

}  // namespace meshwright::interop
