// SPDX-License-Identifier: Apache-2.0
// Frameworks as JSON.
#include <algorithm>
#include <array>

#include "sim/hardware/framework.h"
#include "sim/json/amount_json.h"
#include "sim/json/records.h"

namespace meshwright {
namespace {

constexpr std::string_view kFrameworkSchema = "meshwright.framework/2";
// With kernel_fusion and pipeline_engine beside the scalars, and neither defaults nor fit.
constexpr std::string_view kOlderSchema = "meshwright.framework/1";
// What a job is about, which no software decides.
constexpr std::array kAskedOfAJob{"name", "seq_length", "global_batch_size", "train_tokens"};

// What a record says beyond the plain one.
Json difference(const Json& from, const Json& plain) {
  Json said = Json::object();
  for (const auto& [key, value] : from.items()) {
    if (!plain.contains(key) || plain[key] != value) said[key] = value;
  }
  return said;
}

void read_defaults(ObjectReader& reader, FrameworkDefaults& defaults) {
  if (!reader.has("defaults")) return;
  ObjectReader inside = reader.required_object("defaults");
  if (inside.has("job")) {
    ObjectReader job = inside.required_object("job");
    for (const char* key : kAskedOfAJob) {
      if (job.has(key)) job.fail(key, "is asked of a job; no framework has a default for it");
    }
    defaults.job =
        job_from_json(inside.member("job"), reader.file(), inside.pointer_to("job"), defaults.job);
  }
  if (inside.has("layout")) {
    defaults.layout = layout_from_json(inside.member("layout"), reader.file(),
                                       inside.pointer_to("layout"), defaults.layout);
  }
  inside.finish();
}

Json write_defaults(const FrameworkDefaults& defaults) {
  Json j = Json::object();
  const Json job = difference(to_json(defaults.job), to_json(Job{}));
  const Json layout = difference(to_json(defaults.layout), to_json(Layout{}));
  if (!job.empty()) j["job"] = job;
  if (!layout.empty()) j["layout"] = layout;
  return j;
}

DataParallelFacts read_data_parallel(ObjectReader& reader) {
  DataParallelFacts facts;
  if (!reader.has("data_parallel")) return facts;
  ObjectReader inside = reader.required_object("data_parallel");
  facts.rails_per_collective =
      inside.optional_int("rails_per_collective", facts.rails_per_collective, {0, 64});
  constexpr NumberRange kTouches{0.0, 100.0};
  FsdpCopies& copies = facts.copies;
  copies.gather = inside.optional_number("gather_copies", 0.0, kTouches);
  copies.reduce_weights = inside.optional_number("reduce_weight_copies", 0.0, kTouches);
  copies.reduce_gradients = inside.optional_number("reduce_gradient_copies", 0.0, kTouches);
  facts.bucket_parameters = inside.optional_number("bucket_parameters", 0.0, {0.0, 1e12});
  facts.bucket_parameters_per_rank =
      inside.optional_number("bucket_parameters_per_rank", 0.0, {0.0, 1e12});
  facts.optimizer_bytes = inside.optional_number("optimizer_bytes_per_parameter", 0.0, {0.0, 1e3});
  inside.finish();
  return facts;
}

PipelineFacts read_pipeline(ObjectReader& reader) {
  PipelineFacts facts;
  if (!reader.has("pipeline")) return facts;
  ObjectReader inside = reader.required_object("pipeline");
  facts.blocking_sends = inside.optional_bool("blocking_sends", facts.blocking_sends);
  inside.finish();
  return facts;
}

KernelFacts read_kernels(ObjectReader& reader) {
  KernelFacts facts;
  if (!reader.has("kernels")) return facts;
  ObjectReader inside = reader.required_object("kernels");
  facts.aligned_batched_products =
      inside.optional_bool("aligned_batched_products", facts.aligned_batched_products);
  facts.host_runs_ahead = inside.optional_bool("host_runs_ahead", facts.host_runs_ahead);
  facts.adds_gradients = inside.optional_bool("adds_gradients", facts.adds_gradients);
  facts.flash_attention_version = inside.optional_int("flash_attention_version", 0, {0, 9});
  facts.ring_attention_time_factor =
      inside.optional_number("ring_attention_time_factor", 1.0, {0.1, 10.0});
  facts.narrow_gemm_time_factor =
      inside.optional_number("narrow_gemm_time_factor", 1.0, {0.1, 10.0});
  facts.forward_launches = inside.optional_number("forward_launches_per_layer", 0.0, {0.0, 1e4});
  facts.backward_launches = inside.optional_number("backward_launches_per_layer", 0.0, {0.0, 1e4});
  inside.finish();
  return facts;
}

MemoryFacts read_memory(ObjectReader& reader) {
  MemoryFacts facts;
  if (!reader.has("memory")) return facts;
  ObjectReader inside = reader.required_object("memory");
  facts.reserved_ratio = inside.optional_number("reserved_ratio", 1.0, {1.0, 10.0});
  facts.reports_reserved = inside.optional_bool("reports_reserved", false);
  inside.finish();
  return facts;
}

ExpertFacts read_experts(ObjectReader& reader) {
  ExpertFacts facts;
  if (!reader.has("experts")) return facts;
  ObjectReader inside = reader.required_object("experts");
  constexpr NumberRange kLaunches{0.0, 1e4};
  constexpr NumberRange kFactor{0.1, 10.0};
  facts.launches_per_operator = inside.optional_number("launches_per_operator", 0.0, kLaunches);
  facts.router_launches = inside.optional_number("router_launches", 0.0, kLaunches);
  facts.dispatch_launches = inside.optional_number("dispatch_launches", 0.0, kLaunches);
  facts.launches_each = inside.optional_bool("launches_each", false);
  facts.waits_for_counts = inside.optional_bool("waits_for_counts", false);
  facts.gemm_time_factor = inside.optional_number("gemm_time_factor", 1.0, kFactor);
  facts.kernel_time_factor = inside.optional_number("kernel_time_factor", 1.0, kFactor);
  if (inside.has("dispatch_multiprocessors")) {
    ObjectReader taken = inside.required_object("dispatch_multiprocessors");
    for (const auto& [backend, name] : kMoeFlexDispatcherBackendNames) {
      facts.dispatch_multiprocessors[static_cast<std::size_t>(backend)] =
          taken.optional_int(std::string(name).c_str(), 0, {0, 1000});
    }
    taken.finish();
  }
  for (const std::string& name : inside.optional_strings("sends_fp8")) {
    const auto found =
        std::find_if(kMoeFlexDispatcherBackendNames.begin(), kMoeFlexDispatcherBackendNames.end(),
                     [&](const auto& entry) { return entry.name == name; });
    if (found == kMoeFlexDispatcherBackendNames.end()) {
      inside.fail("sends_fp8", "names no moe_flex_dispatcher_backend: " + name);
    }
    facts.sends_fp8[static_cast<std::size_t>(found->value)] = true;
  }
  inside.finish();
  return facts;
}

Json write_data_parallel(const DataParallelFacts& facts) {
  return {{"rails_per_collective", facts.rails_per_collective},
          {"gather_copies", facts.copies.gather},
          {"reduce_weight_copies", facts.copies.reduce_weights},
          {"reduce_gradient_copies", facts.copies.reduce_gradients},
          {"bucket_parameters", facts.bucket_parameters},
          {"bucket_parameters_per_rank", facts.bucket_parameters_per_rank},
          {"optimizer_bytes_per_parameter", facts.optimizer_bytes}};
}
Json write_pipeline(const PipelineFacts& facts) {
  return {{"blocking_sends", facts.blocking_sends}};
}
Json write_kernels(const KernelFacts& facts) {
  return {{"aligned_batched_products", facts.aligned_batched_products},
          {"host_runs_ahead", facts.host_runs_ahead},
          {"adds_gradients", facts.adds_gradients},
          {"flash_attention_version", facts.flash_attention_version},
          {"narrow_gemm_time_factor", facts.narrow_gemm_time_factor},
          {"ring_attention_time_factor", facts.ring_attention_time_factor},
          {"forward_launches_per_layer", facts.forward_launches},
          {"backward_launches_per_layer", facts.backward_launches}};
}
Json write_memory(const MemoryFacts& facts) {
  return {{"reserved_ratio", facts.reserved_ratio}, {"reports_reserved", facts.reports_reserved}};
}

FrameworkLimits read_limits(ObjectReader& reader) {
  FrameworkLimits limits;
  if (!reader.has("cannot")) return limits;
  ObjectReader inside = reader.required_object("cannot");
  for (const auto& [what, key] : kLackNames) {
    const std::string name(key);
    if (inside.has(name.c_str())) {
      limits.reasons[static_cast<std::size_t>(what)] = inside.required_string(name.c_str());
    }
  }
  inside.finish();
  return limits;
}

Json write_limits(const FrameworkLimits& limits) {
  Json j = Json::object();
  for (const auto& [what, key] : kLackNames) {
    if (limits.lacks(what)) j[std::string(key)] = limits.reason(what);
  }
  return j;
}

Json write_experts(const ExpertFacts& facts) {
  Json taken = Json::object(), sends_fp8 = Json::array();
  for (const auto& [backend, name] : kMoeFlexDispatcherBackendNames) {
    const auto i = static_cast<std::size_t>(backend);
    taken[std::string(name)] = facts.dispatch_multiprocessors[i];
    if (facts.sends_fp8[i]) sends_fp8.push_back(name);
  }
  return {{"launches_per_operator", facts.launches_per_operator},
          {"router_launches", facts.router_launches},
          {"dispatch_launches", facts.dispatch_launches},
          {"launches_each", facts.launches_each},
          {"waits_for_counts", facts.waits_for_counts},
          {"gemm_time_factor", facts.gemm_time_factor},
          {"kernel_time_factor", facts.kernel_time_factor},
          {"dispatch_multiprocessors", taken},
          {"sends_fp8", sends_fp8}};
}

FrameworkFit read_framework_fit(ObjectReader& reader) {
  FrameworkFit fit;
  if (!reader.has("fit")) return fit;
  ObjectReader inside = reader.required_object("fit");
  fit.sets = inside.optional_strings("sets");
  fit.terms = inside.optional_strings("terms");
  if (inside.has("held_out_error")) fit.held_out_error = inside.required_number("held_out_error");
  inside.finish();
  return fit;
}

Json write_framework_fit(const FrameworkFit& fit) {
  Json j{{"sets", fit.sets}, {"terms", fit.terms}};
  if (fit.held_out_error) j["held_out_error"] = *fit.held_out_error;
  return j;
}

}  // namespace

Framework framework_from_json(const Json& json, const std::string& file,
                              const std::string& pointer) {
  ObjectReader reader(json, file, pointer);
  constexpr NumberRange kFactor{0.1, 10.0};
  // A file of its own says what it is.
  if (reader.has("schema") && reader.optional_string("schema", "") != kOlderSchema) {
    check_schema(reader, kFrameworkSchema);
  }
  Framework f;
  f.name = reader.required_string("name");
  f.title = reader.optional_string("title", "");
  f.versions = reader.optional_string("versions", "");
  f.source = reader.optional_string("source", "");
  f.gemm_time_factor = reader.optional_number("gemm_time_factor", 1.0, kFactor);
  f.kernel_time_factor = reader.optional_number("kernel_time_factor", 1.0, kFactor);
  f.collective_time_factor = reader.optional_number("collective_time_factor", 1.0, kFactor);
  f.host_launch = seconds(read_amount(reader, "host_launch", kMicroseconds, 0.0));
  f.micro_batch_overhead = seconds(read_amount(reader, "micro_batch_overhead", kMicroseconds, 0.0));
  f.step_overhead = seconds(read_amount(reader, "step_overhead", kMicroseconds, 0.0));
  f.relative_spread = reader.optional_number("relative_spread", 0.0, {0.0, 1.0});
  Job& job = f.defaults.job;
  Layout& layout = f.defaults.layout;
  job.kernel_fusion = reader.optional_enum("kernel_fusion", job.kernel_fusion, kKernelFusionNames);
  layout.pipeline_engine =
      reader.optional_enum("pipeline_engine", layout.pipeline_engine, kPipelineEngineNames);
  read_defaults(reader, f.defaults);
  f.limits = read_limits(reader);
  f.data_parallel = read_data_parallel(reader);
  f.pipeline = read_pipeline(reader);
  f.kernels = read_kernels(reader);
  f.memory = read_memory(reader);
  f.experts = read_experts(reader);
  f.fit = read_framework_fit(reader);
  reader.finish();
  return f;
}

Json to_json(const Framework& f) {
  Json j{{"schema", kFrameworkSchema}, {"name", f.name}, {"title", f.title}};
  j["versions"] = f.versions;
  j["source"] = f.source;
  j["gemm_time_factor"] = f.gemm_time_factor;
  j["kernel_time_factor"] = f.kernel_time_factor;
  j["collective_time_factor"] = f.collective_time_factor;
  write_amount(j, "host_launch", f.host_launch.value(), kMicroseconds);
  write_amount(j, "micro_batch_overhead", f.micro_batch_overhead.value(), kMicroseconds);
  write_amount(j, "step_overhead", f.step_overhead.value(), kMicroseconds);
  j["relative_spread"] = f.relative_spread;
  const Json defaults = write_defaults(f.defaults);
  if (!defaults.empty()) j["defaults"] = defaults;
  if (!(f.limits == FrameworkLimits{})) j["cannot"] = write_limits(f.limits);
  const Framework plain;
  if (!(f.data_parallel == plain.data_parallel)) {
    j["data_parallel"] = write_data_parallel(f.data_parallel);
  }
  if (!(f.pipeline == plain.pipeline)) j["pipeline"] = write_pipeline(f.pipeline);
  if (!(f.kernels == plain.kernels)) j["kernels"] = write_kernels(f.kernels);
  if (!(f.memory == plain.memory)) j["memory"] = write_memory(f.memory);
  if (!(f.experts == plain.experts)) j["experts"] = write_experts(f.experts);
  if (!f.fit.sets.empty()) j["fit"] = write_framework_fit(f.fit);
  return j;
}

}  // namespace meshwright
