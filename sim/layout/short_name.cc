// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/short_name.h"

#include <fmt/format.h>

namespace meshwright {
namespace {

class Words {
 public:
  void word(std::string_view text) {
    if (!text_.empty()) text_ += ' ';
    text_ += text;
  }
  // A size, when it differs from what is left unsaid.
  void size(std::string_view name, int value, int unsaid = 1) {
    if (value != unsaid) word(fmt::format("{}{}", name, value));
  }
  void flag(std::string_view name, bool on) {
    if (on) word(name);
  }
  void value(std::string_view name, std::string_view what) {
    word(fmt::format("{}={}", name, what));
  }
  [[nodiscard]] std::string text() const { return text_.empty() ? "one rank" : text_; }

 private:
  std::string text_;
};

std::string recompute_text(const Layout& layout) {
  const std::string_view granularity = name_of(layout.recompute_granularity);
  if (layout.recompute_granularity == RecomputeGranularity::full) {
    if (layout.recompute_num_layers == 0) return std::string(granularity);
    return fmt::format("{}:{}", granularity, layout.recompute_num_layers);
  }
  if (layout.recompute_modules == kRecomputeCoreAttention) return std::string(granularity);
  std::string modules;
  for (const auto& entry : kRecomputeModuleNames) {
    if ((layout.recompute_modules & entry.value) == 0) continue;
    modules += modules.empty() ? ":" : "+";
    modules += entry.name;
  }
  return std::string(granularity) + modules;
}

void add_switches(Words& words, const Layout& layout) {
  words.size("zero", layout.zero_stage, 0);
  words.size("shard", layout.zero_shard_size, 0);
  if (layout.recompute_granularity != RecomputeGranularity::none) {
    words.value("recompute", recompute_text(layout));
  }
  words.flag("scatter_gather_p2p", layout.scatter_gather_p2p);
  words.flag("overlap_grad_reduce", layout.overlap_grad_reduce);
  words.flag("overlap_param_gather", layout.overlap_param_gather);
  words.flag("tp_comm_overlap", layout.tp_comm_overlap);
  words.flag("overlap_p2p_comm", layout.overlap_p2p_comm);
  words.flag("optimizer_offload", layout.optimizer_offload);
  words.size("offload", layout.cpu_offloading_num_layers, 0);
  if (layout.rank_order == Layout{}.rank_order) return;
  words.value("order", name_of(layout.rank_order));
}

}  // namespace

std::string name_of(const RankOrder& order) {
  std::string text;
  for (const Axis axis : order) {
    if (!text.empty()) text += '-';
    text += name_of(axis);
  }
  return text;
}

std::string short_name(const Layout& layout) {
  Words words;
  words.size("tp", layout.tensor_parallel_size);
  words.size("pp", layout.pipeline_parallel_size);
  words.size("vpp", layout.virtual_pipeline_parallel_size);
  words.size("dp", layout.data_parallel_size);
  words.size("cp", layout.context_parallel_size);
  words.size("ep", layout.expert_parallel_size);
  words.size("etp", layout.expert_tensor_parallel_size, 0);
  words.size("mbs", layout.micro_batch_size);
  words.flag("sp", layout.sequence_parallel);
  if (layout.schedule != implied_schedule(layout.virtual_pipeline_parallel_size)) {
    words.value("schedule", name_of(layout.schedule));
  }
  if (layout.pipeline_engine != PipelineEngine::megatron) {
    words.value("pipeline_engine", name_of(layout.pipeline_engine));
  }
  words.size("first", layout.num_layers_in_first_pipeline_stage, 0);
  words.size("last", layout.num_layers_in_last_pipeline_stage, 0);
  words.flag("account_for_embedding_in_pipeline_split",
             layout.account_for_embedding_in_pipeline_split);
  words.flag("account_for_loss_in_pipeline_split", layout.account_for_loss_in_pipeline_split);
  if (layout.cp_comm_type != ContextParallelAlgorithm::p2p) {
    words.value("cp_comm_type", name_of(layout.cp_comm_type));
  }
  words.size("hcp", layout.hierarchical_context_parallel_size, 0);
  add_switches(words, layout);
  return words.text();
}

}  // namespace meshwright
