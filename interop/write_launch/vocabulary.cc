// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/vocabulary.h"

#include <fmt/format.h>

#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

std::string text_of(std::string_view name, const std::string& value) {
  return fmt::format("it has no word for {} {}", name, value.empty() ? "none" : value);
}

}  // namespace

Vocabulary::Vocabulary(std::initializer_list<std::string_view> said) {
  std::size_t known = 0;
  std::size_t i = 0;
  for_each_field([&](const auto& field) {
    for (const std::string_view name : said) {
      if (field.name != name) continue;
      said_.set(i);
      ++known;
    }
    if (field.name == "micro_batch_size" || field.name == "data_parallel_size") said_.set(i);
    ++i;
  });
  invariant(known == said.size(), "a launcher's vocabulary names a field that a layout has not");
}

std::string Vocabulary::refusal(const Layout& layout, const Model& model,
                                const Layout& as_it_runs) const {
  const Layout l = without_idle_fields(layout, model, as_it_runs);
  std::string why;
  std::size_t i = 0;
  for_each_field([&](const auto& field) {
    const bool said = said_.test(i++);
    if (said || !why.empty() || l.*field.member == as_it_runs.*field.member) return;
    why = text_of(field.name, value_text(field, l.*field.member));
  });
  return why;
}

Layout without_idle_fields(Layout l, const Model& model, const Layout& otherwise) {
  const auto idle = [&](auto... members) { ((l.*members = otherwise.*members), ...); };
  // Each software has its own.
  idle(&Layout::tensor_engine, &Layout::fsdp_vocabulary);
  // 0 says the same of both.
  if (l.expert_tensor_parallel_size == l.tensor_parallel_size) l.expert_tensor_parallel_size = 0;
  if (l.zero_shard_size == gradient_group_size(l)) l.zero_shard_size = 0;
  if (!model.moe) {
    idle(&Layout::moe_token_dispatcher_type, &Layout::moe_flex_dispatcher_backend,
         &Layout::overlap_moe_expert_parallel_comm, &Layout::delay_wgrad_compute,
         &Layout::moe_shared_expert_overlap, &Layout::expert_tensor_parallel_size);
  } else if (l.moe_token_dispatcher_type != MoeTokenDispatcherType::flex) {
    idle(&Layout::moe_flex_dispatcher_backend);
  }
  if (l.context_parallel_size == 1) idle(&Layout::cp_comm_type);
  if (l.context_parallel_size == 1 || l.cp_comm_type != ContextParallelAlgorithm::a2a_p2p) {
    idle(&Layout::hierarchical_context_parallel_size);
  }
  if (l.pipeline_parallel_size == 1) {
    idle(&Layout::pipeline_engine, &Layout::schedule, &Layout::scatter_gather_p2p,
         &Layout::overlap_p2p_comm, &Layout::account_for_embedding_in_pipeline_split,
         &Layout::account_for_loss_in_pipeline_split);
  }
  if (l.recompute_granularity != RecomputeGranularity::selective) idle(&Layout::recompute_modules);
  if (l.recompute_granularity != RecomputeGranularity::full) {
    idle(&Layout::recompute_method, &Layout::recompute_num_layers);
  } else if (l.recompute_num_layers == 0) {
    idle(&Layout::recompute_method);
  } else if (l.recompute_method == RecomputeMethod::uniform) {
    idle(&Layout::recompute_num_layers);
  }
  // Graphs of parts of a layer hold none that runs again whole.
  const bool whole_again = l.recompute_granularity == RecomputeGranularity::full &&
                           l.cuda_graph_impl != CudaGraphImpl::full_iteration;
  if (!model.moe || whole_again) idle(&Layout::cuda_graph_impl);
  if (l.cuda_graph_impl == CudaGraphImpl::none ||
      l.cuda_graph_impl == CudaGraphImpl::full_iteration) {
    idle(&Layout::cuda_graph_modules);
  }
  if (l.zero_stage == 0) idle(&Layout::zero_shard_size, &Layout::fsdp_unit);
  if (l.zero_stage == 0) idle(&Layout::all_reduce_gradients, &Layout::overlap_param_gather);
  if (l.zero_stage == 1 && l.all_reduce_gradients) {  // nothing runs beside it
    idle(&Layout::overlap_grad_reduce, &Layout::overlap_param_gather);
  }
  if (gradient_group_size(l) == 1) {
    idle(&Layout::overlap_grad_reduce, &Layout::overlap_param_gather, &Layout::defer_grad_reduce,
         &Layout::all_reduce_gradients);
  }
  return l;
}

}  // namespace meshwright::interop
