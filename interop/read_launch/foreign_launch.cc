// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/foreign_launch.h"

#include <algorithm>
#include <array>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/maxtext.h"
#include "interop/shell/named_file.h"
#include "interop/shell/shell_script.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::string_view kReinforcement =
    "reinforcement learning, which is not modelled: it rolls out, and several models share the "
    "GPUs";
constexpr std::string_view kNotRead = "which is not read";
constexpr std::string_view kOlmoCore =
    "whose sharding, recompute and model stand in a Python script, which is not read";

struct ForeignSoftware {
  std::string_view name, why;
  // Any of these words in a script or in a document's text.
  std::array<std::string_view, 4> words;
  // All of these keys in a document; a key that ends with "." is a section.
  std::array<std::string_view, 2> keys;
};
constexpr ForeignSoftware kForeign[] = {
    {"verl's SFT", kNotRead, {"verl.trainer.fsdp_sft_trainer", "verl.trainer.sft_trainer"}, {}},
    {"OpenRLHF's SFT", kNotRead, {"openrlhf.cli.train_sft"}, {}},
    {"verl", kReinforcement, {"verl.trainer.", "actor_rollout_ref.", "actor_rollout_ref:"}, {}},
    {"OpenRLHF", kReinforcement, {"openrlhf.cli", "--actor_num_gpus_per_node"}, {}},
    {"slime",
     kReinforcement,
     {"--rollout-batch-size", "--n-samples-per-prompt", "--rollout-num-gpus",
      "--actor-num-gpus-per-node"},
     {}},
    {"ms-swift's RLHF", kReinforcement, {"megatron rlhf", "swift rlhf", "--rlhf_type"}, {}},
    {"TRL", kReinforcement, {"trl grpo", "trl ppo", "trl dpo", "--num_generations"}, {}},
    {"TRL", kReinforcement, {"trl kto", "trl rloo", "trl reward", "--reward_model_path"}, {}},
    {"NeMo-RL", kReinforcement, {}, {"policy.", "grpo."}},
    {"NeMo-RL", kReinforcement, {}, {"policy.", "dpo."}},
    {"ROLL", kReinforcement, {}, {"actor_train.", "actor_infer."}},
    {"Megatron-LM's RL", kReinforcement, {"--perform-rl-step", "train_rl.py"}, {}},
    {"MaxText",
     kNotRead,
     {"maxtext/train.py", "MaxText/train.py", "MaxText.train", "maxtext.train"},
     {"per_device_batch_size", "base_emb_dim"}},
    {"OLMo-core",
     kOlmoCore,
     {"olmo_core", "OLMo-core", "scripts/train/OLMo", "scripts/official/OLMo"},
     {}},
    {"OLMo-core",
     kOlmoCore,
     {"train_module.rank_microbatch_size", "train_module.dp_config", "rank_microbatch_size:"},
     {}},
    {"torchtune", kNotRead, {"tune run ", "torchtune."}, {}},
    {"LitGPT", kNotRead, {"litgpt "}, {}},
    {"Colossal-AI", kNotRead, {"colossalai run"}, {}},
    {"PaddleNLP", kNotRead, {"paddle.distributed.launch", "paddlenlp"}, {}},
    {"PaddleFormers", kNotRead, {"paddleformers"}, {"tensor_parallel_degree", "do_train"}},
    {"PaddleFormers", kNotRead, {}, {"tensor_model_parallel_size", "do_train"}},
    {"prime-rl", kNotRead, {"prime_rl"}, {"deployment.", "model.ac."}},
    {"prime-rl", kNotRead, {}, {"max_steps", "optim.lr"}},
    {"JAX or Flax", kNotRead, {"jax.distributed", "levanter."}, {}},
};

bool has_either(const LaunchText& text, std::string_view key) {
  return key.ends_with('.') ? has_section(text, key) : has_key(text, key);
}

bool is_launch_of(const LaunchText& text, const ForeignSoftware& software) {
  for (const std::string_view word : software.words) {
    if (!word.empty() && contains(text.text, word)) return true;
  }
  if (text.kind == LaunchTextKind::script || software.keys.front().empty()) return false;
  return std::all_of(software.keys.begin(), software.keys.end(),
                     [&](std::string_view key) { return key.empty() || has_either(text, key); });
}

