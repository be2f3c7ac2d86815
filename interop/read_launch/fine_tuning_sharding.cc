// SPDX-License-Identifier: Apache-2.0
// Parallel sizes, FSDP and DeepSpeed of fine-tuning launches.
#include <algorithm>
#include <array>

#include "interop/read_launch/document.h"
#include "interop/read_launch/fine_tuning.h"
#include "interop/read_launch/trainer.h"
#include "interop/shell/base_name.h"
#include "sim/base/error.h"
#include "sim/record/parse.h"

namespace meshwright::interop {
namespace {

// Known contents of files that axolotl (deepspeed_configs/), LLaMA-Factory (examples/deepspeed/),
// LLaVA and FastChat (scripts/), TRL and alignment-handbook (accelerate_configs/) ship.
struct ShippedFile {
  std::string_view names;
  std::string_view text;
};
constexpr std::array kShippedFiles{
    ShippedFile{"ds_z0_config.json", R"({"zero_optimization": {"stage": 0}})"},
    ShippedFile{"zero1.json zero1_torch_compile.json ds_z1_config.json",
                R"({"zero_optimization": {"stage": 1, "overlap_comm": true}})"},
    ShippedFile{"zero2.json zero2_torch_compile.json ds_z2_config.json ds_config_zero2.json",
                R"({"zero_optimization": {"stage": 2, "overlap_comm": true}})"},
    ShippedFile{"ds_z2_offload_config.json zero2_offload.json",
                R"({"zero_optimization": {"stage": 2, "overlap_comm": true,
                    "offload_optimizer": {"device": "cpu"}}})"},
    ShippedFile{"zero3.json zero3_bf16.json ds_z3_config.json ds_config_zero3.json",
                R"({"zero_optimization": {"stage": 3, "overlap_comm": true}})"},
    ShippedFile{"zero3_bf16_cpuoffload_params.json",
                R"({"zero_optimization": {"stage": 3, "overlap_comm": true,
                    "offload_param": {"device": "cpu"}}})"},
    ShippedFile{"zero3_bf16_cpuoffload_all.json zero3_cpuoffload.json zero3_cpu.json "
                "ds_z3_offload_config.json zero3_offload.json",
                R"({"zero_optimization": {"stage": 3, "overlap_comm": true,
                    "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}})"},
    ShippedFile{"multi_gpu.yaml ddp.yaml ddp multi_gpu",
                "distributed_type: MULTI_GPU\nmixed_precision: bf16\n"},
    ShippedFile{"single_gpu.yaml single_gpu", "distributed_type: 'NO'\nmixed_precision: bf16\n"},
    ShippedFile{"deepspeed_zero1.yaml zero1.yaml zero1",
                "distributed_type: DEEPSPEED\ndeepspeed_config: { zero_stage: 1 }\n"
                "mixed_precision: bf16\n"},
    ShippedFile{"deepspeed_zero2.yaml zero2.yaml zero2",
                "distributed_type: DEEPSPEED\ndeepspeed_config: { zero_stage: 2 }\n"
                "mixed_precision: bf16\n"},
    ShippedFile{"deepspeed_zero3.yaml zero3.yaml zero3",
                "distributed_type: DEEPSPEED\ndeepspeed_config: { zero_stage: 3 }\n"
                "mixed_precision: bf16\n"},
    ShippedFile{"fsdp1.yaml fsdp_qlora.yaml fsdp1",
                "distributed_type: FSDP\nfsdp_config: { fsdp_sharding_strategy: FULL_SHARD }\n"
                "mixed_precision: bf16\n"},
    ShippedFile{"fsdp2.yaml fsdp2",
                "distributed_type: FSDP\nfsdp_config: { fsdp_version: 2, "
                "fsdp_reshard_after_forward: true }\nmixed_precision: bf16\n"}};

const ShippedFile* shipped_file(const std::string& name) {
  for (const ShippedFile& file : kShippedFiles) {
    for (const std::string& each : split_words(file.names)) {
      if (base_name(name) == each) return &file;
    }
  }
  return nullptr;
}

