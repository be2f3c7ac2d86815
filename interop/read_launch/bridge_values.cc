// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/bridge_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "interop/read_launch/megatron_arguments.h"
#include "interop/read_launch/option_effect.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct ModelKey {
  const char* key;
  int Model::*member;
};
constexpr ModelKey kModelKeys[] = {{"model.num_layers", &Model::num_layers},
                                   {"model.hidden_size", &Model::hidden_size},
                                   {"model.num_attention_heads", &Model::num_attention_heads},
                                   {"model.num_query_groups", &Model::num_query_groups}};

}  // namespace

void check_bridge_model(Values& values, const LaunchHints& hints) {
  for (const ModelKey& each : kModelKeys) {
    const Value* value = values.find(each.key);
    if (value == nullptr) continue;
    const int said = integer_of(*value, {1, 100'000'000});
    if (hints.needs_model()) {
      fail_at(*value, "it changes the recipe's model",
              "name the model that it makes with --model, as a config.json of those sizes");
    }
    const int named = *hints.model.*each.member;
    if (said != named) {
      fail_at(*value, fmt::format("the named model has {}", named),
              "name a model of that size with --model");
    }
  }
}

// Keys of Megatron Core that change no cost, by the list of Megatron-LM's options, and sections and
// switches of the kernels that are the release's.
void pass_over_bridge(Values& values) {
  for (const char* section : {"_target_",
                              "model._target_",
                              "scheduler.",
                              "logger.",
                              "checkpoint.",
                              "dataset.",
                              "tokenizer.",
                              "rng.",
                              "profiling.",
                              "dist.",
                              "validation.",
                              "rerun_state_machine.",
                              "straggler.",
                              "nvrx_straggler.",
                              "ft.",
                              "inprocess_restart.",
                              "tensor_inspect.",
                              "train.train_iters",
                              "train.train_samples",
                              "train.eval_",
                              "train.manual_gc",
                              "train.exit_",
                              "train.check_weight",
                              "ddp.check_for_",
                              "ddp.average_in_collective",
                              "ddp.grad_reduce_in_fp32",
                              "comm_overlap.tp_comm_overlap_cfg",
                              "comm_overlap.batch_p2p_comm",
                              "comm_overlap.align_param_gather",
                              "ddp.align_param_gather",
                              "comm_overlap.bucket_size",
                              "model.init_method",
                              "model.output_layer_init",
                              "model.rotary_",
                              "model.yarn_",
                              "model.should_pad_vocab",
                              "model.vocab_size",
                              "model.layernorm_epsilon",
                              "model.perform_init",
                              "model.use_cpu_initialization",
                              "model.deallocate_pipeline",
                              "model.autocast",
                              "model.bf16",
                              "model.fp16",
                              "model.generation_config",
                              "model.restore_",
                              "model.seq_length",
                              "model.calculate_per_token_loss",
                              "model.moe_router_",
                              "model.moe_aux_loss",
                              "model.moe_z_loss",
                              "model.moe_permute_fusion",
                              "model.moe_grouped_gemm",
                              "model.moe_apply_probs",
                              "model.high_priority_a2a",
                              "model.transformer_impl",
                              "model.persist_layer_norm",
                              "model.apply_query_key",
                              "model.attention_softmax_in_fp32",
                              "model.enable_autocast",
                              "model.tp_only_amax"}) {
    values.pass_over_below(section);
  }
  // The fused kernels are priced: one that is on says nothing new.
  for (const char* fusion :
       {"apply_rope_fusion", "bias_activation_fusion", "bias_dropout_fusion", "bias_swiglu_fusion",
        "masked_softmax_fusion", "gradient_accumulation_fusion"}) {
    const std::string key = std::string("model.") + fusion;
    const auto& all = values.all();
    const bool off = std::any_of(all.begin(), all.end(), [&](const Value& value) {
      return value.key == key && is_off(value);
    });
    if (!off) values.pass_over(key);
  }
  std::vector<std::string> harmless;
  for (const Value& value : values.all()) {
    const std::size_t dot = value.key.find('.');
    if (value.used || dot == std::string::npos) continue;
    const MegatronArgument* argument = megatron_argument_of_key(value.key.substr(dot + 1));
    if (argument != nullptr && argument->is_of(WordClass::harmless)) {
      harmless.push_back(value.key);
    }
  }
  for (const std::string& key : harmless) values.pass_over(key);
}

Values plain_bridge_values(const Values& typed) {
  Values values;
  Value stages;
  const std::string layout = "model.pipeline_model_parallel_layout";
  for (const Value& value : typed.all()) {
    const bool none =
        value.words.size() == 1 && (value.words.front() == "None" || value.words.front() == "null");
    if (none) continue;
    if (!value.key.starts_with(layout + ".")) {
      values.add(value);
      continue;
    }
    std::string chunk;
    for (const std::string& word : value.words) {
      chunk += word == "embedding" ? "E" : word == "loss" ? "L" : word == "mtp" ? "m" : "t";
    }
    if (stages.key.empty()) stages = value;
    stages.key = layout;
    std::string text = stages.words.size() == 1 && stages.said.empty() ? stages.words.front() : "";
    append_to_list(text, "|", chunk);
    stages.said.clear();
    stages.words = {text};
  }
  if (!stages.key.empty()) {
    stages.said = layout + " = " + stages.words.front();
    values.add(std::move(stages));
  }
  return values;
}

}  // namespace meshwright::interop
