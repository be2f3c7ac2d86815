// SPDX-License-Identifier: Apache-2.0
// Batch, lengths, model, precision and recompute of a fine-tuning launch.
#include "interop/read_launch/fine_tuning.h"

#include <algorithm>
#include <array>

#include "interop/read_launch/trainer.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

// training_args.py (per device 8), and from_pretrained of transformers 5 (the checkpoint's format);
// TRL 0.20 and later (SFTConfig: max_length 1024, checkpointing and bf16 on; ModelConfig: weights
// in fp32); axolotl (schemas/config.py and training.py; bf16 auto); LLaMA-Factory (hparams/:
// cutoff_len 2048, checkpointing on, lora_rank 8 on all linears; model/adapter.py: trained weights
// in fp32); ms-swift 3 and 4 (docs/source_en/Instruction/Command-line-parameters.md).
constexpr std::array kDefaults{
    FineTunerDefaults{},
    FineTunerDefaults{FineTuner::trl, "TRL", "TRL", 8, 1024, true, Precision::bf16, Precision::fp32,
                      16, false, false},
    FineTunerDefaults{FineTuner::axolotl, "axolotl", "axolotl", 1, 512, false, Precision::bf16,
                      Precision::bf16, 8, false, false},
    FineTunerDefaults{FineTuner::llama_factory, "LLaMA-Factory", "LLaMA-Factory", 8, 2048, true,
                      Precision::bf16, Precision::fp32, 8, true, true},
    FineTunerDefaults{FineTuner::swift, "ms-swift's Trainer", "ms-swift", 1, 0, true,
                      Precision::bf16, Precision::bf16, 8, true, true}};

void read_trained_model(LaunchReading& r, const FineTuningInputs& inputs) {
  const Value* model = r.find("model_name_or_path");
  if (model == nullptr || model->words.size() != 1 || !inputs.hints->needs_model()) return;
  if (!model->unknown.empty()) {
    fail_at(*model, "its value is not known: " + model->unknown,
            "state it with --set NAME=VALUE, or name the model with --model");
  }
  r.record().model_name = model->words.front();
  r.note("model", r.record().model_name, *model);
}

void read_micro_batches(LaunchReading& r, const FineTunerDefaults& d) {
  LaunchRecord& record = r.record();
  if (r.integer(record.job.global_batch_size, "global_batch_size", "global_batch_size", kCounts)) {
    r.settle_job("global_batch_size");
  }
  const bool has_global = record.says_job("global_batch_size");
  const Value* micro = r.find("per_device_train_batch_size");
  if (micro != nullptr) {
    record.layout.micro_batch_size = integer_of(*micro, kCounts);
    r.note("micro_batch_size", std::to_string(record.layout.micro_batch_size), *micro);
    r.settle_layout("micro_batch_size");
  } else if (!record.says_layout("micro_batch_size") && record.accumulation_of_global == 0) {
    record.layout.micro_batch_size = d.micro_batch_size;
    r.assume("micro_batch_size", std::to_string(d.micro_batch_size), default_of(d));
    r.settle_layout("micro_batch_size");
  }
  const Value* accumulation = r.find("gradient_accumulation_steps");
  const bool is_auto = accumulation != nullptr && accumulation->words.size() == 1 &&
                       accumulation->words.front() == "auto";
  if (has_global) return;
  if (accumulation != nullptr && !is_auto) {
    record.micro_batches_a_rank = integer_of(*accumulation, kCounts);
    r.note("gradient_accumulation_steps", std::to_string(record.micro_batches_a_rank),
           *accumulation);
  } else if (const Value* whole = r.find("batch_size");
             whole != nullptr && d.tuner == FineTuner::axolotl) {
    // axolotl's older word: sequences of a rank's step.
    const int sequences = integer_of(*whole, kCounts);
    record.micro_batches_a_rank = std::max(1, sequences / record.layout.micro_batch_size);
    r.note("gradient_accumulation_steps", std::to_string(record.micro_batches_a_rank), *whole);
  } else if (record.micro_batches_a_rank == 0) {
    record.micro_batches_a_rank = 1;
    r.assume("gradient_accumulation_steps", "1", default_of(d));
  }
}

