// SPDX-License-Identifier: Apache-2.0
// What torchtitan recomputes, compiles and stores narrowly.
#include <algorithm>

#include "interop/read_launch/torchtitan_parts.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// Every n-th block runs again whole (parallelize_llama.py).
void recompute_every(const TitanReading& t, int each, const Value* from) {
  Layout& l = t.layout();
  l.recompute_modules = Layout{}.recompute_modules;
  l.recompute_granularity = RecomputeGranularity::full;
  if (t.num_layers == 0 && from != nullptr) {
    t.r.not_understood(*from, "the model's layers are not known");
  }
  if (each == 1 || t.num_layers == 0) return;
  l.recompute_method = RecomputeMethod::block;
  const int chunks = l.virtual_pipeline_parallel_size;
  l.recompute_num_layers =
      chunks * std::max(1, t.num_layers / l.pipeline_parallel_size / chunks / each);
  t.settle({"recompute_method", "recompute_num_layers"});
  const std::string count = std::to_string(l.recompute_num_layers);
  if (from != nullptr) {
    t.r.note("recompute_num_layers", count, *from);
  } else {
    t.r.assume("recompute_num_layers", count,
               "selective_ac_option is 2 unless told: every second block");
  }
}

// "op", or a number. The registry has no such option: it chooses by operator.
void read_selective_option(const TitanReading& t) {
  Layout& l = t.layout();
  const Value* option = t.r.find("activation_checkpoint.selective_ac_option");
  if (l.recompute_granularity != RecomputeGranularity::selective) return;
  l.recompute_modules = {kRecomputeOp};
  t.settle({"recompute_modules"});
  if (option == nullptr && t.form != TitanForm::toml) {
    return t.r.assume("recompute_modules", "op", "its selective mode chooses by operator");
  }
  if (option == nullptr) return recompute_every(t, 2, nullptr);
  if (word_of(*option) == "op") return t.r.note("recompute_modules", "op", *option);
  recompute_every(t, integer_of(*option, kParallelSizes), option);
}

// The names that an element of model.converters may have for float8 linears, and for experts.
bool is_float8_linear(const std::string& word) {
  return word == "float8" || word == "quantize.linear.float8" || word == "quantize.dense.float8";
}
bool is_float8_experts(const std::string& word) {
  return word == "quantize.grouped_mm.float8" || word == "quantize.moe.float8";
}
bool is_mx(const std::string& word) {
  return word == "mx" || word == "quantize.linear.mx" || word == "quantize.grouped_mm.mx";
}

struct TitanFormats {
  bool linears = false, experts = false, mx = false;
  const Value* from = nullptr;
};

TitanFormats titan_formats(const TitanReading& t) {
  TitanFormats formats;
  if (t.r.is_on("float8.enable_float8_linear")) {
    formats.linears = true;
    formats.from = t.r.find("float8.enable_float8_linear");
  }
  for (const char* key : {"model.converters", "quantize.linear"}) {
    const Value* value = t.r.find(key);
    if (value == nullptr) continue;
    for (const std::string& word : titan_list(*value)) {
      formats.linears = formats.linears || is_float8_linear(word);
      formats.experts = formats.experts || is_float8_experts(word);
      formats.mx = formats.mx || is_mx(word);
      const bool known = is_float8_linear(word) || is_float8_experts(word) || is_mx(word);
      if (known) formats.from = value;
      if (!known) t.r.not_understood(*value, word + " is not modelled", OptionEffect::precision);
    }
  }
  return formats;
}

// Sections that float8's options stand in.
const Value* float8_option(const TitanReading& t, const std::string& name) {
  const Value* found = nullptr;
  for (const char* section : {"float8.", "quantize.linear.float8.", "quantize.dense.float8."}) {
    const Value* value = t.r.find(section + name);
    if (found == nullptr) found = value;
  }
  return found;
}

// Head and router are not counted in fp8 anyway.
void read_float8_filter(const TitanReading& t) {
  const Value* filter = float8_option(t, "filter_fqns");
  if (filter == nullptr) return;
  for (const std::string& name : titan_list(*filter)) {
    if (name == "output" || name == "lm_head" || name == "router.gate" || name == "router")
      continue;
    t.r.not_understood(*filter, name + " stays in bf16; it is counted in fp8",
                       OptionEffect::precision);
  }
}

void read_float8(const TitanReading& t, const TitanFormats& formats) {
  Job& job = t.job();
  const Value* emulate = float8_option(t, "emulate");
  if (emulate != nullptr && flag_of(*emulate)) {
    return t.r.not_understood(*emulate, "fp8 is emulated with bf16 products; counted as bf16",
                              OptionEffect::precision);
  }
  job.precision = Precision::fp8;
  t.r.note("precision", "fp8", *formats.from);
  const Value* gather = float8_option(t, "enable_fsdp_float8_all_gather");
  job.fp8_param_gather = gather != nullptr && flag_of(*gather);
  if (gather != nullptr) {
    t.r.note("fp8_param_gather", job.fp8_param_gather ? "true" : "false", *gather);
  }
  const Value* recipe = float8_option(t, "recipe_name");
  if (recipe != nullptr && word_of(*recipe) != "tensorwise" && word_of(*recipe) != "None") {
    t.r.not_understood(*recipe, "a scale a row; it is predicted as one a tensor",
                       OptionEffect::precision);
  }
  read_float8_filter(t);
}

