// SPDX-License-Identifier: Apache-2.0
// torchtitan's TOML files (up to v0.2.2, 2026-02-20), and the sizes' older places: [experimental]
// for context and pipeline, training.batch_size, training.compile.
#include <algorithm>
#include <array>

#include "interop/read_launch/document.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/stated_values.h"

namespace meshwright::interop {
namespace {

constexpr IntRange kCountOrRest{-1, 1'000'000};

// Flavours of its model files that are shipped here, with their layers.
struct Flavour {
  std::string_view model, flavour, name;
  int num_layers;
};
constexpr std::array kFlavours{Flavour{"llama3", "8B", "llama-3-8b", 32},
                               Flavour{"llama3", "70B", "llama-3-70b", 80},
                               Flavour{"llama3", "405B", "llama-3-405b", 126},
                               Flavour{"llama4", "17bx128e", "llama-4-maverick", 48},
                               Flavour{"deepseek_v3", "671B", "deepseek-v3", 61},
                               Flavour{"qwen3", "8B", "qwen3-8b", 36},
                               Flavour{"qwen3", "32B", "qwen3-32b", 64}};

constexpr std::array kSchedules{EnumName{PipelineSchedule::one_f_one_b, "1F1B"},
                                EnumName{PipelineSchedule::interleaved, "Interleaved1F1B"},
                                EnumName{PipelineSchedule::gpipe, "GPipe"}};

class Reader {
 public:
  Reader(LaunchReading& reading, const LaunchHints& hints)
      : r_(reading),
        record_(reading.record()),
        num_layers_(hints.model ? hints.model->num_layers : 0) {}

  void read() {
    record_.framework = "torchtitan-2025";
    r_.assume("framework", record_.framework,
              "its TOML files ended in 2026-02; --framework overrules it");
    list_unmodelled();
    pass_over();
    name_model();
    read_sizes();
    read_batch();
    read_pipeline();
    read_rest();
  }

 private:
  void pass_over() {
    for (const char* section :
         {"job.", "profiling.", "metrics.", "optimizer.", "lr_scheduler.", "checkpoint.",
          "validation.", "comm.", "fault_tolerance.", "memory_estimation.", "debug."}) {
      r_.values().pass_over_below(section);
    }
    for (const char* key : {"model.hf_assets_path", "model.tokenizer_path", "model.norm_type",
                            "model.print_after_conversion", "training.max_norm", "training.steps",
                            "training.dataset", "training.dataset_path", "training.seed",
                            "training.deterministic", "training.gc_freq", "training.warmup_steps",
                            "training.data_parallel_degree", "parallelism.disable_loss_parallel"}) {
      r_.values().pass_over(key);
    }
  }

  void list_unmodelled() {
    r_.not_modelled_unless("training.enable_cpu_offload");
    r_.not_modelled_unless("training.mixed_precision_param", {"bfloat16"});
    r_.not_modelled_unless("training.mixed_precision_reduce", {"float32"});
    r_.not_modelled_unless("training.dtype", {"float32"});
    r_.not_modelled_unless("optimizer.name", {"Adam", "AdamW"});
    r_.not_modelled_unless("optimizer.early_step_in_backward");
    r_.not_modelled_unless("fault_tolerance.enable");
    r_.not_modelled_unless("parallelism.disable_loss_parallel");
  }

  const Value* either(const char* first, const char* second) {
    const Value* value = r_.find(first);
    return value != nullptr ? value : r_.find(second);
  }

  void name_model() {
    const Value* name = r_.find("model.name");
    const Value* flavour = r_.find("model.flavor");
    if (name == nullptr || flavour == nullptr || num_layers_ > 0) return;
    for (const Flavour& known : kFlavours) {
      if (known.model != word_of(*name) || known.flavour != word_of(*flavour)) continue;
      record_.model_name = known.name;
      num_layers_ = known.num_layers;
      r_.note("model", record_.model_name, *flavour);
    }
    if (record_.model_name.empty()) {
      r_.not_understood(*flavour,
                        "this flavour is in torchtitan's Python; name the model with --model");
    }
  }

  void size(int& target, const char* field, const char* key, const char* older) {
    const Value* value = either(key, older);
    if (value == nullptr) return;
    target = integer_of(*value, kParallelSizes);
    r_.note(field, std::to_string(target), *value);
  }

