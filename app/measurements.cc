// SPDX-License-Identifier: Apache-2.0
#include "app/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "app/files.h"
#include "interop/huggingface.h"
#include "sim/base/job.h"
#include "sim/json/reader.h"
#include "sim/json/records.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/schedule/traits.h"

namespace meshwright::app {
namespace {

constexpr std::size_t kMostRuns = 10'000;

using planner::MeasuredRun;
using planner::MeasuredSet;
using planner::RunStatus;

constexpr std::array kStatusNames{EnumName{RunStatus::ok, "ok"}, EnumName{RunStatus::oom, "oom"},
                                  EnumName{RunStatus::failed, "failed"}};

// A file that a run names; when it is wrong, the run is named, too.
template <typename Load>
auto load_named(const ObjectReader& run, const char* key, const std::string& name,
                const Load& load) {
  try {
    return load(name);
  } catch (const InputError& error) {
    run.fail(key, error.what(), error.hint());
  }
}

Model read_model(ObjectReader& run) {
  const nlohmann::json& json = run.member("model");
  if (json.is_string()) return load_named(run, "model", json.get<std::string>(), load_model);
  if (interop::looks_like_huggingface(json))
    return interop::model_from_huggingface(json, run.file());
  return model_from_json(json, run.file(), run.pointer_to("model"));
}

// Named clusters are read once.
Cluster read_cluster(ObjectReader& run, std::map<std::string, Cluster>& named) {
  const nlohmann::json& json = run.member("cluster");
  if (!json.is_string()) return cluster_from_json(json, run.file(), run.pointer_to("cluster"));
  const auto name = json.get<std::string>();
  const auto found = named.find(name);
  if (found != named.end()) return found->second;
  const auto load = [](const std::string& path) { return load_cluster(path); };
  return named.emplace(name, load_named(run, "cluster", name, load)).first->second;
}

// Models with learned positions in 16 bits: what Megatron-LM trained before fused attention.
bool is_gpt2_generation(const Model& model, const Job& job) {
  const bool half = job.precision == Precision::fp16 || job.precision == Precision::bf16;
  return model.position_embedding == PositionEmbedding::learned && half;
}

// Rotary models came with sequence parallelism beside every tensor parallelism.
bool shares_sequence(const Model& model, const Job& job, const Layout& layout) {
  return model.position_embedding == PositionEmbedding::rope && layout.tensor_parallel_size > 1 &&
         job.seq_length % (layout.tensor_parallel_size * layout.context_parallel_size) == 0;
}

Job read_job(ObjectReader& run, const Model& model, const Framework& framework) {
  const nlohmann::json& json = run.member("job");
  Job job = job_from_json(json, run.file(), run.pointer_to("job"), framework.defaults.job);
  const bool gpt2_generation = is_gpt2_generation(model, job);
  if (!json.contains("attention_kernel") && gpt2_generation)
    job.attention_kernel = AttentionKernel::unfused;
  if (!json.contains("dropout") && gpt2_generation) job.dropout = true;
  if (!json.contains("gradient_precision") && gpt2_generation && job.precision == Precision::fp16)
    job.gradient_precision = Precision::fp16;
  return job;
}

// This format says "recompute" and "zb-h1" where a layout file says recompute_granularity and
// zb_h1.
nlohmann::json in_our_words(nlohmann::json layout) {
  if (!layout.is_object()) return layout;
  if (layout.contains("recompute")) {
    layout["recompute_granularity"] = layout["recompute"];
    layout.erase("recompute");
  }
  if (layout.contains("schedule") && layout["schedule"].is_string()) {
    auto name = layout["schedule"].get<std::string>();
    std::replace(name.begin(), name.end(), '-', '_');
    layout["schedule"] = name;
  }
  return layout;
}

void complete(Layout& layout, const nlohmann::json& json, const Model& model, int gpus) {
  const int others =
      layout.tensor_parallel_size * layout.pipeline_parallel_size * layout.context_parallel_size;
  if (!json.contains("data_parallel_size") && gpus % others == 0)
    layout.data_parallel_size = gpus / others;
  const int stages = layout.pipeline_parallel_size;
  const bool uneven = layout.pipeline_engine == PipelineEngine::megatron &&
                      model.num_layers % stages != 0 && (model.num_layers + 2) % stages == 0 &&
                      stages > 1;
  const int per_stage = (model.num_layers + (uneven ? 2 : 0)) / stages;
  // Where not even the micro-batch is known, nothing is assumed about the chunks either.
  const bool free_chunks = traits(layout.schedule).any_number_of_chunks();
  if (free_chunks && json.contains("micro_batch_size") &&
      !json.contains("virtual_pipeline_parallel_size")) {
    layout.virtual_pipeline_parallel_size = stages > 2 ? per_stage : 1;
  }
  if (free_chunks && layout.virtual_pipeline_parallel_size == 1) layout.schedule = kDefaultSchedule;
  const bool stated = json.contains("num_layers_in_first_pipeline_stage") ||
                      json.contains("num_layers_in_last_pipeline_stage");
  if (uneven && !stated) {
    layout.account_for_embedding_in_pipeline_split = true;
    layout.account_for_loss_in_pipeline_split = true;
  }
}

// Megatron-LM of 2021 had no softmax but the fused one, which takes (sequence, head) pairs in
// fours.
int smallest_micro_batch(const Model& model, const Job& job, const Layout& layout) {
  constexpr int kSoftmaxBlock = 4;
  const int heads = model.num_attention_heads / std::max(1, layout.tensor_parallel_size);
  for (int size = 1; size <= kSoftmaxBlock; size *= 2) {
    const bool divides = job.global_batch_size % (size * layout.data_parallel_size) == 0;
    if (divides && heads * size % kSoftmaxBlock == 0) return size;
  }
  return 1;
}

// Its own framework's name, or its cluster's framework.
void read_framework(ObjectReader& run, const MeasuredWhere& where, Cluster& cluster) {
  if (run.has("framework")) {
    const std::string name = run.required_string("framework");
    if (!where.framework) cluster.framework = load_named(run, "framework", name, load_framework);
  }
  if (where.framework) cluster.framework = *where.framework;
}

MeasuredRun read_run(const nlohmann::json& json, const std::string& file,
                     const std::string& pointer, std::map<std::string, Cluster>& named,
                     const MeasuredWhere& where) {
  ObjectReader reader(json, file, pointer);
  MeasuredRun run;
  run.id = reader.required_string("id");
  run.group = reader.required_string("group");
  run.model = read_model(reader);
  const int gpus = reader.required_int("gpus");
  const Cluster stated = read_cluster(reader, named);
  run.cluster = scaled_to(where.cluster ? *where.cluster : stated, gpus);
  read_framework(reader, where, run.cluster);
  run.job = read_job(reader, run.model, run.cluster.framework);
  const nlohmann::json layout = in_our_words(reader.member("layout"));
  const bool gpt2_generation = is_gpt2_generation(run.model, run.job);
  run.layout = layout_from_json(layout, file, reader.pointer_to("layout"),
                                run.cluster.framework.defaults.layout);
  if (!layout.contains("sequence_parallel"))
    run.layout.sequence_parallel = shares_sequence(run.model, run.job, run.layout);
  complete(run.layout, layout, run.model, gpus);
  if (!layout.contains("micro_batch_size") && gpt2_generation)
    run.layout.micro_batch_size = smallest_micro_batch(run.model, run.job, run.layout);
  if (!layout.contains("overlap_p2p_comm") && !gpt2_generation)
    run.layout.overlap_p2p_comm = traits(run.layout.schedule).overlaps_sends;
  if (!layout.contains("scatter_gather_p2p")) {
    run.layout.scatter_gather_p2p =
        gpt2_generation && run.job.precision == Precision::fp16 && !run.layout.sequence_parallel &&
        run.layout.tensor_parallel_size > 1 && run.layout.pipeline_parallel_size > 1;
  }
  ObjectReader measured = reader.required_object("measured");
  run.status = measured.optional_enum("status", RunStatus::ok, kStatusNames);
  constexpr NumberRange kPositive{0.0, 1e300, true};
  if (measured.has("step_seconds"))
    run.step_time = seconds(measured.required_number("step_seconds", kPositive));
  if (measured.has("peak_memory_bytes")) {
    run.peak_memory = bytes(measured.required_number("peak_memory_bytes", kPositive));
  }
  measured.finish();
  reader.finish();
  return run;
}

}  // namespace

MeasuredSet measurements_from_json(const nlohmann::json& json, const std::string& file,
                                   const MeasuredWhere& where) {
  ObjectReader reader(json, file);
  const std::string schema = reader.required_string("schema");
  if (schema != "meshwright.measurements/1") {
    reader.fail("schema", fmt::format("must be \"meshwright.measurements/1\", is \"{}\"", schema));
  }
  MeasuredSet set;
  set.name = reader.required_string("name");
  set.source = reader.optional_string("source", "");
  set.assumed = reader.optional_string("assumed", "");
  std::map<std::string, Cluster> named;
  std::size_t index = 0;
  const nlohmann::json& runs = reader.required_array("runs");
  if (runs.size() > kMostRuns) {
    reader.fail("runs", fmt::format("holds {} runs; at most {} are read", runs.size(), kMostRuns));
  }
  for (const nlohmann::json& run : runs) {
    set.runs.push_back(read_run(run, file, fmt::format("/runs/{}", index++), named, where));
  }
  reader.finish();
  return set;
}

MeasuredSet load_measurements(const std::string& path, const MeasuredWhere& where) {
  return measurements_from_json(read_json_file(path), path, where);
}

}  // namespace meshwright::app