// "--tp 4", "actor.tp=4" and keys of a document.
std::vector<Value> settings_in(const LaunchText& text, const LaunchHints& hints) {
  std::vector<Value> all = text.document.all();
  if (text.kind == LaunchTextKind::script) {
    const ShellScript script = read_shell_script(text.text, text.file, shell_inputs(hints, {}));
    for (const ShellCommand& command : script.commands) {
      for (Value& option : options_of(command, 0, script, text.file)) {
        if (option.words.size() > 1) option.words.resize(1);
        all.push_back(std::move(option));
      }
      for (const MarkedText& word : command.words) {
        const std::size_t equals = word.text().find('=');
        if (equals == std::string::npos || word.text().starts_with('-')) continue;
        Value value;
        value.key = word.text().substr(0, equals);
        value.words = {word.text().substr(equals + 1)};
        value.said = word.text();
        value.place = {text.file, word.line()};
        value.unknown = why_unknown(word, script);
        all.push_back(std::move(value));
      }
    }
  }
  return all;
}

// Values that state a size, one per field.
std::vector<Value> sizes_in(const std::vector<Value>& all) {
  std::vector<Value> sizes;
  for (const Value& value : all) {
    const SizeSpelling* size = size_spelled(value.key);
    const bool again =
        size != nullptr && std::any_of(sizes.begin(), sizes.end(),
                                       [&](const Value& v) { return size_spelled(v.key) == size; });
    if (size != nullptr && !again && value.words.size() == 1) sizes.push_back(value);
  }
  return sizes;
}

std::string said_list(const std::vector<Value>& sizes) {
  std::string text;
  for (const Value& value : sizes) {
    append_to_list(text, "; ", fmt::format("{} (line {})", value.said, value.place.line));
  }
  return text;
}

// "--sequence_length" of a batch that OLMo-core counts in tokens.
struct TokenBatch {
  std::string_view key;
  std::string_view option;  // of `estimate`
};
constexpr TokenBatch kTokenBatches[] = {{"rank_microbatch_size", "--layout mbs="},
                                        {"global_batch_size", "--global-batch-size "}};

bool ends_with_key(const Value& value, std::string_view key) {
  return value.key.ends_with(key) && value.words.size() == 1;
}

// "4*4096" and "4_194_304" are numbers there, too.
std::optional<std::int64_t> product_in(const std::string& word) {
  std::int64_t product = 1;
  for (std::string factor : split(word, '*')) {
    std::erase_if(factor, [](char c) { return c == '_' || c == ' '; });
    if (factor.empty() || factor.size() > 12 ||
        !std::all_of(factor.begin(), factor.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; })) {
      return std::nullopt;
    }
    product *= std::stoll(factor);
    if (product <= 0 || product > 1'000'000'000'000) return std::nullopt;
  }
  return product;
}

std::optional<std::int64_t> number_under(const std::vector<Value>& all,
                                         std::initializer_list<std::string_view> keys) {
  std::optional<std::int64_t> found;
  for (const Value& value : all) {
    for (const std::string_view key : keys) {
      if (ends_with_key(value, key) && value.unknown.empty()) {
        if (const auto number = product_in(value.words.front())) found = number;
      }
    }
  }
  return found;
}

// OLMo-core's batches are tokens.
std::string olmo_core_hint(const std::vector<Value>& all) {
  const auto length = number_under(all, {"sequence_length", "sequence-length", "seq_len"});
  std::string said;
  std::string options;
  for (const Value& value : all) {
    const bool shown =
        ends_with_key(value, "rank_microbatch_size") || ends_with_key(value, "global_batch_size") ||
        ends_with_key(value, "sequence_length") || ends_with_key(value, "shard_degree") ||
        ends_with_key(value, "num_replicas") || ends_with_key(value, "degree");
    if (shown)
      append_to_list(said, "; ", fmt::format("{} (line {})", value.said, value.place.line));
  }
  for (const TokenBatch& batch : kTokenBatches) {
    const auto tokens = number_under(all, {batch.key});
    if (!tokens || !length || *tokens % *length != 0) continue;
    options += fmt::format(" {}{}", batch.option, *tokens / *length);
  }
  if (length) options += fmt::format(" --seq-length {}", *length);
  return fmt::format(
      "{}its batches are tokens; state the model and the sharding of its script (dp_config, "
      "ac_config) by hand: meshwright estimate --model NAME --cluster NAME --framework "
      "torchtitan-2025{}",
      said.empty() ? "" : fmt::format("it names {}; ", said), options);
}

