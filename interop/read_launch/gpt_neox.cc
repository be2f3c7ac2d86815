// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/gpt_neox.h"

#include <algorithm>
#include <array>
#include <utility>

#include "interop/read_launch/document.h"
#include "interop/read_launch/gpt_neox_parts.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/stated_values.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

// GPT-NeoX reads "num-layers" as "num_layers" (neox_arguments/arguments.py, from_ymls).
Values with_underscores(const Values& values) {
  Values out;
  for (Value value : values.all()) {
    std::replace(value.key.begin(), value.key.end(), '-', '_');
    out.add(std::move(value));
  }
  return out;
}

int neox_count(LaunchReading& r, const char* field, const char* key) {
  int count = 0;
  r.integer(count, field, key, kCounts);
  return count;
}

// train_batch_size = micro x accumulation x data ranks. Without an accumulation it is one.
void read_neox_batch(LaunchReading& r, const std::string& file) {
  LaunchRecord& record = r.record();
  const int global = neox_count(r, "global_batch_size", "train_batch_size");
  const int micro = neox_count(r, "micro_batch_size", "train_micro_batch_size_per_gpu");
  const int accumulation =
      neox_count(r, "gradient_accumulation_steps", "gradient_accumulation_steps");
  if (global == 0 && micro == 0) {
    throw InputError(file, "", "says neither train_batch_size nor train_micro_batch_size_per_gpu",
                     "GPT-NeoX merges several files: put them into one");
  }
  if (micro > 0) record.layout.micro_batch_size = micro;
  if (global > 0) record.job.global_batch_size = global;
  if (global == 0) record.micro_batches_a_rank = std::max(1, accumulation);
  if (micro == 0) record.accumulation_of_global = std::max(1, accumulation);
  r.settle_layout("micro_batch_size");
  r.settle_job("global_batch_size");
}

void read_neox_sequence(LaunchReading& r, const LaunchHints& hints, const std::string& file) {
  Job& job = r.record().job;
  if (r.integer(job.seq_length, "seq_length", "seq_length", kModelSizes)) return;
  if (!hints.seq_length) {
    throw InputError(file, "", "seq_length is missing", "--seq-length N says it");
  }
  job.seq_length = *hints.seq_length;
}

// DeepSpeed adds and reduces fp16 gradients in 16 bits, and bf16 ones in fp32 (BF16_Optimizer).
void read_neox_precision(LaunchReading& r) {
  Job& job = r.record().job;
  const Value* from = nullptr;
  job.precision = Precision::fp32;
  for (const auto& [key, precision] :
       {std::pair{"fp16.enabled", Precision::fp16}, {"bf16.enabled", Precision::bf16}}) {
    const Value* value = r.find(key);
    if (value == nullptr || !flag_of(*value)) continue;
    job.precision = precision;
    from = value;
  }
  for (const char* key : {"fp16.type", "precision"}) {
    const Value* value = r.find(key);
    if (value == nullptr) continue;
    constexpr std::array kTypes{EnumName{Precision::bf16, "bfloat16"},
                                EnumName{Precision::fp16, "fp16"},
                                EnumName{Precision::fp32, "fp32"}};
    r.choice(job.precision, "precision", key, kTypes);
    from = value;
  }
  const std::string name(name_of(job.precision));
  if (from != nullptr) {
    r.note("precision", name, *from);
  } else {
    r.assume("precision", name, "neither fp16 nor bf16 is enabled");
  }
  job.gradient_precision = Precision::fp32;
  if (job.precision == Precision::fp16 && !r.is_on("fp32_allreduce")) {
    job.gradient_precision = Precision::fp16;
    r.assume("gradient_precision", "fp16", "DeepSpeed adds and reduces fp16 gradients as they are");
  }
  r.values().pass_over("fp32_allreduce");
  r.settle_job("precision");
  r.settle_job("gradient_precision");
}

void read_neox_optimizer(LaunchReading& r) {
  LaunchRecord& record = r.record();
  const char* key = r.values().has("optimizer.type") ? "optimizer.type" : "optimizer_type";
  if (const Value* value = r.find(key)) {
    const std::string name = lower_case(word_of(*value));
    const bool on_host = name == "cpu_adam" || name == "cpu_torch_adam";
    record.job.optimizer = name == "sgd" ? Optimizer::sgd : Optimizer::adam;
    if (on_host) record.layout.optimizer_offload = true;
    if (on_host || name == "sgd" || name == "adam" || name == "adamw") {
      r.note("optimizer", std::string(name_of(record.job.optimizer)), *value);
    } else {
      r.not_understood(*value, "its states are counted as Adam's");
    }
  }
  if (const Value* value = r.find("use_bnb_optimizer"); value != nullptr && flag_of(*value)) {
    r.not_understood(*value, "its states of 8 bits are counted as fp32");
  }
  r.settle_job("optimizer");
}