  void read_sizes() {
    Layout& l = record_.layout;
    size(l.tensor_parallel_size, "tensor_parallel_size", "parallelism.tensor_parallel_degree",
         "training.tensor_parallel_degree");
    size(l.context_parallel_size, "context_parallel_size", "parallelism.context_parallel_degree",
         "experimental.context_parallel_degree");
    size(l.pipeline_parallel_size, "pipeline_parallel_size", "parallelism.pipeline_parallel_degree",
         "experimental.pipeline_parallel_degree");
    size(l.expert_parallel_size, "expert_parallel_size", "parallelism.expert_parallel_degree", "");
    read_expert_tensor_size();
    l.sequence_parallel = l.tensor_parallel_size > 1;
    int shards = -1;
    if (const Value* value = either("parallelism.data_parallel_shard_degree",
                                    "training.data_parallel_shard_degree")) {
      shards = integer_of(*value, kCountOrRest);
      r_.note("data_parallel_shard_degree", std::to_string(shards), *value);
    }
    int replicas = 1;
    size(replicas, "data_parallel_replicate_degree", "parallelism.data_parallel_replicate_degree",
         "training.data_parallel_replicate_degree");
    record_.replicas = replicas;
    record_.data_parallel_size_follows = shards == -1;
    if (shards > 0) l.data_parallel_size = shards * replicas;
    const bool sharded = shards != 1 || l.context_parallel_size > 1;
    l.fsdp_unit = sharded ? FsdpUnit::block : FsdpUnit::none;
    l.zero_stage = sharded ? zero_stage() : 0;
    settle({"tensor_parallel_size", "context_parallel_size", "pipeline_parallel_size",
            "expert_parallel_size", "expert_tensor_parallel_size", "sequence_parallel",
            "data_parallel_size", "fsdp_unit", "zero_stage", "zero_shard_size"});
  }

  // 1 unless told, and without a say where experts are not dealt out: tensor ranks cut them then
  // (config/job_config.py).
  void read_expert_tensor_size() {
    Layout& l = record_.layout;
    l.expert_tensor_parallel_size = 1;
    size(l.expert_tensor_parallel_size, "expert_tensor_parallel_size",
         "parallelism.expert_tensor_parallel_degree", "");
    if (l.expert_parallel_size == 1 || l.expert_tensor_parallel_size == l.tensor_parallel_size) {
      l.expert_tensor_parallel_size = 0;
    }
  }

  // Parameters are kept below a pipeline, and freed otherwise, unless told.
  int zero_stage() {
    const std::string reshard = r_.word("parallelism.fsdp_reshard_after_forward", "default");
    const bool kept =
        reshard == "default" ? record_.layout.pipeline_parallel_size > 1 : reshard == "never";
    if (const Value* value = r_.find("parallelism.fsdp_reshard_after_forward")) {
      r_.note("zero_stage", kept ? "2" : "3", *value);
    }
    return kept ? 2 : 3;
  }

  void read_batch() {
    Job& job = record_.job;
    job.name = "the launched job";
    job.seq_length = 2048;
    r_.integer(job.seq_length, "seq_length", "training.seq_len", {1, 100'000'000});
    int local = 8;
    size(local, "local_batch_size", "training.local_batch_size", "training.batch_size");
    Layout& l = record_.layout;
    l.micro_batch_size = local;
    if (l.pipeline_parallel_size > 1) {
      l.micro_batch_size = 1;
      size(l.micro_batch_size, "micro_batch_size", "parallelism.pipeline_parallel_microbatch_size",
           "");
    }
    const Value* global = r_.find("training.global_batch_size");
    const int sequences = global != nullptr ? integer_of(*global, kCountOrRest) : -1;
    if (sequences > 0) {
      job.global_batch_size = sequences;
      r_.note("global_batch_size", std::to_string(sequences), *global);
    } else {
      record_.micro_batches_a_rank = std::max(1, local / l.micro_batch_size);
      r_.assume("global_batch_size", "local_batch_size x data-parallel ranks",
                "torchtitan's default: no accumulation");
    }
    settle({"micro_batch_size"});
    for (const char* field : {"seq_length", "global_batch_size"}) r_.settle_job(field);
  }

  void read_pipeline() {
    Layout& l = record_.layout;
    if (l.pipeline_parallel_size == 1) return;
    const Value* schedule =
        either("parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule");
    if (schedule != nullptr) {
      const std::string word = word_of(*schedule);
      const auto* const known = std::find_if(kSchedules.begin(), kSchedules.end(),
                                             [&](const auto& entry) { return entry.name == word; });
      if (known == kSchedules.end()) fail_at(*schedule, "no equal of this schedule is known here");
      l.schedule = known->value;
      r_.note("schedule", word, *schedule);
    }
    if (l.schedule == PipelineSchedule::interleaved) l.virtual_pipeline_parallel_size = 2;
    l.overlap_p2p_comm = l.schedule == PipelineSchedule::interleaved;
    read_split();
    settle({"schedule", "virtual_pipeline_parallel_size", "account_for_embedding_in_pipeline_split",
            "account_for_loss_in_pipeline_split", "pipeline_layout", "overlap_p2p_comm"});
  }

