// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/read_launch.h"

#include "interop/read_launch/megatron.h"
#include "interop/read_launch/megatron_bridge.h"
#include "interop/read_launch/overrides.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

constexpr int kEnoughOptions = 3;
constexpr int kEnoughOverrides = 2;

bool has_key(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string_view::npos && text[first] == '{';
}

bool looks_like_torchtitan(std::string_view text) {
  return has_key(text, "[training]") &&
         (has_key(text, "[model]") || has_key(text, "[parallelism]"));
}

bool looks_like_nanotron(std::string_view text) {
  return has_key(text, "parallelism:") && has_key(text, "tokens:") &&
         has_key(text, "micro_batch_size:");
}

bool looks_like_llm_foundry(std::string_view text) {
  return has_key(text, "global_train_batch_size:") && has_key(text, "model:");
}

bool looks_like_megatron_bridge(std::string_view text) {
  return has_key(text, "tensor_model_parallel_size:") ||
         has_key(text, "pipeline_model_parallel_size:");
}

// NeMo's models say the sequence, or their trainer the devices.
bool looks_like_nemo(std::string_view text) {
  return looks_like_megatron_bridge(text) &&
         (has_key(text, "encoder_seq_length:") || has_key(text, "trainer:"));
}

bool looks_like_accelerate(std::string_view text) {
  return has_key(text, "distributed_type:") &&
         (has_key(text, "fsdp_config:") || has_key(text, "num_processes:") ||
          has_key(text, "parallelism_config:"));
}

bool looks_like_trainer_script(std::string_view text) {
  return has_key(text, "--deepspeed") || has_key(text, "--per_device_train_batch_size") ||
         has_key(text, "accelerate launch");
}

}  // namespace

bool log_says_launch(std::string_view log) { return has_megatron_argument_block(log); }

LaunchRecord read_launch(std::string_view text, const std::string& file, const LaunchHints& hints,
                         const ReadNamedFile& read) {
  if (has_megatron_argument_block(text)) return read_megatron_argument_block(text, file, hints);
  if (looks_like_json(text)) return read_deepspeed(text, file, hints);
  if (count_megatron_options(text, kEnoughOptions) >= kEnoughOptions) {
    return read_megatron_script(text, file, hints);
  }
  if (count_overrides(text) >= kEnoughOverrides) return read_override_script(text, file, hints);
  if (looks_like_trainer_script(text)) return read_trainer_script(text, file, hints, read);
  if (looks_like_torchtitan(text)) return read_torchtitan(text, file, hints);
  if (looks_like_nanotron(text)) return read_nanotron(text, file, hints);
  if (looks_like_llm_foundry(text)) return read_llm_foundry(text, file, hints);
  if (looks_like_nemo(text)) return read_nemo(text, file, hints);
  if (looks_like_megatron_bridge(text)) return read_megatron_bridge(text, file, hints);
  if (looks_like_accelerate(text)) return read_accelerate(text, file, hints);
  throw InputError(
      file, "", "is no launch that is known here",
      "read are: a command line or script of Megatron-LM, DeepSpeed or accelerate, the "
      "argument block of Megatron-LM's log, DeepSpeed's JSON, torchtitan's TOML, YAML "
      "of nanotron, llm-foundry, accelerate, NeMo and Megatron-Bridge");
}

}  // namespace meshwright::interop
