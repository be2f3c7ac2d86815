// SPDX-License-Identifier: Apache-2.0
// What was violated, with its numbers.
#include <fmt/format.h>

#include "sim/rules/rules.h"
#include "sim/schedule/traits.h"

namespace meshwright {
namespace {

// Numbers of a violation are whole counts, except memory_capacity's bytes.
std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

std::string not_divided(std::string_view what, const Violation& v, std::string_view by) {
  return fmt::format("{} {} do not divide by {} {}", whole(v.available), what, by, whole(v.needed));
}

std::string describe_tensor(const Violation& v, const Layout& layout) {
  switch (v.rule) {
    case Rule::attention_heads_divide_by_tensor_size:
      return not_divided("attention heads", v, "tensor size");
    case Rule::query_groups_divide_by_tensor_size:
      return fmt::format("{} query groups and tensor size {} do not divide one another",
                         whole(v.available), whole(v.needed));
    case Rule::ffn_divides_by_tensor_size:
      return not_divided("columns of the MLP", v, "tensor size");
    case Rule::hidden_divides_by_tensor_size:
      return not_divided("columns of the hidden state", v, "tensor size");
    case Rule::sequence_divides_by_sequence_parallel_size:
      return not_divided("positions", v, "tensor x context size");
    default:
      return fmt::format("sequence_parallel is on, but tensor size is {}",
                         layout.tensor_parallel_size);
  }
}

std::string describe_schedule(const Violation& v, const Job& job, const Layout& layout) {
  const int pp = layout.pipeline_parallel_size;
  const int micro_batches = num_micro_batches(job.global_batch_size, layout);
  switch (v.rule) {
    case Rule::interleaving_needs_pipeline:
      return fmt::format("interleaving with overlap_p2p_comm {} needs {} stages, there {} {}",
                         layout.overlap_p2p_comm ? "on" : "off", whole(v.needed),
                         pp == 1 ? "is" : "are", pp);
    case Rule::interleaving_needs_micro_batches_multiple_of_pipeline:
      return not_divided("micro-batches", v, "pipeline size");
    case Rule::schedule_needs_pipeline:
      return fmt::format("the schedule needs at least {} stages, there is {}", whole(v.needed), pp);
    case Rule::schedule_fixes_virtual_size:
      return fmt::format("the schedule needs virtual pipeline size {}{}, it is {}", whole(v.needed),
                         traits(layout.schedule).any_number_of_chunks() ? " or more" : "",
                         whole(v.available));
    case Rule::schedule_needs_micro_batches:
      if (micro_batches >= 2 * pp) {
        return fmt::format("{} micro-batches are not an even number", micro_batches);
      }
      return fmt::format(
          "the schedule needs at least {} micro-batches over {} stages, there are {}",
          whole(v.needed), pp, micro_batches);
    default:
      return fmt::format("{} stages are not an even number", pp);
  }
}

std::string describe_layers(const Violation& v, const Model& model, const Layout& layout) {
  const int given =
      layout.num_layers_in_first_pipeline_stage + layout.num_layers_in_last_pipeline_stage;
  switch (v.rule) {
    case Rule::layers_divide_by_pipeline_size:
      if (layout.pipeline_engine == PipelineEngine::nanotron) {
        return fmt::format("layers and output linear fill only {} of {} stages", whole(v.available),
                           whole(v.needed));
      }
      return not_divided(given > 0 ? "layers of the other stages" : "layers", v,
                         given > 0 ? "their number" : "pipeline size");
    case Rule::one_way_of_uneven_stages:
      return "the layers of stages are fixed in more than one way";
    case Rule::layers_divide_by_virtual_pipeline_size:
      return not_divided("layers of a stage", v, "virtual pipeline size");
    case Rule::recompute_layers_within_stage:
      return fmt::format("recompute_num_layers is {}, the smallest stage has {} layers",
                         whole(v.needed), whole(v.available));
    case Rule::offloaded_layers_within_stage:
      return fmt::format("cpu_offloading_num_layers is {}, the smallest stage has {} layers",
                         layout.cpu_offloading_num_layers, whole(v.available));
    default:
      return fmt::format("{} of {} layers are given to the first and last of {} stages", given,
                         model.num_layers, layout.pipeline_parallel_size);
  }
}

std::string describe_context(const Violation& v, const Layout& layout) {
  switch (v.rule) {
    case Rule::sequence_divides_by_context_size:
      return not_divided("positions", v, "twice the context size,");
    case Rule::ulysses_heads_divide_by_context_size:
      return not_divided("heads of a tensor rank", v,
                         layout.cp_comm_type == ContextParallelAlgorithm::a2a
                             ? "context size"
                             : "hierarchical context size");
    default:
      return fmt::format("context size {} does not divide by hierarchical_context_parallel_size {}",
                         layout.context_parallel_size, layout.hierarchical_context_parallel_size);
  }
}

std::string describe_experts(const Violation& v, const Layout& layout) {
  switch (v.rule) {
    case Rule::experts_divide_by_expert_size:
      return not_divided("experts", v, "expert size");
    case Rule::expert_parallel_needs_experts:
      return fmt::format(
          "expert size is {} and expert tensor size {}, but the model has no experts",
          layout.expert_parallel_size, expert_tensor_size(layout));
    case Rule::expert_mesh_divides_world:
      return not_divided("ranks of a pipeline stage", v, "expert tensor x expert size");
    case Rule::expert_ffn_divides_by_expert_tensor_size:
      return not_divided("columns of an expert's MLP", v, "expert tensor size");
    default:
      return fmt::format("tensor size is {} without sequence_parallel, and the model has experts",
                         layout.tensor_parallel_size);
  }
}

std::string describe_data(const Violation& v, const Layout& layout) {
  switch (v.rule) {
    case Rule::zero_shard_size_divides_data:
      return not_divided("data x context ranks", v, "zero_shard_size");
    case Rule::zero_2_3_forbids_pipeline:
      return fmt::format("zero_stage is {} with pipeline size {}", layout.zero_stage,
                         layout.pipeline_parallel_size);
    case Rule::overlap_param_gather_needs_overlap_grad_reduce:
      return "overlap_param_gather is on, overlap_grad_reduce is off";
    case Rule::overlap_param_gather_needs_sharded_optimizer:
      return "overlap_param_gather is on, zero_stage is 0";
    default:
      return "tp_comm_overlap is on, sequence_parallel is off";
  }
}

}  // namespace

std::string describe(const Violation& violation, const Model& model, const Job& job,
                     const Layout& layout) {
  switch (violation.rule) {
    case Rule::world_size_equals_gpus:
      return fmt::format("the layout has {} ranks, there are {} GPUs", whole(violation.needed),
                         whole(violation.available));
    case Rule::batch_divides_by_micro_batch_times_data:
      return not_divided("sequences of a batch", violation, "micro-batch x data size");
    case Rule::memory_capacity:
      return fmt::format("the fullest rank needs {:.2f} GiB of {:.2f} GiB",
                         in_gibibytes(bytes(violation.needed)),
                         in_gibibytes(bytes(violation.available)));
    case Rule::layers_divide_by_pipeline_size:
    case Rule::layers_divide_by_virtual_pipeline_size:
    case Rule::uneven_stages_leave_layers_for_the_rest:
    case Rule::recompute_layers_within_stage:
    case Rule::offloaded_layers_within_stage:
      return describe_layers(violation, model, layout);
    default:
      break;
  }
  if (violation.rule <= Rule::sequence_parallel_needs_tensor_parallel) {
    return describe_tensor(violation, layout);
  }
  if (violation.rule <= Rule::dualpipe_needs_even_pipeline) {
    return describe_schedule(violation, job, layout);
  }
  if (violation.rule <= Rule::hierarchical_context_size_divides) {
    return describe_context(violation, layout);
  }
  if (violation.rule <= Rule::experts_with_tensor_parallel_need_sequence_parallel) {
    return describe_experts(violation, layout);
  }
  return describe_data(violation, layout);
}

}  // namespace meshwright
