// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/reading_check.h"

#include <algorithm>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/layout/fields.h"

namespace meshwright::interop {
namespace {

// Names in which Megatron-LM has what `size_spelled` found.
std::string megatron_name(std::string_view field) {
  if (field == "tensor_parallel_size") return "tensor_model_parallel_size";
  if (field == "pipeline_parallel_size") return "pipeline_model_parallel_size";
  if (field == "virtual_pipeline_parallel_size") return "num_virtual_stages_per_pipeline_rank";
  if (field == "expert_parallel_size") return "expert_model_parallel_size";
  if (field == "zero_stage") return "use_distributed_optimizer";
  return std::string(field);
}

struct TargetSpelling {
  std::string_view target, field, spelling;
};
constexpr TargetSpelling kSpellings[] = {
    {"torchtitan", "tensor_parallel_size", "parallelism.tensor_parallel_degree"},
    {"torchtitan", "pipeline_parallel_size", "parallelism.pipeline_parallel_degree"},
    {"torchtitan", "context_parallel_size", "parallelism.context_parallel_degree"},
    {"torchtitan", "expert_parallel_size", "parallelism.expert_parallel_degree"},
    {"torchtitan", "data_parallel_size", "parallelism.data_parallel_shard_degree"},
    {"torchtitan", "micro_batch_size", "training.local_batch_size"},
    {"torchtitan", "global_batch_size", "training.global_batch_size"},
    {"torchtitan", "seq_length", "training.seq_len"},
    {"DeepSpeed", "tensor_parallel_size", "tensor_parallel.autotp_size"},
    {"DeepSpeed", "context_parallel_size", "sequence_parallel_size"},
    {"DeepSpeed", "zero_stage", "zero_optimization.stage"},
    {"DeepSpeed", "micro_batch_size", "train_micro_batch_size_per_gpu"},
    {"DeepSpeed", "global_batch_size", "train_batch_size"},
    {"accelerate", "tensor_parallel_size", "parallelism_config.parallelism_config_tp_size"},
    {"accelerate", "context_parallel_size", "parallelism_config.parallelism_config_cp_size"},
    {"accelerate", "data_parallel_size", "parallelism_config.parallelism_config_dp_shard_size"},
    {"nanotron", "tensor_parallel_size", "parallelism.tp"},
    {"nanotron", "pipeline_parallel_size", "parallelism.pp"},
    {"nanotron", "data_parallel_size", "parallelism.dp"},
    {"nanotron", "micro_batch_size", "tokens.micro_batch_size"},
    {"nanotron", "seq_length", "tokens.sequence_length"},
    {"NeMo AutoModel", "tensor_parallel_size", "distributed.tp_size"},
    {"NeMo AutoModel", "pipeline_parallel_size", "distributed.pp_size"},
    {"NeMo AutoModel", "context_parallel_size", "distributed.cp_size"},
    {"NeMo AutoModel", "expert_parallel_size", "distributed.ep_size"},
    {"NeMo AutoModel", "data_parallel_size", "distributed.dp_size"},
    {"NeMo AutoModel", "micro_batch_size", "step_scheduler.local_batch_size"},
    {"NeMo AutoModel", "global_batch_size", "step_scheduler.global_batch_size"},
    {"llm-foundry", "micro_batch_size", "device_train_microbatch_size"},
    {"llm-foundry", "global_batch_size", "global_train_batch_size"},
    {"llm-foundry", "seq_length", "max_seq_len"},
    {"axolotl", "context_parallel_size", "context_parallel_size"},
    {"axolotl", "tensor_parallel_size", "tensor_parallel_size"},
    {"axolotl", "data_parallel_size", "dp_shard_size"},
    {"axolotl", "micro_batch_size", "micro_batch_size"},
    {"axolotl", "seq_length", "sequence_len"},
    {"LLaMA-Factory", "micro_batch_size", "per_device_train_batch_size"},
    {"LLaMA-Factory", "seq_length", "cutoff_len"},
    {"TRL", "micro_batch_size", "per_device_train_batch_size"},
    {"TRL", "seq_length", "max_length"},
    {"GPT-NeoX", "tensor_parallel_size", "model_parallel_size"},
    {"GPT-NeoX", "pipeline_parallel_size", "pipe_parallel_size"},
    {"Megatron-Bridge", "virtual_pipeline_parallel_size",
     "model.virtual_pipeline_model_parallel_size"},
    {"Megatron-Bridge", "micro_batch_size", "train.micro_batch_size"},
    {"Megatron-Bridge", "global_batch_size", "train.global_batch_size"},
    {"NeMo", "virtual_pipeline_parallel_size", "model.virtual_pipeline_model_parallel_size"},
    {"NeMo", "seq_length", "model.encoder_seq_length"},
};

std::string likely_spelling(const std::string& target, std::string_view field) {
  for (const TargetSpelling& each : kSpellings) {
    if (each.target == target && each.field == field) return std::string(each.spelling);
  }
  std::string name = megatron_name(field);
  if (target == "Megatron-Bridge" || target == "NeMo") return "model." + name;
  if (target == "ms-swift") return "--" + name;
  if (target == "Primus") return name;
  if (!target.starts_with("Megatron")) return "";
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

constexpr std::size_t kMostListed = 8;

std::string read_list(const LaunchRecord& record) {
  std::string text;
  for (std::size_t i = 0; i < record.read.size() && i < kMostListed; ++i) {
    append_to_list(text, ", ", record.read[i].field + " " + record.read[i].value);
  }
  if (record.read.size() > kMostListed) {
    text += fmt::format(" and {} more", record.read.size() - kMostListed);
  }
  return text.empty() ? "nothing" : text;
}

std::string unread_list(const LaunchRecord& record) {
  std::string text;
  std::size_t count = 0;
  for (const NotUnderstood& item : record.not_understood) {
    if (item.key.empty() || ++count > kMostListed) continue;
    append_to_list(text, ", ", item.said);
  }
  if (count > kMostListed) text += fmt::format(" and {} more", count - kMostListed);
  return text.empty() ? "nothing" : text;
}

std::string lists(const LaunchRecord& record) {
  return fmt::format("read: {}; not read: {}", read_list(record), unread_list(record));
}

// Tells whether a fact of the launch determines a parallel size or the batch.
bool is_layout_fact(const Fact& fact) {
  static constexpr std::string_view kFields[] = {
      "gradient_accumulation_steps", "data_parallel_shard_size", "data_parallel_replicate_size"};
  if (std::find(std::begin(kFields), std::end(kFields), fact.field) != std::end(kFields))
    return true;
  bool found = false;
  for_each_field([&](const auto& field) { found = found || fact.field == field.name; });
  return found;
}

// "--train_type lora", "use_peft = true".
bool trains_adapters(const NotUnderstood& item) {
  if (item.key.empty() || item.off) return false;
  const std::string said = lower_case(item.said);
  return contains(said, "lora") || contains(said, "peft") || contains(said, "adapter") ||
         contains(said, "freeze");
}

}  // namespace

void check_reading(const LaunchRecord& record, const std::string& file) {
  for (const NotUnderstood& item : record.not_understood) {
    if (record.job.lora_rank == 0 && trains_adapters(item)) {
      throw InputError(item.place.exact_text(), "",
                       item.said + ": not all weights are trained, and how was not understood",
                       "a verdict on training all weights would be false; leave it out to ask for "
                       "that");
    }
    if (item.undecided && !item.key.empty()) {
      throw InputError(item.place.exact_text(), "", item.said + ": " + item.why,
                       "it says a size: --set NAME=VALUE or --args \"...\" decides the condition");
    }
    const SizeSpelling* size = item.key.empty() || item.off ? nullptr : size_spelled(item.key);
    if (size == nullptr) continue;
    const std::string likely = likely_spelling(record.target, size->field);
    throw InputError(
        item.place.exact_text(), "",
        fmt::format("{}: it looks like {} and was not read, so nothing is judged", item.said,
                    size->field),
        (likely.empty() ? "" : fmt::format("{} calls it {}; ", record.target, likely)) +
            lists(record));
  }
  const bool says_layout =
      std::any_of(record.read.begin(), record.read.end(), is_layout_fact) ||
      std::any_of(record.assumed.begin(), record.assumed.end(),
                  [](const Fact& fact) { return fact.field == "recipe"; });  // its sizes are known
  if (says_layout) return;
  const bool unread = std::any_of(record.not_understood.begin(), record.not_understood.end(),
                                  [](const NotUnderstood& item) { return !item.off; });
  if (!unread && !record.read.empty()) return;
  throw InputError(file, "",
                   fmt::format("was taken for {}, and no size of a layout was understood in it, so "
                               "nothing is judged",
                               record.target),
                   lists(record));
}

}  // namespace meshwright::interop
