// SPDX-License-Identifier: Apache-2.0
// NeMo AutoModel's YAML (nemo_automodel, commits 03bd7a9b to 056e2197 of 2025 and 2026): recipes of
// FSDP2 with experts, pipelines and LoRA. The model is named, or stands beside it.
#include <algorithm>

#include "interop/read_launch/automodel_parts.h"
#include "interop/read_launch/launch_format.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// "none" is a word there, and null is not there at all.
bool is_unset(const Value& value) {
  return value.words.size() == 1 &&
         (same_letters(value.words.front(), "none") || same_letters(value.words.front(), "null"));
}

}  // namespace

const Value* automodel_value(LaunchReading& r, std::initializer_list<std::string_view> keys) {
  const Value* found = nullptr;
  for (const std::string_view key : keys) {
    const Value* value = r.find(key);
    if (found == nullptr && value != nullptr && !is_unset(*value)) found = value;
  }
  return found;
}

const Value* distributed_value(LaunchReading& r, const std::string& key) {
  const Value* found = nullptr;
  for (const std::string section : kAutomodelSections) {
    const Value* value = automodel_value(r, {section + key});
    if (found == nullptr) found = value;
  }
  return found;
}

namespace {

bool distributed_size(LaunchReading& r, int& target, const char* field, const char* key) {
  const Value* value = distributed_value(r, key);
  if (value == nullptr) return false;
  target = std::max(1, integer_of(*value, {-1, kParallelSizes.high}));
  r.note(field, std::to_string(target), *value);
  return integer_of(*value, {-1, kParallelSizes.high}) > 0;
}

// The class or strategy: "fsdp2", "nemo_automodel...FSDP2Manager", "megatron_fsdp", "ddp".
std::string strategy_of(LaunchReading& r) {
  const Value* said = distributed_value(r, "strategy");
  const Value* target = distributed_value(r, "_target_");
  const Value* value = said != nullptr ? said : target;
  return value == nullptr ? "fsdp2" : lower_case(word_of(*value));
}

void read_automodel_strategy(LaunchReading& r) {
  Layout& l = r.record().layout;
  const std::string strategy = strategy_of(r);
  if (contains(strategy, "megatron")) {
    const Value* said = distributed_value(r, "strategy");
    if (said == nullptr) said = distributed_value(r, "_target_");
    r.not_understood(*said, "Megatron-FSDP is predicted as FSDP2", OptionEffect::memory);
    const Value* stage = distributed_value(r, "zero_dp_strategy");
    if (stage != nullptr) l.zero_stage = integer_of(*stage, {0, 3});
  } else if (contains(strategy, "ddp")) {
    l.zero_stage = 0;
    l.fsdp_unit = FsdpUnit::none;
    l.overlap_grad_reduce = true;
    for (const char* field : {"zero_stage", "fsdp_unit", "overlap_grad_reduce"}) {
      r.settle_layout(field);
    }
  }
}

void read_automodel_sizes(LaunchReading& r) {
  LaunchRecord& record = r.record();
  Layout& l = record.layout;
  distributed_size(r, l.tensor_parallel_size, "tensor_parallel_size", "tp_size");
  distributed_size(r, l.context_parallel_size, "context_parallel_size", "cp_size");
  distributed_size(r, l.pipeline_parallel_size, "pipeline_parallel_size", "pp_size");
  distributed_size(r, l.expert_parallel_size, "expert_parallel_size", "ep_size");
  record.data_parallel_size_follows =
      !distributed_size(r, l.data_parallel_size, "data_parallel_size", "dp_size");
  distributed_size(r, record.replicas, "data_parallel_replicate_size", "dp_replicate_size");
  l.expert_tensor_parallel_size = l.expert_parallel_size > 1 && l.tensor_parallel_size > 1 ? 1 : 0;
  const Value* sequence = distributed_value(r, "sequence_parallel");
  l.sequence_parallel = sequence != nullptr && flag_of(*sequence) && l.tensor_parallel_size > 1;
  if (sequence != nullptr) {
    r.note("sequence_parallel", l.sequence_parallel ? "true" : "false", *sequence);
  }
  for (const char* field :
       {"tensor_parallel_size", "context_parallel_size", "pipeline_parallel_size",
        "expert_parallel_size", "data_parallel_size", "expert_tensor_parallel_size",
        "sequence_parallel", "zero_shard_size"}) {
    r.settle_layout(field);
  }
}

// The parallelizer of experts keeps parameters gathered unless told (MoEParallelizerConfig);
// FSDP2Config frees them, but not below a pipeline.
void read_automodel_reshard(LaunchReading& r) {
  Layout& l = r.record().layout;
  if (l.zero_stage == 0 && r.record().says_layout("zero_stage")) return;
  const Value* value = automodel_value(
      r, {"distributed.moe.reshard_after_forward", "distributed_config.moe.reshard_after_forward",
          "parallelizer.reshard_after_forward"});
  if (value == nullptr) value = distributed_value(r, "reshard_after_forward");
  const bool experts = l.expert_parallel_size > 1;
  const bool freed = value != nullptr ? flag_of(*value) : !experts && l.pipeline_parallel_size == 1;
  l.zero_stage = freed ? 3 : 2;
  l.fsdp_unit = FsdpUnit::block;
  if (value != nullptr) {
    r.note("zero_stage", std::to_string(l.zero_stage), *value);
  } else if (!freed) {
    r.assume("zero_stage", "2",
             experts ? "its parallelizer of experts keeps parameters gathered unless told"
                     : "below a pipeline parameters stay gathered unless told");
  }
  r.settle_layout("zero_stage");
  r.settle_layout("fsdp_unit");
}

void read_automodel_recompute(LaunchReading& r) {
  using enum RecomputeGranularity;
  Layout& l = r.record().layout;
  l.recompute_granularity = none;
  const Value* value = distributed_value(r, "activation_checkpointing");
  const Value* experts = automodel_value(r, {"parallelizer.activation_checkpointing"});
  if (value == nullptr || (experts != nullptr && word_of(*experts) != "false")) {
    value = experts != nullptr ? experts : value;
  }
  r.settle_layout("recompute_granularity");
  if (value == nullptr) return;
  const std::string word = lower_case(word_of(*value));
  if (word == "selective") {
    l.recompute_granularity = selective;
    l.recompute_modules = {kRecomputeOp};
    r.settle_layout("recompute_modules");
  } else if (word == "full" || flag_of({.key = value->key,
                                        .words = {word},
                                        .said = value->said,
                                        .place = value->place})) {
    l.recompute_granularity = full;
  }
  r.note("recompute_granularity", std::string(name_of(l.recompute_granularity)), *value);
}

void read_automodel_overlap(LaunchReading& r) {
  Layout& l = r.record().layout;
  const Value* defer = distributed_value(r, "defer_fsdp_grad_sync");
  if (defer != nullptr && l.zero_stage > 0) {
    l.defer_grad_reduce = flag_of(*defer);
    r.note("defer_grad_reduce", l.defer_grad_reduce ? "true" : "false", *defer);
    r.settle_layout("defer_grad_reduce");
  }
  for (const char* key :
       {"enable_fsdp2_prefetch", "fsdp2_backward_prefetch_depth", "fsdp2_forward_prefetch_depth",
        "use_hf_tp_plan", "backend", "patch_is_packed_sequence", "ddp_size", "world_size"}) {
    distributed_value(r, key);
  }
  const Value* async = distributed_value(r, "enable_async_tensor_parallel");
  if (async != nullptr && flag_of(*async)) {
    r.not_understood(*async, "tensor messages are counted as waited for", OptionEffect::schedule);
  }
  const Value* offload = distributed_value(r, "offload_policy._target_");
  if (offload == nullptr) offload = distributed_value(r, "offload_policy");
  if (offload != nullptr) {
    r.not_understood(*offload, "parameters on the host are not modelled", OptionEffect::memory);
  }
}

// Sequences of a rank's pass; a pipeline cuts them again.
void read_automodel_batch(LaunchReading& r, const std::string& file) {
  Layout& l = r.record().layout;
  Job& job = r.record().job;
  const bool global = r.integer(job.global_batch_size, "global_batch_size",
                                "step_scheduler.global_batch_size", kCounts);
  LaunchRecord& record = r.record();
  const bool steps = r.integer(record.micro_batches_a_rank, "gradient_accumulation_steps",
                               "step_scheduler.grad_acc_steps", kParallelSizes);
  if (global) record.micro_batches_a_rank = 0;
  if (!global && !steps) {
    throw InputError(file, "", "step_scheduler.global_batch_size is missing");
  }
  const Value* local = automodel_value(r, {"step_scheduler.local_batch_size"});
  const Value* loader = automodel_value(r, {"dataloader.batch_size"});
  const Value* said = local != nullptr ? local : loader;
  l.micro_batch_size = said == nullptr ? 1 : integer_of(*said, kParallelSizes);
  if (said != nullptr) r.note("micro_batch_size", std::to_string(l.micro_batch_size), *said);
  if (said == nullptr) r.assume("micro_batch_size", "1", "step_scheduler.local_batch_size");
  const Value* part = automodel_value(
      r, {"distributed.pipeline.pp_microbatch_size",
          "distributed_config.pipeline.pp_microbatch_size", "autopipeline.pp_microbatch_size"});
  if (l.pipeline_parallel_size > 1 && part != nullptr) {
    const int whole = l.micro_batch_size;
    l.micro_batch_size = integer_of(*part, kParallelSizes);
    r.note("micro_batch_size", std::to_string(l.micro_batch_size), *part);
    if (said != nullptr && whole < job.global_batch_size) {
      record.not_understood.push_back(
          {.said = said->said,
           .why = "the pipeline runs empty after each of these where batches accumulate; counted "
                  "is one pass a step",
           .place = said->place,
           .effect = OptionEffect::schedule});
    }
  }
  r.settle_job("global_batch_size");
  r.settle_layout("micro_batch_size");
}

void read_automodel_sequence(LaunchReading& r, const LaunchHints& hints, const std::string& file) {
  Job& job = r.record().job;
  const Value* packed = automodel_value(r, {"packed_sequence.packed_sequence_size"});
  const bool packs = packed != nullptr && integer_of(*packed, {0, kModelSizes.high}) > 0;
  const Value* length = automodel_value(
      r, {"dataset.seq_len", "dataset.seq_length", "dataset.sequence_length", "dataset.max_length",
          "dataset.block_size", "autopipeline.pp_seq_len", "distributed.pipeline.pp_seq_len"});
  if (packs) length = packed;
  r.settle_job("seq_length");
  if (length != nullptr) {
    job.seq_length = integer_of(*length, kModelSizes);
    r.note("seq_length", std::to_string(job.seq_length), *length);
    const Value* target = r.find("dataset._target_");
    const bool mock = target != nullptr && contains(lower_case(word_of(*target)), "mock");
    if (!packs && !mock) {
      r.assume("seq_length", std::to_string(job.seq_length),
               "every sample is as long as that; shorter ones cost less");
    }
    return;
  }
  if (!hints.seq_length) {
    throw InputError(file, "", "says neither packed_sequence_size nor dataset.seq_length",
                     "--seq-length states the tokens of a sequence");
  }
  job.seq_length = *hints.seq_length;
}

void read_automodel_experts(LaunchReading& r) {
  Layout& l = r.record().layout;
  const Value* dispatcher = automodel_value(r, {"model.backend.dispatcher"});
  const Value* deepep = automodel_value(r, {"model.backend.enable_deepep"});
  r.values().pass_over_below("model.backend.");
  if (l.expert_parallel_size == 1) return;
  const Value* said = dispatcher != nullptr ? dispatcher : deepep;
  if (said == nullptr) return;
  const std::string word = dispatcher != nullptr ? lower_case(word_of(*dispatcher))
                           : flag_of(*deepep)    ? "deepep"
                                                 : "torch";
  if (word == "torch") {
    l.moe_token_dispatcher_type = MoeTokenDispatcherType::allgather;
  } else {
    l.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
    l.moe_flex_dispatcher_backend =
        word == "hybridep" ? MoeFlexDispatcherBackend::hybridep : MoeFlexDispatcherBackend::deepep;
    r.settle_layout("moe_flex_dispatcher_backend");
    if (word != "hybridep" && word != "deepep") {
      r.not_understood(*said, "predicted as DeepEP", OptionEffect::schedule);
    }
  }
  r.note("moe_token_dispatcher_type", std::string(name_of(l.moe_token_dispatcher_type)), *said);
  r.settle_layout("moe_token_dispatcher_type");
}

// benchmark.num_nodes are of eight devices; the launcher says others.
void read_automodel_devices(LaunchReading& r) {
  LaunchRecord& record = r.record();
  const Value* nodes = automodel_value(r, {"benchmark.num_nodes", "slurm.nodes", "ci.nodes"});
  const Value* each =
      automodel_value(r, {"slurm.ntasks_per_node", "slurm.gpus_per_node", "ci.nproc_per_node"});
  if (nodes == nullptr) return;
  record.gpus_per_node = each == nullptr ? 8 : integer_of(*each, {1, 20'000});
  record.gpus = integer_of(*nodes, {1, 20'000}) * record.gpus_per_node;
  r.note("num_nodes", std::to_string(record.gpus / record.gpus_per_node), *nodes);
  if (each == nullptr) r.assume("gpus_per_node", "8", "the file says the nodes alone");
}

void pass_over_automodel(Values& values) {
  for (const char* section : {"rng.",
                              "dist_env.",
                              "checkpoint.",
                              "dataset.",
                              "dataloader.",
                              "validation_",
                              "lr_scheduler.",
                              "wandb.",
                              "mlflow.",
                              "comet.",
                              "benchmark.",
                              "ci.",
                              "loss_fn.",
                              "packed_sequence.",
                              "tokenizer.",
                              "recipe.",
                              "optimizer.",
                              "slurm.",
                              "compile.",
                              "step_scheduler.",
                              "parallelizer._target_",
                              "parallelizer.wrap_",
                              "autopipeline.",
                              "distributed.pipeline.",
                              "distributed_config.pipeline.",
                              "distributed.moe.",
                              "distributed_config.moe.",
                              "model.config",
                              "model.text_config",
                              "logging",
                              "callbacks",
                              "launcher.",
                              "autonvtx",
                              "nvtx",
                              "profil"}) {
    values.pass_over_below(section);
  }
  for (const char* key :
       {"seed", "recipe", "model._target_", "model.trust_remote_code", "model.is_meta_device",
        "model.output_hidden_states", "model.use_liger_kernel", "model.use_cache", "model.name",
        "distributed._target_", "distributed_config._target_",
        "distributed.activation_checkpointing_scope", "model.force_hf",
        "distributed.timeout_minutes", "distributed.tp_plan"}) {
    values.pass_over(key);
  }
}

LaunchRecord read_automodel(const LaunchText& text, const LaunchHints& hints) {
  Values values = text.document;
  LaunchRecord record;
  record.target = "NeMo AutoModel";
  record.framework = "automodel-2026";
  LaunchReading r(values, record);
  r.assume("framework", record.framework, "the file does not say which release runs");
  read_automodel_model(r, hints);
  read_automodel_sizes(r);
  read_automodel_strategy(r);
  read_automodel_reshard(r);
  read_automodel_recompute(r);
  read_automodel_overlap(r);
  record.job.name = "the launched job";
  read_automodel_pipeline(r);
  read_automodel_batch(r, text.file);
  read_automodel_sequence(r, hints, text.file);
  read_automodel_numbers(r);
  read_automodel_adapters(r);
  read_automodel_experts(r);
  read_automodel_devices(r);
  const Value* attention = r.find("model.attn_implementation");
  if (attention != nullptr && word_of(*attention) == "eager") {
    record.job.attention_kernel = AttentionKernel::unfused;
    r.note("attention_kernel", "unfused", *attention);
    r.settle_job("attention_kernel");
  }
  pass_over_automodel(values);
  r.list_unused("no key of NeMo AutoModel that is known here");
  return record;
}

bool is_automodel(const LaunchText& text) {
  if (!is_document(text) || !has_section(text, "step_scheduler.")) return false;
  return contains(text.text, "nemo_automodel") || has_section(text, "distributed.");
}

}  // namespace

extern const LaunchFormat kAutomodelFormat;
constexpr LaunchFormat kAutomodelFormat{
    is_automodel,
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_automodel(t, hints);
    },
    true};

}  // namespace meshwright::interop