void read_neox_dropout(LaunchReading& r) {
  double hidden = 0.1;  // until 2024
  double attention = 0.1;
  const NumberRange share{0.0, 1.0};
  const bool says_hidden = r.number(hidden, "dropout", "hidden_dropout", share);
  const bool says_attention = r.number(attention, "dropout", "attention_dropout", share);
  if (!says_hidden && !says_attention) return;
  r.record().job.dropout = hidden > 0.0 || attention > 0.0;
  r.settle_job("dropout");
}

void read_neox_vocabulary_padding(LaunchReading& r) {
  Job& job = r.record().job;
  job.make_vocab_size_divisible_by = 128;
  r.integer(job.make_vocab_size_divisible_by, "make_vocab_size_divisible_by",
            "make_vocab_size_divisible_by", kParallelSizes);
  r.settle_job("make_vocab_size_divisible_by");
}

bool is_repeat_count(const std::string& word) {
  return word == "all" ||
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_word_of(const std::string& word, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

// [[["flash"], 36]]: kinds of attention, and how often they repeat.
void read_neox_attention_kinds(LaunchReading& r) {
  constexpr std::string_view kKey = "attention_config";
  Job& job = r.record().job;
  const Value* first = nullptr;
  bool flash = false;
  bool whole = false;
  for (const Value& value : r.values().all()) {
    if (!value.key.starts_with(kKey)) continue;
    if (first == nullptr) first = &value;
    for (const std::string& word : value.words) {
      if (is_repeat_count(word)) continue;
      if (is_word_of(word, {"gmlp", "amlp", "mamba", "rwkv"})) {
        fail_at(value, "layers of " + word + " are not read", "name the model with --model");
      }
      flash = flash || word == "flash";
      whole = whole || word != "flash";
      if (word == "flash" || word == "global") continue;
      r.not_understood(value, word + " attention is counted as if all positions were attended to");
    }
  }
  r.values().pass_over_below(kKey);
  r.values().pass_over_below("sparsity_config.");
  if (!flash && !whole) return;
  job.attention_kernel = whole ? AttentionKernel::unfused : AttentionKernel::flash;
  r.note("attention_kernel", std::string(name_of(job.attention_kernel)), *first);
  if (flash && whole) r.not_understood(*first, "layers differ: all are counted as unfused");
  r.settle_job("attention_kernel");
}

// 0 and 1 stages are the same: nothing is sent.
void read_neox_parallel_sizes(LaunchReading& r) {
  LaunchRecord& record = r.record();
  Layout& l = record.layout;
  constexpr IntRange kOrNone{0, 1'000'000};
  r.integer(l.pipeline_parallel_size, "pipeline_parallel_size", "pipe_parallel_size", kOrNone);
  r.integer(l.tensor_parallel_size, "tensor_parallel_size", "model_parallel_size", kOrNone);
  r.integer(l.expert_parallel_size, "expert_parallel_size", "moe_expert_parallel_size",
            kParallelSizes);
  l.pipeline_parallel_size = std::max(1, l.pipeline_parallel_size);
  l.tensor_parallel_size = std::max(1, l.tensor_parallel_size);
  bool sequence = false;
  r.flag(sequence, "sequence_parallel", "sequence_parallel");
  l.sequence_parallel = sequence && l.tensor_parallel_size > 1;
  const Value* split = r.find("pipe_partition_method");
  if (split != nullptr && l.pipeline_parallel_size > 1 && !word_of(*split).starts_with("type:")) {
    r.not_understood(*split, "layers are divided evenly over the stages");
  }
  for (const char* field : {"pipeline_parallel_size", "tensor_parallel_size",
                            "expert_parallel_size", "sequence_parallel"}) {
    r.settle_layout(field);
  }
}

void read_neox_devices(LaunchReading& r) {
  LaunchRecord& record = r.record();
  int nodes = 0;
  r.integer(nodes, "nodes", "num_nodes", {-1, kCounts.high});
  r.integer(record.gpus_per_node, "gpus_per_node", "num_gpus", {-1, kCounts.high});
  record.gpus_per_node = std::max(0, record.gpus_per_node);
  const std::int64_t product = static_cast<std::int64_t>(nodes) * record.gpus_per_node;
  if (product > 0 && product <= kParallelSizes.high) record.gpus = static_cast<int>(product);
  for (const char* key : {"world_size", "global_num_gpus"}) {
    r.integer(record.gpus, "gpus", key, kParallelSizes);
  }
}

void read_neox_offload(LaunchReading& r) {
  Layout& l = r.record().layout;
  const std::string at = "zero_optimization.";
  const Value* switched = r.find(at + "cpu_offload");
  const Value* device = r.find(at + "offload_optimizer.device");
  const bool to_device = device != nullptr && word_of(*device) != "none";
  const bool on = to_device || (switched != nullptr && flag_of(*switched));
  if (on) {
    l.optimizer_offload = true;
    r.note("optimizer_offload", "true", to_device ? *device : *switched);
  }
  for (const char* key : {"offload_param.device", "cpu_offload_params"}) {
    const Value* value = r.find(at + key);
    if (value == nullptr || is_word_of(word_of(*value), {"none", "false", "False"})) continue;
    r.not_understood(*value, "weights on the host are not modelled");
  }
}

void read_neox_zero_optimization(LaunchReading& r) {
  Layout& l = r.record().layout;
  const std::string at = "zero_optimization.";
  l.zero_stage = 0;
  if (!r.integer(l.zero_stage, "zero_stage", at + "stage", {0, 3})) {
    r.assume("zero_stage", "0", "DeepSpeed shards nothing unless told");
  }
  if (l.zero_stage >= 2 && l.pipeline_parallel_size > 1) {
    fail_at(*r.find(at + "stage"), "DeepSpeed's pipeline engine refuses ZeRO 2 and 3",
            "stage 1, or pipe_parallel_size 1");
  }
  l.overlap_grad_reduce = l.zero_stage == 3;
  r.flag(l.overlap_grad_reduce, "overlap_grad_reduce", at + "overlap_comm");
  read_neox_offload(r);
  r.values().pass_over_below(at);
  for (const char* field : {"zero_stage", "overlap_grad_reduce", "optimizer_offload"}) {
    r.settle_layout(field);
  }
}

// Inputs of each layer are kept, and all of the layer is run again.
void read_neox_checkpointing(LaunchReading& r) {
  Layout& l = r.record().layout;
  r.recompute_switch("checkpoint_activations");
  r.settle_layout("recompute_granularity");
  const bool on = l.recompute_granularity == RecomputeGranularity::full;
  int layers = 1;
  const Value* interval = r.find("checkpoint_num_layers");
  if (interval != nullptr) layers = integer_of(*interval, kParallelSizes);
  if (on && layers > 1) r.not_understood(*interval, "one layer a checkpoint is counted");
  const Value* partition = r.find("partition_activations");
  if (partition != nullptr && flag_of(*partition) && on && l.tensor_parallel_size > 1) {
    r.not_understood(*partition, "checkpoints are counted whole on each tensor rank");
  }
  const Value* in_cpu = r.find("checkpoint_in_cpu");
  if (in_cpu != nullptr && flag_of(*in_cpu) && on) {
    r.not_understood(*in_cpu, "checkpoints are counted on the device");
  }
}

}  // namespace

bool is_gpt_neox(const LaunchText& text) {
  const Values keys = with_underscores(text.document);
  if (!keys.has("pipe_parallel_size") && !keys.has("model_parallel_size")) return false;
  return keys.has("train_micro_batch_size_per_gpu") || keys.has("num_layers") ||
         keys.has("train_batch_size");
}

LaunchRecord read_gpt_neox(std::string_view text, const std::string& file,
                           const LaunchHints& hints) {
  Values values = with_underscores(with_stated(values_of_yaml(text, file), hints));
  LaunchRecord record;
  record.target = "GPT-NeoX";
  record.framework = "gpt-neox-2022";
  record.job.name = "the launched job";
  LaunchReading reading(values, record);
  reading.assume("framework", record.framework, "the file does not say which release runs");
  read_neox_batch(reading, file);
  read_neox_sequence(reading, hints, file);
  read_neox_precision(reading);
  read_neox_optimizer(reading);
  read_neox_dropout(reading);
  read_neox_vocabulary_padding(reading);
  read_neox_attention_kinds(reading);
  read_neox_parallel_sizes(reading);
  read_neox_devices(reading);
  read_neox_zero_optimization(reading);
  read_neox_checkpointing(reading);
  reading.settle_job("seq_length");
  if (hints.needs_model()) read_gpt_neox_model(reading, hints, file);
  pass_over_neox_model(values);
  reading.list_words(launcher_words("gpt-neox"));
  reading.list_unused("no key of GPT-NeoX that is known here");
  return record;
}

extern const LaunchFormat kGptNeoxFormat;
constexpr LaunchFormat kGptNeoxFormat{
    is_gpt_neox, [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_gpt_neox(t.text, t.file, hints);
    }};

}  // namespace meshwright::interop
