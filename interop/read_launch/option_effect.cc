// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/option_effect.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// Megatron-LM, Megatron-Bridge, NeMo, DeepSpeed, torchtitan, nanotron, accelerate, GPT-NeoX,
// ms-swift, verl, and what people call their own variables.
constexpr SizeSpelling kSizes[] = {
    {"tensor_parallel_size", "tp",
     "tp tp_size tp_degree tensor_parallel tensor_parallel_size tensor_parallel_degree "
     "tensor_model_parallel_size model_parallel_size model_parallel mp_size autotp_size"},
    {"pipeline_parallel_size", "pp",
     "pp pp_size pp_degree pipeline_parallel pipeline_parallel_size pipeline_parallel_degree "
     "pipeline_model_parallel_size pipe_parallel_size pipeline_stages"},
    {"virtual_pipeline_parallel_size", "vpp",
     "vpp vp vpp_size virtual_pipeline_parallel_size virtual_pipeline_model_parallel_size "
     "num_virtual_stages_per_pipeline_rank num_layers_per_virtual_pipeline_stage"},
    {"context_parallel_size", "cp",
     "cp cp_size cp_degree context_parallel context_parallel_size context_parallel_degree "
     "sequence_parallel_size ulysses_size ulysses_degree ulysses_sequence_parallel_size "
     "ulysses_parallel_size ring_attn_size sp_size"},
    {"expert_tensor_parallel_size", "etp",
     "etp etp_size expert_tensor_parallel_size expert_tensor_parallel_degree"},
    {"expert_parallel_size", "ep",
     "ep ep_size ep_degree expert_parallel expert_parallel_size expert_parallel_degree "
     "expert_model_parallel_size moe_expert_parallel_size"},
    {"data_parallel_size", "dp",
     "dp dp_size dp_degree data_parallel_size data_parallel_degree dp_shard dp_shard_size "
     "dp_replicate dp_replicate_size data_parallel_shard_degree data_parallel_replicate_degree "
     "data_parallel_shard_size data_parallel_replicate_size"},
    {"zero_stage", "zero", "zero_stage sharding_strategy zero_optimization_stage"},
    {"micro_batch_size", "mbs",
     "mbs micro_batch micro_batch_size micro_bsz microbatch_size local_batch_size "
     "train_micro_batch_size micro_train_batch_size micro_batch_size_per_gpu "
     "train_micro_batch_size_per_gpu per_device_train_batch_size per_device_batch_size "
     "device_train_microbatch_size ppo_micro_batch_size_per_gpu"},
    {"global_batch_size", "",
     "gbs global_batch global_batch_size train_batch_size global_train_batch_size"},
    {"seq_length", "",
     "seq_length seq_len seqlen sequence_length sequence_len max_seq_len max_seq_length "
     "max_sequence_length cutoff_len model_max_length max_length encoder_seq_length"},
};

std::string lower_words(std::string_view key) {
  std::string text = lower_case(key);
  std::replace(text.begin(), text.end(), '-', '_');
  const std::size_t first = text.find_first_not_of("_+");
  return first == std::string::npos ? "" : text.substr(first);
}

std::string last_segment(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? key : key.substr(dot + 1);
}

std::vector<std::string> words_of_key(const std::string& key) {
  std::string text = key;
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = ' ';
  }
  return split_words(text);
}