bool is_count(const std::string& word) {
  return !word.empty() && word.size() < 8 &&
         std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The command that asks about the same sizes.
std::string by_hand(const std::vector<Value>& sizes) {
  std::string layout, rest;
  for (const Value& value : sizes) {
    const SizeSpelling* size = size_spelled(value.key);
    if (!value.unknown.empty() || !is_count(value.words.front())) continue;
    const std::string& number = value.words.front();
    if (!size->short_name.empty()) {
      append_to_list(layout, ",", fmt::format("{}={}", size->short_name, number));
    } else if (size->field == "seq_length") {
      rest += " --seq-length " + number;
    } else {
      rest += " --global-batch-size " + number;
    }
  }
  return fmt::format("meshwright estimate --model NAME --cluster NAME{}{}{}",
                     layout.empty() ? "" : " --layout ", layout, rest);
}

std::string hint_of(const std::vector<Value>& sizes) {
  const std::string ask = "ask about its training step by hand: " + by_hand(sizes);
  return sizes.empty() ? ask : fmt::format("it names {}; {}", said_list(sizes), ask);
}

}  // namespace

void refuse_foreign_launch(const LaunchText& text, const LaunchHints& hints) {
  for (const ForeignSoftware& software : kForeign) {
    if (!is_launch_of(text, software)) continue;
    const std::vector<Value> all = settings_in(text, hints);
    throw InputError(text.file, "",
                     fmt::format("is a launch of {}, {}", software.name, software.why),
                     software.name == "MaxText"     ? maxtext_hint(all)
                     : software.name == "OLMo-core" ? olmo_core_hint(all)
                                                    : hint_of(sizes_in(all)));
  }
}

void refuse_own_program(const Place& place, const std::string& program, const std::string& why,
                        const std::vector<Value>& options) {
  throw InputError(place.text(), "",
                   fmt::format("{} is a program of its own, not Megatron-LM: {}", program, why),
                   "what it sets inside is not known; " + hint_of(sizes_in(options)));
}

void refuse_unknown_launch(const LaunchText& text, const LaunchHints& hints) {
  if (contains(text.text, "nemo_automodel") || contains(text.text, "automodel ")) {
    throw InputError(text.file, "", "starts NeMo AutoModel, and its YAML does not stand beside it",
                     "give the YAML with --from, or lay it beside the script under the name that "
                     "the command has");
  }
  const std::vector<Value> sizes = sizes_in(settings_in(text, hints));
  const std::string known =
      "read are: a command line or script of Megatron-LM, ms-swift, nanochat, torchtitan, "
      "DeepSpeed, "
      "accelerate, axolotl, LLaMA-Factory or TRL, the argument block of Megatron-LM's log, "
      "DeepSpeed's JSON, torchtitan's TOML, YAML of nanotron, llm-foundry, OLMo, GPT-NeoX, "
      "accelerate, axolotl, LLaMA-Factory, TRL, NeMo, NeMo AutoModel, Megatron-Bridge and Primus";
  if (text.kind == LaunchTextKind::json && has_key(text, "model_type")) {
    throw InputError(text.file, "", "is a model's config.json and no launch",
                     "name it with --model, and the launch with --from");
  }
  throw InputError(text.file, "",
                   sizes.empty() ? "is no launch that is known here"
                                 : "is no launch that is known here, though it names sizes",
                   sizes.empty() ? known : hint_of(sizes) + "; " + known);
}

}  // namespace meshwright::interop