void read_titan_precision(const TitanReading& t) {
  Job& job = t.job();
  job.precision = Precision::bf16;
  const TitanFormats formats = titan_formats(t);
  if (formats.linears) {
    read_float8(t, formats);
  } else if (formats.mx) {
    job.precision = Precision::fp8;
    job.fp8_recipe = Fp8Recipe::mxfp8;
    t.r.note("precision", "fp8", *formats.from);
    t.r.note("fp8_recipe", "mxfp8", *formats.from);
  } else if (formats.experts) {
    t.r.not_understood(*formats.from, "fp8 of experts alone is not modelled",
                       OptionEffect::precision);
  }
  t.r.values().pass_over_below("float8.");
  t.r.values().pass_over_below("mx.");
  t.r.values().pass_over_below("quantize.");
  for (const char* field : {"precision", "fp8_param_gather"}) t.r.settle_job(field);
}

bool compiles(const TitanReading& t, const char* part) {
  const Value* parts = t.r.find("compile.components");
  if (parts == nullptr) return true;
  const std::vector<std::string> words = titan_list(*parts);
  return std::find(words.begin(), words.end(), part) != words.end();
}

// The loss is compiled with the blocks since 2025; batch_size is a name of 2024. Configurations of
// 0.3.0 work through it in 8 pieces, as they have done since 2026-04 (ChunkedCELoss,
// components/loss.py); an earlier command of the registry may be older than that.
void read_titan_loss(const TitanReading& t, bool on) {
  bool& fused = t.job().cross_entropy_loss_fusion;
  fused = on && compiles(t, "loss") && !t.r.values().has("training.batch_size");
  if (fused) {
    t.r.assume("cross_entropy_loss_fusion", "true", "compile covers the loss since 2025");
  } else if (t.form == TitanForm::early_registry) {
    t.r.assume("loss_chunks", "1", "the loss goes in pieces since 2026-04 alone: counted whole");
  }
  t.r.settle_job("cross_entropy_loss_fusion");
  if (t.form != TitanForm::registry) return;
  t.job().loss_chunks = 8;
  t.r.settle_job("loss_chunks");
  t.r.assume("loss_chunks", "8", "the loss of 0.3.0's configurations goes in 8 pieces");
}

}  // namespace

void read_titan_recompute(const TitanReading& t) {
  Layout& l = t.layout();
  using enum RecomputeGranularity;
  l.recompute_granularity = selective;
  const Value* value = t.r.find("activation_checkpoint.mode");
  const Value* budget = t.r.find("activation_checkpoint.memory_budget");
  const std::string mode = value == nullptr ? "selective" : word_of(*value);
  if (mode != "selective" && mode != "full" && mode != "none" && mode != "memory_budget") {
    fail_at(*value, "must be one of selective, full, none, memory_budget");
  }
  if (value != nullptr) t.r.note("recompute_granularity", mode, *value);
  if (mode == "full" || mode == "none") l.recompute_granularity = mode == "full" ? full : none;
  if (mode == "memory_budget") {
    t.r.find("activation_checkpoint.selective_ac_option");
    l.recompute_modules = {kRecomputeOp};
    t.settle({"recompute_modules"});
    t.r.not_understood(budget != nullptr ? *budget : *value,
                       "the compiler chooses; predicted as selective by operator",
                       OptionEffect::memory);
  } else {
    read_selective_option(t);
  }
  t.settle({"recompute_granularity"});
}

void read_titan_kernels(const TitanReading& t) {
  Layout& l = t.layout();
  Job& job = t.job();
  l.tp_comm_overlap = false;
  for (const char* section : {"parallelism.", "experimental.", "compile.", "training."}) {
    const std::string key = std::string(section) + "enable_async_tensor_parallel";
    const Value* value = t.r.find(key);
    if (value == nullptr) continue;
    l.tp_comm_overlap = l.tp_comm_overlap || flag_of(*value);
    t.r.note("tp_comm_overlap", l.tp_comm_overlap ? "true" : "false", *value);
  }
  t.settle({"tp_comm_overlap"});
  const Value* switched = t.any({"compile.enable", "training.compile"});
  const bool on = switched != nullptr && flag_of(*switched);
  job.kernel_fusion = on && compiles(t, "model") ? KernelFusion::compiled : KernelFusion::eager;
  t.r.settle_job("kernel_fusion");
  if (switched != nullptr) {
    t.r.note("kernel_fusion", std::string(name_of(job.kernel_fusion)), *switched);
  } else {
    t.r.assume("kernel_fusion", "eager", "compile is off unless switched on");
  }
  read_titan_loss(t, on);
  read_titan_precision(t);
}

}  // namespace meshwright::interop