void read_lengths(LaunchReading& r, const FineTunerDefaults& d, const FineTuningInputs& inputs) {
  LaunchRecord& record = r.record();
  Job& job = record.job;
  if (r.integer(job.seq_length, "seq_length", "seq_length", kCounts)) {
    r.settle_job("seq_length");
  } else if (!inputs.hints->seq_length && d.seq_length > 0) {
    job.seq_length = d.seq_length;
    r.assume("seq_length", std::to_string(d.seq_length), default_of(d));
    r.settle_job("seq_length");
  }
  set_sequence_beside(record, *inputs.hints, inputs.file);
  const Value* packing = find_any(r, {"packing", "neat_packing"});
  const Value* padding = r.find("pad_to_sequence_len");
  const bool full =
      (packing != nullptr && says_yes(*packing)) || (padding != nullptr && says_yes(*padding));
  if (packing != nullptr && says_yes(*packing)) r.note("packing", "true", *packing);
  if (!full) {
    r.assume("seq_length", std::to_string(job.seq_length),
             "every sample is as long as the longest that is let in; shorter ones cost less");
  }
}

bool fine_tuning_recomputes(const Value& value) {
  const std::string word = value.words.empty() ? "" : lower_case(word_of(value));
  return word == "unsloth" || word == "offload" || word == "offload_disk" || word == "legacy" ||
         word == "disk" || word == "hidden_states" || says_yes(value);
}

void list_offloaded_checkpoints(LaunchReading& r) {
  for (const char* key : {"activation_offloading", "gradient_checkpointing"}) {
    const Value* value = r.find(key);
    if (value == nullptr || value->words.size() != 1) continue;
    const std::string word = lower_case(value->words.front());
    const bool offloads =
        word.starts_with("offload") || word == "unsloth" ||
        (std::string_view(key) == "activation_offloading" && fine_tuning_recomputes(*value));
    if (!offloads) continue;
    list_effect(r, *value, "checkpoints wait on the host: less memory than predicted, and copies",
                OptionEffect::memory);
  }
}

void read_checkpointing(LaunchReading& r, const FineTunerDefaults& d) {
  using enum RecomputeGranularity;
  RecomputeGranularity& target = r.record().layout.recompute_granularity;
  const bool by_file = target == full && r.record().says_layout("recompute_granularity");
  const auto set = [&](bool on, const Value& from) {
    target = on ? full : none;
    r.note("recompute_granularity", std::string(name_of(target)), from);
    r.settle_layout("recompute_granularity");
  };
  const Value* on = nullptr;
  const Value* off = nullptr;
  for (const char* key : {"gradient_checkpointing", "activation_checkpointing",
                          "fsdp_config.activation_checkpointing", "use_unsloth_gc"}) {
    const Value* value = r.find(key);
    if (value != nullptr) (fine_tuning_recomputes(*value) ? on : off) = value;
  }
  const Value* disabled = r.find("disable_gradient_checkpointing");
  // LLaMA-Factory has no switch that turns it on.
  if (d.tuner == FineTuner::llama_factory) off = nullptr;
  if (disabled != nullptr && says_yes(*disabled)) off = disabled;
  if (on != nullptr) {
    set(true, *on);
  } else if (off != nullptr && !by_file) {
    set(false, *off);
  } else if (!by_file) {
    assume_recompute(r, d.recomputes, default_of(d));
  }
  list_offloaded_checkpoints(r);
}

