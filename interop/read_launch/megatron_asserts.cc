// SPDX-License-Identifier: Apache-2.0
// What arguments.py of Megatron-LM (commit 000c4ac2) asserts of options together, those that a
// layout can break. Conditions of sizes among themselves are rules of sim/rules.
#include "interop/read_launch/megatron_fields.h"

namespace meshwright::interop {
namespace {

bool on(const Values& values, std::string_view key) { return values.has(key); }
bool sharded(const Values& v) {
  return on(v, "use_distributed_optimizer") || on(v, "use_megatron_fsdp") ||
         on(v, "use_torch_fsdp2");
}

struct MegatronAssert {
  std::string_view key;  // of the option that it is said at
  std::string_view wants;
  bool (*holds)(const Values& values, const LaunchRecord& record, const Model& model);
};

constexpr MegatronAssert kAsserts[] = {
    {"overlap_param_gather", "wants --use-distributed-optimizer or --use-megatron-fsdp",
     [](const Values& v, const LaunchRecord&, const Model&) { return sharded(v); }},
    {"overlap_param_gather", "wants --overlap-grad-reduce beside it",
     [](const Values& v, const LaunchRecord&, const Model&) {
       return on(v, "overlap_grad_reduce");
     }},
    {"tp_comm_overlap", "wants --sequence-parallel and a tensor size above 1",
     [](const Values&, const LaunchRecord& r, const Model&) { return r.layout.sequence_parallel; }},
    {"recompute_method", "is refused with selective recompute",
     [](const Values&, const LaunchRecord& r, const Model&) {
       return r.layout.recompute_granularity != RecomputeGranularity::selective;
     }},
    {"use_torch_fsdp2", "is refused with a pipeline",
     [](const Values&, const LaunchRecord& r, const Model&) {
       return r.layout.pipeline_parallel_size == 1;
     }},
    {"use_torch_fsdp2", "is refused with expert parallelism",
     [](const Values&, const LaunchRecord& r, const Model&) {
       return r.layout.expert_parallel_size == 1;
     }},
    {"use_torch_fsdp2", "is refused with --use-distributed-optimizer",
     [](const Values& v, const LaunchRecord&, const Model&) {
       return !on(v, "use_distributed_optimizer");
     }},
    {"use_torch_fsdp2", "wants --untie-embeddings-and-output-weights",
     [](const Values&, const LaunchRecord&, const Model& m) { return !m.tied_embeddings; }},
    {"use_torch_fsdp2", "is refused in fp16",
     [](const Values&, const LaunchRecord& r, const Model&) {
       return r.job.precision != Precision::fp16;
     }},
    {"use_megatron_fsdp", "wants --ckpt-format fsdp_dtensor",
     [](const Values& v, const LaunchRecord&, const Model&) { return on(v, "ckpt_format"); }},
    {"use_megatron_fsdp", "is refused with CUDA_DEVICE_MAX_CONNECTIONS=1",
     [](const Values&, const LaunchRecord& r, const Model&) {
       const auto found = r.variables.find("CUDA_DEVICE_MAX_CONNECTIONS");
       return found == r.variables.end() || found->second != "1";
     }},
    {"fp8_param_gather", "wants a sharded optimizer",
     [](const Values& v, const LaunchRecord&, const Model&) { return sharded(v); }},
    {"optimizer_cpu_offload", "wants --use-precision-aware-optimizer",
     [](const Values& v, const LaunchRecord&, const Model&) {
       return on(v, "use_precision_aware_optimizer");
     }},
    {"expert_model_parallel_size", "is refused in fp16",
     [](const Values&, const LaunchRecord& r, const Model&) {
       return r.layout.expert_parallel_size == 1 || r.job.precision != Precision::fp16;
     }},
    {"moe_grouped_gemm", "wants --bf16",
     [](const Values& v, const LaunchRecord&, const Model&) { return on(v, "bf16"); }},
    {"mtp_num_layers", "wants rotary positions, or none",
     [](const Values&, const LaunchRecord&, const Model& m) {
       return m.position_embedding == PositionEmbedding::rope ||
              m.position_embedding == PositionEmbedding::none;
     }},
    {"cuda_graph_impl", "is refused with full recompute",
     [](const Values&, const LaunchRecord& r, const Model&) {
       return r.layout.cuda_graph_impl == CudaGraphImpl::none ||
              r.layout.recompute_granularity != RecomputeGranularity::full;
     }},
    {"distribute_saved_activations", "wants full recompute and a tensor size above 1",
     [](const Values&, const LaunchRecord& r, const Model&) {
       return r.layout.tensor_parallel_size > 1 &&
              r.layout.recompute_granularity == RecomputeGranularity::full;
     }},
    {"fp16", "and --bf16 exclude each other",
     [](const Values& v, const LaunchRecord&, const Model&) { return !on(v, "bf16"); }},
    {"hierarchical_context_parallel_sizes", "must multiply to --context-parallel-size",
     [](const Values&, const LaunchRecord& r, const Model&) {
       const int inner = r.layout.hierarchical_context_parallel_size;
       return inner > 0 && r.layout.context_parallel_size % inner == 0;
     }},
    {"max_position_embeddings", "must be at least --seq-length",
     [](const Values&, const LaunchRecord& r, const Model&) {
       return r.model.max_position_embeddings == 0 ||
              r.model.max_position_embeddings >= r.job.seq_length;
     }},
};

}  // namespace

void check_megatron_asserts(LaunchReading& r, const Model& model) {
  for (const MegatronAssert& each : kAsserts) {
    if (!r.values().has(each.key) || each.holds(r.values(), r.record(), model)) continue;
    fail_at(*r.find(each.key), "Megatron-LM refuses it: it " + std::string(each.wants),
            "arguments.py stops there");
  }
}

}  // namespace meshwright::interop
