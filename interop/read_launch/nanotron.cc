// SPDX-License-Identifier: Apache-2.0
// nanotron's YAML files (src/nanotron/config/*.py, commit 2411b02).
#include <array>

#include "interop/read_launch/document.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/stated_values.h"
#include "sim/base/error.h"
#include "sim/block/parameters.h"

namespace meshwright::interop {
namespace {

void require_nanotron(LaunchReading& r, int& target, const char* field, const std::string& key,
                      const std::string& file) {
  if (!r.integer(target, field, key, kModelSizes)) throw InputError(file, "", key + " is missing");
}

// Starcoder2Config (config/models_config.py): layer norms, biases, GELU, one key-value head unless
// grouped_query.
void read_nanotron_starcoder(LaunchReading& r) {
  Model& m = r.record().model;
  const std::string at = "model.model_config.";
  m.activation = Activation::gelu;
  m.normalization = Normalization::layer_norm;
  m.add_bias_linear = true;
  m.tied_embeddings = true;
  m.num_query_groups = 1;
  if (r.is_on(at + "grouped_query")) {
    r.integer(m.num_query_groups, "num_query_groups", at + "num_kv_heads",
              {1, m.num_attention_heads});
  }
}

// Experts came in 2025 (models/qwen.py); no runs of them are known, and how they share ranks with
// data parallelism differs between releases.
void refuse_nanotron_experts(LaunchReading& r) {
  for (const char* key :
       {"model.model_config.moe_config.num_experts", "model.model_config.moe_num_experts"}) {
    const Value* experts = r.find(key);
    if (experts == nullptr || integer_of(*experts, kModelSizes) <= 1) continue;
    fail_at(*experts, "layers with experts are not read of nanotron",
            "ask about the same sizes by hand: meshwright estimate --model FILE --cluster NAME "
            "--layout tp=N,dp=N,ep=N");
  }
}

void read_nanotron_model(LaunchReading& r, const std::string& file) {
  Model& m = r.record().model;
  const std::string at = "model.model_config.";
  m.name = "the launched model";
  require_nanotron(r, m.num_layers, "num_layers", at + "num_hidden_layers", file);
  require_nanotron(r, m.hidden_size, "hidden_size", at + "hidden_size", file);
  require_nanotron(r, m.ffn_hidden_size, "ffn_hidden_size", at + "intermediate_size", file);
  require_nanotron(r, m.num_attention_heads, "num_attention_heads", at + "num_attention_heads",
                   file);
  require_nanotron(r, m.vocab_size, "vocab_size", at + "vocab_size", file);
  m.num_query_groups = m.num_attention_heads;
  r.integer(m.num_query_groups, "num_query_groups", at + "num_key_value_heads",
            {1, m.num_attention_heads});
  m.kv_channels = m.hidden_size / m.num_attention_heads;
  r.integer(m.max_position_embeddings, "max_position_embeddings", at + "max_position_embeddings",
            kModelSizes);
  m.activation = Activation::swiglu;
  m.normalization = Normalization::rms_norm;
  m.position_embedding = PositionEmbedding::rope;
  m.add_bias_linear = false;
  m.add_qkv_bias = r.is_on(at + "attention_bias");  // models/qwen.py; Llama's has none
  m.tied_embeddings = false;                        // LlamaConfig, Qwen2Config
  r.flag(m.tied_embeddings, "tied_embeddings", at + "tie_word_embeddings");
  if (r.is_on(at + "is_starcoder2_config")) read_nanotron_starcoder(r);
  if (!is_countable(m)) throw InputError(file, "", "describes more than 10^18 parameters");
}

void read_nanotron_job(LaunchReading& r) {
  Job& job = r.record().job;
  job.name = "the launched job";
  r.integer(job.seq_length, "seq_length", "tokens.sequence_length", kModelSizes);
  r.record().micro_batches_a_rank = 1;
  r.integer(r.record().micro_batches_a_rank, "micro_batches_a_rank",
            "tokens.batch_accumulation_per_replica", kParallelSizes);
  constexpr std::array kTypes{EnumName{Precision::bf16, "bfloat16"},
                              EnumName{Precision::fp16, "float16"},
                              EnumName{Precision::fp32, "float32"}};
  r.choice(job.precision, "precision", "model.dtype", kTypes);
  const Value* fp32 = r.find("optimizer.accumulate_grad_in_fp32");
  job.gradient_precision = fp32 == nullptr || flag_of(*fp32) ? Precision::fp32 : job.precision;
  if (fp32 != nullptr) {
    r.note("gradient_precision", std::string(name_of(job.gradient_precision)), *fp32);
  }
  job.make_vocab_size_divisible_by = 1;  // config/config.py, ModelArgs
  r.integer(job.make_vocab_size_divisible_by, "make_vocab_size_divisible_by",
            "model.make_vocab_size_divisible_by", kParallelSizes);
  for (const char* field : {"seq_length", "global_batch_size", "precision", "gradient_precision",
                            "make_vocab_size_divisible_by"}) {
    r.settle_job(field);
  }
}

void read_nanotron_layout(LaunchReading& r) {
  Layout& l = r.record().layout;
  r.integer(l.tensor_parallel_size, "tensor_parallel_size", "parallelism.tp", kParallelSizes);
  r.integer(l.pipeline_parallel_size, "pipeline_parallel_size", "parallelism.pp", kParallelSizes);
  r.integer(l.context_parallel_size, "context_parallel_size", "parallelism.context_parallel_size",
            kParallelSizes);
  r.integer(l.expert_parallel_size, "expert_parallel_size", "parallelism.expert_parallel_size",
            kParallelSizes);
  r.record().data_parallel_size_follows =
      !r.integer(l.data_parallel_size, "data_parallel_size", "parallelism.dp", kParallelSizes);
  r.integer(l.micro_batch_size, "micro_batch_size", "tokens.micro_batch_size", kParallelSizes);
  // In any case of letters (config/parallelism_config.py).
  constexpr std::array kModes{EnumName{true, "REDUCE_SCATTER"}, EnumName{false, "ALL_REDUCE"},
                              EnumName{true, "reduce_scatter"}, EnumName{false, "all_reduce"}};
  l.sequence_parallel = false;
  r.choice(l.sequence_parallel, "sequence_parallel", "parallelism.tp_mode", kModes);
  l.sequence_parallel = l.sequence_parallel && l.tensor_parallel_size > 1;
  bool overlaps = false;
  r.flag(overlaps, "tp_comm_overlap", "parallelism.tp_linear_async_communication");
  l.tp_comm_overlap = overlaps && l.sequence_parallel;
  constexpr std::array kEngines{EnumName{PipelineSchedule::one_f_one_b, "1f1b"},
                                EnumName{PipelineSchedule::gpipe, "afab"}};
  l.schedule = PipelineSchedule::gpipe;  // its own default
  const bool said = r.choice(l.schedule, "schedule", "parallelism.pp_engine", kEngines);
  if (l.pipeline_parallel_size == 1) {
    l.schedule = kDefaultSchedule;
  } else if (!said) {
    r.assume("schedule", "gpipe", "nanotron's pp_engine is afab unless told otherwise");
  }
  r.integer(l.zero_stage, "zero_stage", "optimizer.zero_stage", {0, 1});
  r.recompute_switch("parallelism.recompute_layer");
  for (const char* field :
       {"tensor_parallel_size", "pipeline_parallel_size", "context_parallel_size",
        "expert_parallel_size", "data_parallel_size", "micro_batch_size", "sequence_parallel",
        "tp_comm_overlap", "schedule", "zero_stage", "recompute_granularity"}) {
    r.settle_layout(field);
  }
}

}  // namespace

LaunchRecord read_nanotron(std::string_view text, const std::string& file,
                           const LaunchHints& hints) {
  Values values = with_stated(values_of_yaml(text, file), hints);
  LaunchRecord record;
  record.target = "nanotron";
  record.framework = "nanotron-2024";
  LaunchReading reading(values, record);
  reading.assume("framework", record.framework, "the file does not say which release runs");
  refuse_nanotron_experts(reading);
  if (hints.needs_model()) read_nanotron_model(reading, file);
  read_nanotron_job(reading);
  read_nanotron_layout(reading);
  for (const char* key : {"optimizer.optimizer_factory.name", "optimizer.optimizer.name"}) {
    reading.not_modelled_unless(key, {"adamW", "adam"});
  }
  reading.not_modelled_unless("model.model_config.sliding_window_size");
  reading.not_modelled_unless("model.model_config.flex_attention_mask");
  reading.not_modelled_unless("model.model_config._use_doc_masking");
  reading.not_modelled_unless(
      "model.model_config._attn_implementation",
      {"flash_attention_2", "sdpa", "ring", "ring_flash_triton", "flex_attention"});
  for (const char* section : {"checkpoints.", "data_stages.", "general.", "logging.", "lighteval.",
                              "profiler.", "tokenizer.", "optimizer.", "model.", "tokens.",
                              "s3_upload.", "metrics_logging.", "data."}) {
    values.pass_over_below(section);
  }
  for (const char* key :
       {"data_stages", "parallelism.tp_recompute_allgather", "parallelism.moe_layer_recompute"})
    values.pass_over(key);
  reading.list_unused("no key of nanotron that is known here");
  return record;
}

namespace {

bool is_nanotron(const LaunchText& text) {
  return has_any(text, {"parallelism.tp", "parallelism.dp", "parallelism.pp"}) &&
         has_section(text, "tokens.");
}

}  // namespace

extern const LaunchFormat kNanotronFormat;
constexpr LaunchFormat kNanotronFormat{
    is_nanotron, [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_nanotron(t.text, t.file, hints);
    }};

}  // namespace meshwright::interop