void read_sharding_values(Values values, bool is_json, LaunchRecord& record) {
  LaunchReading reading(values, record);
  if (is_json) {
    read_deepspeed_json(reading);
    reading.list_unused("no key of DeepSpeed that is known here");
  } else {
    read_accelerate_yaml(reading);
    reading.list_unused("no key of accelerate that is known here");
  }
}

}  // namespace

std::optional<std::string> file_beside(const std::string& name, const FineTuningInputs& inputs) {
  if (inputs.read == nullptr || !*inputs.read) return std::nullopt;
  auto found = (*inputs.read)(name);
  return found ? found : (*inputs.read)(base_name(name));
}

namespace {

bool is_text_of_json(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") != std::string::npos && looks_like_json(text);
}

bool read_named_deepspeed(LaunchReading& r, const FineTuningInputs& inputs) {
  LaunchRecord& record = r.record();
  const Values inside = below(r.values(), "deepspeed.");
  if (!inside.all().empty()) {
    r.values().pass_over_below("deepspeed.");
    read_sharding_values(inside, true, record);
    return true;
  }
  const Value* named = r.find("deepspeed");
  if (named == nullptr || named->words.empty() || (is_off(*named) && named->words.size() == 1)) {
    return false;
  }
  read_sharding_file(word_of(*named), *named, {}, inputs, record);
  return true;
}

struct FsdpWords {
  const Value* from = nullptr;
  int zero_stage = 3;
  bool hybrid = false, wraps = false, offloads = false;
};

FsdpWords fsdp_words(LaunchReading& r) {
  FsdpWords words;
  const Value* fsdp = r.find("fsdp");
  if (fsdp == nullptr || (fsdp->words.size() == 1 && is_off(*fsdp) && fsdp->words[0] != "1")) {
    return words;
  }
  words.from = fsdp;
  for (const std::string& word : listed_words(*fsdp)) {
    const std::string name = lower_case(word);
    if (const auto strategy = fsdp_strategy(name)) {
      words.zero_stage = strategy->zero_stage;
      words.hybrid = strategy->hybrid;
    }
    words.wraps = words.wraps || name == "auto_wrap" || name == "true";
    words.offloads = words.offloads || name == "offload";
  }
  return words;
}

// "--fsdp_config x.json", or the JSON itself: its keys as those of a section.
void add_fsdp_file(LaunchReading& r, const FineTuningInputs& inputs) {
  const Value* named = r.find("fsdp_config");
  if (named == nullptr || named->words.size() != 1) return;
  const Value from = *named;
  const std::string& word = from.words.front();
  const auto text = is_text_of_json(word) ? std::optional(word) : file_beside(word, inputs);
  if (!text || !is_text_of_json(*text)) {
    return list_effect(r, from, "the file is not there to be read", OptionEffect::memory);
  }
  Values inside;
  const std::string file = is_text_of_json(word) ? from.place.file : base_name(word);
  for (Value value : values_of_json(*text, file).all()) {
    value.key.insert(0, "fsdp_config.");
    inside.add(std::move(value));
  }
  for (const Value& value : in_trainer_words(inside, FineTuner::trainer).all()) {
    r.values().add(value);
  }
}

// fsdp_config.sharding_strategy, by accelerate's words.
void read_strategy_word(LaunchReading& r, FsdpWords& words) {
  const Value* strategy = r.find("fsdp_config.sharding_strategy");
  if (strategy == nullptr) return;
  const auto known = fsdp_strategy(word_of(*strategy));
  if (!known) fail_at(*strategy, "is no sharding strategy that is known here");
  words.zero_stage = known->zero_stage;
  words.hybrid = known->hybrid;
  words.from = strategy;
}

int fsdp_version(LaunchReading& r) {
  const Value* said = find_any(r, {"fsdp_config.fsdp_version", "fsdp_version"});
  if (said != nullptr) {
    const int version = integer_of(*said, {1, 2});
    r.note("fsdp_version", std::to_string(version), *said);
    return version;
  }
  // Keys that came with version 2.
  const bool newer = r.values().has("fsdp_config.reshard_after_forward") ||
                     r.values().has("dp_shard_size") || r.values().has("tensor_parallel_size");
  r.assume("fsdp_version", newer ? "2" : "1",
           newer ? "it has keys of version 2" : "the default, which nothing overrules");
  return newer ? 2 : 1;
}

constexpr const char* kByCode =
    "predicted as the code of accelerate and PyTorch says, nothing fitted";
constexpr const char* kAsVersion2 = "FSDP of version 1 is predicted as version 2";

// accelerate's file takes the framework of llm-foundry's FSDP1, which has dense models alone.
void take_version_2(LaunchRecord& record) {
  if (record.framework != "pytorch-fsdp-2023") return;
  record.framework = "accelerate-2026";
  for (Fact& fact : record.assumed) {
    if (fact.field == "framework") fact = {"framework", record.framework, kAsVersion2, {}};
  }
}

void settle_fsdp(LaunchReading& r, const FsdpWords& words, int version, const Value& from) {
  LaunchRecord& record = r.record();
  Layout& l = record.layout;
  record.target = "accelerate";
  record.framework = "accelerate-2026";
  r.assume("framework", record.framework, version == 2 ? kByCode : kAsVersion2);
  l.zero_stage = words.zero_stage;
  r.note("zero_stage", std::to_string(l.zero_stage), from);
  const bool wraps = words.wraps || r.values().has("fsdp_config.auto_wrap_policy") ||
                     r.values().has("fsdp_config.transformer_layer_cls_to_wrap") ||
                     r.values().has("fsdp_transformer_layer_cls_to_wrap") || version == 2;
  l.fsdp_unit = l.zero_stage == 0 ? FsdpUnit::none : wraps ? FsdpUnit::block : FsdpUnit::whole;
  r.note("fsdp_unit", std::string(name_of(l.fsdp_unit)), from);
  record.shards_in_node = words.hybrid;
  l.optimizer_offload = false;
  for (const char* field : {"zero_stage", "fsdp_unit", "optimizer_offload"}) {
    r.settle_layout(field);
  }
}

bool read_fsdp_words(LaunchReading& r, const FineTuningInputs& inputs) {
  add_fsdp_file(r, inputs);
  FsdpWords words = fsdp_words(r);
  read_strategy_word(r, words);
  const Value* any = words.from;
  for (const Value& value : r.values().all()) {
    if (any == nullptr && (value.key.starts_with("fsdp_config.") || value.key == "fsdp_version")) {
      any = &value;
    }
  }
  if (any == nullptr) return false;
  const Value from = *any;
  const int version = fsdp_version(r);
  const Value* reshards = r.find("fsdp_config.reshard_after_forward");
  if (reshards != nullptr && version == 2) {
    const std::string word = lower_case(word_of(*reshards));
    const bool full = word == "full_shard" || (word != "shard_grad_op" && says_yes(*reshards));
    words.zero_stage = full ? 3 : 2;
  }
  settle_fsdp(r, words, version, from);
  const Value* offload = r.find("fsdp_config.offload_params");
  const bool offloads = words.offloads || (offload != nullptr && says_yes(*offload));
  if (offloads) {
    list_effect(r, offload != nullptr ? *offload : from,
                "weights, gradients and optimizer wait on the host: less memory than predicted, "
                "and copies",
                OptionEffect::memory);
  }
  const Value* policy = r.find("fsdp_config.auto_wrap_policy");
  if (policy != nullptr && word_of(*policy) == "SIZE_BASED_WRAP") {
    list_effect(r, *policy, "predicted as if each block were wrapped", OptionEffect::memory);
  }
  return true;
}

void read_replicas_alone(LaunchReading& r) {
  LaunchRecord& record = r.record();
  record.target = "accelerate";
  record.framework = "accelerate-2026";
  r.assume("framework", record.framework, kByCode);
  record.layout.zero_stage = 0;
  record.layout.fsdp_unit = FsdpUnit::none;
  record.layout.optimizer_offload = false;
  r.assume("zero_stage", "0", "no FSDP and no DeepSpeed is asked for: each rank holds all");
  for (const char* field : {"fsdp_unit", "zero_stage", "optimizer_offload"}) {
    r.settle_layout(field);
  }
}

// Whole copies of tensor ranks, of context ranks, of shards.
void read_mesh(LaunchReading& r) {
  LaunchRecord& record = r.record();
  Layout& l = record.layout;
  if (r.integer(l.tensor_parallel_size, "tensor_parallel_size", "tensor_parallel_size",
                kParallelSizes)) {
    r.settle_layout("tensor_parallel_size");
  }
  if (r.integer(l.context_parallel_size, "context_parallel_size", "context_parallel_size",
                kParallelSizes)) {
    r.settle_layout("context_parallel_size");
  }
  if (l.context_parallel_size > 1 && !record.says_layout("cp_comm_type")) {
    // ring-flash-attn: varlen_llama3 gathers keys and values, batch_ring passes them on.
    const Value* function = r.find("ring_attn_func");
    const Value* packing = r.find("packing");
    const bool ring = function != nullptr ? contains(word_of(*function), "ring")
                                          : packing == nullptr || !says_yes(*packing);
    l.cp_comm_type = ring ? ContextParallelAlgorithm::p2p : ContextParallelAlgorithm::all_gather;
    r.assume("cp_comm_type", std::string(name_of(l.cp_comm_type)),
             ring ? "ring attention" : "packed samples: keys and values are gathered");
    r.settle_layout("cp_comm_type");
  }
  l.sequence_parallel = false;
  r.settle_layout("sequence_parallel");
  int shards = 0;
  r.integer(shards, "data_parallel_shard_size", "dp_shard_size", {1, 100'000});
  const bool copies =
      r.integer(record.replicas, "data_parallel_replicate_size", "dp_replicate_size", {1, 10'000});
  if (shards > 0) {
    record.data_parallel_size_follows = false;
    l.data_parallel_size = shards * record.replicas;
    r.settle_layout("data_parallel_size");
  }
  if (shards > 0 || copies) r.settle_layout("zero_shard_size");
  const Value* experts = r.find("expert_parallel_size");
  if (experts != nullptr && integer_of(*experts, kParallelSizes) > 1) {
    fail_at(*experts, "experts that ranks share by a plugin are not modelled");
  }
}

}  // namespace

void read_sharding_text(const std::string& text, const std::string& name, const Values& more,
                        LaunchRecord& record) {
  const bool json = is_text_of_json(text);
  Values values = json ? values_of_json(text, name) : values_of_yaml(text, name);
  for (const Value& value : more.all()) values.add(value);
  read_sharding_values(std::move(values), json, record);
}

void read_sharding_file(const std::string& name, const Value& from, const Values& more,
                        const FineTuningInputs& inputs, LaunchRecord& record) {
  if (is_text_of_json(name)) return read_sharding_text(name, from.place.file, more, record);
  if (const auto beside = file_beside(name, inputs)) {
    return read_sharding_text(*beside, base_name(name), more, record);
  }
  const ShippedFile* shipped = shipped_file(name);
  if (shipped == nullptr) {
    throw InputError(from.place.exact_text(), "", name + " is not there to be read",
                     "keep it beside the launch, by the name that the launch has");
  }
  const std::string text(shipped->text);
  const bool json = is_text_of_json(text);
  const std::size_t assumed = record.assumed.size();
  Values values = without_places(json ? values_of_json(text, name) : values_of_yaml(text, name));
  for (const Value& value : more.all()) values.add(value);
  read_sharding_values(std::move(values), json, record);
  record.assumed.insert(record.assumed.begin() + static_cast<std::ptrdiff_t>(assumed),
                        {"zero_stage",
                         std::to_string(record.layout.zero_stage),
                         base_name(name) + " is not beside the launch: as it is shipped",
                         {}});
}

void read_sharding(LaunchReading& r, const FineTuningInputs& inputs) {
  LaunchRecord& record = r.record();
  const bool by_file = !record.framework.empty();
  take_version_2(record);
  const bool deepspeed = read_named_deepspeed(r, inputs);
  if (!deepspeed && !read_fsdp_words(r, inputs) && !by_file) read_replicas_alone(r);
  read_mesh(r);
}

}  // namespace meshwright::interop
