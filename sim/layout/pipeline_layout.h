// SPDX-License-Identifier: Apache-2.0
// Any list of layers for each pipeline stage and chunk, in the letters of Megatron-LM's
// --pipeline-model-parallel-layout (transformer/pipeline_parallel_layer_layout.py, commit 00caa53):
// E embedding, t decoder layer, m multi-token-prediction layer, L loss, | between chunks, x*n and
// (..)*n repeat, commas mean nothing. With p stages, chunk j is chunk j / p of stage j mod p.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace meshwright {

// In this order.
struct ChunkItems {
  bool embedding = false;
  int num_layers = 0;
  int mtp_num_layers = 0;
  bool loss = false;
  bool operator==(const ChunkItems&) const = default;
};

// A handle to a list that is kept once and never changes, so that layouts that hold one are copied
// and compared as plain values. Default: none, stages as the other fields of a layout say.
class PipelineLayout {
 public:
  constexpr PipelineLayout() = default;
  // Embedding in the first chunk, loss in the last, multi-token prediction after all layers.
  static PipelineLayout of(std::vector<ChunkItems> chunks);

  constexpr explicit operator bool() const { return list_ != nullptr; }
  bool operator==(const PipelineLayout&) const = default;

  // In the model's order. None: empty.
  [[nodiscard]] std::span<const ChunkItems> chunks() const;
  [[nodiscard]] int num_chunks() const { return static_cast<int>(chunks().size()); }
  // "Et*4|(t*4|)*14tmL", as read_pipeline_layout() takes it; "none".
  [[nodiscard]] std::string_view text() const;
  // Another for each list within one run of the program; none: 0.
  [[nodiscard]] std::uint32_t id() const;

 private:
  struct List;
  const List* list_ = nullptr;
};

// The list, or what is wrong with the text, where, and what is allowed.
std::variant<PipelineLayout, std::string> read_pipeline_layout(std::string_view text);

}  // namespace meshwright
