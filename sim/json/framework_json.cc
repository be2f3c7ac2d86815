// SPDX-License-Identifier: Apache-2.0
// Frameworks as JSON.
#include <array>
#include <type_traits>
#include <variant>

#include "sim/hardware/framework_scalars.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"

namespace meshwright {
namespace {

constexpr NumberRange kLaunches{0.0, 1e4};

// Rows of those scalars that are members of the owner.
template <typename Owner>
void add_scalars(Record<Owner>& r) {
  for (const FrameworkScalarRow& row : kFrameworkScalars) {
    if (const auto* factor = std::get_if<double Owner::*>(&row.member)) {
      r.row(*factor, row.key, kind::number(kTimeFactor), row.about);
    }
    if constexpr (std::is_same_v<Owner, Framework>) {
      if (const auto* time = std::get_if<Seconds Owner::*>(&row.member)) {
        r.row(*time, row.key, kind::amount<Seconds>(kMicroseconds), row.about);
      }
    }
  }
}

// A record whose rows are read over the software's defaults, and written where they differ from the
// plain ones.
template <typename R>
Kind<R> beyond_plain(RecordOf<R> record) {
  return kind::object(record).with(
      {.write = [record](Json& json, const std::string& key, const R& value) {
        json[key] = record().write_beyond(value, R{});
      }});
}

const Record<FrameworkDefaults>& defaults_record() {
  return described([](Record<FrameworkDefaults>& r) {
    using D = FrameworkDefaults;
    r.about("What a job and a layout are under this software unless they say otherwise.");
    r.check([](const D&, ObjectReader& reader) {
      if (!reader.has("job")) return;
      ObjectReader job = reader.required_object("job");
      for (const char* key : {"name", "seq_length", "global_batch_size", "train_tokens"}) {
        if (job.has(key)) job.fail(key, "is asked of a job; no framework has a default for it");
      }
    });
    r.row<&D::job>(beyond_plain(job_record));
    r.written_if([](const D& d) { return !(d.job == Job{}); });
    r.row<&D::layout>(beyond_plain(layout_record));
    r.written_if([](const D& d) { return !(d.layout == Layout{}); });
  });
}

const Record<DataParallelFacts>& data_parallel_record() {
  static const Record<DataParallelFacts> record = [] {
    using D = DataParallelFacts;
    Record<D> r("How gradients and weights cross the data-parallel ranks.");
    r.row<&D::rails_per_collective>(
        IntRange{0, 64}, "NICs of a node that one collective uses; 0: as many as its ranks reach.");
    r.row_at(
        [](auto& d) -> auto& { return d.copies.gather; }, "gather_copies", NumberRange{0.0, 100.0},
        "How often FSDP reads or writes each gathered byte.");
    r.row_at(
        [](auto& d) -> auto& { return d.copies.reduce_weights; }, "reduce_weight_copies",
        NumberRange{0.0, 100.0},
        "How often it does so with a weight-sized number before a reduction.");
    r.row_at(
        [](auto& d) -> auto& { return d.copies.reduce_gradients; }, "reduce_gradient_copies",
        NumberRange{0.0, 100.0}, "How often it does so with a gradient-sized number.");
    r.row<&D::bucket_parameters>(NumberRange{0.0, 1e12},
                                 "Parameters of a bucket at least; 0: not known.");
    r.row<&D::bucket_parameters_per_rank>(NumberRange{0.0, 1e12},
                                          "The same for each data-parallel rank.");
    r.row<&D::optimizer_bytes>(
        "optimizer_bytes_per_parameter", NumberRange{0.0, 1e3},
        "Bytes that clipping and the optimizer move a parameter; 0: one fused kernel.");
    r.row<&D::host_optimizer_bytes>(
        "host_optimizer_bytes_per_parameter", NumberRange{0.0, 1e3},
        "Bytes that an optimizer on the host moves a parameter; 0: one pass.");
    r.row<&D::replicates_units>(
        "Replicas that nothing shards sum each of FSDP's units, not buckets of gradients.");
    return r;
  }();
  return record;
}

const Record<PipelineFacts>& pipeline_record() {
  return described([](Record<PipelineFacts>& r) {
    r.about("How pipeline stages send.");
    r.row<&PipelineFacts::blocking_sends>(
        "A stage sends and receives in program order, one message after the other.");
    r.row<&PipelineFacts::schedules>(
        kPipelineScheduleNames,
        "Schedules that the software has; none: not stated. A search goes through them.");
    r.omitted_at_default();
  });
}

const Record<KernelFacts>& kernels_record() {
  return described([](Record<KernelFacts>& r) {
    using K = KernelFacts;
    r.about("How operators become kernels.");
    r.row<&K::aligned_batched_products>(
        "Batched GEMMs use tensor cores only for rows of whole 16 bytes.");
    r.row<&K::host_runs_ahead>("The host submits kernels while earlier ones run.");
    r.row<&K::adds_gradients>("A kernel of its own adds a weight's gradient to earlier ones.");
    r.row<&K::flash_attention_version>(
        IntRange{0, 9}, "Version of FlashAttention; 0: the fastest kernel of the day.");
    r.row<&K::narrow_gemm_time_factor>(kTimeFactor, "Factor on GEMMs in fp8 and fp4.");
    add_scalars(r);
    r.row<&K::forward_launches>(
        "forward_launches_per_layer", kLaunches,
        "Kernels that the host launches for a layer forward; 0: one an operator.");
    r.row<&K::backward_launches>("backward_launches_per_layer", kLaunches, "The same backward.");
  });
}

const Record<MemoryFacts>& memory_record() {
  return described([](Record<MemoryFacts>& r) {
    r.about("What PyTorch's allocator makes of the tensors' bytes.");
    r.row<&MemoryFacts::reserved_ratio>(NumberRange{1.0, 10.0},
                                        "Reserved over allocated memory at the peak.");
    r.row<&MemoryFacts::reports_reserved>("The framework prints reserved memory as its peak.");
    r.row<&MemoryFacts::replicas_keep_fp32_gradients>(
        "Replicas that nothing shards keep and reduce fp32 gradients, whatever the job reduces "
        "shards in.");
    r.row<&MemoryFacts::recipes_store_remainders>(
        "Jobs in bf16 with bf16 gradients keep 16-bit remainders of fp32 weights, unless they "
        "say otherwise.");
    r.omitted_at_default();
  });
}

const Record<ExpertFacts>& expert_record() {
  return described([](Record<ExpertFacts>& r) {
    using E = ExpertFacts;
    r.about("How layers with experts run.");
    r.row<&E::launches_per_operator>(
        kLaunches, "Kernels that the host launches an operator outside the experts; 0: one.");
    r.row<&E::router_launches>(kLaunches, "Kernels of the router's choice and its loss.");
    r.row<&E::dispatch_launches>(kLaunches, "Kernels of dispatching and of combining.");
    r.row<&E::launches_each>("Each expert of a rank is launched by itself.");
    r.row<&E::waits_for_counts>(
        "The host waits for the counts of tokens before it submits the experts.");
    r.row<&E::gemm_time_factor>(kTimeFactor, "Factor on GEMMs of one expert after the other.");
    add_scalars(r);
    r.row<&E::dispatch_multiprocessors>(
        kind::integer_by_name(kMoeFlexDispatcherBackendNames, {0, 1000}),
        "Multiprocessors taken while tokens travel, by moe_flex_dispatcher_backend.");
    r.row<&E::sends_fp8>(kMoeFlexDispatcherBackendNames, "Libraries that can send tokens in fp8.");
  });
}

const Record<FrameworkFit>& framework_fit_record() {
  return described([](Record<FrameworkFit>& r) {
    using F = FrameworkFit;
    r.about("What the factors were fitted on.");
    r.row<&F::sets>("Sets of measured runs.");
    r.row<&F::terms>("Names of the factors that were fitted.");
    r.row<&F::held_out_error>("Mean relative error on groups of runs that the fit had not seen.");
  });
}

Record<Framework> make_framework_record() {
  using F = Framework;
  Record<F> r(
      "Training software: what jobs and layouts are under it, what it cannot do, and what it adds "
      "to "
      "its kernels.");
  // Files of framework/1 have kernel_fusion and pipeline_engine beside the factors.
  r.file_of({"meshwright.framework/2", "meshwright.framework/1"}, false);
  r.row<&F::name>("Name of the framework, that of its file.");
  r.required();
  r.row<&F::title>("The software and its year.");
  r.row<&F::versions>("Versions that it stands for.");
  r.row<&F::source>("Where the facts come from.");
  add_scalars(r);
  r.row<&F::relative_spread>(NumberRange{0.0, 1.0},
                             "What the fit leaves, one standard deviation of a step.");
  r.row_at(
      [](auto& f) -> auto& { return f.defaults.job.kernel_fusion; }, "kernel_fusion",
      kKernelFusionNames, "Older form of defaults.job.kernel_fusion.");
  r.only_read();
  r.row_at(
      [](auto& f) -> auto& { return f.defaults.layout.pipeline_engine; }, "pipeline_engine",
      kPipelineEngineNames, "Older form of defaults.layout.pipeline_engine.");
  r.only_read();
  r.row<&F::defaults>(defaults_record).omitted_at_default();
  r.row<&F::limits>("cannot", limits_kind(), "What the software cannot do.").omitted_at_default();
  r.row<&F::data_parallel>(data_parallel_record);
  r.omitted_at_default();
  r.row<&F::pipeline>(pipeline_record).omitted_at_default();
  r.row<&F::kernels>(kernels_record).omitted_at_default();
  r.row<&F::memory>(memory_record).omitted_at_default();
  r.row<&F::experts>(expert_record).omitted_at_default();
  r.row<&F::fit>(framework_fit_record);
  r.written_if([](const F& f) { return !f.fit.sets.empty(); });
  return r;
}

}  // namespace

const Record<Framework>& framework_record() {
  static const Record<Framework> record = make_framework_record();
  return record;
}

Framework framework_from_json(const Json& json, const std::string& file,
                              const std::string& pointer) {
  return framework_record().read(json, file, pointer);
}

Json to_json(const Framework& framework) { return framework_record().write(framework); }

}  // namespace meshwright
