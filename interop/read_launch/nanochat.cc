// SPDX-License-Identifier: Apache-2.0
// nanochat: all sizes follow from the depth (karpathy/nanochat scripts/base_train.py, commit
// 00255c1, nanochat/gpt.py). Before 2026 its options had underscores, and its attention no windows.
#include <algorithm>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::string_view kProgram = "scripts.base_train";

// "--device-batch-size=16" and "--device_batch_size=16" alike.
std::string nanochat_key(std::string key) {
  key.erase(0, key.find_first_not_of('-'));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

int said_or(LaunchReading& r, const char* field, const char* key, int otherwise) {
  int value = otherwise;
  if (!r.integer(value, field, key, kModelSizes)) {
    r.assume(field, std::to_string(value), std::string("the default of ") + key);
  }
  return value;
}

// "SSSL": three layers of four see half of the context, the fourth all of it.
void read_windows(LaunchReading& r, Model& m) {
  const Value* said = r.find("window_pattern");
  const std::string pattern = r.word("window_pattern", "SSSL");
  const std::size_t full = pattern.find('L');
  if (pattern == "L") return;
  const bool regular = full != std::string::npos && full + 1 == pattern.size() &&
                       pattern.find_first_not_of('S') == full;
  if (!regular) return r.not_understood(*said, "windows of another pattern are not modelled");
  m.sliding_window = m.max_position_embeddings / 2;
  m.sliding_window_interval = static_cast<int>(pattern.size());
  if (said == nullptr) r.assume("sliding_window", std::to_string(m.sliding_window), "SSSL");
}

void read_nanochat_model(LaunchReading& r, bool has_windows, const LaunchHints& hints) {
  Model& m = r.record().model;
  m.name = "the launched model";
  m.num_layers = said_or(r, "num_layers", "depth", 20);
  int aspect = 64;
  r.integer(aspect, "hidden_size", "aspect_ratio", kModelSizes);
  m.kv_channels = 128;
  r.integer(m.kv_channels, "kv_channels", "head_dim", kModelSizes);
  m.num_attention_heads = (m.num_layers * aspect + m.kv_channels - 1) / m.kv_channels;
  m.num_query_groups = m.num_attention_heads;
  m.hidden_size = m.num_attention_heads * m.kv_channels;
  m.ffn_hidden_size = 4 * m.hidden_size;
  m.activation = Activation::relu;
  m.normalization = Normalization::rms_norm;
  m.position_embedding = PositionEmbedding::rope;
  m.add_bias_linear = false;
  m.qk_layernorm = true;
  m.tied_embeddings = false;
  m.max_position_embeddings = said_or(r, "seq_length", "max_seq_len", 2048);
  m.vocab_size = hints.vocab_size.value_or(32768);
  r.assume("vocab_size", std::to_string(m.vocab_size),
           hints.vocab_size ? "named beside the launch, or in the log"
                            : "its tokenizer's; 65,536 before 2026: --vocab-size states it");
  if (has_windows) read_windows(r, m);
}

void read_nanochat_job(LaunchReading& r, Model& m) {
  LaunchRecord& record = r.record();
  Job& job = record.job;
  Layout& l = record.layout;
  job.seq_length = m.max_position_embeddings;
  l.micro_batch_size = said_or(r, "micro_batch_size", "device_batch_size", 32);
  int tokens = 524'288;
  const Value* total = r.find("total_batch_size");
  if (total != nullptr && !is_off(*total)) {
    r.integer(tokens, "global_batch_size", "total_batch_size", kCounts);
  } else {
    r.assume("global_batch_size", std::to_string(tokens / job.seq_length),
             "524,288 tokens; since 2026-02 it follows from the depth unless it is said");
  }
  job.global_batch_size = std::max(1, tokens / job.seq_length);
  job.kernel_fusion = KernelFusion::compiled;
  job.gradient_precision = Precision::fp32;
  if (r.is_on("fp8")) {
    job.precision = Precision::fp8;
    job.fp8_recipe = Fp8Recipe::tensorwise;
    r.note("precision", "fp8", *r.find("fp8"));
  }
  r.not_modelled_unless("fp8_recipe", {"tensorwise"});
  l.zero_stage = 1;
  r.assume("zero_stage", "1", "DistAdamW and DistMuon shard their states, and reduce at the end");
  r.assume("optimizer", "adam",
           "Muon of the matrices is predicted as Adam: it has one moment less");
  r.assume("value embeddings", "none", "tables of later releases are not counted");
  r.settle_whole_layout();
  for (const char* field : {"seq_length", "global_batch_size", "precision", "gradient_precision",
                            "optimizer", "fp8_recipe", "kernel_fusion"}) {
    r.settle_job(field);
  }
}

LaunchRecord read_nanochat(const LaunchText& text, const LaunchHints& hints,
                           const ReadNamedFile& read) {
  const ShellScript script = read_shell_script(text.text, text.file, shell_inputs(hints, read));
  LaunchRecord record;
  record.target = "nanochat";
  record.job.name = "the launched job";
  const auto command =
      std::find_if(script.commands.begin(), script.commands.end(), [](const ShellCommand& each) {
        return std::any_of(each.words.begin(), each.words.end(),
                           [](const MarkedText& word) { return word.text() == kProgram; });
      });
  if (command == script.commands.end()) return record;
  read_start(*command, script, text.file, record);
  list_unknown_words(*command, script, text.file, record);
  Values values;
  bool has_windows = true;
  for (Value& option : options_of(*command, first_program_word(*command), script, text.file)) {
    has_windows = has_windows && !contains(option.key, "_");
    option.key = nanochat_key(option.key);
    values.add(std::move(option));
  }
  LaunchReading reading(values, record);
  read_nanochat_model(reading, has_windows, hints);
  read_nanochat_job(reading, record.model);
  for (const char* key : {"run", "device_type", "num_iterations", "model_tag"}) {
    values.pass_over(key);
  }
  for (const char* key : {"target_", "warm", "final_", "resume_", "eval_", "core_metric", "sample_",
                          "save_", "grad_clip"}) {
    values.pass_over_below(key);
  }
  values.pass_over_ending("_lr");
  values.pass_over_ending("_decay");
  reading.list_unused("no option of nanochat that is known here");
  return record;
}

}  // namespace

extern const LaunchFormat kNanochatFormat;
constexpr LaunchFormat kNanochatFormat{
    [](const LaunchText& t) { return is_script(t) && contains(t.text, kProgram); },
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
      return read_nanochat(t, hints, read);
    }};

}  // namespace meshwright::interop