  // Embedding and head weigh as so many layers, one each unless told; what is left over goes to the
  // first stages (distributed/pipeline_parallel.py, generate_llm_fqn_per_model_part).
  void read_split() {
    Layout& l = record_.layout;
    int first = 1;
    int last = 1;
    const bool says_first =
        r_.integer(first, "embedding_as_layers",
                   "parallelism.pipeline_parallel_first_stage_less_layers", {0, 1000});
    const bool says_last = r_.integer(
        last, "head_as_layers", "parallelism.pipeline_parallel_last_stage_less_layers", {0, 1000});
    const Value* layers = r_.find("parallelism.pipeline_parallel_layers_per_stage");
    if (num_layers_ == 0) {
      if (layers != nullptr) fail_at(*layers, "the model's layers are not known here");
      return;
    }
    if (!says_first && !says_last && layers != nullptr &&
        is_older_split(integer_of(*layers, kParallelSizes))) {
      first = last = 0;
      r_.assume("embedding_as_layers", "0",
                "an older release: with both ends counted as layers they would not divide");
    }
    const int weighed = num_layers_ + first + last;
    if (layers != nullptr) {
      const int each = integer_of(*layers, kParallelSizes);
      const int stages = (weighed + each - 1) / each;
      if (stages % l.pipeline_parallel_size != 0) {
        fail_at(*layers, fmt::format("{} layers and {} for embedding and head make {} stages, "
                                     "which {} ranks do not divide",
                                     num_layers_, first + last, stages, l.pipeline_parallel_size));
      }
      l.virtual_pipeline_parallel_size = stages / l.pipeline_parallel_size;
      r_.note("virtual_pipeline_parallel_size", std::to_string(l.virtual_pipeline_parallel_size),
              *layers);
    }
    const int stages = l.pipeline_parallel_size * l.virtual_pipeline_parallel_size;
    if (weighed % stages == 0 && first <= 1 && last <= 1) {
      l.account_for_embedding_in_pipeline_split = first == 1;
      l.account_for_loss_in_pipeline_split = last == 1;
      return;
    }
    set_list(weighed, stages, first, last);
  }

  // Whether a number of layers a stage divides the layers alone, and not with both ends.
  [[nodiscard]] bool is_older_split(int each) const {
    const int ranks = record_.layout.pipeline_parallel_size;
    const bool new_divides = (num_layers_ + 2 + each - 1) / each % ranks == 0;
    return !new_divides && num_layers_ % each == 0 && num_layers_ / each % ranks == 0;
  }

  void set_list(int weighed, int stages, int first, int last) {
    std::string text = "E";
    for (int i = 0; i < stages; ++i) {
      const int layers = weighed / stages + (i < weighed % stages ? 1 : 0) - (i == 0 ? first : 0) -
                         (i == stages - 1 ? last : 0);
      if (i > 0) text += "|";
      for (int k = 0; k < layers; ++k) text += "t";
    }
    const auto list = read_pipeline_layout(text + "L");
    if (const auto* made = std::get_if<PipelineLayout>(&list)) {
      record_.layout.pipeline_layout = *made;
      r_.assume("pipeline_layout", std::string(made->text()),
                "how torchtitan deals out layers, embedding and head");
    }
  }

  void read_rest() {
    Layout& l = record_.layout;
    Job& job = record_.job;
    using enum RecomputeGranularity;
    l.recompute_granularity = selective;
    const std::string mode = r_.word("activation_checkpoint.mode", "selective");
    if (const Value* value = r_.find("activation_checkpoint.mode")) {
      r_.note("recompute_granularity", mode, *value);
      if (mode == "memory_budget")
        r_.not_understood(*value, "the compiler's choice; priced as selective");
    }
    if (mode == "full" || mode == "none") l.recompute_granularity = mode == "full" ? full : none;
    read_selective_option();
    l.tp_comm_overlap = r_.is_on("parallelism.enable_async_tensor_parallel") ||
                        r_.is_on("experimental.enable_async_tensor_parallel");
    settle({"recompute_granularity", "tp_comm_overlap"});
    const std::string rotate = r_.word("parallelism.context_parallel_rotate_method", "allgather");
    if (l.context_parallel_size > 1) {
      l.cp_comm_type = rotate == "alltoall" ? ContextParallelAlgorithm::p2p
                                            : ContextParallelAlgorithm::all_gather;
      settle({"cp_comm_type"});
    }
    const bool compiled = r_.is_on("compile.enable") || r_.is_on("training.compile");
    job.kernel_fusion = compiled ? KernelFusion::compiled : KernelFusion::eager;
    r_.settle_job("kernel_fusion");
    if (!compiled) r_.assume("kernel_fusion", "eager", "compile is off unless switched on");
    read_loss(compiled);
    read_precision();
  }

