// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/read_launch.h"

#include "interop/read_launch/megatron.h"
#include "interop/read_launch/megatron_bridge.h"
#include "interop/read_launch/overrides.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/parse.h"

namespace meshwright::interop {
namespace {

constexpr int kEnoughOptions = 3;
constexpr int kEnoughOverrides = 2;

bool looks_like_torchtitan(std::string_view text) {
  return contains(text, "[training]") &&
         (contains(text, "[model]") || contains(text, "[parallelism]"));
}

bool looks_like_nanotron(std::string_view text) {
  return contains(text, "parallelism:") && contains(text, "tokens:") &&
         contains(text, "micro_batch_size:");
}

bool looks_like_llm_foundry(std::string_view text) {
  return contains(text, "global_train_batch_size:") && contains(text, "model:");
}

bool looks_like_megatron_bridge(std::string_view text) {
  return contains(text, "tensor_model_parallel_size:") ||
         contains(text, "pipeline_model_parallel_size:");
}

// NeMo's models say the sequence, or their trainer the devices.
bool looks_like_nemo(std::string_view text) {
  return looks_like_megatron_bridge(text) &&
         (contains(text, "encoder_seq_length:") || contains(text, "trainer:"));
}

bool looks_like_accelerate(std::string_view text) {
  return contains(text, "distributed_type:") &&
         (contains(text, "fsdp_config:") || contains(text, "num_processes:") ||
          contains(text, "parallelism_config:"));
}

bool looks_like_trainer_script(std::string_view text) {
  return contains(text, "--deepspeed") || contains(text, "--per_device_train_batch_size") ||
         contains(text, "accelerate launch");
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