void read_attention_word(LaunchReading& r, const FineTunerDefaults& d) {
  const auto set = [&](bool eager, const Value& from) {
    r.record().job.attention_kernel = eager ? AttentionKernel::unfused : AttentionKernel::flash;
    r.note("attention_kernel", eager ? "unfused" : "flash", from);
    r.settle_job("attention_kernel");
  };
  for (const char* key :
       {"attn_implementation", "attn_impl", "attention", "flash_attn", "use_flash_attn",
        "use_flash_attention", "use_flash_attention_2", "flash_attention_2", "flash_attention",
        "xformers_attention", "sdp_attention", "flex_attention", "eager_attention"}) {
    const Value* value = r.find(key);
    if (value == nullptr) continue;
    const std::string word = value->words.empty() ? "true" : lower_case(word_of(*value));
    const bool off = word == "false" || word == "0" || word == "no" || word == "disabled";
    const bool is_eager_switch = std::string_view(key) == "eager_attention";
    if (is_eager_switch) {
      if (!off) set(true, *value);
    } else if (word == "eager" || (off && d.tuner == FineTuner::llama_factory)) {
      set(true, *value);
    } else if (!off) {
      set(false, *value);
    }
  }
  if (r.record().says_job("attention_kernel") || d.tuner != FineTuner::llama_factory) return;
  r.record().job.attention_kernel = AttentionKernel::flash;
  r.assume("attention_kernel", "flash", "flash_attn auto: PyTorch's fused attention (sdpa)");
  r.settle_job("attention_kernel");
}

}  // namespace

const FineTunerDefaults& fine_tuner_defaults(FineTuner tuner) {
  return kDefaults[static_cast<std::size_t>(tuner)];
}

std::string default_of(const FineTunerDefaults& d) { return std::string(d.name) + "'s default"; }

FineTuner fine_tuner_of_target(std::string_view target) {
  for (const FineTunerDefaults& each : kDefaults) {
    if (each.target == target && each.tuner != FineTuner::trainer) return each.tuner;
  }
  return FineTuner::trainer;
}

void refuse_reinforcement(LaunchReading& r) {
  const auto refuse = [](const Value& value) {
    fail_at(value,
            "preference or reinforcement training, which is not modelled: more than one model, or "
            "more than one sequence a sample",
            "ask about its training step by hand: meshwright estimate");
  };
  const Value* stage = r.find("stage");
  if (const Value* kind = r.find("rlhf_type")) refuse(*kind);
  if (stage != nullptr) {
    const std::string word = lower_case(word_of(*stage));
    if (word != "sft" && word != "pt") refuse(*stage);
  }
  if (const Value* rl = r.find("rl")) refuse(*rl);
  for (const char* key : {"reward_model", "process_reward_model"}) {
    const Value* value = r.find(key);
    if (value != nullptr && (value->words.size() != 1 || !is_off(*value))) refuse(*value);
  }
  for (const char* key : {"num_generations", "max_completion_length", "max_prompt_length",
                          "reward_funcs", "reward_model_path", "pref_loss", "pref_beta"}) {
    if (const Value* value = r.find(key)) refuse(*value);
  }
}

void read_fine_tuning(LaunchReading& r, const FineTunerDefaults& d,
                      const FineTuningInputs& inputs) {
  LaunchRecord& record = r.record();
  refuse_reinforcement(r);
  record.job.name = "the launched job";
  read_sharding(r, inputs);
  if (d.tuner != FineTuner::trainer) record.target = d.target;
  read_trained_model(r, inputs);
  read_micro_batches(r, d);
  read_lengths(r, d, inputs);
  read_checkpointing(r, d);
  read_attention_word(r, d);
  read_fine_tuning_kernels(r);
  read_adapters(r, d);
  read_fine_tuning_optimizer(r, d);
  for (const char* key : {"modules_to_save", "context_parallel_size"}) r.values().pass_over(key);
  r.list_words(launcher_words("trainer"));
  r.list_unused(fmt::format("no option of {} that is known here", d.name));
}

}  // namespace meshwright::interop
