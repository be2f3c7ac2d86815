// SPDX-License-Identifier: Apache-2.0
// A model, layouts and batches that obey every rule, and what is changed to break one.
#pragma once

#include <string_view>
#include <vector>

#include "sim/rules/rules.h"

namespace meshwright::rules_test {

inline Model dense() {
  Model model;
  model.num_layers = 48;
  model.hidden_size = 6144;
  model.ffn_hidden_size = 24576;
  model.num_attention_heads = 64;
  model.num_query_groups = 8;
  model.kv_channels = 96;
  model.vocab_size = 51200;
  return model;
}

inline Model sparse() {
  Model model = dense();
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 8;
  model.moe->moe_router_topk = 2;
  model.moe->moe_ffn_hidden_size = 1536;
  return model;
}

inline Job batch_of(int sequences) {
  Job job;
  job.seq_length = 2048;
  job.global_batch_size = sequences;
  return job;
}

inline constexpr std::string_view kNone;

// The rule that a layout of 64 sequences violates.
inline std::string_view broken(const Model& model, const Layout& layout, int sequences = 64) {
  const auto violation = check_layout(model, batch_of(sequences), layout, {});
  return violation ? rule_text(violation->rule).name : kNone;
}

inline Layout piped(int stages, PipelineSchedule schedule = PipelineSchedule::one_f_one_b,
                    int chunks = 1) {
  Layout layout;
  layout.pipeline_parallel_size = stages;
  layout.schedule = schedule;
  layout.virtual_pipeline_parallel_size = chunks;
  return layout;
}

inline Layout selective(unsigned modules) {
  Layout layout;
  layout.recompute_granularity = RecomputeGranularity::selective;
  layout.recompute_modules = {static_cast<std::uint8_t>(modules)};
  return layout;
}

inline Layout tensor(int size, bool sequence_parallel = false) {
  Layout layout;
  layout.tensor_parallel_size = size;
  layout.sequence_parallel = sequence_parallel;
  return layout;
}
// A layout, model or job that breaks one rule, and what is said about it.
struct Broken {
  std::string_view rule;
  std::string_view sentence;
  Model model = dense();
  Layout layout{};
  int sequences = 64;
  int seq_length = 2048;
  Devices devices{};
  bool fp8 = false;  // with delayed scaling
  Job job{};
};

template <typename Change>
Broken with(Broken broken, const Change& change) {
  change(broken);
  return broken;
}

// Tokens over 8 ranks, hidden behind another micro-batch: breaks nothing yet.
inline Broken overlapping(Broken broken) {
  broken.model = sparse();
  broken.layout.data_parallel_size = broken.layout.expert_parallel_size = 8;
  broken.layout.overlap_moe_expert_parallel_comm = true;
  return broken;
}

// One case of each rule, by family: in the family's own test.
std::vector<Broken> tensor_cases();
std::vector<Broken> pipeline_layout_cases();
std::vector<Broken> pipeline_cases();
std::vector<Broken> batch_and_expert_cases();
std::vector<Broken> library_and_format_cases();
std::vector<Broken> switch_cases();

}  // namespace meshwright::rules_test