struct EffectWords {
  OptionEffect effect;
  std::string_view words;
};
// The first that a name has a word of. Precision stands first: "load_in_4bit" loads nothing.
constexpr EffectWords kEffects[] = {
    {OptionEffect::precision,
     "fp8 fp4 mxfp8 mxfp4 nvfp4 bf16 fp16 fp32 tf32 float8 int8 int4 4bit 8bit dtype precision "
     "quant "
     "quantize quantization amp half"},
    {OptionEffect::attention,
     "attention attn flash window sink sinks mamba ssm gdn delta kda mla indexer dsa sparse "
     "linear conv"},
    {OptionEffect::memory,
     "recompute activation activations checkpointing remat offload offloading shard sharding "
     "reshard sharded zero fsdp fsdp2 hsdp buffer buffers bucket expandable cpu"},
    {OptionEffect::optimizer,
     "optimizer optim adam muon lion sophia adafactor galore lora qlora dora peft adapter adapters "
     "freeze frozen trainable ema"},
    {OptionEffect::schedule,
     "overlap overlapped pipeline schedule delay wgrad graph graphs compile compiler fusion fused "
     "async interleave interleaved dispatcher deepep hybridep kernel liger comm communication "
     "sync"},
    {OptionEffect::sizes,
     "parallel parallelism tp pp cp ep dp etp vpp layers layer hidden ffn intermediate heads head "
     "kv experts expert moe topk vocab vocabulary seq seqlen sequence length batch micro "
     "microbatch stages degree nnodes nodes gpus devices packing packed pack embedding embeddings "
     "mtp accumulation"},
};
constexpr std::string_view kHarmlessFirst =
    "log logs logger logging wandb tensorboard swanlab mlflow comet clearml save saves load lr "
    "learning eval evaluation valid validation test data dataset datasets dataloader tokenizer "
    "profile profiler profiling ckpt checkpoint checkpoints scheduler seed resume run "
    "exp metrics monitor report trackers hub one straggler nsys";
constexpr std::string_view kHarmlessLast =
    "lr eps epsilon coeff coef path paths dir dirs directory file files folder seed interval "
    "intervals steps iters iterations epochs name names project entity std beta beta1 beta2 betas "
    "loss momentum warmup decay url id port host timeout tags workers prefix freq "
    "frequency every verbose theta base";
constexpr std::string_view kHarmlessAny =
    "learning warmup wandb tensorboard seed dropout epochs logging tokenizer";

bool has_word(std::string_view list, const std::string& word) {
  for (std::size_t at = list.find(word); at != std::string_view::npos;
       at = list.find(word, at + 1)) {
    const bool begins = at == 0 || list[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (begins && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

bool any_word(std::string_view list, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return has_word(list, word); });
}

}  // namespace

const SizeSpelling* size_spelled(std::string_view key) {
  const std::string whole = lower_words(key);
  constexpr std::string_view kNotOfTheStep =
      "eval evaluation valid validation test rollout log inference generation";
  for (const std::string& part : split(whole, '.')) {
    const std::vector<std::string> first = words_of_key(part);
    if (!first.empty() && has_word(kNotOfTheStep, first.front())) return nullptr;
  }
  const std::string name = last_segment(whole);
  const std::vector<std::string> words = words_of_key(name);
  const bool is_switch = !words.empty() && has_word("no disable enable use overlap", words.front());
  if (is_switch || any_word(kNotOfTheStep, words)) return nullptr;
  const SizeSpelling* best = nullptr;
  std::size_t longest = 0;
  for (const SizeSpelling& size : kSizes) {
    for (const std::string& spelled : split_words(size.names)) {
      const bool same = name == spelled || name.ends_with("_" + spelled);
      if (!same || spelled.size() <= longest) continue;
      best = &size;
      longest = spelled.size();
    }
  }
  return best;
}

OptionEffect effect_of(std::string_view key) {
  const std::string whole = lower_words(key);
  const std::vector<std::string> words = words_of_key(last_segment(whole));
  const std::vector<std::string> all = words_of_key(whole);
  if (words.empty() || all.empty()) return OptionEffect::unknown;
  if (any_word(kEffects[0].words, words)) return OptionEffect::precision;
  const bool says_packing = any_word("packing packed pack", words);
  const bool harmless = has_word(kHarmlessLast, words.back()) || any_word(kHarmlessAny, words) ||
                        has_word(kHarmlessFirst, words.front()) ||
                        (all.size() > words.size() && has_word(kHarmlessFirst, all.front()));
  if (harmless && !says_packing && size_spelled(key) == nullptr) return OptionEffect::none;
  for (const auto* const part : {&words, &all}) {  // the name, then its sections
    for (const EffectWords& effect : kEffects) {
      if (any_word(effect.words, *part)) return effect.effect;
    }
  }
  return OptionEffect::unknown;
}

bool is_off(const Value& value) {
  if (!value.unknown.empty() || value.words.size() != 1) return false;
  const std::string word = lower_case(value.words.front());
  return word == "1" || word == "0" || word == "-1" || word == "none" || word == "null" ||
         word == "false" || word == "auto" || word == "no" || word.empty();
}

}  // namespace meshwright::interop