  // Compiled with the blocks since 2025 (compile.components); batch_size is a name of 2024.
  void read_loss(bool compiled) {
    const Value* parts = r_.find("compile.components");
    const bool named = parts == nullptr || std::find(parts->words.begin(), parts->words.end(),
                                                     "loss") != parts->words.end();
    bool& fused = record_.job.cross_entropy_loss_fusion;
    fused = compiled && named && r_.find("training.batch_size") == nullptr;
    if (fused) {
      r_.assume("cross_entropy_loss_fusion", "true", "compile covers the loss since 2025");
    }
    r_.settle_job("cross_entropy_loss_fusion");
  }

  // "op", or a number n: every n-th block runs again whole (parallelize_llama.py).
  void read_selective_option() {
    Layout& l = record_.layout;
    const Value* option = r_.find("activation_checkpoint.selective_ac_option");
    if (l.recompute_granularity != RecomputeGranularity::selective) return;
    l.recompute_modules = {kRecomputeOp};
    settle({"recompute_modules"});
    if (option == nullptr) {
      return r_.assume("recompute_modules", "op", "as its shipped configurations ask");
    }
    const std::string word = r_.word("activation_checkpoint.selective_ac_option", "op");
    if (word == "op") return r_.note("recompute_modules", "op", *option);
    const int each = integer_of(*option, kParallelSizes);
    l.recompute_modules = Layout{}.recompute_modules;
    l.recompute_granularity = RecomputeGranularity::full;
    if (num_layers_ == 0) r_.not_understood(*option, "the model's layers are not known");
    if (each == 1 || num_layers_ == 0) return;
    l.recompute_method = RecomputeMethod::block;
    l.recompute_num_layers = std::max(1, num_layers_ / l.pipeline_parallel_size / each);
    r_.note("recompute_num_layers", std::to_string(l.recompute_num_layers), *option);
    settle({"recompute_method", "recompute_num_layers"});
  }

  void read_precision() {
    Job& job = record_.job;
    job.precision = Precision::bf16;
    bool fp8 = r_.is_on("float8.enable_float8_linear");
    for (const char* key : {"model.converters", "quantize.linear"}) {
      const Value* value = r_.find(key);
      if (value == nullptr) continue;
      fp8 = fp8 ||
            std::find(value->words.begin(), value->words.end(), "float8") != value->words.end();
      fp8 = fp8 || std::find(value->words.begin(), value->words.end(), "quantize.linear.float8") !=
                       value->words.end();
      for (const std::string& word : value->words) {
        if (word == "float8" || word == "quantize.linear.float8" || word.empty()) continue;
        r_.not_understood(*value, word + " is not modelled", OptionEffect::precision);
      }
    }
    if (fp8) {
      job.precision = Precision::fp8;
      job.fp8_param_gather = r_.is_on("float8.enable_fsdp_float8_all_gather") ||
                             r_.is_on("quantize.linear.float8.enable_fsdp_float8_all_gather");
    }
    r_.values().pass_over_below("float8.");
    r_.values().pass_over_below("quantize.");
    for (const char* field : {"precision", "fp8_param_gather"}) r_.settle_job(field);
  }

  void settle(std::initializer_list<const char*> fields) {
    for (const char* field : fields) r_.settle_layout(field);
  }

  LaunchReading& r_;
  LaunchRecord& record_;
  int num_layers_;
};

}  // namespace

LaunchRecord read_torchtitan(std::string_view text, const std::string& file,
                             const LaunchHints& hints) {
  Values values = with_stated(values_of_toml(text, file), hints);
  LaunchRecord record;
  record.target = "torchtitan";
  LaunchReading reading(values, record);
  Reader(reading, hints).read();
  reading.list_unused("no key of torchtitan that is known here");
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
