// SPDX-License-Identifier: Apache-2.0
// torchtitan's settings: of its TOML files (up to v0.2.2, 2026-02), of the sizes' older places
// ([training] and [experimental] of 2024, training.batch_size, training.compile), and of the
// registry (batches in tokens since 2026-06).
#include "interop/read_launch/torchtitan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "interop/read_launch/document.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/stated_values.h"
#include "interop/read_launch/torchtitan_parts.h"

namespace meshwright::interop {
namespace {

void pass_over_titan(Values& values) {
  for (const char* section :
       {"job.", "profiling.", "profiler.", "metrics.", "optimizer.", "lr_scheduler.", "checkpoint.",
        "validation.", "validator.", "comm.", "fault_tolerance.", "memory_estimation.", "debug.",
        "dataloader.", "tokenizer.", "activation_checkpoint.per_op_sac_force_recompute"}) {
    values.pass_over_below(section);
  }
  for (const char* key : {"model.hf_assets_path",
                          "model.tokenizer_path",
                          "model.tokenizer_type",
                          "model.norm_type",
                          "model.print_after_conversion",
                          "training.max_norm",
                          "training.steps",
                          "training.dataset",
                          "training.dataset_path",
                          "training.seed",
                          "training.deterministic",
                          "training.gc_freq",
                          "training.gc_debug",
                          "training.warmup_steps",
                          "activation_checkpoint.preserve_rng_state",
                          "activation_checkpoint.early_stop",
                          "activation_checkpoint.debug",
                          "activation_checkpoint.determinism_check",
                          "activation_checkpoint.visualize_memory_budget_pareto",
                          "experimental.custom_import",
                          "experimental.custom_args_module",
                          "experimental.custom_model_path",
                          "hf_assets_path",
                          "dump_folder",
                          "compile.backend",
                          "parallelism.spmd_backend"}) {
    values.pass_over(key);
  }
}

void list_unmodelled_titan(LaunchReading& r) {
  r.not_modelled_unless("training.enable_cpu_offload");
  r.not_modelled_unless("training.mixed_precision_param", {"bfloat16"});
  r.not_modelled_unless("training.mixed_precision_reduce", {"float32"});
  r.not_modelled_unless("training.dtype", {"float32"});
  r.not_modelled_unless("optimizer.name", {"Adam", "AdamW"});
  r.not_modelled_unless("optimizer.early_step_in_backward");
  r.not_modelled_unless("fault_tolerance.enable");
  r.not_modelled_unless("fault_tolerance.semi_sync_method");
  r.not_modelled_unless("parallelism.disable_loss_parallel");
  r.not_modelled_unless("parallelism.full_dtensor");
  r.not_modelled_unless("parallelism.enable_fsdp_symm_mem");
  r.not_modelled_unless("parallelism.context_parallel_load_balancer", {"headtail"});
  r.not_modelled_unless("experimental.enable_compiled_autograd");
  r.not_modelled_unless("parallelism.enable_compiled_autograd");
  r.not_modelled_unless("debug.moe_force_load_balance", {"true"});
  r.not_modelled_unless("training.disable_cuda_graphs", {"true"});
}

// 1 unless told, and without a say where experts are not dealt out: tensor ranks cut them then
// (config/job_config.py).
void read_titan_expert_tensor_size(const TitanReading& t) {
  Layout& l = t.layout();
  l.expert_tensor_parallel_size = 1;
  t.size(l.expert_tensor_parallel_size, "expert_tensor_parallel_size",
         {"parallelism.expert_tensor_parallel_degree"});
  if (l.expert_parallel_size == 1 || l.expert_tensor_parallel_size == l.tensor_parallel_size) {
    l.expert_tensor_parallel_size = 0;
  }
}

// Parameters are kept below a pipeline, and freed otherwise, unless told.
int titan_zero_stage(const TitanReading& t) {
  const std::string reshard = t.r.word("parallelism.fsdp_reshard_after_forward", "default");
  const bool kept =
      reshard == "default" ? t.layout().pipeline_parallel_size > 1 : reshard == "never";
  if (const Value* value = t.r.find("parallelism.fsdp_reshard_after_forward")) {
    t.r.note("zero_stage", kept ? "2" : "3", *value);
  }
  return kept ? 2 : 3;
}

// In 2024 training.data_parallel_degree was the number of shards.
void read_titan_shards(const TitanReading& t) {
  Layout& l = t.layout();
  LaunchRecord& record = t.r.record();
  int shards = -1;
  if (const Value* value =
          t.any({"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree",
                 "training.data_parallel_degree"})) {
    shards = integer_of(*value, {-1, 100'000});
    t.r.note("data_parallel_shard_degree", std::to_string(shards), *value);
  }
  int replicas = 1;
  if (const Value* value = t.any({"parallelism.data_parallel_replicate_degree",
                                  "training.data_parallel_replicate_degree"})) {
    replicas = integer_of(*value, {1, 20'000});
    t.r.note("data_parallel_replicate_degree", std::to_string(replicas), *value);
  }
  record.replicas = replicas;
  record.data_parallel_size_follows = shards <= 0;
  if (shards > 0) l.data_parallel_size = shards * replicas;
  const bool sharded = shards != 1 || l.context_parallel_size > 1;
  l.fsdp_unit = sharded ? FsdpUnit::block : FsdpUnit::none;
  l.zero_stage = sharded ? titan_zero_stage(t) : 0;
  if (t.form != TitanForm::registry) return;
  const bool always = t.r.word("parallelism.fsdp_reshard_after_forward", "default") == "always";
  l.fsdp_vocabulary =
      always && l.pipeline_parallel_size == 1 ? FsdpVocabulary::freed_units : FsdpVocabulary::units;
  t.settle({"fsdp_vocabulary"});
}

void read_titan_sizes(const TitanReading& t) {
  Layout& l = t.layout();
  t.size(l.tensor_parallel_size, "tensor_parallel_size",
         {"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"});
  t.size(l.context_parallel_size, "context_parallel_size",
         {"parallelism.context_parallel_degree", "experimental.context_parallel_degree"});
  t.size(l.pipeline_parallel_size, "pipeline_parallel_size",
         {"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree",
          "training.pipeline_parallel_degree"});
  t.size(l.expert_parallel_size, "expert_parallel_size", {"parallelism.expert_parallel_degree"});
  read_titan_expert_tensor_size(t);
  const Value* sequence = t.r.find("parallelism.enable_sequence_parallel");
  l.sequence_parallel = l.tensor_parallel_size > 1 && (sequence == nullptr || flag_of(*sequence));
  if (sequence != nullptr) {
    t.r.note("sequence_parallel", l.sequence_parallel ? "true" : "false", *sequence);
  }
  read_titan_shards(t);
  t.settle({"tensor_parallel_size", "context_parallel_size", "pipeline_parallel_size",
            "expert_parallel_size", "expert_tensor_parallel_size", "sequence_parallel",
            "data_parallel_size", "fsdp_unit", "zero_stage", "zero_shard_size"});
}

// Whole sequences in a number of tokens.
int titan_sequences(const Value& tokens, int seq_length) {
  const int count = integer_of(tokens, kCounts);
  if (count % seq_length != 0) {
    fail_at(tokens, fmt::format("must be a multiple of the context length, {}", seq_length));
  }
  return count / seq_length;
}

// Since 2026-06: tokens of a forward pass, so many of which go through a pipeline.
void read_titan_tokens(const TitanReading& t, const Value& tokens) {
  Layout& l = t.layout();
  l.micro_batch_size = titan_sequences(tokens, t.job().seq_length);
  t.r.note("micro_batch_size", std::to_string(l.micro_batch_size), tokens);
  int count = 1;
  const bool said = t.size(count, "micro_batches_a_rank", {"parallelism.num_pp_microbatches"});
  if (!said && l.pipeline_parallel_size > 1) {
    count = l.pipeline_parallel_size;
    t.r.assume("micro_batches_a_rank", std::to_string(count),
               "parallelism.num_pp_microbatches is not stated: one a stage");
  }
  t.r.record().micro_batches_a_rank = count;
}

// Sequences of a forward pass where a rank's batch is cut for a pipeline. Files of 2024 and early
// 2025 state how many parts there are, one a stage unless told; later ones their size, 1.
int titan_part(const TitanReading& t, int local) {
  int size = 1;
  if (t.size(size, "micro_batch_size", {"parallelism.pipeline_parallel_microbatch_size"})) {
    return size;
  }
  int parts = t.layout().pipeline_parallel_size;
  const bool said = t.size(parts, "micro_batches_a_rank",
                           {"parallelism.pipeline_parallel_microbatches",
                            "experimental.pipeline_parallel_microbatches"});
  const bool older = t.r.values().has("training.batch_size");
  if (!said && !older) return 1;
  if (!said) {
    t.r.assume("micro_batches_a_rank", std::to_string(parts),
               "training.batch_size is a name of before 2025-05: one part a stage");
  }
  return std::max(1, local / parts);
}

void read_titan_local_batch(const TitanReading& t) {
  Layout& l = t.layout();
  int local = 8;
  const bool said =
      t.size(local, "local_batch_size", {"training.local_batch_size", "training.batch_size"});
  if (!said) t.r.assume("local_batch_size", "8", "torchtitan's default");
  l.micro_batch_size = l.pipeline_parallel_size > 1 ? titan_part(t, local) : local;
  int steps = 1;  // of flame, a fork
  t.size(steps, "gradient_accumulation_steps", {"training.gradient_accumulation_steps"});
  const std::int64_t parts = std::int64_t{std::max(1, local / l.micro_batch_size)} * steps;
  t.r.record().micro_batches_a_rank = static_cast<int>(std::min<std::int64_t>(parts, 1'000'000));
}

// Sequences of a step, or 0: what the ranks' batches make.
int titan_global_batch(const TitanReading& t) {
  const Value* sequences = t.r.find("training.global_batch_size");
  const Value* tokens = t.r.find("training.num_tokens_per_train_step");
  const Value* said = tokens != nullptr ? tokens : sequences;
  if (said == nullptr || integer_of(*said, kTitanCountOrRest) <= 0) return 0;
  const int batch = tokens != nullptr ? titan_sequences(*tokens, t.job().seq_length)
                                      : integer_of(*sequences, kTitanCountOrRest);
  t.r.note("global_batch_size", std::to_string(batch), *said);
  return batch;
}

void read_titan_batch(const TitanReading& t) {
  Job& job = t.job();
  job.name = "the launched job";
  job.seq_length = t.seq_length.value_or(2048);
  const Value* length =
      t.any({"training.max_context_length", "training.seq_len", "training.context_len"});
  if (length != nullptr) {
    job.seq_length = integer_of(*length, kModelSizes);
    t.r.note("seq_length", std::to_string(job.seq_length), *length);
  } else {
    t.r.assume("seq_length", std::to_string(job.seq_length),
               t.seq_length ? kNamedBeside : "torchtitan's default");
  }
  const Value* tokens = t.r.find("training.num_tokens_per_microbatch_per_dp_rank");
  if (tokens != nullptr) {
    t.any({"training.local_batch_size", "training.batch_size"});
    read_titan_tokens(t, *tokens);
  } else {
    read_titan_local_batch(t);
  }
  if (const int batch = titan_global_batch(t); batch > 0) {
    job.global_batch_size = batch;
    t.r.record().micro_batches_a_rank = 0;
  } else {
    t.r.assume("global_batch_size", "local_batch_size x data-parallel ranks",
               "torchtitan's default: no accumulation");
  }
  t.settle({"micro_batch_size"});
  for (const char* field : {"seq_length", "global_batch_size"}) t.r.settle_job(field);
}

void read_titan_context(const TitanReading& t) {
  Layout& l = t.layout();
  const std::string rotate = t.r.word("parallelism.context_parallel_rotate_method", "allgather");
  if (l.context_parallel_size == 1) return;
  l.cp_comm_type =
      rotate == "alltoall" ? ContextParallelAlgorithm::p2p : ContextParallelAlgorithm::all_gather;
  t.settle({"cp_comm_type"});
}

// Software that a form of launch belongs to.
struct ReleaseOfForm {
  TitanForm form;
  const char* framework;
  const char* why;
};
constexpr std::array kReleases{
    ReleaseOfForm{TitanForm::toml, "torchtitan-2025", "its TOML files ended in 2026-02"},
    ReleaseOfForm{TitanForm::early_registry, "torchtitan-2025",
                  "an option of the command ended before 0.3.0"},
    ReleaseOfForm{TitanForm::registry, "torchtitan-0.3",
                  "a configuration of config_registry.py is named"}};

const ReleaseOfForm& release_of(TitanForm form) {
  return *std::find_if(kReleases.begin(), kReleases.end(),
                       [&](const ReleaseOfForm& release) { return release.form == form; });
}

}  // namespace

std::vector<std::string> titan_list(const Value& value) {
  std::vector<std::string> words;
  for (const std::string& word : value.words) {
    for (std::string part : split(word, ',')) {
      std::erase_if(
          part, [](char c) { return c == '[' || c == ']' || c == '\'' || c == '"' || c == ' '; });
      if (!part.empty()) words.push_back(std::move(part));
    }
  }
  return words;
}

void read_torchtitan_values(Values values, const LaunchHints& hints, TitanForm form,
                            LaunchRecord& record) {
  record.target = "torchtitan";
  const ReleaseOfForm& release = release_of(form);
  record.framework = release.framework;
  LaunchReading reading(values, record);
  reading.assume("framework", record.framework,
                 fmt::format("{}; --framework overrules it", release.why));
  TitanReading t{reading, form, hints.model ? hints.model->num_layers : 0, hints.seq_length};
  list_unmodelled_titan(reading);
  pass_over_titan(values);
  name_titan_model(t);
  read_titan_sizes(t);
  read_titan_batch(t);
  read_titan_pipeline(t);
  read_titan_recompute(t);
  read_titan_context(t);
  read_titan_kernels(t);
  reading.list_unused("no key of torchtitan that is known here");
}

LaunchRecord read_torchtitan(std::string_view text, const std::string& file,
                             const LaunchHints& hints) {
  LaunchRecord record;
  read_torchtitan_values(with_stated(values_of_toml(text, file), hints), hints, TitanForm::toml,
                         record);
  return record;
}

namespace {

bool is_torchtitan(const LaunchText& text) {
  return text.kind == LaunchTextKind::toml && has_section(text, "training.") &&
         has_any(text, {"model.", "parallelism.", "job."});
}

}  // namespace

extern const LaunchFormat kTorchtitanFormat;
constexpr LaunchFormat kTorchtitanFormat{
    is_torchtitan, [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_torchtitan(t.text, t.file, hints);
    }};

}  // namespace meshwright::interop
